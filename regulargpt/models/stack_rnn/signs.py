"""Units of two values, and how training comes to them from tanh."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def signs(u: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """1 where u >= 0, else -1.

    >>> signs(torch.tensor([-0.5, 0.0, 2.0]))
    tensor([-1.,  1.,  1.])
    """
    return (u >= 0).to(u.dtype).mul_(2).sub_(1)


class Hardness(NamedTuple):
    """How hard binary units are in a pass of training.

    A step function has no gradient, so signs are given that of tanh. Where all units became signs at once the loss
    would jump; so it is some of the words first, `hard`, a share that grows.
    """

    slope: float
    hard: Bool[Tensor, "batch 1"] | Bool[Tensor, "1 1"] | None
    """The words whose units are signs; None: those of no word."""
    margin: float
    """Units whose u is nearer to 0 are pushed away: the sum of max(0, margin - |u|), times `push`, is a loss beside."""
    push: float


class Binary(torch.autograd.Function):
    """tanh(slope u), or signs with its gradient; and the gradient of the hinge that keeps u from 0."""

    @staticmethod
    def forward(ctx: Any, u: Float[Tensor, "batch d_model"], hardness: Hardness) -> Float[Tensor, "batch d_model"]:
        soft = torch.tanh(hardness.slope * u)
        ctx.hardness = hardness
        ctx.save_for_backward(u, soft)
        return soft if hardness.hard is None else torch.where(hardness.hard, signs(u), soft)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (u, soft), hardness = ctx.saved_tensors, ctx.hardness
        moved = gradients[0] * (1 - soft * soft).mul_(hardness.slope)
        if hardness.push:
            moved -= signs(u).mul_((u.abs() < hardness.margin) * hardness.push)
        return moved, None
