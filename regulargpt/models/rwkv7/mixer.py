"""One layer of RWKV-7, and how its weights start. Equations: `Rwkv7`."""

from __future__ import annotations

from math import exp
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.models.layers import undrawn
from regulargpt.models.mixing import chunks
from regulargpt.models.mixing.mixer import Inputs, Mixer, State
from regulargpt.models.rwkv7.starts import Starts

RANK = 32
"""Of the maps to w, a, g and to the mixture of v; no more than d_model."""
CHUNK = 20
SHARPEST = exp(-0.5)
"""The largest -log w."""


class Rwkv7Mixer(Mixer):
    """Of the layer `depth[0]` of `depth[1]`; `removal` is c."""

    def __init__(self, d_model: int, n_heads: int, removal: float, depth: tuple[int, int], generator: torch.Generator):
        super().__init__()
        self.n_heads, self.d_head, self.removal = n_heads, d_model // n_heads, removal
        self.r, self.k, self.v = (orthogonal(d_model, d_model, gain, generator) for gain in (1.0, 0.1, 1.0))
        self.w = low_rank(d_model, nn.Tanh(), generator)
        self.a = low_rank(d_model, nn.Identity(), generator)
        self.g = low_rank(d_model, nn.Sigmoid(), generator)
        self.mix = low_rank(d_model, nn.Identity(), generator) if depth[0] else None
        self.out = orthogonal(d_model, d_model, 0.0, generator)
        start = Starts(d_model, self.d_head, *depth)
        self.mu = nn.Parameter(start.mu())
        self.w_0, self.a_0 = nn.Parameter(start.w_0()), nn.Parameter(start.a_0())
        self.v_0 = nn.Parameter(start.v_0()) if depth[0] else None
        self.k_k, self.k_a, self.r_k = (nn.Parameter(value) for value in start.of_keys())
        self.gain, self.bias = nn.Parameter(start.gain()), nn.Parameter(torch.zeros(d_model))

    def start(self, batch: int) -> tuple[State, Any]:
        d_model, heads = len(self.gain), (self.n_heads, self.d_head, self.d_head)
        return (self.gain.new_zeros(batch, *heads),), self.gain.new_zeros(batch, 1, d_model)

    def values(
        self, x: Float[Tensor, "batch length d_model"], before: Float[Tensor, "batch 1 d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """v of this layer by itself."""
        return self.v(torch.lerp(x, shifted(x, before), self.mu[3]))

    def inputs(self, x: Float[Tensor, "batch length 2*d_model"], before: Any) -> tuple[Inputs, Any]:
        """r, log w, k~, v, kappa and c a * kappa, (batch, length, n_heads, d_head), and g (batch, length, d_model).

        Behind the block's own vectors stands v of the first block.
        """
        x, v = x.chunk(2, -1)
        last = shifted(x, before)
        x_r, x_w, x_k, x_v, x_a, x_g = (torch.lerp(x, last, mu) for mu in self.mu)
        log_w = -SHARPEST * (self.w_0 + self.w(x_w)).sigmoid()
        k, a = self.k(x_k), (self.a_0 + self.a(x_a)).sigmoid()
        if self.mix is not None and self.v_0 is not None:
            v = torch.lerp(self.v(x_v), v, (self.v_0 + self.mix(x_v)).sigmoid())
        kappa = F.normalize(self.heads(k * self.k_k), dim=-1)
        k = self.heads(k * (1 + (a - 1) * self.k_a))
        removed = self.removal * self.heads(a) * kappa
        return (self.heads(self.r(x_r)), self.heads(log_w), k, self.heads(v), kappa, removed, self.g(x_g)), x[:, -1:]

    def heads(self, x: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows n_heads d_head"]:
        return x.unflatten(-1, (self.n_heads, self.d_head))  # (*rows, n_heads, d_head)

    def step(self, state: State, at: Inputs) -> State:
        (S,), (_, log_w, k, v, kappa, removed, _) = state, at
        along_key = S @ kappa[..., None]  # (batch, n_heads, V, 1)
        return (S * log_w.exp()[..., None, :] - along_key * removed[..., None, :] + v[..., None] * k[..., None, :],)

    def read(self, state: State, at: Inputs) -> Float[Tensor, "batch n_heads d_head"]:
        return (state[0] @ at[0][..., None])[..., 0]

    def along(self, inputs: Inputs, state: State) -> tuple[Float[Tensor, "batch length n_heads d_head"], State]:
        """A chunk at a time: the decays of one have a sum of logarithms of at most 13."""
        r, log_w, k, v, kappa, removed, _ = (part.transpose(1, 2) for part in inputs)  # (batch, n_heads, length, ...)
        o, S = chunks.removing(r, k, v, kappa, removed, log_w, state[0].mT, CHUNK)
        return o.transpose(1, 2), (S.mT,)

    def output(
        self, o: Float[Tensor, "batch read n_heads d_head"], x: Float[Tensor, "batch read 2*d_model"], at: Inputs
    ) -> Float[Tensor, "batch read d_model"]:
        r, _, k, v, _, _, g = at
        normed = F.layer_norm(o, (self.d_head,), eps=1e-5 * self.d_head).flatten(-2)  # (batch, read, d_model)
        bonus = (r * self.heads(self.r_k) * k).sum(-1, keepdim=True) * v
        return self.out((normed * self.gain + self.bias + bonus.flatten(-2)) * g)


def shifted(
    x: Float[Tensor, "batch length d_model"], before: Float[Tensor, "batch 1 d_model"]
) -> Float[Tensor, "batch length d_model"]:
    """The vector before each."""
    return torch.cat([before, x[:, :-1]], 1)


def orthogonal(n_in: int, n_out: int, gain: float, generator: torch.Generator) -> nn.Linear:
    """A linear layer without a bias; with gain 0 it starts as zeros."""
    layer = undrawn(n_in, n_out, bias=False)
    nn.init.orthogonal_(layer.weight, gain, generator) if gain else nn.init.zeros_(layer.weight)
    return layer


def low_rank(d_model: int, between: nn.Module, generator: torch.Generator) -> nn.Sequential:
    """A map of rank 32 that starts as zeros, of which only the second factor is drawn."""
    rank = min(RANK, d_model)
    return nn.Sequential(orthogonal(d_model, rank, 0.0, generator), between, orthogonal(rank, d_model, 0.1, generator))
