"""The network at steps of its training, in a page: weights in half precision, as many as a page may hold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from regulargpt.classroom.live.network import MOST_MEGABYTES, Weights
from regulargpt.classroom.live.numbers import encoded
from regulargpt.storage.folder import RunFolder, snapshot_name
from regulargpt.storage.tensors import parse_arrays

LARGEST = float(np.finfo(np.float16).max)


@dataclass(frozen=True)
class KeptSnapshots:
    """The weights at some of the `saved` steps that a run kept: all their numbers in turn, in float16."""

    steps: tuple[int, ...] = ()
    numbers: tuple[npt.NDArray[np.float16], ...] = ()
    saved: int = 0

    @property
    def megabytes(self) -> float:
        """What they take in the page, in base64.

        >>> KeptSnapshots((1,), (np.zeros(3000, np.float16),), 1).megabytes
        0.008
        """
        return sum(encoded_size(numbers.nbytes) for numbers in self.numbers) / 1e6

    def data(self) -> dict[str, Any] | None:
        """JSON values for the script; None where there are none."""
        if not self.steps:
            return None
        return {
            "steps": list(self.steps),
            "numbers": [encoded(numbers, kind="<f2") for numbers in self.numbers],
        }

    def sentence(self) -> str:
        """How many there are, and what they take.

        >>> KeptSnapshots((0, 9), (np.zeros(3000, np.float16),) * 2, 5).sentence()
        'The page holds 2 of the 5 steps that were kept, in half precision: 0.02 MB.'
        >>> KeptSnapshots((), (), 5).sentence()
        'The weights of 5 steps were kept. The page holds none of them: two would be more than 4 MB.'
        """
        if not self.steps:
            return (
                f"The weights of {self.saved} steps were kept. The page holds none of them: two would be more than "
                f"{MOST_MEGABYTES:g} MB."
            )
        some = f"{len(self.steps)} of the {self.saved} steps" if len(self.steps) < self.saved else "all steps"
        return f"The page holds {some} that were kept, in half precision: {self.megabytes:.2f} MB."


def encoded_size(size: int) -> int:
    """The bytes of base64.

    >>> encoded_size(4) == len(encoded(np.zeros(1)))
    True
    """
    return 4 * -(-size // 3)


def gather_snapshots(folder: RunFolder, weights: Weights) -> KeptSnapshots:
    """The steps that a finished run kept, thinned out evenly until they take at most `MOST_MEGABYTES`.

    `weights` are the trained network's: a step's are read in their order. A step whose weights float16 cannot hold is
    left out.
    """
    saved = folder.snapshot_steps()
    each = encoded_size(2 * sum(tensor.size for tensor in weights.values()))
    steps = thinned(saved, int(MOST_MEGABYTES * 1e6 // max(1, each)))
    halves = {step: half(folder.load_snapshot(step), folder.path / snapshot_name(step), weights) for step in steps}
    known = {step: numbers for step, numbers in halves.items() if numbers is not None}
    return KeptSnapshots(tuple(known), tuple(known.values()), len(saved))


def thinned(steps: list[int], most: int) -> list[int]:
    """At most so many of the steps, evenly among them, with the first and the last; none where a step alone would stay.

    >>> thinned([0, 1, 2, 4, 8, 16, 32], 4), thinned([0, 1, 2], 5), thinned([0, 1, 2], 1)
    ([0, 2, 8, 32], [0, 1, 2], [])
    """
    if len(steps) <= most:
        return steps
    if most < 2:
        return []
    return [steps[i * (len(steps) - 1) // (most - 1)] for i in range(most)]


def half(data: bytes, path: Path, weights: Weights) -> npt.NDArray[np.float16] | None:
    """The numbers of a snapshot in the order of `weights`; None if float16 cannot hold them."""
    tensors = parse_arrays(data, path)
    numbers = np.concatenate([tensors[name].ravel() for name in weights])
    return numbers.astype(np.float16) if (np.abs(numbers) <= LARGEST).all() else None
