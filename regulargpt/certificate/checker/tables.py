"""The parts of the table: windows and the prototypes of their images, listed in the certificate or found on the way."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from regulargpt.certificate.checker.files import Rejected

Ints = npt.NDArray[np.int64]
# Rows that are digested at once.
ROWS = 1 << 16


class WindowTable:
    """Windows (n, C) and images (n,), from 1, sorted by the windows. `base` is larger than any number in a window.

    >>> table = WindowTable(3, np.array([[2, 1], [1, 0]]), np.array([5, 4]))
    >>> table(np.array([[1, 0], [1, 1], [2, 1]])).tolist(), table.windows().tolist()
    ([4, 0, 5], [[1, 0], [2, 1]])
    """

    def __init__(self, base: int, windows: Ints, images: Ints):
        self.base, self.C = base, windows.shape[1]
        keys = self.numbers(windows)
        order = np.argsort(keys, kind="stable")
        self.keys, self.images = keys[order], images[order]

    def __len__(self) -> int:
        return len(self.images)

    def __call__(self, windows: Ints) -> Ints:
        """The images (n,) of windows (n, C), 0 where there is none."""
        keys = self.numbers(windows)
        at = np.searchsorted(self.keys, keys)
        return np.where(np.append(self.keys, -1)[at] == keys, np.append(self.images, 0)[at], 0)

    def check(self) -> None:
        """Nothing: what is listed is looked up, and more of it proves no less."""

    @property
    def powers(self) -> npt.NDArray[Any]:
        """What a place of a window counts (C,). Python's integers serve where 64 bits are too few."""
        kind = np.int64 if self.base**self.C < 2**62 else object
        return np.array([self.base**place for place in reversed(range(self.C))], dtype=kind)

    def numbers(self, windows: Ints) -> npt.NDArray[Any]:
        """A number (n,) for each window, in whose order the windows are sorted."""
        return windows @ self.powers

    def windows(self, rows: slice = slice(None)) -> Ints:
        """The windows (n, C), in ascending order."""
        return (self.keys[rows, None] // self.powers % self.base).astype(np.int64)

    def digest(self) -> str:
        """SHA-256 of the table: for each window in ascending order its C numbers and its image, as 32 bits each."""
        sha = hashlib.sha256()
        for at in range(0, len(self), ROWS):
            rows = slice(at, at + ROWS)
            numbers = np.column_stack([self.windows(rows), self.images[rows]])  # (rows, C + 1)
            sha.update(numbers.astype("<u4").tobytes())
        return sha.hexdigest()


class FoundTable(WindowTable):
    """A table that has the image of a window, proven, as soon as somebody asks for it: `image` gives (n,) of (n, C).

    Raises Rejected for more windows than are stated, and in the end for fewer, or others.
    """

    def __init__(self, part: str, base: int, C: int, image: Callable[[Ints], Ints], entries: int, sha256: str):
        super().__init__(base, np.zeros((0, C), dtype=np.int64), np.zeros(0, dtype=np.int64))
        self.part, self.image, self.entries, self.sha256 = part, image, entries, sha256

    def __call__(self, windows: Ints) -> Ints:
        keys = self.numbers(windows)
        known = super().__call__(windows)
        if known.all():
            return known
        new, first = np.unique(keys[known == 0], return_index=True)
        if len(self) + len(new) > self.entries:
            raise Rejected(f"{self.part}: more than {self.entries:,} windows occur, as many as the certificate says")
        images = self.image(windows[known == 0][first])
        between = np.searchsorted(self.keys, new)
        self.keys, self.images = np.insert(self.keys, between, new), np.insert(self.images, between, images)
        return super().__call__(windows)

    def check(self) -> None:
        """Raise Rejected unless what was found is what the certificate says."""
        if len(self) != self.entries:
            raise Rejected(f"{self.part}: {len(self):,} windows occur, not {self.entries:,} as the certificate says")
        if (actual := self.digest()) != self.sha256:
            what = f"{self.part}: the windows that occur have other images than the certificate says"
            raise Rejected(f"{what}: SHA-256 {actual[:12]}, certified {self.sha256[:12]}")
