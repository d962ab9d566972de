"""Hardening: noise that only certain actions and distant units outlast, then signs for tanh.

To take the likeliest action at once instead, with the gradient of the soft ones, makes a network forget all.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from regulargpt.models.layers import Counted
from regulargpt.models.stack_rnn.signs import STEEPEST, Hardness

ACTION_NOISE = 3.0
"""Deviation of the noise on logits of actions, where hardening is whole."""
UNIT_NOISE = 0.5
"""That on the sums of binary units."""
PUSH = 1.0
"""How much the loss minds a sum within the margin."""


class Hardening(Counted):
    """In training the first half of `level` is noise and steepness, of binary units; the second the share of signs.

    Of other controllers, noise on actions all the way.
    """

    def __init__(self, is_binary: bool, margin: float):
        super().__init__()
        self.level, self.is_binary, self.margin = 0.0, is_binary, margin

    @property
    def noise(self) -> float:
        """How much of the noise there is."""
        return min(1.0, 2 * self.level) if self.is_binary else min(1.0, self.level)

    def noisy(self, x: Float[Tensor, "*shape"], size: float) -> Float[Tensor, "*shape"]:
        """x with noise of this deviation where hardening is whole."""
        if not (self.training and self.level):
            return x
        return x.new_empty(x.shape).normal_(0.0, size * self.noise, generator=self.next_generator(x.device)) + x

    def hardness(self, u: Float[Tensor, "length batch d_model"]) -> Hardness | None:
        """How hard binary units are in this pass. In tests they are signs: None, where nobody asks for gradients."""
        if not self.training and not torch.is_grad_enabled():
            return None
        share = 2 * self.level - 1 if self.training else 1.0
        if share <= 0:
            hard = None
        elif share >= 1:
            hard = u.new_ones(1, 1, dtype=torch.bool)
        else:
            hard = torch.rand(u.shape[1], 1, generator=self.next_generator(u.device), device=u.device) < share
        if not self.training:
            return Hardness(1.0, hard, 0.0, 0.0)
        return Hardness(1 + (STEEPEST - 1) * self.noise, hard, self.margin, PUSH / u.numel() if self.level else 0.0)
