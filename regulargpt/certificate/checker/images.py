"""The prototypes nearest to the states over windows: first in float64, then, where that does not decide, in balls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import arb

from regulargpt.certificate.checker.balls import Balls, less, norm, product, sqrt
from regulargpt.certificate.checker.doubles import Doubles, is_ieee, up
from regulargpt.certificate.checker.files import Rejected
from regulargpt.certificate.checker.network import COST, Ints, Network

# Windows that go through the block at once, in balls of FLINT and of float64; fewer where they take too many numbers.
ROWS, QUICK_ROWS = 64, 256
NUMBERS, QUICK_NUMBERS = 1 << 18, 1 << 22
MAX_EXACT = 1 << 18  # windows that float64 does not decide: half an hour at width 64
# Multiplications for all windows of a part, and for those that float64 does not decide: less than two hours of either.
MAX_WORK, MAX_EXACT_WORK = 1 << 44, 1 << 38
SHARE = 2.0**-30  # more than the rounding of a few sums, products and roots of float64, relative to each
Progress = Callable[[str, int, int], None]  # part, windows done, windows in all


class Images:
    """The images of windows (n, C) of `rows`, row 0 first. `margin` is at most how much farther than its own prototype
    any state was from any other."""

    def __init__(self, part: str, network: Network, quick: Any, rows: Balls, prototypes: Balls, progress: Progress):
        self.part, self.network, self.prototypes, self.progress = part, network, prototypes, progress
        self.apart = (prototypes * prototypes).sum(1)  # |p|^2
        self.projected = network.project(rows)
        self.quick = quick  # the network in float64, whose arrays are Doubles
        with np.errstate(all="ignore"):
            self.quick_projected = self.quick.project(Doubles.of(rows))
        self.quick_prototypes, self.quick_apart = Doubles.of(prototypes), Doubles.of(self.apart)
        self.margin = np.inf
        self.done = self.in_all = self.exact = 0
        work = network.work() + prototypes.size + COST * len(prototypes)
        self.most, self.most_exact = MAX_WORK // work, min(MAX_EXACT, MAX_EXACT_WORK // work)
        numbers = max(network.widest, len(prototypes))  # of a window, at a time
        self.rows = max(1, min(ROWS, NUMBERS // numbers))
        self.quick_rows = max(1, min(QUICK_ROWS, QUICK_NUMBERS // numbers))

    def of(self, windows: Ints, stated: Ints | None = None) -> Ints:
        """The images (n,), from 1. Raises Rejected where they are not those `stated`, if any are, or where none is."""
        images = np.zeros(len(windows), dtype=np.int64) if stated is None else stated - 1
        for at in range(0, len(windows), self.quick_rows):
            self.progress(self.part, self.done, max(self.in_all, len(windows)))
            rows = np.arange(at, min(at + self.quick_rows, len(windows)))
            found, decided = self.quickly(windows[rows], None if stated is None else images[rows])
            images[rows] = found
            left = rows[~decided]
            self.exact += len(left)
            if self.exact > self.most_exact:
                many = f"more than {self.most_exact:,} windows that float64 does not decide: too many"
                raise Rejected(f"{self.part}: {many} in a network of this size")
            for start in range(0, len(left), self.rows):
                some = left[start : start + self.rows]
                images[some] = self.exactly(windows[some], None if stated is None else images[some])
            self.done += len(rows)
        return images + 1

    @np.errstate(all="ignore")
    def quickly(self, windows: Ints, stated: Ints | None) -> tuple[Ints, npt.NDArray[np.bool_]]:
        """The images (n,), from 0, and where they are proven. What overflows is no number, and less than nothing.

        |z - p|^2 < |z - p'|^2 where |p|^2 - 2 z p < |p'|^2 - 2 z p'.
        """
        states, rows = self.quick.merge(self.quick_projected, windows), np.arange(len(windows))
        rivals = self.quick_apart - 2 * states.product(self.quick_prototypes.T)  # (n, K)
        images = np.nan_to_num(rivals.middle, nan=np.inf).argmin(1) if stated is None else stated
        own = rivals[rows, images]
        lowest = rivals.middle - rivals.radius - SHARE * abs(rivals.middle)  # (n, K)
        lowest[rows, images] = np.inf  # its own prototype is no rival
        highest = own.middle + own.radius + SHARE * abs(own.middle)  # (n,)
        decided = (highest[:, None] < lowest).all(1) & is_ieee()
        difference = states - self.quick_prototypes[images]
        far = np.sqrt(up(((abs(difference.middle) + difference.radius) ** 2).sum(1))) * (1 + SHARE)
        squares = (states * states).sum(1)
        lowest = lowest.min(1) + squares.middle - squares.radius - SHARE * (abs(lowest.min(1)) + squares.middle)
        margins = np.sqrt(np.maximum(lowest, 0)) * (1 - SHARE) - up(far)
        margins[np.isnan(margins)] = -np.inf
        self.margin = min(self.margin, float(margins[decided].min(initial=np.inf)))
        return images, decided

    def exactly(self, windows: Ints, stated: Ints | None) -> Ints:
        """The images (n,), from 0, each proven. Raises Undecided where the balls are too wide."""
        states, rows = self.network.merge(self.projected, windows), np.arange(len(windows))
        rivals = self.apart - 2 * product(states, self.prototypes.T)  # (n, K)
        # If another number than that of the least midpoint were certainly less, so would be its midpoint.
        images = least_midpoints(rivals) if stated is None else stated
        own = rivals[rows, images]
        rivals[rows, images] = arb("inf")  # its own prototype is no rival
        farther = less(own[:, None], rivals)  # (n, K), of (n, 1) and (n, K)
        if not farther.all():
            i, k = (int(axis[0]) for axis in np.nonzero(~farther))
            says = "" if stated is None else ", as the certificate says"
            raise Rejected(
                f"{self.part}, window {windows[i].tolist()}: the state is not nearest to prototype {images[i] + 1}"
                f"{says}: prototype {k + 1} is at least as near"
            )
        # The least of all lower ends may be of another than the nearest, and is then less.
        lowest = np.array([min(x.lower() for x in row) for row in rivals])  # (n,)
        margins = sqrt(lowest + (states * states).sum(1)) - norm(states - self.prototypes[images])
        self.margin = min(self.margin, *(float(x.lower()) for x in margins))
        return images

    def residuals(self, windows: Ints, images: Ints) -> Balls:
        """How far (n,) the states are from the prototypes of `images`, from 1."""
        slices = (slice(at, at + self.rows) for at in range(0, len(windows), self.rows))
        far = [norm(self.network.merge(self.projected, windows[s]) - self.prototypes[images[s] - 1]) for s in slices]
        return np.concatenate([*far, np.zeros(0, dtype=object)])  # of none, too


def least_midpoints(balls: Balls) -> Ints:
    """Where in each row (n, K) the ball of the least midpoint is (n,)."""
    return np.array([min(range(len(row)), key=lambda k: row[k].mid()) for row in balls], dtype=np.int64)
