"""Gated linear attention: a gate a head, or one for each channel of the keys."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.models.mixing import chunks
from regulargpt.models.mixing.layers import Draw, RmsNorm
from regulargpt.models.mixing.mixer import Inputs, Mixer, State

RANK, TEMPERATURE = 16, 16
"""Of the map to the gates of channels; what the logarithm of all gates is divided by."""


class PerHead(Mixer):
    """Linear attention with one gate a head, as gated retention has it. Equations: `Gla`."""

    chunk = 20

    def __init__(self, d_model: int, n_heads: int, draw: Draw):
        super().__init__()
        self.n_heads, (self.d_k, self.d_v) = n_heads, self.sizes(d_model // n_heads)
        self.qkv = draw(d_model, n_heads * (2 * self.d_k + self.d_v))
        self.decay = self.decays(d_model, draw)
        self.gate, self.norm = draw(d_model, n_heads * self.d_v), RmsNorm(self.d_v)
        self.out = draw(n_heads * self.d_v, d_model)

    def sizes(self, width: int) -> tuple[int, int]:
        """K and V, where `width` is d_model / n_heads."""
        return width // 2, width

    def decays(self, d_model: int, draw: Draw) -> nn.Module | None:
        """What makes the logits of the gates."""
        return draw(d_model, self.n_heads, bias=True)

    def start(self, batch: int) -> tuple[State, Any]:
        return (self.norm.weight.new_zeros(batch, self.n_heads, self.d_k, self.d_v),), None

    def inputs(self, x: Float[Tensor, "batch length d_model"], before: Any) -> tuple[Inputs, Any]:
        """q / sqrt K, k, v and log alpha, each (batch, length, n_heads, ...)."""
        parts = self.qkv(x).split([self.n_heads * size for size in (self.d_k, self.d_k, self.d_v)], -1)
        q, k, v = (part.unflatten(-1, (self.n_heads, -1)) for part in parts)  # (batch, length, n_heads, K or V)
        return (q * self.d_k**-0.5, k, v, self.log_decay(x)), before

    def log_decay(self, x: Float[Tensor, "batch length d_model"]) -> Float[Tensor, "batch length n_heads gates"]:
        assert self.decay is not None
        logits = self.decay(x).unflatten(-1, (self.n_heads, -1))  # (batch, length, n_heads, gates)
        return F.logsigmoid(logits) / TEMPERATURE

    def step(self, state: State, at: Inputs) -> State:
        (S,), (_, k, v, log_decay) = state, at
        return (log_decay.exp()[..., None] * S + k[..., None] * v[..., None, :],)

    def read(self, state: State, at: Inputs) -> Float[Tensor, "batch n_heads V"]:
        return (at[0][..., None, :] @ state[0])[..., 0, :]

    def output(
        self, o: Float[Tensor, "batch read n_heads V"], x: Float[Tensor, "batch read d_model"], at: Inputs
    ) -> Float[Tensor, "batch read d_model"]:
        return self.out(F.silu(self.gate(x)) * self.norm(o).flatten(-2))  # (batch, read, n_heads * V)

    def along(self, inputs: Inputs, state: State) -> tuple[Float[Tensor, "batch length n_heads V"], State]:
        """A chunk at a time; symbol by symbol where gates are so near 0 that a factor of a chunk might overflow."""
        if float(inputs[3].detach().amin()) * self.chunk < -chunks.WIDEST:
            return self.loop(inputs, state)
        (S,), found = state, []
        for part in zip(*(x.split(self.chunk, 1) for x in inputs), strict=True):
            q, k, v, log_decay = (x.transpose(1, 2) for x in part)  # each (batch, n_heads, chunk, ...)
            o, S = self.chunked(q, k, v, log_decay, S)
            found.append(o.transpose(1, 2))  # (batch, chunk, n_heads, V)
        return torch.cat(found, 1), (S,)

    def chunked(
        self,
        q: Float[Tensor, "batch n_heads chunk K"],
        k: Float[Tensor, "batch n_heads chunk K"],
        v: Float[Tensor, "batch n_heads chunk V"],
        log_decay: Float[Tensor, "batch n_heads chunk gates"],
        S: Float[Tensor, "batch n_heads K V"],
    ) -> tuple[Float[Tensor, "batch n_heads chunk V"], Float[Tensor, "batch n_heads K V"]]:
        """o at each symbol of a chunk, and S after it."""
        return chunks.gated(q, k, v, log_decay, S)


class PerChannel(PerHead):
    """Linear attention with a gate for each channel of the keys. Equations: `Gla`."""

    def decays(self, d_model: int, draw: Draw) -> nn.Module:
        return nn.Sequential(draw(d_model, RANK), draw(RANK, self.n_heads * self.d_k, bias=True))
