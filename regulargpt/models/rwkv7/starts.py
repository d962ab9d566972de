"""Where the weights of RWKV-7 start that are not drawn, as its authors' code has it (BlinkDL/RWKV-LM, RWKV-v7)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

SHIFTS = (0.2, 0.9, 0.7, 0.7, 0.9, 0.2)
"""Powers of a channel's place with which mu starts, for r, w, k, v, a and g."""


@dataclass(frozen=True)
class Starts:
    """Of a layer, counted from 0, of so many.

    >>> Starts(4, 2, layer=0, layers=2).linear()
    tensor([-0.5000, -0.1667,  0.1667,  0.5000])
    """

    d_model: int
    d_head: int
    layer: int
    layers: int

    def linear(self) -> Float[Tensor, "d_model"]:
        """From -1/2 to 1/2 over all channels."""
        return torch.arange(self.d_model) / (self.d_model - 1) - 0.5

    def zigzag(self) -> Float[Tensor, "d_model"]:
        """From -1 to 1 over the channels of each head, with the square's size."""
        middle = (self.d_head - 1) / 2
        z = (torch.arange(self.d_model) % self.d_head - middle) / middle
        return z * z.abs()

    def mu(self) -> Float[Tensor, "6 d_model"]:
        left = 1 - self.layer / self.layers
        place = torch.arange(self.d_model) / self.d_model
        return torch.stack([1 - place ** (power * left) for power in SHIFTS])

    def w_0(self) -> Float[Tensor, "d_model"]:
        depth = self.layer / max(self.layers - 1, 1)
        return -5.5 + 6 * (self.linear() + 0.5) ** (1 + depth**0.3) + 2.5 * self.zigzag()

    def a_0(self) -> Float[Tensor, "d_model"]:
        return -0.19 + 0.3 * self.zigzag() + 0.4 * self.linear()

    def v_0(self) -> Float[Tensor, "d_model"]:
        return 0.73 - 0.4 * self.linear()

    def of_keys(self) -> tuple[Float[Tensor, "d_model"], Float[Tensor, "d_model"], Float[Tensor, "d_model"]]:
        """k_k, k_a and r_k."""
        ones = torch.ones(self.d_model)
        return 0.71 - 0.1 * self.linear(), 1.02 * ones, -0.04 * ones

    def gain(self) -> Float[Tensor, "d_model"]:
        """Of the norm of o."""
        return torch.full((self.d_model,), ((self.layer + 1) / self.layers) ** 0.7)
