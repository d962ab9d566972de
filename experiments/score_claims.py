"""Claims about scores: a cell of a table, over its runs, on one side of a bound."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import fmean
from typing import Any

from experiments.cells import group_of
from experiments.claims import FEW_STEPS, Bound, Printed
from experiments.page.record import Values
from regulargpt.evaluation.interval import SEEDS, Interval
from regulargpt.text.experiments.results import Unknown

SOLVED = 90.0
"""From this score on a task is solved, as Delétang et al. 2023 say."""
JUDGED = (
    "A claim holds where every run of each cell lies on its side of the bound, does not where no run of a cell does, "
    "and is not decidable here in between, or where a cell has no run. A figure is the mean over the runs of the cell "
    "that decides; in brackets are the lowest and the highest of them. What lies below a bound may have learned "
    f"nothing at all: the accuracy at a training length says so, where there is one. {FEW_STEPS} A score that is "
    "reached is reached, in however few."
)


@dataclass(frozen=True)
class PageScores:
    """What the cells of a page came to, by row and column."""

    cells: Mapping[tuple[str, str], Values]

    @classmethod
    def from_cells(cls, cells: Iterable[Values]) -> PageScores:
        """Of the values of cells (`experiments.cells.values_of`)."""
        return cls({(values["row"], values["column"]): values for values in cells})

    def steps(self, row: str, column: str) -> Sequence[int]:
        """The fewest and the most of a run of the cell."""
        return self.cells.get((row, column), {}).get("steps") or ()


@dataclass(frozen=True)
class ScoreFigure:
    """The score of a row in a column."""

    row: str
    column: str
    is_printed: bool = True
    """Whether the table beside ours is where the claim stands."""
    multiple = 1
    stays_reached = True

    @property
    def form(self) -> str:
        """What it is."""
        return f"{self.row}, {self.column}"

    def value_in(self, results: Any) -> Interval:
        """Of `PageScores`, from the worst run to the best; Unknown if none is done."""
        values = results.cells.get((self.row, self.column))
        group = values and group_of(values)
        if group is None or not group.scores:
            raise Unknown(f"no run of {self.form} is done")
        return Interval(fmean(group.scores), min(group.scores), max(group.scores), {SEEDS: len(group.scores)})

    def steps(self, results: Any) -> Sequence[int]:
        """The fewest and the most of its runs."""
        return results.steps(self.row, self.column)

    def printed(self, value: Printed) -> float | None:
        """The published score, by `row/column`."""
        return value(f"{self.row}/{self.column}", 1) if self.is_printed else None


@dataclass(frozen=True)
class Average:
    """The mean of the scores of a row in several columns: from their worst runs, to their best."""

    row: str
    columns: tuple[str, ...]
    multiple = 1
    stays_reached = True

    @property
    def form(self) -> str:
        """What it is."""
        return f"{self.row}, average of {', '.join(self.columns)}"

    def value_in(self, results: Any) -> Interval:
        """Of `PageScores`; Unknown if a cell has no run that is done."""
        scores = [ScoreFigure(self.row, column).value_in(results) for column in self.columns]
        value, low, high = (fmean(ends) for ends in zip(*((i.value, i.low, i.high) for i in scores), strict=True))
        return Interval(value, low, high, {SEEDS: min(interval.seeds for interval in scores)})

    def steps(self, results: Any) -> Sequence[int]:
        """The fewest and the most of the runs of each column."""
        return [steps for column in self.columns for steps in results.steps(self.row, column)]

    def printed(self, value: Printed) -> float | None:
        """The mean of the published scores."""
        scores = [score for column in self.columns if (score := value(f"{self.row}/{column}", 1)) is not None]
        return round(fmean(scores), 1) if len(scores) == len(self.columns) else None


def elsewhere(bound: Bound) -> Bound:
    """The same test, of a claim that does not stand where the table beside ours does.

    >>> elsewhere(solved(["parity"], "rnn")).figures[0].printed(lambda place, multiple: 99.9)
    """
    figures = (replace(f, is_printed=False) if isinstance(f, ScoreFigure) else f for f in bound.figures)
    return replace(bound, figures=tuple(figures))


def solved(rows: Sequence[str], *columns: str) -> Bound:
    """Each of these cells is above 90 %.

    >>> solved(["parity"], "rnn", "lstm").rule
    'parity, rnn; parity, lstm above 90'
    """
    return Bound(tuple(ScoreFigure(*place) for place in product(rows, columns)), "above", SOLVED)


def unsolved(rows: Sequence[str], *columns: str) -> Bound:
    """Each of these cells is below 90 %."""
    return Bound(tuple(ScoreFigure(*place) for place in product(rows, columns)), "below", SOLVED)
