"""The point nearest to each of some states: in float64, and where that does not decide, in balls."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from flint import arb

from regulargpt.certificate.checker.balls import Balls, less, norm, product, sqrt
from regulargpt.certificate.checker.doubles import Doubles, is_ieee, up
from regulargpt.certificate.checker.files import Floats
from regulargpt.certificate.checker.network import Ints

SHARE = 2.0**-30  # more than the rounding of a few sums, products and roots of float64, relative to each


class NotNearest(ValueError):
    """A state is as near to another point as to its own, or nearer: `row` of the states, `own` and `other` point."""

    def __init__(self, row: int, own: int, other: int):
        super().__init__()
        self.row, self.own, self.other = row, own, other


class Nearest:
    """Points (K, d), in balls, and what is the nearest of them.

    A margin is at most how much farther than its own point a state is from any other.
    """

    def __init__(self, points: Balls):
        self.points, self.apart = points, (points * points).sum(1)  # |p|^2
        self.quick_points, self.quick_apart = Doubles.from_value(points), Doubles.from_value(self.apart)

    def quickly(self, states: Doubles, stated: Ints | None) -> tuple[Ints, npt.NDArray[np.bool_], Floats]:
        """The nearest points (n,), from 0; where they are proven; and the margins, minus infinity where not known.

        |z - p|^2 < |z - p'|^2 where |p|^2 - 2 z p < |p'|^2 - 2 z p'.
        """
        rows = np.arange(len(states))
        rivals = self.quick_apart - 2 * states.product(self.quick_points.T)  # (n, K)
        nearest = np.nan_to_num(rivals.middle, nan=np.inf).argmin(1) if stated is None else stated
        own = rivals[rows, nearest]
        lowest = rivals.middle - rivals.radius - SHARE * abs(rivals.middle)  # (n, K)
        lowest[rows, nearest] = np.inf  # its own point is no rival
        highest = own.middle + own.radius + SHARE * abs(own.middle)  # (n,)
        decided = (highest[:, None] < lowest).all(1) & is_ieee()
        difference = states - self.quick_points[nearest]
        far = np.sqrt(up(((abs(difference.middle) + difference.radius) ** 2).sum(1))) * (1 + SHARE)
        squares = (states * states).sum(1)
        lowest = lowest.min(1) + squares.middle - squares.radius - SHARE * (abs(lowest.min(1)) + squares.middle)
        margins = np.sqrt(np.maximum(lowest, 0)) * (1 - SHARE) - up(far)
        margins[np.isnan(margins)] = -np.inf if len(self.points) > 1 else np.inf
        return nearest, decided, margins

    def exactly(self, states: Balls, stated: Ints | None) -> tuple[Ints, Floats]:
        """The nearest points (n,), from 0, each proven, and the margins.

        Raises NotNearest, and Undecided where the balls are too wide.
        """
        rows = np.arange(len(states))
        rivals = self.apart - 2 * product(states, self.points.T)  # (n, K)
        # If another number than that of the least midpoint were certainly less, so would be its midpoint.
        nearest = least_midpoints(rivals) if stated is None else stated
        own: Any = rivals[rows, nearest]
        rivals[rows, nearest] = arb("inf")  # its own point is no rival
        farther = less(own[:, None], rivals)  # (n, K), of (n, 1) and (n, K)
        if not farther.all():
            row, other = (int(axis[0]) for axis in np.nonzero(~farther))
            raise NotNearest(row, int(nearest[row]), other)
        # The least of all lower ends may be of another than the nearest, and is then less.
        lowest = np.array([min(x.lower() for x in row) for row in rivals])  # (n,)
        margins = sqrt(lowest + (states * states).sum(1)) - norm(states - self.points[nearest])
        return nearest, np.array([float(x.lower()) for x in margins])


def least_midpoints(balls: Balls) -> Ints:
    """Where in each row (n, K) the ball of the least midpoint is (n,)."""
    return np.array([min(range(len(row)), key=lambda k: row[k].mid()) for row in balls], dtype=np.int64)
