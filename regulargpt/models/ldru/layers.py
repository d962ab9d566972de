"""The layers of ldru: how its weights are drawn, and its residual FFN."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.models.layers import undrawn

# The variance of a normal distribution cut off at two standard deviations, in units of the uncut distribution's.
TRUNCATED = 0.87962566103423978**2


def fan_average(n_in: int, n_out: int, generator: torch.Generator, scale: float = 1.0) -> nn.Linear:
    """A linear layer of truncated normal weights of variance scale / mean(n_in, n_out), and bias 0."""
    layer = undrawn(n_in, n_out)
    std = math.sqrt(2 * scale / (n_in + n_out) / TRUNCATED)
    nn.init.trunc_normal_(layer.weight, std=std, a=-2 * std, b=2 * std, generator=generator)
    return layer


def identity(d_model: int) -> nn.Linear:
    layer = undrawn(d_model, d_model)
    nn.init.eye_(layer.weight)
    return layer


class LdruFeedForward(nn.Module):
    """x + W_2 relu(W_1 x + b_1) + b_2, of four times the width, starting near x."""

    def __init__(self, d_model: int, generator: torch.Generator):
        super().__init__()
        self.ff_in = fan_average(d_model, 4 * d_model, generator, scale=0.02)
        self.ff_out = fan_average(4 * d_model, d_model, generator, scale=0.02)

    def forward(self, x: Float[Tensor, "*n d_model"]) -> Float[Tensor, "*n d_model"]:
        return x + self.ff_out(F.relu(self.ff_in(x)))
