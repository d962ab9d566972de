"""The mixer of Mamba-2 (Dao and Gu 2024, 2405.21060), its SSD layer."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.models.mamba2.heads import Heads
from regulargpt.models.mixing import chunks
from regulargpt.models.mixing.layers import Draw, RmsNorm, convolution, start_of_steps
from regulargpt.models.mixing.mixer import Inputs, State


class Ssd(Heads):
    """S <- a S + B (Delta x)^T, y = S^T C + D x, a = exp(-exp(a_log) Delta); `Mamba2` has all of its equations.

    >>> mixer = Ssd(4, 2, 3, 2, 4, Draw("fan-in", torch.Generator().manual_seed(0)))
    >>> y, ((S,), before) = mixer(torch.ones(1, 5, 4), None, "all")
    >>> y.shape, S.shape, before.shape
    (torch.Size([1, 5, 4]), torch.Size([1, 2, 3, 4]), torch.Size([1, 3, 14]))
    """

    def __init__(self, d_model: int, n_heads: int, d_state: int, expand: int, conv: int, draw: Draw):
        super().__init__(d_model, n_heads, d_state, expand)
        mixed = self.E + 2 * d_state
        self.in_proj = draw(d_model, self.E + mixed + n_heads)
        self.conv = convolution(mixed, conv, draw.generator, bias=True)
        self.dt_bias = nn.Parameter(start_of_steps(n_heads, draw.generator))
        self.a_log = nn.Parameter(torch.empty(n_heads).uniform_(1, 16, generator=draw.generator).log())
        self.d = nn.Parameter(torch.ones(n_heads))
        self.norm, self.out_proj = RmsNorm(self.E), draw(self.E, d_model)

    def inputs(self, x: Float[Tensor, "batch length d_model"], before: Any) -> tuple[Inputs, Any]:
        """C and B (.., 1, N), Delta x and x (.., H, P), log a (.., H) and z (.., E)."""
        z, xbc, delta = self.in_proj(x).split([self.E, self.E + 2 * self.N, self.n_heads], -1)
        xbc, after = self.conv(xbc, before)
        x, B, C = xbc.split([self.E, self.N, self.N], -1)
        x = x.unflatten(-1, (self.n_heads, -1))  # (batch, length, heads, P)
        delta = F.softplus(delta + self.dt_bias)
        return (C[..., None, :], B[..., None, :], delta[..., None] * x, x, -self.a_log.exp() * delta, z), after

    def start(self, batch: int) -> tuple[State, Any]:
        return (self.zeros(self.d, batch),), self.conv.start(batch)

    def step(self, state: State, at: Inputs) -> State:
        (S,), (_, B, v, _, log_a, _) = state, at
        return (log_a.exp()[..., None, None] * S + B[..., None] * v[..., None, :],)

    def output(
        self, o: Float[Tensor, "batch read heads P"], x: Float[Tensor, "batch read d_model"], at: Inputs
    ) -> Float[Tensor, "batch read d_model"]:
        _, _, _, of_heads, _, z = at
        y = (o + self.d[:, None] * of_heads).flatten(-2)  # (batch, read, E)
        return self.out_proj(self.norm(y * F.silu(z)))

    def along(self, inputs: Inputs, state: State) -> tuple[Float[Tensor, "batch length heads P"], State]:
        return super().along(inputs[:5], state)

    def chunk(
        self, inputs: Inputs, S: Float[Tensor, "batch heads N P"]
    ) -> tuple[Float[Tensor, "batch heads chunk P"], Float[Tensor, "batch heads N P"]]:
        C, B, v, _, log_a = inputs
        C, B = (x.expand(-1, self.n_heads, -1, -1) for x in (C, B))  # (batch, heads, chunk, N)
        return chunks.additive(C, B, v, log_a, S)
