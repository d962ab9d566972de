"""Gated linear attention (Yang et al. 2023), with a gate a channel or a head, and the retentive network."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from languages.errors import UserError
from regulargpt.models.gla.options import GlaOptions
from regulargpt.models.gla.retention import angles, backwards, log_decays
from regulargpt.models.layers import choose
from regulargpt.models.mixing.chunks import WIDEST, additive, by_channel
from regulargpt.models.mixing.layers import Draw, RmsNorm
from regulargpt.models.mixing.mixer import Inputs, Mixer, State
from regulargpt.models.mixing.model import Mixing

RANK, TEMPERATURE = 16, 16
"""Of the map to the gates of channels; what their logarithm is divided by."""
CHUNK = 64


class PerHead(Mixer):
    """Gated linear attention with one gate a head, as gated retention has it (Sun et al. 2024). See `Gla`."""

    def __init__(self, d_model: int, n_heads: int, draw: Draw):
        super().__init__()
        self.n_heads, (self.d_k, self.d_v) = n_heads, self.sizes(d_model // n_heads)
        self.qkv = draw(d_model, n_heads * (2 * self.d_k + self.d_v))
        self.decay = self.decays(d_model, draw)
        self.gate = draw(d_model, n_heads * self.d_v)
        self.norm = RmsNorm(self.d_v)
        self.out = draw(n_heads * self.d_v, d_model)

    def sizes(self, width: int) -> tuple[int, int]:
        """K and V."""
        return width // 2, width

    def decays(self, d_model: int, draw: Draw) -> nn.Module | None:
        """What makes the gates' logits."""
        return draw(d_model, self.n_heads, bias=True)

    def start(self, batch: int) -> tuple[State, Any]:
        return (self.norm.weight.new_zeros(batch, self.n_heads, self.d_k, self.d_v),), None

    def inputs(self, x: Float[Tensor, "batch length d_model"], before: Any) -> tuple[Inputs, Any]:
        """q / sqrt K, k and v, and the log decay, each (batch, length, n_heads, ...)."""
        parts = self.qkv(x).split([self.n_heads * size for size in (self.d_k, self.d_k, self.d_v)], -1)
        q, k, v = (part.unflatten(-1, (self.n_heads, -1)) for part in parts)  # (batch, length, n_heads, K or V)
        return (q * self.d_k**-0.5, k, v, self.log_decay(x)), before

    def log_decay(self, x: Float[Tensor, "batch length d_model"]) -> Float[Tensor, "batch length n_heads gates"]:
        assert self.decay is not None
        logits = self.decay(x).unflatten(-1, (self.n_heads, -1))  # (batch, length, n_heads, gates)
        return F.logsigmoid(logits) / TEMPERATURE

    def step(self, state: State, at: Inputs) -> State:
        """S <- diag(alpha) S + k v^T."""
        (s,), (_, k, v, log_decay) = state, at
        return (log_decay.exp()[..., None] * s + k[..., None] * v[..., None, :],)  # (batch, n_heads, K, V)

    def read(self, state: State, at: Inputs) -> Float[Tensor, "batch n_heads V"]:
        return (at[0][..., None, :] @ state[0])[..., 0, :]

    def output(
        self, o: Float[Tensor, "batch read n_heads V"], x: Float[Tensor, "batch read d_model"], at: Inputs
    ) -> Float[Tensor, "batch read d_model"]:
        return self.out(self.norm(o).flatten(-2) * F.silu(self.gate(x)))  # heads as (batch, read, n_heads * V)

    def along(self, inputs: Inputs, state: State) -> tuple[Float[Tensor, "batch length n_heads V"], State]:
        """Chunk by chunk."""
        found, (s,) = [], state
        for part in zip(*(x.split(self.chunk, 1) for x in inputs), strict=True):
            o, s = self.chunked(*(x.transpose(1, 2) for x in part), s)  # (batch, n_heads, chunk, ...)
            found.append(o.transpose(1, 2))  # (batch, chunk, n_heads, V)
        return torch.cat(found, 1), (s,)

    chunk = CHUNK

    def chunked(self, q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        """o and S of a chunk."""
        return additive(q, k, v, log_decay[..., 0], s)


class PerChannel(PerHead):
    """Gated linear attention, with a gate for each channel of the keys. See `Gla`."""

    chunk = 20

    def decays(self, d_model: int, draw: Draw) -> nn.Module:
        return nn.Sequential(draw(d_model, RANK), draw(RANK, self.n_heads * self.d_k, bias=True))

    def along(self, inputs: Inputs, state: State) -> tuple[Float[Tensor, "batch length n_heads V"], State]:
        """Chunk by chunk; symbol by symbol where a gate closes so far that a factor would overflow."""
        lowest = float(inputs[3].detach().amin())
        return super().along(inputs, state) if lowest * self.chunk > -WIDEST else self.loop(inputs, state)

    def chunked(self, q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        return by_channel(q, k, v, log_decay, s)


class Retention(PerHead):
    """Retention (Sun et al. 2023): constant decays, and rotary angles, which turn the state. See `Gla`."""

    def sizes(self, width: int) -> tuple[int, int]:
        return width, 2 * width

    def decays(self, d_model: int, draw: Draw) -> None:
        """None to be learned."""

    def log_decay(self, x: Float[Tensor, "batch length d_model"]) -> Float[Tensor, "batch length n_heads gates"]:
        """The same at every symbol: retention sees no input."""
        return log_decays(self.n_heads).to(x)[:, None].expand(*x.shape[:2], -1, -1)  # (batch, length, n_heads, 1)

    def step(self, state: State, at: Inputs) -> State:
        """S <- alpha R^-1 S + k v^T."""
        return super().step((backwards(state[0], 1),), at)

    def chunked(self, q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        """Turned with the positions in the chunk, from 1, and the state turned back by all of them."""
        places = torch.arange(1, q.shape[-2] + 1, device=q.device)
        turned = (angles(self.d_k, places.to(q.device)) for _ in range(1))
        raise NotImplementedError(turned)
