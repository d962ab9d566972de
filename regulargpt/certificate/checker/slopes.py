"""Vectors inside a network with their slopes in the numbers that it starts from, in float64 with proven radii.

These numbers, y (D,), lie anywhere in a box. A vector x (1, ..) that depends on them has `values`, balls that it does
not leave, and `slopes` (D, ..), balls that its derivative in each number does not leave, wherever it has one. So, if c
is the middle of the box, x(y) - x(c) = sum_j s_j (y_j - c_j) with an s_j in the slopes of j: the mean of the
derivatives on the way from c to y. The slope of a ReLU whose sign is not certain is 0 to 1: where its argument is 0 all
along a part of the way, the argument has derivative 0 there, and any slope is right.

What does not depend on y, as a weight, has no slopes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regulargpt.certificate.checker.doubles import Doubles, Floats, concatenated, known, times, within


@dataclass(frozen=True, eq=False)
class Sloped:
    """Values (1, ..) and slopes (D, ..); or values of any shape, and no slopes."""

    values: Doubles
    slopes: Doubles | None = None

    # An array or ball on the left leaves the operation to the operation here.
    __array_ufunc__ = None

    @classmethod
    def from_value(cls, value: Any) -> Sloped:
        """What has slopes; or balls, or numbers, that have none."""
        return value if isinstance(value, Sloped) else cls(Doubles.from_value(value))

    @classmethod
    def weights(cls, values: Floats) -> Sloped:
        """Numbers of which all is known."""
        return cls(known(values))

    @classmethod
    def numbers(cls, y: Doubles) -> Sloped:
        """The numbers (D,) themselves, as a vector (1, D)."""
        return cls(y.reshape(1, -1), known(np.eye(len(y))))  # (1, D), (D, D)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def map(self, f: Callable[[Doubles], Doubles]) -> Sloped:
        """The same numbers in other places; or what a linear function makes of them."""
        return Sloped(f(self.values), None if self.slopes is None else f(self.slopes))

    @property
    def T(self) -> Sloped:
        assert self.slopes is None, "weights"
        return Sloped(self.values.T)

    def __getitem__(self, at: Any) -> Sloped:
        first = at[0] if isinstance(at, tuple) else at
        assert self.slopes is None or first is Ellipsis or first == slice(None), "of all rows"
        return self.map(lambda x: x[at])

    def reshape(self, *shape: int) -> Sloped:
        if self.slopes is None:
            return Sloped(self.values.reshape(*shape))  # as requested
        assert shape[0] == 1, "of one row"
        return Sloped(self.values.reshape(*shape), self.slopes.reshape(len(self.slopes), *shape[1:]))  # (1 or D, ..)

    def sum(self, axis: int, keepdims: bool = False) -> Sloped:
        assert axis != 0, "no row"
        return self.map(lambda x: x.sum(axis, keepdims=keepdims))

    def product(self, other: Any) -> Sloped:
        """The matrix product with weights."""
        other = Sloped.from_value(other)
        assert other.slopes is None, "weights"
        return self.map(lambda x: x.product(other.values))

    def through(self, f: Callable[[Any], Any], slope: Callable[[Any], Any]) -> Sloped:
        """A function of each number, whose slopes are known."""
        values = f(self.values)
        return Sloped(values, None if self.slopes is None else times(self.slopes, slope(self.values)))

    def combined(self, values: Doubles, *parts: tuple[Sloped, Any]) -> Sloped:
        """These values, whose slopes are the sum of those of the parts, each times a factor."""
        slopes = [
            times(x.slopes, factor) if isinstance(factor, Doubles) else x.slopes * factor
            for x, factor in parts
            if x.slopes is not None
        ]
        if not slopes:
            return Sloped(values)
        total: Any = sum(slopes[1:], slopes[0])
        return Sloped(values, total.map(lambda x: np.broadcast_to(x, (len(x), *values.shape[1:]))))

    def __neg__(self) -> Sloped:
        return self.map(Doubles.__neg__)

    def __add__(self, other: Any) -> Sloped:
        other = Sloped.from_value(other)
        return self.combined(self.values + other.values, (self, 1), (other, 1))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Sloped:
        return self + -Sloped.from_value(other)

    def __rsub__(self, other: Any) -> Sloped:
        return -self + other

    def __mul__(self, other: Any) -> Sloped:
        other = Sloped.from_value(other)
        return self.combined(self.values * other.values, (self, other.values), (other, self.values))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Sloped:
        """d(x / z) = dx / z - (x / z) dz / z."""
        other = Sloped.from_value(other)
        quotient, share = self.values / other.values, 1 / other.values
        return self.combined(quotient, (self, share), (other, -(quotient * share)))

    def __rtruediv__(self, other: Any) -> Sloped:
        return Sloped.from_value(other) / self

    def __abs__(self) -> Sloped:
        return self.through(abs, lambda x: 2 * step(x) - 1)

    def within(self, low: float, high: float) -> Sloped:
        """The same numbers, of which it is known that they lie between two others."""
        return Sloped(within(self.values, low, high), self.slopes)


def step(x: Doubles) -> Doubles:
    """The slopes of max(x, 0): 1 above 0, 0 below, and all between where the sign is not certain.

    >>> step(Doubles(np.array([-2.0, 1.0, 5.0]), np.ones(3))).middle.tolist()
    [0.0, 0.5, 1.0]
    """
    up, down = (x > 0).astype(float), (x < 0).astype(float)
    return Doubles((1 + up - down) / 2, (1 - up - down) / 2)


def joined(parts: Sequence[Any], axis: int) -> Sloped:
    """One behind the other; those without slopes have zeros."""
    sloped = [Sloped.from_value(part) for part in parts]
    sizes = [len(part.slopes) for part in sloped if part.slopes is not None]
    values = concatenated([part.values for part in sloped], axis)
    if not sizes:
        return Sloped(values)
    nothing = [np.zeros((sizes[0], *part.shape[1:])) for part in sloped]
    slopes = [known(zero) if part.slopes is None else part.slopes for part, zero in zip(sloped, nothing, strict=True)]
    return Sloped(values, concatenated(slopes, axis))
