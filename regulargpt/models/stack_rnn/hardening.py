"""Hardening: noise that only certain actions and distant units outlast, then signs for tanh.

To take the likeliest action at once instead, with the gradient of the soft ones, makes a network forget all.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regulargpt.models.layers import Counted
from regulargpt.models.stack_rnn.signs import Hardness

ACTION_NOISE = 3.0
"""Deviation of the noise on logits of actions, where hardening is whole."""
UNIT_NOISE = 0.5
"""That on the sums of binary units."""
STEEPEST = 3.0
"""The slope of their tanh, 1 at first."""
PUSH = 1.0
"""What a step of a word adds to the loss for each unit whose sum is at 0, in margins."""


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

    def units(
        self, u: Float[Tensor, "length batch d_model"]
    ) -> tuple[Float[Tensor, "length batch d_model"], Hardness | None]:
        """The sums of binary units, and how hard these are in this pass: None for signs without a gradient."""
        if not self.training:
            # As certain as a test is, gradients can be requested.
            return u, Hardness(1.0, u.new_ones(1, 1, dtype=torch.bool), 0.0, 0.0) if torch.is_grad_enabled() else None
        hard, steps = self.hard_words(u), u.shape[0] * u.shape[1]
        noisy = self.noisy(u, UNIT_NOISE)
        # Signs see no noise, so that the margin is that of the network in tests.
        u = noisy if hard is None else torch.where(hard, u, noisy)
        return u, Hardness(1 + (STEEPEST - 1) * self.noise, hard, self.margin, PUSH / steps if self.level else 0.0)

    def hard_words(self, u: Float[Tensor, "length batch d_model"]) -> Bool[Tensor, "batch 1"] | None:
        """The words whose units are signs, drawn anew in each pass."""
        share = 2 * self.level - 1
        if share <= 0:
            return None
        return torch.rand(u.shape[1], 1, generator=self.next_generator(u.device), device=u.device) < share
