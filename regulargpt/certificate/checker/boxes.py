"""Vectors inside a network while the state under them is anywhere in a box, all in float64 with proven radii.

The state h lies in p +- r, number by number. A vector x(h) is known in three ways:

    centre    x(p), to rounding
    slopes    a matrix of intervals: for each h in the box, some S in it has x(h) = x(p) + S (h - p)
    values    intervals, one a number, that x(h) does not leave

The slopes of h itself are the identity. A linear map W takes S to W S. A function f of one number has f(x(h)) - f(x(p))
= s (x(h) - x(p)) with s among the slopes of f between two numbers of `values`: those of f' for sigmoid and tanh (mean
value theorem), 0 to 1 for ReLU. Of a product, x y (h) - x y (p) = (x(h) + x(p)) / 2 (y(h) - y(p)) + (y(h) + y(p)) / 2
(x(h) - x(p)). So values are known twice: by what the operation makes of intervals, which is exact where it depends on
each number once, and by centre +- |slopes| r, which does not forget that the parts of an operation move together
(Neumaier 1990, Interval Methods for Systems of Equations, chapter 2). What is kept is what both leave.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from regulargpt.certificate.checker.doubles import Doubles, Floats, U, up
from regulargpt.certificate.checker.network import sigmoid, tanh

Ends = tuple[Floats, Floats]


class Box:
    """A vector (m,) over a box of states (D,), whose radii are `radii`; `at` is the place of its first number if it is
    a part of the state itself."""

    def __init__(self, centre: Doubles, slopes: Doubles, values: Doubles, radii: Floats, at: int | None = None):
        reach = up((abs(slopes.middle) + slopes.radius) @ radii)  # (m,)
        self.centre, self.slopes, self.radii, self.at = centre, slopes, radii, at
        self.values = common(values, Doubles(centre.middle, up(centre.radius + reach)))

    @classmethod
    def of(cls, point: Floats, radii: Floats) -> Self:
        """The state in its box."""
        return cls(known(point), known(np.eye(len(point))), Doubles(point, radii), radii, at=0)

    def new(self, centre: Doubles, slopes: Doubles, values: Doubles) -> Box:
        """Another vector over the same box."""
        return Box(centre, slopes, values, self.radii)

    def part(self, start: int, end: int) -> Box:
        """Some of its numbers."""
        at = None if self.at is None else self.at + start
        centre, slopes, values = (x[start:end] for x in (self.centre, self.slopes, self.values))
        return Box(centre, slopes, values, self.radii, at)

    def linear(self, weight: Doubles, bias: Doubles) -> Box:
        """W x + b for W (m', m), of radius 0."""
        if self.at is None:
            slopes = weight.product(self.slopes)
        else:  # the identity, beside zeros
            slopes = known(np.zeros((len(weight), len(self.radii))))
            slopes.middle[:, self.at : self.at + weight.shape[1]] = weight.middle
        centre, values = (column(weight.product(x.reshape(-1, 1))) + bias for x in (self.centre, self.values))  # (m',)
        return self.new(centre, slopes, values)

    def __add__(self, other: Any) -> Box:
        if isinstance(other, Box):
            return self.new(self.centre + other.centre, self.slopes + other.slopes, self.values + other.values)
        return self.new(self.centre + other, self.slopes, self.values + other)

    __radd__ = __add__

    def __sub__(self, other: Box) -> Box:
        return self.new(self.centre - other.centre, self.slopes - other.slopes, self.values - other.values)

    def __mul__(self, other: Box) -> Box:
        mine, its = ((x.values + x.centre) * 0.5 for x in (self, other))
        slopes = scaled(mine, other.slopes) + scaled(its, self.slopes)
        return self.new(self.centre * other.centre, slopes, times(self.values, other.values))

    def mixed(self, other: Box, share: Box) -> Box:
        """x + z (y - x) for a share z from 0 to 1, which rises with x and y, and with z from x to y."""
        z, apart = (share.values + share.centre) * 0.5, (other.values + other.centre - self.values - self.centre) * 0.5
        slopes = scaled(1 - z, self.slopes) + scaled(z, other.slopes) + scaled(apart, share.slopes)
        centre = self.centre + share.centre * (other.centre - self.centre)
        lower, upper = (
            [ends(known(x) + known(part) * (known(y) - known(x))) for part in ends(share.values)]
            for x, y in zip(ends(self.values), ends(other.values), strict=True)
        )
        low, high = np.minimum(*(found[0] for found in lower)), np.maximum(*(found[1] for found in upper))
        return self.new(centre, slopes, between(low, high))

    def sigmoid(self) -> Box:
        """1 / (1 + exp(-x)), which rises; its slope is a quarter of 1 - t^2 for t = 2 sigmoid(x) - 1."""
        values = rising(sigmoid, self.values)
        return self.new(sigmoid(self.centre), scaled(flatness(2 * values - 1) * 0.25, self.slopes), values)

    def tanh(self) -> Box:
        """It rises; its slope is 1 - t^2 for t = tanh x."""
        values = rising(tanh, self.values)
        return self.new(tanh(self.centre), scaled(flatness(values), self.slopes), values)

    def positive(self) -> Box:
        """max(x, 0), whose slopes are 0 below 0 and 1 above."""
        low, high = ends(self.values)
        values = between(np.maximum(low, 0), np.maximum(high, 0))
        slope = between(np.where(low > 0, 1.0, 0.0), np.where(high < 0, 0.0, 1.0))
        return self.new(self.centre.positive(), scaled(slope, self.slopes), values)


def known(values: Floats) -> Doubles:
    """Doubles as balls of radius 0."""
    return Doubles(values, np.zeros_like(values))


def column(x: Doubles) -> Doubles:
    """The only column (m,) of (m, 1)."""
    return x.map(lambda values: values[:, 0])


def scaled(factor: Doubles, rows: Doubles) -> Doubles:
    """Each row of (m, D) times its own number of (m,)."""
    return factor.map(lambda x: x[:, None]) * rows


def ends(x: Doubles) -> Ends:
    """At most the least, and at least the largest number of each ball; no number where a ball is not finite."""
    reach = up(x.radius + U * abs(x.middle))
    return x.middle - reach, x.middle + reach


def between(low: Floats, high: Floats) -> Doubles:
    """Balls that hold all from `low` to `high`, which are no numbers where nothing is known."""
    return Doubles(low / 2 + high / 2, up((high - low) / 2 + U * (abs(low) + abs(high))))


def common(one: Doubles, other: Doubles) -> Doubles:
    """What lies in both of two balls that have a number in common. What is not known tells nothing."""
    (a, b), (c, d) = ends(one), ends(other)
    both = between(np.fmax(a, c), np.fmin(b, d))
    # Ends are rounded outwards: a ball that is the smaller one anyway stays what it is.
    best = np.fmin(both.radius, np.fmin(one.radius, other.radius))
    return one.where(one.radius <= best, other.where(other.radius <= best, both))


def times(one: Doubles, other: Doubles) -> Doubles:
    """Products of two balls each: the least and the largest are among those of their ends."""
    (a, b), (c, d) = ends(one), ends(other)
    products = [ends(known(x) * known(y)) for x in (a, b) for y in (c, d)]
    low, high = np.minimum.reduce([x for x, _ in products]), np.maximum.reduce([x for _, x in products])
    return between(low, high)


def rising(f: Callable[[Any], Any], x: Doubles) -> Doubles:
    """What a function that nowhere falls makes of balls."""
    low, high = ends(x)
    return between(ends(f(known(low)))[0], ends(f(known(high)))[1])


def flatness(t: Doubles) -> Doubles:
    """1 - t^2 for numbers in balls: largest where |t| is least."""
    low, high = ends(t)
    near = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(abs(low), abs(high)))
    far = np.maximum(abs(low), abs(high))
    least, most = (1 - known(x) * known(x) for x in (far, near))
    return between(ends(least)[0], ends(most)[1])
