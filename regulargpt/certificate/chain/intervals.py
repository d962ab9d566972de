"""Intervals of numbers, between which the values of a network lie for all states of a box; torch differentiates them.

Rounding is not bounded here: it is allowed for where boxes are searched, and the independent checker decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True)
class TensorInterval:
    """All numbers from `lower` to `upper`, in each place of two tensors of one shape."""

    lower: Tensor
    upper: Tensor

    @classmethod
    def round(cls, centre: Tensor, radius: Tensor) -> TensorInterval:
        """What lies at most `radius` from the centre."""
        return cls(centre - radius, centre + radius)

    @property
    def centre(self) -> Tensor:
        return (self.lower + self.upper) / 2

    @property
    def radius(self) -> Tensor:
        return (self.upper - self.lower) / 2

    def __add__(self, other: TensorInterval) -> TensorInterval:
        return TensorInterval(self.lower + other.lower, self.upper + other.upper)

    def __sub__(self, other: TensorInterval) -> TensorInterval:
        return TensorInterval(self.lower - other.upper, self.upper - other.lower)

    def __rsub__(self, number: float) -> TensorInterval:
        return TensorInterval(number - self.upper, number - self.lower)

    def __mul__(self, other: TensorInterval) -> TensorInterval:
        """The products of any two: the extremes are at corners."""
        lowest, two = self.lower * other.lower, self.lower * other.upper
        three, four = self.upper * other.lower, self.upper * other.upper
        lower = torch.minimum(torch.minimum(lowest, two), torch.minimum(three, four))
        upper = torch.maximum(torch.maximum(lowest, two), torch.maximum(three, four))
        return TensorInterval(lower, upper)

    def over(self, size: TensorInterval) -> TensorInterval:
        """The quotients by what is above 0."""
        lower = torch.minimum(self.lower / size.lower, self.lower / size.upper)
        return TensorInterval(lower, torch.maximum(self.upper / size.lower, self.upper / size.upper))

    def meet(self, other: TensorInterval) -> TensorInterval:
        """What lies in both, if both hold the same number."""
        return TensorInterval(torch.maximum(self.lower, other.lower), torch.minimum(self.upper, other.upper))

    def relu(self) -> TensorInterval:
        return TensorInterval(self.lower.relu(), self.upper.relu())

    def tanh(self) -> TensorInterval:
        return TensorInterval(self.lower.tanh(), self.upper.tanh())

    def sigmoid(self) -> TensorInterval:
        return TensorInterval(self.lower.sigmoid(), self.upper.sigmoid())

    def log_sigmoid(self) -> TensorInterval:
        return TensorInterval(F.logsigmoid(self.lower), F.logsigmoid(self.upper))

    def unbind(self, axis: int) -> list[TensorInterval]:
        return [TensorInterval(*both) for both in zip(self.lower.unbind(axis), self.upper.unbind(axis), strict=True)]


def linear(
    x: TensorInterval, weight: Float[Tensor, "out in"], bias: Float[Tensor, "out"] | None = None
) -> TensorInterval:
    """W x + b: exact in each coordinate."""
    return TensorInterval.round(F.linear(x.centre, weight, bias), F.linear(x.radius, weight.abs()))


def humped(x: TensorInterval, slope: Tensor, other: Tensor, peak: float) -> TensorInterval:
    """The values between x's ends of a function with one peak, at 0, that falls on both sides; `slope` and `other` are
    its values at the ends."""
    holds_peak = (x.lower <= 0) & (x.upper >= 0)
    upper = torch.maximum(slope, other)
    return TensorInterval(torch.minimum(slope, other), torch.where(holds_peak, peak, upper))


def sigmoid_slope(x: TensorInterval) -> TensorInterval:
    """The derivative of the sigmoid over an interval: it falls from 1/4 at 0 on both sides."""
    low, high = x.lower.sigmoid(), x.upper.sigmoid()
    return humped(x, low * (1 - low), high * (1 - high), 0.25)


def tanh_slope(x: TensorInterval) -> TensorInterval:
    """The derivative of tanh over an interval: it falls from 1 at 0 on both sides."""
    return humped(x, 1 - x.lower.tanh() ** 2, 1 - x.upper.tanh() ** 2, 1.0)
