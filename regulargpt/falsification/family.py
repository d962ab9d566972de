"""Families of wrong words u v^n w: from which n on, and for which n modulo a period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Word = tuple[int, ...]

LONGEST_PERIOD, FEWEST = 64, 4
"""Of the n that are wrong, and how many n must be in a row, and be wrong, before anything is said of all."""


MOST_FAMILIES = 12
"""Of a report."""


@dataclass(frozen=True)
class Persistent:
    """Every n that was tried, from `start` to `end`, with n mod `period` in `residues` is wrong; `right` is the largest
    n before them with such a residue that is right, or below 1."""

    right: int
    start: int
    end: int
    period: int
    residues: tuple[int, ...]


@dataclass(frozen=True)
class Family:
    """The words u v^n w of these n."""

    u: Word
    v: Word
    w: Word
    of: Persistent

    def word(self, n: int) -> Word:
        """u v^n w."""
        return self.u + self.v * n + self.w

    @property
    def order(self) -> tuple[int, int, int, Word, Word, Word]:
        """What sorts families: the simplest first, then those that are wrong first."""
        parts = len(self.u) + len(self.v) + len(self.w)
        return parts, len(self.v), len(self.word(self.of.start)), self.u, self.v, self.w


def persistent(tried: npt.NDArray[np.integer], wrong: npt.NDArray[np.bool_]) -> Persistent | None:
    """For which n, of those `tried` (ascending), words are wrong from somewhere on; None if for none.

    The last n in a row, one step apart, say for which residues.

    >>> n = np.array([*range(1, 30), *range(1000, 1012)])
    >>> persistent(n, (n % 2 == 1) & (n > 9))
    Persistent(right=9, start=11, end=1011, period=2, residues=(1,))
    """
    if len(tried) < FEWEST:
        return None
    steps = np.diff(tried)
    step = int(steps[-1])
    row = len(tried) - 1 - int(np.flatnonzero(np.append(-1, steps) != step)[-1]) + (len(tried) > 1)
    found = next((p for p in range(1, min(LONGEST_PERIOD, row // 3) + 1) if repeats(wrong[-row:], p)), None)
    if found is None or row < FEWEST:
        return None
    period = found * step
    residues = tuple(sorted({int(n) % period for n in tried[-found:][wrong[-found:]]}))
    inside = np.isin(tried % period, residues)
    right = np.flatnonzero(inside & ~wrong)
    n_of = tried[inside & wrong & (np.arange(len(tried)) > (right[-1] if len(right) else -1))]
    before = int(tried[right[-1]]) if len(right) else 0
    return None if len(n_of) < FEWEST else Persistent(before, int(n_of[0]), int(n_of[-1]), period, residues)


def repeats(wrong: npt.NDArray[np.bool_], period: int) -> bool:
    """Whether the later half, and three periods at least, has this period.

    >>> [repeats(np.array([1, 1, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0]), period) for period in (1, 2, 3)]
    [False, False, True]
    """
    last = wrong[-max(3 * period, len(wrong) // 2, FEWEST) :]
    return bool((last[period:] == last[:-period]).all())


def apart(families: Sequence[Family], most: int) -> list[Family]:
    """The simplest of these families, each written in one way.

    >>> of = Persistent(0, 1, 9, 1, (0,))
    >>> [f.v for f in apart([Family((), (0, 1), (0,), of), Family((0,), (1, 0), (), of), Family((), (1,), (), of)], 9)]
    [(1,), (0, 1)]
    """
    found: dict[tuple[Word, Word, Word], Family] = {}
    for family in sorted(families, key=lambda family: family.order):
        found.setdefault(normal(family), family)
    return list(found.values())[:most]


def normal(family: Family) -> tuple[Word, Word, Word]:
    """The same words written in one way, but for the first n: w does not begin as v does, nor does u end in v.

    >>> of = Persistent(0, 1, 9, 1, (0,))
    >>> normal(Family((), (0, 1), (0,), of)), normal(Family((1, 1), (1,), (), of))
    (((0,), (1, 0), ()), ((), (1,), ()))
    """
    u, v, w = family.u, family.v, family.w
    while w and w[0] == v[0]:
        u, v, w = u + v[:1], v[1:] + v[:1], w[1:]
    while u[len(u) - len(v) :] == v and len(u) >= len(v):
        u = u[: len(u) - len(v)]
    return u, v, w
