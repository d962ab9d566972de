"""Published claims as sentences that can be tested, and what our results say of each.

A claim holds where every figure's 95 % interval lies on its side of the bound, does not where one lies on the other
side, and is not decidable here in between, or where a run is missing. It is about an encoding (or a model) where each
figure is of three seeds or more, and else about just these networks.

Networks that had fewer steps than the published ones refute no method: what they do not bear out is not reached in so
many steps, and what they do bear out holds in so many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, Protocol, TypeAlias

from experiments.page.record import Answer, ClaimVerdict
from regulargpt.evaluation.interval import Interval
from regulargpt.objectives.measures import exp
from regulargpt.text.experiments.results import TextResults, Unknown

HOLDS: Answer = "holds"
FAILS: Answer = "does not"
SHORT: Answer = "not reached"
OPEN: Answer = "not decidable here"
RULE = (
    "A claim holds where the 95 % interval of each figure lies on its side of the bound, does not where one lies on "
    "the other side, and is not decidable here in between."
)
FEW_STEPS = (
    "Where a network had fewer steps than the paper's, or the paper states none, more might change the answer. So a"
    " claim that holds then holds in so many steps, and one that does not is called not reached in so many. They "
    "are the most that any network of the claim had. A run that ended early counts with the steps it had."
)
# Of a checkpoint: all sizes of a task, or all tasks, together.
WHOLE, ALL = 0, "all"
NOTHING = "there is nothing to compare"
EXPLODES = 1.5
MULTIPLES = (1, 2, 4, 8, 16)
LONGER = MULTIPLES[1:]
# A published perplexity of a row at a multiple of the training length, None where there is none.
Printed = Callable[[str, int], float | None]
# A row, or several.
Some = str | Sequence[str]
# A row and a multiple of the training length.
Point = tuple[str, int]


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

    @property
    def stays_reached(self) -> bool:
        """Whether a value that is once reached is reached, however few the steps."""
        ...

    def value_in(self, results: TextResults) -> Interval:
        """Its value here; Unknown if it is not there."""
        ...

    def steps(self, results: TextResults) -> Sequence[int]:
        """The most steps of each of its networks that was trained here."""
        ...

    def printed(self, value: Printed) -> float | None:
        """Its published value."""
        ...


@dataclass(frozen=True)
class Ratio:
    """The perplexity of a row at a multiple of the training length over that at another, as a rule at once.

    With `other`, over that of another row at the same length. `printed` is of published perplexities.
    """

    row: str
    multiple: int
    base: int = 1
    other: str = ""
    stays_reached = False

    @property
    def form(self) -> str:
        """Of any multiple."""
        if self.other:
            return f"PPL({self.row}) / PPL({self.other}) at {{k}}x"
        return f"{self.row}, PPL({{k}}x) / PPL({self.base}x)"

    @property
    def points(self) -> tuple[Point, Point]:
        """What stands over what."""
        return (self.row, self.multiple), (self.other, self.multiple) if self.other else (self.row, self.base)

    def value_in(self, results: TextResults) -> Interval:
        """Paired by seed and segment."""
        return results.difference(*self.points).through(exp)

    def steps(self, results: TextResults) -> Sequence[int]:
        """Of its rows."""
        return results.steps_of(self.points)

    def printed(self, value: Printed) -> float | None:
        """Of published perplexities."""
        first, second = (value(*point) for point in self.points)
        return quotient(first, second)


@dataclass(frozen=True)
class MeasureAt:
    """Another measure of a row at a multiple; minus that at a smaller one, `base`, or minus that of an `other` row.

    Tables of perplexities print no such numbers, but figures do (`is_printed`). Differences are taken seed by seed, and
    the two intervals of a seed are added up.
    """

    measure: str
    row: str
    multiple: int
    is_printed: bool = False
    base: int = 0
    other: str = ""
    stays_reached = False

    @property
    def form(self) -> str:
        """Of any multiple."""
        name, end = f"{self.measure}, {self.row}", f" - at {self.base}x" if self.base else ""
        return f"{name}{f' - {self.other}' * bool(self.other)} at {{k}}x{end}"

    @property
    def points(self) -> tuple[Point, ...]:
        """A point, or a point minus another."""
        first = self.row, self.multiple
        if self.other:
            return first, (self.other, self.multiple)
        return (first, (self.row, self.base)) if self.base else (first,)

    def value_in(self, results: TextResults) -> Interval:
        """As it was measured."""
        first, *second = self.points
        return results.change(self.measure, first, *second) if second else results.measure(self.measure, *first)

    def steps(self, results: TextResults) -> Sequence[int]:
        """Of its rows."""
        return results.steps_of(self.points)

    def printed(self, value: Printed) -> float | None:
        """As it is in print, if it is."""
        first, *second = (value(*point) if self.is_printed else None for point in self.points)
        return difference(first, *second) if second else first


def change(measure: str, row: str, multiple: int, base: int, is_printed: bool = False) -> MeasureAt:
    """A measure of a row at a multiple minus that at a smaller multiple."""
    return MeasureAt(measure, row, multiple, is_printed, base=base)


def lead(measure: str, row: str, other: str, multiple: int) -> MeasureAt:
    """A measure of a row minus that of another row: positive if the row leads."""
    return MeasureAt(measure, row, multiple, True, other=other)


@dataclass(frozen=True)
class ClaimPlace:
    """A strategy on a task at a size, or at all of its sizes; or on all tasks at all sizes."""

    task: str
    strategy: str
    size: int = WHOLE

    @property
    def row(self) -> str:
        """As results call it."""
        return f"{self.task}/{self.strategy}"

    @property
    def text(self) -> str:
        """In words."""
        where = (
            "all columns" if self.task == ALL else f"{self.task}/{self.size}" if self.size else f"all of {self.task}"
        )
        return f"{self.strategy} in {where}"


@dataclass(frozen=True)
class Gap:
    """A measure at a place minus that at another. The two intervals are added up: they are not paired."""

    measure: str
    first: ClaimPlace
    second: ClaimPlace
    stays_reached = False

    @property
    def multiple(self) -> int:
        """The places say it."""
        return 1

    @property
    def form(self) -> str:
        """What it is."""
        return f"{self.measure}, {self.first.text} − {self.second.text}"

    def value_in(self, results: TextResults) -> Interval:
        """The difference, with the interval that holds both; Unknown if one was not queried."""
        first, second = (self.known(results, place) for place in (self.first, self.second))
        return first.minus(second)

    def steps(self, results: TextResults) -> Sequence[int]:
        """None: a checkpoint was trained elsewhere."""
        return ()

    def known(self, results: TextResults, place: ClaimPlace) -> Interval:
        """The measure at a place."""
        interval = results.curve(self.measure, place.row).get(place.size)
        if interval is None:
            raise Unknown(f"{place.text} was not asked")
        return interval

    def printed(self, value: Printed) -> float | None:
        """Of published values, as the measure's table has them."""
        return difference(value(self.first.row, self.first.size), value(self.second.row, self.second.size))


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

    def __call__(self, results: TextResults) -> ClaimVerdict:
        """The verdict, with the figure that is nearest to the bound, or farthest beyond it."""
        intervals: list[tuple[Figure, Interval]] = []
        unknown: list[str] = []
        for figure in self.figures:
            try:
                intervals.append((figure, figure.value_in(results)))
            except Unknown as reason:
                unknown.append(str(reason))
        answers = [self.answer(interval) for _, interval in intervals]
        figure = shown(*self.worst(intervals), self.bound) if intervals else ""
        seeds = min((interval.seeds for _, interval in intervals), default=0)
        if FAILS in answers:
            return ClaimVerdict(FAILS, figure, seeds=seeds)
        if unknown or not intervals:
            return ClaimVerdict(OPEN, figure, "; ".join(dict.fromkeys(unknown)) or NOTHING, seeds)
        if OPEN in answers:
            return ClaimVerdict(OPEN, figure, "the interval holds the bound", seeds)
        return ClaimVerdict(HOLDS, figure, seeds=seeds)

    def is_final(self, answer: Answer) -> bool:
        """Whether no further step can change this answer: a score that was to be reached is, or one that was not to be.

        >>> stays_within("alibi", 3).is_final(HOLDS)
        False
        """
        reached = HOLDS if self.side == "above" else FAILS
        return answer == reached and all(figure.stays_reached for figure in self.figures)

    def answer(self, interval: Interval) -> Answer:
        """What one interval says."""
        low, high = (interval.low, interval.high) if self.side == "below" else (-interval.high, -interval.low)
        bound = self.bound if self.side == "below" else -self.bound
        return HOLDS if high < bound else FAILS if low >= bound else OPEN

    def worst(self, intervals: Sequence[tuple[Figure, Interval]]) -> tuple[Figure, Interval]:
        """The figure that decides: one that is beyond the bound, else one whose interval holds it, else the nearest."""
        sign, rank = (1 if self.side == "below" else -1), (HOLDS, OPEN, FAILS)
        return max(intervals, key=lambda pair: (rank.index(self.answer(pair[1])), sign * pair[1].value))

    def printed(self, value: Printed) -> float | None:
        """The published figure that decides, None if none was published."""
        known = [number for figure in self.figures if (number := figure.printed(value)) is not None]
        return None if not known else max(known) if self.side == "below" else min(known)


def shown(figure: Figure, interval: Interval, bound: float = math.nan) -> str:
    """A figure in words: no end of its interval is printed as the bound, if it is not that.

    >>> shown(Ratio("alibi", 16), Interval(1.0204, 1.0123, 1.0289))
    'alibi, PPL(16x) / PPL(1x) = 1.020 [1.012, 1.029]'
    >>> shown(Ratio("alibi", 16), Interval(1.0029, 1.0012, 1.00496), bound=1.005)
    'alibi, PPL(16x) / PPL(1x) = 1.00290 [1.00120, 1.00496]'
    """
    name, ends = figure.form.replace("{k}", str(figure.multiple)), (interval.value, interval.low, interval.high)
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


def kind_of(figure: Figure) -> tuple[object, ...]:
    """What a figure is of, whatever the rows: figures of one kind can be told in one rule."""
    compares = bool(getattr(figure, "base", 0) and not getattr(figure, "other", "")), bool(getattr(figure, "other", ""))
    return type(figure), getattr(figure, "measure", ""), *compares


# What tests a sentence: bounds, and perhaps why it may be otherwise here.
Tests: TypeAlias = Bound | Sequence[Bound | str]


@dataclass(frozen=True)
class Claim:
    """A published sentence, where it stands, what tests it, and why it may be otherwise here, where that is known.

    `steps` are those that its networks were trained for, 0 where the paper does not say.
    """

    sentence: str
    source: str
    tests: tuple[Bound, ...]
    why: str = ""
    steps: int = 0

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The tests, those of one kind and bound as one: of many rows the figure that decides is shown."""
        joined: dict[tuple[object, ...], Bound] = {}
        for test in self.tests:
            what = frozenset(map(kind_of, test.figures))
            kind = (what, test.side, test.bound)
            known = joined.get(kind)
            joined[kind] = replace(known, figures=(*known.figures, *test.figures)) if known else test
        return tuple(joined.values())

    def verdict(self, results: TextResults, published: str = "", too_small: str = "") -> ClaimVerdict:
        """What all tests say together, beside what was `published`; results may be `too_small` to say anything."""
        verdicts = [bound(results) for bound in self.bounds]
        answers: list[Answer] = [verdict.answer for verdict in verdicts]
        answer: Answer = FAILS if FAILS in answers else OPEN if OPEN in answers or not verdicts else HOLDS
        if too_small:
            answer = OPEN
        steps = self.too_few_steps(answer, answers, results)
        if answer == FAILS and steps:
            answer = SHORT
        reasons = [verdict.why for verdict in verdicts if verdict.why]
        if answer != HOLDS and self.why:
            reasons.append(self.why)
        figures = [verdict.figure for verdict in verdicts if verdict.figure]
        seeds = min((verdict.seeds for verdict in verdicts), default=0)
        if too_small:
            reasons = [too_small]
        figure, why = ("; ".join(dict.fromkeys(texts)) for texts in (figures, reasons))
        rules = tuple(bound.rule for bound in self.bounds)
        return ClaimVerdict(answer, figure, why, seeds, self.sentence, self.source, rules, published, steps)

    def too_few_steps(self, answer: Answer, answers: Sequence[Answer], results: TextResults) -> int:
        """The most steps of any network of the claim, if one had fewer than in print, and that matters; else 0."""
        pairs = list(zip(self.bounds, answers, strict=True))
        if answer == OPEN or any(bound.is_final(FAILS) for bound, of in pairs if of == FAILS):
            return 0
        open_still = (bound for bound, of in pairs if not bound.is_final(of))
        steps = [n for bound in open_still for figure in bound.figures for n in figure.steps(results)]
        return max(steps) if steps and not 0 < self.steps <= min(steps) else 0


# Claims, or by source what tests each sentence.
Claims: TypeAlias = Sequence[Claim] | Mapping[str, Mapping[str, Tests]]


def claimed(claims: Claims, steps: int = 0) -> tuple[Claim, ...]:
    """Claims by source, as claims; a text behind the tests of a sentence says why it may be otherwise here.

    `steps` are published of all of them.

    >>> claimed({"LEX, section 4.2": {"ALiBi falls at 2x.": (falls_below("alibi"), "little training")}})[0].why
    'little training'
    """

    if not isinstance(claims, Mapping):
        return tuple(replace(claim, steps=claim.steps or steps) for claim in claims)

    def claim(source: str, sentence: str, said: Tests) -> Claim:
        parts = (said,) if isinstance(said, Bound) else tuple(said)
        tests = tuple(part for part in parts if isinstance(part, Bound))
        return Claim(sentence, source, tests, "; ".join(part for part in parts if isinstance(part, str)), steps)

    return tuple(claim(source, *entry) for source, sentences in claims.items() for entry in sentences.items())


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
    figures = tuple(Ratio(row, k, other=other) for other in others for k in at)
    return Bound(figures, "below", 1.0)


def no_better(row: str, other: str, percent: float, at: Iterable[int] = LONGER) -> Bound:
    """A row is at most so many percent better than another."""
    figures = tuple(Ratio(row, k, other=other) for k in at)
    return Bound(figures, "above", 1 - percent / 100)


def no_worse(row: str, other: str, percent: float, at: Iterable[int] = LONGER) -> Bound:
    """A row is at most so many percent worse than another."""
    figures = tuple(Ratio(row, k, other=other) for k in at)
    return Bound(figures, "below", 1 + percent / 100)


def same(row: str, other: str, percent: float, at: Iterable[int] = LONGER) -> tuple[Bound, Bound]:
    """Two rows differ by at most so many percent."""
    lengths = tuple(at)
    return no_worse(row, other, percent, lengths), no_better(row, other, percent, lengths)


def leads(measure: str, row: str, *others: str, at: int | Sequence[int]) -> Bound:
    """Another measure of a row is higher than that of others."""
    return Bound(tuple(lead(measure, row, other, k) for other in others for k in listed(at)), "above", 0.0)


def above(measure: str, row: Some, bound: float, at: int | Sequence[int], is_printed: bool = False) -> Bound:
    """Another measure of a row, or of each of several, is above a bound."""
    return Bound(
        tuple(MeasureAt(measure, name, k, is_printed) for name in listed(row) for k in listed(at)), "above", bound
    )


def below(measure: str, row: Some, bound: float, at: int | Sequence[int], is_printed: bool = False) -> Bound:
    """Another measure of a row, or of each of several, is below a bound."""
    return replace(above(measure, row, bound, at, is_printed), side="below")


def grows(measure: str, *rows: str, far: int = 16, near: int = 1, is_printed: bool = False) -> Bound:
    """Another measure of each row is higher at a longer length."""
    return Bound(tuple(change(measure, row, far, near, is_printed) for row in rows), "above", 0.0)


def falls(measure: str, *rows: str, far: int = 16, near: int = 1, is_printed: bool = False) -> Bound:
    """Another measure of each row is lower at a longer length."""
    return replace(grows(measure, *rows, far=far, near=near, is_printed=is_printed), side="below")


def listed(value: Any) -> Sequence[Any]:
    """One or several as several.

    >>> listed("t5"), listed((8, 16))
    (('t5',), (8, 16))
    """
    return (value,) if isinstance(value, str | int) else value
