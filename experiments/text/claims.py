"""Published claims as sentences that can be tested, and what our results say of each.

A claim holds where every figure's 95 % interval lies on its side of the bound, does not where one lies on the other
side, and is not decidable here in between, or where a run is missing. It is about an encoding (or a model) where each
figure is of three seeds or more, and else about just these networks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, Protocol

from experiments.text.results import Results, Unknown
from regulargpt.evaluation.interval import Interval
from regulargpt.objectives.measures import exp

Answer = Literal["holds", "does not", "not decidable here"]
HOLDS: Answer = "holds"
FAILS: Answer = "does not"
OPEN: Answer = "not decidable here"
NOTHING = "there is nothing to compare"
EXPLODES = 1.5
MULTIPLES = (1, 2, 4, 8, 16)
LONGER = MULTIPLES[1:]
# A published perplexity of a row at a multiple of the training length, None where there is none.
Printed = Callable[[str, int], float | None]


@dataclass(frozen=True)
class Verdict:
    """What the results say: the figure that decides, in words, why where that is known, and of how many seeds at least
    each figure is: 0 where there is none."""

    answer: Answer
    figure: str = ""
    why: str = ""
    seeds: int = 0


class Figure(Protocol):
    """A number that results have with an interval, and published tables often without."""

    @property
    def form(self) -> str:
        """What it is, with {k} for the multiple of the training length."""
        ...

    @property
    def multiple(self) -> int:
        """Which multiple that is; any number where there is none."""
        ...

    def of(self, results: Results) -> Interval:
        """Its value here; Unknown if it is not there."""
        ...

    def printed(self, value: Printed) -> float | None:
        """Its published value."""
        ...


@dataclass(frozen=True)
class Ratio:
    """The perplexity of a row at a multiple of the training length over that at another, as a rule at once."""

    row: str
    multiple: int
    base: int = 1

    @property
    def form(self) -> str:
        """Of any multiple."""
        return f"{self.row}, PPL({{k}}x) / PPL({self.base}x)"

    def of(self, results: Results) -> Interval:
        """Paired by seed and segment."""
        return results.difference((self.row, self.multiple), (self.row, self.base)).through(exp)

    def printed(self, value: Printed) -> float | None:
        """Of published perplexities."""
        return quotient(value(self.row, self.multiple), value(self.row, self.base))


@dataclass(frozen=True)
class Against:
    """The perplexity of a row over that of another, at the same length."""

    row: str
    other: str
    multiple: int

    @property
    def form(self) -> str:
        """Of any multiple."""
        return f"PPL({self.row}) / PPL({self.other}) at {{k}}x"

    def of(self, results: Results) -> Interval:
        """Paired by seed and segment."""
        return results.difference((self.row, self.multiple), (self.other, self.multiple)).through(exp)

    def printed(self, value: Printed) -> float | None:
        """Of published perplexities."""
        return quotient(value(self.row, self.multiple), value(self.other, self.multiple))


@dataclass(frozen=True)
class Level:
    """Another measure of a row; tables of perplexities print no such numbers, but figures do."""

    measure: str
    row: str
    multiple: int
    is_printed: bool = False

    @property
    def form(self) -> str:
        """Of any multiple."""
        return f"{self.measure}, {self.row} at {{k}}x"

    def of(self, results: Results) -> Interval:
        """As it was measured."""
        return results.measure(self.measure, self.row, self.multiple)

    def printed(self, value: Printed) -> float | None:
        """As it is in print, if it is."""
        return value(self.row, self.multiple) if self.is_printed else None


@dataclass(frozen=True)
class Change:
    """Another measure of a row at a multiple minus that at a smaller one, seed by seed."""

    measure: str
    row: str
    multiple: int
    base: int
    is_printed: bool = False

    @property
    def form(self) -> str:
        """Of any multiple."""
        return f"{self.measure}, {self.row} at {{k}}x - at {self.base}x"

    def of(self, results: Results) -> Interval:
        """The difference, with the interval that holds both."""
        return results.change(self.measure, (self.row, self.multiple), (self.row, self.base))

    def printed(self, value: Printed) -> float | None:
        """Of published values of that measure, if it is what the table prints."""
        return difference(value(self.row, self.multiple), value(self.row, self.base)) if self.is_printed else None


@dataclass(frozen=True)
class Lead:
    """Another measure of a row minus that of another row, at the same length, seed by seed: positive if the row leads.

    The two intervals of a seed are added up: words are not paired.
    """

    measure: str
    row: str
    other: str
    multiple: int

    @property
    def form(self) -> str:
        """Of any multiple."""
        return f"{self.measure}, {self.row} - {self.other} at {{k}}x"

    def of(self, results: Results) -> Interval:
        """The difference, with the interval that holds both."""
        return results.change(self.measure, (self.row, self.multiple), (self.other, self.multiple))

    def printed(self, value: Printed) -> float | None:
        """Of published values of that measure."""
        return difference(value(self.row, self.multiple), value(self.other, self.multiple))


def quotient(a: float | None, b: float | None) -> float | None:
    """a / b where both are there."""
    return None if a is None or b is None else a / b


def difference(a: float | None, b: float | None) -> float | None:
    """a - b where both are there.

    >>> difference(0.75, 0.5), difference(0.75, None), difference(None, 0.5)
    (0.25, None, None)
    """
    return None if a is None or b is None else a - b


@dataclass(frozen=True)
class Bound:
    """All figures lie below, or above, a bound."""

    figures: tuple[Figure, ...]
    side: Literal["below", "above"]
    bound: float

    @property
    def rule(self) -> str:
        """What is tested, to the last digit.

        >>> stays_within("alibi", 0.5, (2, 4)).rule
        'alibi, PPL(2x, 4x) / PPL(1x) below 1.005'
        """
        if not self.figures:
            return NOTHING
        multiples: dict[str, list[str]] = {}
        for figure in self.figures:
            multiples.setdefault(figure.form, []).append(f"{figure.multiple}x")
        named = "; ".join(form.replace("{k}x", ", ".join(each)) for form, each in multiples.items())
        return f"{named} {self.side} {digits(self.bound)}"

    def __call__(self, results: Results) -> Verdict:
        """The verdict, with the figure that is nearest to the bound, or farthest beyond it."""
        found: list[tuple[Figure, Interval]] = []
        unknown: list[str] = []
        for figure in self.figures:
            try:
                found.append((figure, figure.of(results)))
            except Unknown as reason:
                unknown.append(str(reason))
        answers = [self.answer(interval) for _, interval in found]
        figure = shown(*self.worst(found), self.bound) if found else ""
        seeds = min((interval.seeds for _, interval in found), default=0)
        if FAILS in answers:
            return Verdict(FAILS, figure, seeds=seeds)
        if unknown or not found:
            return Verdict(OPEN, figure, "; ".join(dict.fromkeys(unknown)) or NOTHING, seeds)
        if OPEN in answers:
            return Verdict(OPEN, figure, "the interval holds the bound", seeds)
        return Verdict(HOLDS, figure, seeds=seeds)

    def answer(self, interval: Interval) -> Answer:
        """What one interval says."""
        low, high = (interval.low, interval.high) if self.side == "below" else (-interval.high, -interval.low)
        bound = self.bound if self.side == "below" else -self.bound
        return HOLDS if high < bound else FAILS if low >= bound else OPEN

    def worst(self, found: Sequence[tuple[Figure, Interval]]) -> tuple[Figure, Interval]:
        """The figure that decides: one that is beyond the bound, else one whose interval holds it, else the nearest."""
        sign, rank = (1 if self.side == "below" else -1), (HOLDS, OPEN, FAILS)
        return max(found, key=lambda pair: (rank.index(self.answer(pair[1])), sign * pair[1].value))

    def printed(self, value: Printed) -> float | None:
        """The published figure that decides, None if none was published."""
        known = [number for figure in self.figures if (number := figure.printed(value)) is not None]
        return None if not known else max(known) if self.side == "below" else min(known)


def shown(figure: Figure, found: Interval, bound: float = math.nan) -> str:
    """A figure in words: no end of its interval is printed as the bound, if it is not that.

    >>> shown(Ratio("alibi", 16), Interval(1.0204, 1.0123, 1.0289))
    'alibi, PPL(16x) / PPL(1x) = 1.020 [1.012, 1.029]'
    >>> shown(Ratio("alibi", 16), Interval(1.0029, 1.0012, 1.00496), bound=1.005)
    'alibi, PPL(16x) / PPL(1x) = 1.00290 [1.00120, 1.00496]'
    """
    name, ends = figure.form.replace("{k}", str(figure.multiple)), (found.value, found.low, found.high)
    more = next((n for n in range(6) if all(number(end, n) != number(bound, n) or end == bound for end in ends)), 6)
    value, low, high = (number(end, more) for end in ends)
    return f"{name} = {value} [{low}, {high}]"


def number(value: float, more: int = 0) -> str:
    """A ratio or difference, with as many decimals as can matter, or more.

    >>> number(1.0204), number(23.456), number(412.7), number(1.0204, more=1)
    ('1.020', '23.46', '413', '1.0204')
    """
    size = abs(value)
    return f"{value:,.{more + (3 if size < 10 else 2 if size < 100 else 0)}f}"


def digits(value: float) -> str:
    """A bound as it is tested.

    >>> digits(1.005), digits(1 - 3 / 100), digits(1.0)
    ('1.005', '0.97', '1')
    """
    return f"{value:.12g}"


@dataclass(frozen=True)
class Claim:
    """A published sentence, where it stands, what tests it, and why it may be otherwise here, where that is known."""

    sentence: str
    source: str
    tests: tuple[Bound, ...]
    why: str = ""

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The tests, those of one kind and bound as one: of many rows the figure that decides is shown."""
        found: dict[tuple[object, ...], Bound] = {}
        for test in self.tests:
            what = frozenset((type(one), getattr(one, "measure", "")) for one in test.figures)
            kind = (what, test.side, test.bound)
            known = found.get(kind)
            found[kind] = replace(known, figures=(*known.figures, *test.figures)) if known else test
        return tuple(found.values())

    def verdict(self, results: Results) -> Verdict:
        """What all tests say together."""
        found = [bound(results) for bound in self.bounds]
        answers = [one.answer for one in found]
        answer = FAILS if FAILS in answers else OPEN if OPEN in answers or not found else HOLDS
        reasons = [one.why for one in found if one.why]
        if answer != HOLDS and self.why:
            reasons.append(self.why)
        figures = [one.figure for one in found if one.figure]
        seeds = min((one.seeds for one in found), default=0)
        return Verdict(answer, "; ".join(dict.fromkeys(figures)), "; ".join(dict.fromkeys(reasons)), seeds)


def stays_within(row: str, percent: float, at: Iterable[int] = LONGER, base: int = 1) -> Bound:
    """The perplexity is at most so many percent above its value at the training length, or at a multiple of it."""
    return Bound(tuple(Ratio(row, k, base) for k in at), "below", 1 + percent / 100)


def falls_below(row: str, at: Iterable[int] = (2,)) -> Bound:
    """The perplexity is lower than at the training length."""
    return Bound(tuple(Ratio(row, k) for k in at), "below", 1.0)


def rises(row: str, at: Iterable[int] = (16,), base: int = 1) -> Bound:
    """The perplexity is higher than at the training length, or another base."""
    return Bound(tuple(Ratio(row, k, base) for k in at), "above", 1.0)


def explodes(row: str, beyond: int = 1, by: float = EXPLODES, among: Iterable[int] = MULTIPLES) -> Bound:
    """The perplexity is so many times that at the training length, at every tested length beyond a multiple of it."""
    figures = tuple(Ratio(row, k) for k in among if k > beyond)
    return Bound(figures, "above", by)


def falls_on(row: str, at: Iterable[int]) -> Bound:
    """From each of these lengths to the next the perplexity falls."""
    lengths = tuple(at)
    figures = tuple(Ratio(row, longer, shorter) for shorter, longer in pairwise(lengths))
    return Bound(figures, "below", 1.0)


def beats(row: str, *others: str, at: Iterable[int] = LONGER) -> Bound:
    """A row has a lower perplexity than others at the same length."""
    figures = tuple(Against(row, other, k) for other in others for k in at)
    return Bound(figures, "below", 1.0)


def no_better(row: str, other: str, percent: float, at: Iterable[int] = LONGER) -> Bound:
    """A row is at most so many percent better than another."""
    figures = tuple(Against(row, other, k) for k in at)
    return Bound(figures, "above", 1 - percent / 100)


def no_worse(row: str, other: str, percent: float, at: Iterable[int] = LONGER) -> Bound:
    """A row is at most so many percent worse than another."""
    figures = tuple(Against(row, other, k) for k in at)
    return Bound(figures, "below", 1 + percent / 100)


def same(row: str, other: str, percent: float, at: Iterable[int] = LONGER) -> tuple[Bound, Bound]:
    """Two rows differ by at most so many percent."""
    lengths = tuple(at)
    return no_worse(row, other, percent, lengths), no_better(row, other, percent, lengths)


def leads(measure: str, row: str, *others: str, at: int) -> Bound:
    """Another measure of a row is higher than that of others."""
    figures = tuple(Lead(measure, row, other, at) for other in others)
    return Bound(figures, "above", 0.0)


def above(measure: str, row: str, bound: float, at: int, is_printed: bool = False) -> Bound:
    """Another measure of a row is above a bound."""
    return Bound((Level(measure, row, at, is_printed),), "above", bound)


def below(measure: str, row: str, bound: float, at: int, is_printed: bool = False) -> Bound:
    """Another measure of a row is below a bound."""
    return Bound((Level(measure, row, at, is_printed),), "below", bound)
