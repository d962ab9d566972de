"""The prototypes nearest to the states over windows: first in float64, then, where that does not decide, in balls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from regulargpt.certificate.checker.balls import Balls, norm
from regulargpt.certificate.checker.doubles import Doubles
from regulargpt.certificate.checker.files import Rejected
from regulargpt.certificate.checker.nearest import Nearest, NotNearest
from regulargpt.certificate.checker.network import COST, Ints, Network

# Windows that go through the block at once, in balls of FLINT and of float64; fewer where they take too many numbers.
ROWS, QUICK_ROWS = 64, 256
NUMBERS, QUICK_NUMBERS = 1 << 18, 1 << 22
MAX_EXACT = 1 << 18  # windows that float64 does not decide: half an hour at width 64
# Multiplications for all windows of a part, and for those that float64 does not decide: less than two hours of either.
MAX_WORK, MAX_EXACT_WORK = 1 << 44, 1 << 38
Progress = Callable[[str, int, int], None]  # part, windows done, windows in all


class Images:
    """The images of windows (n, C) of `rows`, row 0 first. `margin` is at most how much farther than its own prototype
    any state was from any other."""

    def __init__(self, part: str, network: Network, quick: Any, rows: Balls, prototypes: Balls, progress: Progress):
        self.part, self.network, self.prototypes, self.progress = part, network, prototypes, progress
        self.nearest = Nearest(prototypes)
        self.projected = network.project(rows)
        self.quick = quick  # the network in float64, whose arrays are Doubles
        with np.errstate(all="ignore"):
            self.quick_projected = self.quick.project(Doubles.from_value(rows))
        self.margin = np.inf
        self.done = self.in_all = self.exact = 0
        work = network.work() + prototypes.size + COST * len(prototypes)
        self.most, self.most_exact = MAX_WORK // work, min(MAX_EXACT, MAX_EXACT_WORK // work)
        numbers = max(network.widest, len(prototypes))  # of a window, at a time
        self.rows = max(1, min(ROWS, NUMBERS // numbers))
        self.quick_rows = max(1, min(QUICK_ROWS, QUICK_NUMBERS // numbers))

    def proven(self, windows: Ints, stated: Ints | None = None) -> Ints:
        """The images (n,), from 1. Raises Rejected where they are not those `stated`, if any are, or where none is."""
        images = np.zeros(len(windows), dtype=np.int64) if stated is None else stated - 1
        for at in range(0, len(windows), self.quick_rows):
            self.progress(self.part, self.done, max(self.in_all, len(windows)))
            rows = np.arange(at, min(at + self.quick_rows, len(windows)))
            nearest, decided = self.quickly(windows[rows], None if stated is None else images[rows])
            images[rows] = nearest
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
        """The images (n,), from 0, and where they are proven. What overflows is no number, and less than nothing."""
        states = self.quick.merge(self.quick_projected, windows)
        images, decided, margins = self.nearest.quickly(states, stated)
        self.margin = min(self.margin, float(margins[decided].min(initial=np.inf)))
        return images, decided

    def exactly(self, windows: Ints, stated: Ints | None) -> Ints:
        """The images (n,), from 0, each proven. Raises Undecided where the balls are too wide."""
        try:
            images, margins = self.nearest.exactly(self.network.merge(self.projected, windows), stated)
        except NotNearest as error:
            says = "" if stated is None else ", as the certificate says"
            raise Rejected(
                f"{self.part}, window {windows[error.row].tolist()}: the state is not nearest to prototype "
                f"{error.own + 1}{says}: prototype {error.other + 1} is at least as near"
            ) from None
        self.margin = min(self.margin, float(margins.min(initial=np.inf)))
        return images

    def residuals(self, windows: Ints, images: Ints) -> Balls:
        """How far (n,) the states are from the prototypes of `images`, from 1."""
        slices = (slice(at, at + self.rows) for at in range(0, len(windows), self.rows))
        far = [norm(self.network.merge(self.projected, windows[s]) - self.prototypes[images[s] - 1]) for s in slices]
        return np.concatenate([*far, np.zeros(0, dtype=object)])  # of none, too
