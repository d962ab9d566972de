"""Gated linear attention, and RetNet, which is its constant gate."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.encodings.rotary import BASE, rotate_halves
from regulargpt.models.gla.options import GlaOptions
from regulargpt.models.mixing import chunks
from regulargpt.models.mixing.layers import Draw, RmsNorm
from regulargpt.models.mixing.mixer import Inputs, Mixer, State
from regulargpt.models.mixing.model import Mixing

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
        (S,), outputs = state, []
        for part in zip(*(x.split(self.chunk, 1) for x in inputs), strict=True):
            q, k, v, log_decay = (x.transpose(1, 2) for x in part)  # each (batch, n_heads, chunk, ...)
            o, S = self.chunked(q, k, v, log_decay, S)
            outputs.append(o.transpose(1, 2))  # (batch, chunk, n_heads, V)
        return torch.cat(outputs, 1), (S,)

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


def angles(like: Float[Tensor, "*rows K"]) -> Float[Tensor, "pairs"]:
    """theta_i = 10000^(-2i/K)."""
    K = like.shape[-1]
    return BASE ** (-torch.arange(0, K, 2, dtype=torch.float64, device=like.device) / K)  # (K / 2,)


def backwards(S: Float[Tensor, "*rows K V"], positions: int) -> Float[Tensor, "*rows K V"]:
    """R^-positions S.

    >>> backwards(torch.tensor([[1.0], [0.0]]), 1).flatten()
    tensor([ 0.5403, -0.8415])
    """
    angle = -positions * angles(S.mT)
    return rotate_halves(S.mT, angle.expand(S.shape[-1], -1)).mT  # a row of angles for each of V


class Retention(PerHead):
    """Linear attention with constant gates and rotary angles. Equations: `Gla`.

    The angles turn queries and keys with their position in the word, and o depends on its differences alone. So the
    state is turned back by one position at each symbol instead, and holds no position: R is orthogonal, and
    (R^t q_t)^T R^s k_s = q_t^T R^{-(t - s)} k_s.
    """

    chunk = 64

    def sizes(self, width: int) -> tuple[int, int]:
        return width, 2 * width

    def decays(self, d_model: int, draw: Draw) -> None:
        """None are learned."""

    def log_decay(self, x: Float[Tensor, "batch length d_model"]) -> Float[Tensor, "batch length n_heads 1"]:
        log_decay = torch.log1p(-(2.0 ** -(5 + torch.arange(self.n_heads, dtype=torch.float64))))
        return log_decay.to(x)[:, None].expand(*x.shape[:2], -1, -1)  # (batch, length, n_heads, 1)

    def step(self, state: State, at: Inputs) -> State:
        return super().step((backwards(state[0], 1),), at)

    def chunked(
        self,
        q: Float[Tensor, "batch n_heads chunk K"],
        k: Float[Tensor, "batch n_heads chunk K"],
        v: Float[Tensor, "batch n_heads chunk V"],
        log_decay: Float[Tensor, "batch n_heads chunk 1"],
        S: Float[Tensor, "batch n_heads K V"],
    ) -> tuple[Float[Tensor, "batch n_heads chunk V"], Float[Tensor, "batch n_heads K V"]]:
        """Positions are those in the chunk, where the state is at 0. All words have the same gates: those of one do."""
        chunk = q.shape[-2]
        angle = torch.arange(1, chunk + 1, device=q.device)[:, None] * angles(q)  # (chunk, K / 2)
        o, S = chunks.additive(rotate_halves(q, angle), rotate_halves(k, angle), v, log_decay[:1, ..., 0], S)
        return o, backwards(S, chunk)


DECAYS = {"channel": PerChannel, "head": PerHead, "retention": Retention}


class Gla(Mixing):
    """Linear attention whose state, a matrix a head, decays by gates (GLA: Yang et al. 2023, Eq. 3 and section 4.4).

    Of each head, from the vector x of a block:

        q, k = W_q x, W_k x in R^K;    v = W_v x in R^V
        S <- diag(alpha) S + k v^T in R^{K x V};    o = S^T q / sqrt K
        out = W_o [SiLU(W_g x) * RMSNorm(o)], RMSNorm with eps 1e-5 and one gain (V,) for all heads

    S starts as zeros. There is no convolution, and no bias but in the gates alpha, which `decay` chooses:

    - `channel`: alpha = sigmoid(W_2 W_1 x + b)^(1/16), one for each of the K channels; W_1 has 16 rows. K = d_model / 2
      n_heads, V = d_model / n_heads.
    - `head`: alpha = sigmoid(W x + b)^(1/16), one for the head, as in gated retention (Sun et al. 2024). K and V alike.
    - `retention` (RetNet: Sun et al. 2023): alpha = 1 - 2^(-5-h) for head h = 0, 1, ... In place of S, R^-1 S decays:
      S <- alpha R^-1 S + k v^T. R turns each pair (i, i + K/2) of the K rows by theta_i = 10000^(-2i/K), and R^-1 turns
      back: rows a, b become a cos theta + b sin theta, b cos theta - a sin theta. That is q and k turned by their
      positions. K = d_model / n_heads, V = 2 d_model / n_heads.

    `blocks.i.mixer.` holds `qkv.weight`, rows of all heads of q, then of k, then of v; `decay.0.weight` (W_1),
    `decay.1.weight` and `.bias` (W_2, b), or `decay.weight` and `.bias` of `head`; `gate.weight`, `norm.weight` and
    `out.weight`. The state of a block is S, (n_heads, K, V).

    All factors of S lie in (0, 1): in real arithmetic and with finitely many digits it is no more than star-free.
    Those of `retention` do not depend on what is read.

    Raises `UserError` where d_model is no multiple of 2 n_heads.

    >>> import torch
    >>> model = Gla(2, 3, d_model=8, n_heads=2)
    >>> words = torch.tensor([[0, 1, 1, 0, 1]])
    >>> torch.allclose(model(words), model(words, readout="all")[:, -1], atol=1e-6)
    True
    """

    Options = GlaOptions

    def mixer(self, options: GlaOptions, layer: int, draw: Draw) -> PerHead:
        return DECAYS[options.decay](options.d_model, options.n_heads, draw)
