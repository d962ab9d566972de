"""The mixer of Mamba-3 (2603.15569): the state also turns, by angles that depend on the symbol.

Its codes carry the angles phi that all symbols added up, and turn keys and queries by them. Here the state itself
turns, back by the angles of each symbol: R(-phi) S in place of S. That is the same function. But no angle is carried,
which would grow, or jump from 2 pi to 0; and a step is one map of the state, whatever came before.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.models.mamba2.heads import Heads
from regulargpt.models.mixing import chunks
from regulargpt.models.mixing.layers import Draw, RmsNorm, start_of_steps
from regulargpt.models.mixing.mixer import Inputs, State

LEAST_RATE = 1e-4
"""At which a state decays; as in the code of the paper."""


def turned(x: Float[Tensor, "*rows N V"], angles: Float[Tensor, "*rows pairs"]) -> Float[Tensor, "*rows N V"]:
    """Each pair of rows 2 i and 2 i + 1 turned by angle i: (x, y) becomes (cos x - sin y, sin x + cos y).

    >>> turned(torch.tensor([[1.0], [0.0]]), torch.tensor([math.pi / 2])).round()
    tensor([[-0.],
            [1.]])
    """
    cos, sin = angles.cos()[..., None], angles.sin()[..., None]  # (*rows, pairs, 1)
    one, other = x.unflatten(-2, (-1, 2)).unbind(-2)  # each (*rows, pairs, V)
    return torch.stack([cos * one - sin * other, sin * one + cos * other], -2).flatten(-3, -2)  # (*rows, N, V)


class Turning(Heads):
    """S <- a R(-Delta theta) (S + (1 - lambda) Delta k' v'^T) + lambda Delta k v^T, y = S^T q + D v.

    k' and v' are those of the symbol before; `Mamba2` has all of its equations.

    >>> mixer = Turning(4, 2, 6, 2, Draw("fan-in", torch.Generator().manual_seed(0)))
    >>> y, ((S,), before) = mixer(torch.ones(1, 5, 4), None, "all")
    >>> y.shape, S.shape, before.shape
    (torch.Size([1, 5, 4]), torch.Size([1, 2, 6, 4]), torch.Size([1, 1, 14]))
    """

    def __init__(self, d_model: int, n_heads: int, d_state: int, expand: int, draw: Draw):
        super().__init__(d_model, n_heads, d_state, expand)
        self.sizes = [self.E, self.E, d_state, d_state, n_heads, n_heads, n_heads, d_state // 2]
        self.in_proj = draw(d_model, sum(self.sizes))
        self.dt_bias = nn.Parameter(start_of_steps(n_heads, draw.generator))
        self.b_norm, self.c_norm = RmsNorm(d_state), RmsNorm(d_state)
        self.b_bias, self.c_bias = (nn.Parameter(torch.ones(n_heads, d_state)) for _ in range(2))
        self.d, self.out_proj = nn.Parameter(torch.ones(n_heads)), draw(self.E, d_model)

    def inputs(self, x: Float[Tensor, "batch length d_model"], before: Any) -> tuple[Inputs, Any]:
        """q, k, k' (.., H, N), v, v' (.., H, P), log a, lambda Delta, (1 - lambda) Delta (.., H), angles, z (.., E)."""
        z, v, B, C, delta, rate, trapezoid, theta = self.in_proj(x).split(self.sizes, -1)
        carried = torch.cat([before, torch.cat([v, self.b_norm(B)], -1)], 1)  # (batch, 1 + length, E + N)
        values, keys = carried.split([self.E, self.N], -1)
        values = values.unflatten(-1, (self.n_heads, -1))  # (batch, 1 + length, heads, P)
        keys = keys[..., None, :] + self.b_bias
        delta, part = F.softplus(delta + self.dt_bias), trapezoid.sigmoid()
        log_a = -F.softplus(rate).clamp(min=LEAST_RATE) * delta
        angles = delta[..., None] * math.pi * theta.tanh()[..., None, :]
        q, gains = self.c_norm(C)[..., None, :] + self.c_bias, (part * delta, (1 - part) * delta)
        found = (q, keys[:, 1:], keys[:, :-1], values[:, 1:], values[:, :-1], log_a, *gains, angles, z)
        return found, carried[:, -1:]

    def start(self, batch: int) -> tuple[State, Any]:
        return (self.zeros(self.d, batch),), self.d.new_zeros(batch, 1, self.E + self.N)

    def step(self, state: State, at: Inputs) -> State:
        (S,), (_, k, k_before, v, v_before, log_a, gain, gain_before, angles, _) = state, at
        S = S + k_before[..., None] * (gain_before[..., None] * v_before)[..., None, :]
        S = log_a.exp()[..., None, None] * turned(S, -angles)
        return (S + k[..., None] * (gain[..., None] * v)[..., None, :],)

    def output(
        self, o: Float[Tensor, "batch read heads P"], x: Float[Tensor, "batch read d_model"], at: Inputs
    ) -> Float[Tensor, "batch read d_model"]:
        v, z = at[3], at[9]
        return self.out_proj((o + self.d[:, None] * v).flatten(-2) * F.silu(z))  # (batch, read, d_model)

    def along(self, inputs: Inputs, state: State) -> tuple[Float[Tensor, "batch length heads P"], State]:
        return super().along(inputs[:9], state)

    def chunk(
        self, inputs: Inputs, S: Float[Tensor, "batch heads N P"]
    ) -> tuple[Float[Tensor, "batch heads chunk P"], Float[Tensor, "batch heads N P"]]:
        """In the frame of the first symbol. After a symbol its pair k, v counts twice: as its own, and as k', v'."""
        q, k, k_before, v, v_before, log_a, gain, gain_before, angles = inputs
        S = S + k_before[:, :, 0, :, None] * (gain_before[:, :, :1, None] * v_before[:, :, :1])
        after = torch.cat([gain_before[:, :, 1:], torch.zeros_like(gain[:, :, :1])], 2)  # (batch, heads, chunk)
        phi = angles.cumsum(2)
        turned_q, turned_k = (turned(x[..., None], phi)[..., 0] for x in (q, k))
        o, S = chunks.additive(turned_q, turned_k, (gain + after)[..., None] * v, log_a, S)
        # At the symbol itself it has not yet counted as k', v'.
        early = after * (q * k).sum(-1)
        return o - early[..., None] * v, turned(S, -phi[:, :, -1])
