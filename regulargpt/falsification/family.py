"""Families of wrong words u v^n w: from which n on, and for which n modulo a period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Word = tuple[int, ...]

LONGEST_PERIOD, FEWEST = 64, 4
"""Of the n that are wrong, and how many n must be in a row, and be wrong, before anything is said of all."""


MOST_FAMILIES = 12
"""That a search keeps."""
FAR = 512
"""Symbols up to which a family is tried again, at ever larger n; its first few words may be longer."""


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
class WordFamily:
    """The words u v^n w of these n."""

    u: Word
    v: Word
    w: Word
    of: Persistent

    def word(self, n: int) -> Word:
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
    shortest_period = next((p for p in range(1, min(LONGEST_PERIOD, row // 3) + 1) if repeats(wrong[-row:], p)), None)
    if shortest_period is None or row < FEWEST:
        return None
    period = shortest_period * step
    residues = tuple(sorted({int(n) % period for n in tried[-shortest_period:][wrong[-shortest_period:]]}))
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


def tried_again(family: WordFamily) -> list[int]:
    """The n at which a family is tried: the first few, then ever larger ones up to words of so many symbols.

    >>> tried_again(WordFamily((), (1,), (), Persistent(0, 5, 100, 2, (1,))))
    [5, 7, 9, 11, 13, 21, 37, 69, 99]
    """
    of, few = family.of, max(FEWEST, len(family.of.residues))
    far = (FAR - len(family.u) - len(family.w)) // len(family.v)
    last = min(of.end, max(far, of.start + few * of.period))
    inside = [n for n in range(of.start, last + 1) if n % of.period in of.residues]
    later = [1 << k for k in range(FAR.bit_length()) if few <= 1 << k < len(inside)]
    return [inside[at] for at in sorted({*range(few), *later, len(inside) - 1}) if 0 <= at < len(inside)]


def together(families: Sequence[WordFamily]) -> list[WordFamily]:
    """All of these families, the simplest first, without those of which another family says as much.

    >>> few, many, odd = (Persistent(0, *numbers) for numbers in ((3, 63, 1, (0,)), (9, 511, 1, (0,)), (5, 9, 2, (1,))))
    >>> [(f.of.start, f.of.end) for f in together([WordFamily((), (1,), (), of) for of in (few, many, odd)])]
    [(3, 511)]
    """
    kept: list[WordFamily] = []
    for family in sorted(map(normal, families), key=lambda family: family.order):
        rest = []
        for other in kept:
            family = replace(family, of=joined(other.of, family.of)) if meet(other, family) else family
            rest += [] if says(family, other) else [other]
        kept = rest if any(says(other, family) for other in rest) else [*rest, family]
    return sorted(kept, key=lambda family: family.order)


def says(first: WordFamily, other: WordFamily) -> bool:
    """Whether the first has all words of the second."""
    of, words = first.of, other.of
    same = (first.u, first.v, first.w) == (other.u, other.v, other.w) and words.period % of.period == 0
    inside = all(residue % of.period in of.residues for residue in words.residues)
    return same and inside and of.start <= words.start and words.end <= of.end


def meet(first: WordFamily, other: WordFamily) -> bool:
    """Whether both say the same, and have some n in common."""
    same = replace(first, of=replace(other.of, period=first.of.period, residues=first.of.residues)) == other
    return same and max(first.of.start, other.of.start) <= min(first.of.end, other.of.end)


def apart(families: Sequence[WordFamily], most: int) -> list[WordFamily]:
    """The simplest of these families, each written in one way; equal ones are joined.

    >>> of = Persistent(0, 1, 9, 1, (0,))
    >>> words = [((), (0, 1), (0,)), ((0,), (1, 0), ()), ((), (1,), ())]
    >>> [f.v for f in apart([WordFamily(*parts, of) for parts in words], 9)]
    [(1,), (1, 0)]
    """
    distinct: dict[tuple[Word, Word, Word], WordFamily] = {}
    for family in map(normal, families):
        parts = family.u, family.v, family.w
        distinct[parts] = replace(family, of=joined(family.of, distinct[parts].of)) if parts in distinct else family
    return sorted(distinct.values(), key=lambda family: family.order)[:most]


def joined(left: Persistent, other: Persistent) -> Persistent:
    """What both say together, of the same words; where they do not meet, what is said of the longer ones.

    >>> joined(Persistent(1, 3, 63, 2, (1,)), Persistent(1, 9, 511, 2, (1,)))
    Persistent(right=1, start=3, end=511, period=2, residues=(1,))
    """
    first, last = sorted((left, other), key=lambda of: (of.start, of.end))
    alike = (first.period, first.residues) == (last.period, last.residues)
    if alike and last.right < first.start and last.start <= first.end:
        return replace(first, end=max(first.end, last.end))
    return max(left, other, key=lambda of: of.end)


def normal(family: WordFamily) -> WordFamily:
    """The same words written in one way: w does not begin as v does, nor does u end in v.

    >>> of = Persistent(0, 1, 9, 2, (1,))
    >>> [normal(WordFamily(*parts, of)) for parts in (((), (0, 1), (0,)), ((1, 1), (1,), ()))]
    [WordFamily(u=(0,), v=(1, 0), w=(), of=...), WordFamily(u=(), v=(1,), w=(), of=Persistent(right=0, start=3, ...))]
    """
    u, v, w, more = family.u, family.v, family.w, 0
    while w and w[0] == v[0]:
        u, v, w = u + v[:1], v[1:] + v[:1], w[1:]
    while len(u) >= len(v) and u[len(u) - len(v) :] == v:
        u, more = u[: len(u) - len(v)], more + 1
    of = family.of
    residues = tuple(sorted((residue + more) % of.period for residue in of.residues))
    right = of.right + more if of.right > 0 else 0
    return WordFamily(u, v, w, Persistent(right, of.start + more, of.end + more, of.period, residues))
