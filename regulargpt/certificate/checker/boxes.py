"""Vectors inside a network while the numbers that it depends on are anywhere in a box, in float64 with proven radii.

These numbers, y, lie in p +- r, one by one: a state, or what one layer carries and what comes to it from below. A
vector x(y) is known in three ways:

    centre    x(p), to rounding
    slopes    matrices M_k, which are known, each with an interval for each of its rows: for each y in the box there are
              numbers a_k in these intervals with x(y) = x(p) + sum_k diag(a_k) M_k (y - p)
    values    intervals, one a number, that x(y) does not leave

Of y itself the slope is the identity. A linear map W makes W sum_k diag(a_k) M_k one matrix; of y that is W. A function
f of one number has f(x(y)) - f(x(p)) = s (x(y) - x(p)) with s among the slopes of f between two numbers of `values`:
those of f' for sigmoid and tanh (mean value theorem), 0 to 1 for ReLU. Of a product, x z (y) - x z (p) =

    (x(y) + x(p)) / 2 (z(y) - z(p)) + (z(y) + z(p)) / 2 (x(y) - x(p)).

So values are known twice: by what the operation makes of intervals, which is exact where it depends on each number
once; and by centre +- |slopes| r, which does not forget that the parts of an operation move together (Neumaier 1990,
Interval Methods for Systems of Equations, chapter 2). What is kept is what both leave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np

from regulargpt.certificate.checker.balls import softplus
from regulargpt.certificate.checker.doubles import (
    TINY,
    Doubles,
    Floats,
    U,
    between,
    concatenated,
    ends,
    flatness,
    known,
    rising,
    times,
    up,
)
from regulargpt.certificate.checker.network import sigmoid, tanh


@dataclass(frozen=True, eq=False)
class Map:
    """A matrix (m, w) of the numbers y from `start` on. `size` is at least |M| r, and `spread` what its radii add.

    Two maps are never equal.
    """

    matrix: Doubles
    start: int
    size: Floats  # (m,)
    spread: Floats  # (m,)

    @classmethod
    def from_matrix(cls, matrix: Doubles, start: int, radii: Floats) -> Self:
        """A matrix beside zeros, for all radii (n,)."""
        r = radii[start : start + matrix.shape[1]]
        spread = up(matrix.radius @ r)
        return cls(matrix, start, up(abs(matrix.middle) @ r + spread), spread)

    def part(self, start: int, end: int) -> Map:
        return Map(self.matrix[start:end], self.start, self.size[start:end], self.spread[start:end])

    def add(self, whole: Floats, rows: Floats) -> None:
        """Add rows of another matrix (m, w), of the same shape, to what they are of (m, n)."""
        whole[:, self.start : self.start + rows.shape[1]] += rows


Slopes = Mapping[Map, Doubles]  # intervals (m,) for the rows of each


class Box:
    """A vector (m,) over a box whose radii are `radii` (n,); `at` is the place of its first number if it is a part of
    what the box is of."""

    def __init__(self, centre: Doubles, slopes: Slopes, values: Doubles, radii: Floats, at: int | None = None):
        self.centre, self.slopes, self.values, self.radii, self.at = centre, slopes, values, radii, at

    def new(self, centre: Doubles, slopes: Slopes, values: Doubles) -> Box:
        """Another vector over the same box, whose values are also what its slopes say."""
        box = Box(centre, slopes, values, self.radii)
        box.values = common(values, Doubles(centre.middle, up(centre.radius + box.reach())))
        return box

    def reach(self) -> Floats:
        """At least |slopes| r (m,)."""
        whole, rest = np.zeros((len(self.centre), len(self.radii))), np.zeros(len(self.centre))
        for M, a in self.slopes.items():
            M.add(whole, a.middle[:, None] * M.matrix.middle)
            rest += abs(a.middle) * (M.spread + self.rounding() * M.size) + a.radius * M.size
        return up((abs(whole) + TINY) @ self.radii + rest)

    def rounding(self) -> float:
        """The share by which a sum of as many products as there are maps may err."""
        return U * (len(self.slopes) + 1)

    def matrix(self) -> Doubles:
        """The slopes as one matrix (m, n) of intervals."""
        whole, far = np.zeros((2, len(self.centre), len(self.radii)))
        for M, a in self.slopes.items():
            size = abs(M.matrix.middle) + M.matrix.radius
            M.add(whole, a.middle[:, None] * M.matrix.middle)
            M.add(far, abs(a.middle)[:, None] * (M.matrix.radius + self.rounding() * size) + a.radius[:, None] * size)
        return Doubles(whole, up(far))

    def part(self, start: int, end: int) -> Box:
        slopes = {M.part(start, end): a[start:end] for M, a in self.slopes.items()}
        return Box(self.centre[start:end], slopes, self.values[start:end], self.radii)

    def linear(self, weight: Doubles, bias: Doubles) -> Box:
        """W x + b for W (m', m), of radius 0."""
        matrix = weight.product(self.matrix()) if self.at is None else weight
        slopes = {Map.from_matrix(matrix, self.at or 0, self.radii): known(np.ones(len(weight)))}
        centre, values = (column(weight.product(x.reshape(-1, 1))) + bias for x in (self.centre, self.values))  # (m',)
        return Box(centre, slopes, values, self.radii) if self.at is not None else self.new(centre, slopes, values)

    def __add__(self, other: Any) -> Box:
        if isinstance(other, Box):
            slopes = together((1.0, self), (1.0, other))
            return self.new(self.centre + other.centre, slopes, self.values + other.values)
        return Box(self.centre + other, self.slopes, self.values + other, self.radii)

    __radd__ = __add__

    def __sub__(self, other: Box) -> Box:
        slopes = together((1.0, self), (-1.0, other))
        return self.new(self.centre - other.centre, slopes, self.values - other.values)

    def __mul__(self, other: Box) -> Box:
        mine, its = ((x.values + x.centre) * 0.5 for x in (self, other))
        slopes = together((its, self), (mine, other))
        return self.new(self.centre * other.centre, slopes, times(self.values, other.values))

    def mixed(self, other: Box, share: Box) -> Box:
        """x + z (y - x) for a share z from 0 to 1, which rises with x and y, and with z from x to y."""
        z, apart = (share.values + share.centre) * 0.5, (other.values + other.centre - self.values - self.centre) * 0.5
        slopes = together((1 - z, self), (z, other), (apart, share))
        centre = self.centre + share.centre * (other.centre - self.centre)
        lower, upper = (
            [ends(known(x) + known(part) * (known(y) - known(x))) for part in ends(share.values)]
            for x, y in zip(ends(self.values), ends(other.values), strict=True)
        )
        low, high = np.minimum(*(bound[0] for bound in lower)), np.maximum(*(bound[1] for bound in upper))
        return self.new(centre, slopes, between(low, high))

    def sigmoid(self) -> Box:
        """1 / (1 + exp(-x)), which rises; its slope is a quarter of 1 - t^2 for t = 2 sigmoid(x) - 1."""
        values = rising(sigmoid, self.values)
        return self.new(sigmoid(self.centre), together((flatness(2 * values - 1) * 0.25, self)), values)

    def log_sigmoid(self) -> Box:
        """log(1 / (1 + exp(-x))), which rises; its slope is 1 / (1 + exp(x)), which falls."""
        values = rising(lambda x: -softplus(-x), self.values)
        return self.new(-softplus(-self.centre), together((rising(sigmoid, -self.values), self)), values)

    def tanh(self) -> Box:
        """It rises; its slope is 1 - t^2 for t = tanh x."""
        values = rising(tanh, self.values)
        return self.new(tanh(self.centre), together((flatness(values), self)), values)

    def positive(self) -> Box:
        """max(x, 0), whose slopes are 0 below 0 and 1 above."""
        low, high = ends(self.values)
        values = between(np.maximum(low, 0), np.maximum(high, 0))
        slope = between(np.where(low > 0, 1.0, 0.0), np.where(high < 0, 0.0, 1.0))
        return self.new(self.centre.positive(), together((slope, self)), values)


class State:
    """What a box is of: numbers in point +- radii (n,)."""

    def __init__(self, point: Floats, radii: Floats):
        self.point, self.radii = point, radii

    def part(self, start: int, end: int) -> Box:
        point, radii = self.point[start:end], self.radii[start:end]
        identity = Map.from_matrix(known(np.eye(end - start)), start, self.radii)
        return Box(known(point), {identity: known(np.ones(len(point)))}, Doubles(point, radii), self.radii, start)


def apart(vectors: Sequence[Box]) -> list[Box]:
    """The same vectors over another box: every number may be anywhere in its values, whatever the others are."""
    values = concatenated([x.values for x in vectors])
    state = State(values.middle, values.radius)
    return [state.part(start, end) for start, end in pairwise(np.cumsum([0, *(len(x.centre) for x in vectors)]))]


def together(*scaled: tuple[Doubles | float, Box]) -> Slopes:
    """The slopes of a sum of vectors, the rows of each times an interval, or a number that is 1 or -1."""
    slopes: dict[Map, Doubles] = {}
    for factor, vector in scaled:
        for M, a in vector.slopes.items():
            more = times(factor, a) if isinstance(factor, Doubles) else Doubles(factor * a.middle, a.radius)
            slopes[M] = slopes[M] + more if M in slopes else more
    return slopes


def column(x: Doubles) -> Doubles:
    """The only column (m,) of (m, 1)."""
    return x.map(lambda values: values[:, 0])


def common(ball: Doubles, other: Doubles) -> Doubles:
    """What lies in both of two balls that have a number in common. What is not known tells nothing."""
    (a, b), (c, d) = ends(ball), ends(other)
    both = between(np.fmax(a, c), np.fmin(b, d))
    # Ends are rounded outwards: a ball that is the smaller ball anyway stays what it is.
    best = np.fmin(both.radius, np.fmin(ball.radius, other.radius))
    return ball.where(ball.radius <= best, other.where(other.radius <= best, both))
