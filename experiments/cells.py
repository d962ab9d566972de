"""A cell of an experiment beside the published one, and all of them together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from experiments.experiment import Analysis, Column, Experiment, Scale, Shows
from experiments.published import Number
from regulargpt.config.schema import RunConfig
from regulargpt.results.row import Row
from regulargpt.results.statistics import Group

STATISTICS = ("max", "mean")


@dataclass(frozen=True)
class ShortcutScores:
    """What rules without an automaton score, in percent, on words that were drawn as `words` says."""

    words: str
    scores: Mapping[str, float]


@dataclass(frozen=True)
class Compared:
    """One cell. `published` and `ours` have a value for each statistic, None where there is none.

    `names` are its runs, of `configs`, `rows` their tests that count here, `group` the statistics of these. `missing`
    are the runs that are not finished, `found` is what a figure's analysis says of those that are, `notes` are the
    numbers of what differs in the conditions, `shortcuts` is what rules without an automaton score on such words.
    """

    row: str
    column: Column
    shows: Shows
    configs: tuple[RunConfig, ...]
    names: tuple[str, ...]
    published: tuple[Number | None, ...]
    ours: tuple[Number | None, ...]
    rows: tuple[Row, ...]
    group: Group | None
    missing: tuple[str, ...]
    found: tuple[Analysis, ...] = ()
    notes: tuple[int, ...] = ()
    shortcuts: ShortcutScores | None = None

    @property
    def done(self) -> int:
        """How many of the runs are done."""
        return len(self.names) - len(self.missing) - len(self.failed)

    @property
    def failed(self) -> tuple[Row, ...]:
        """The runs that failed or are damaged."""
        return tuple(row for row in self.rows if not row.is_done)

    @property
    def is_published(self) -> bool:
        """Whether there is a published value."""
        return any(value is not None for value in self.published)

    @property
    def differences(self) -> tuple[float | None, ...]:
        """Ours minus published, where both are numbers."""
        pairs = zip(self.published, self.ours, strict=True)
        return tuple(b - a if isinstance(a, int | float) and isinstance(b, int | float) else None for a, b in pairs)

    @property
    def seconds(self) -> float:
        """Time spent in training, all runs together."""
        return sum({row.run: row.train_seconds or 0.0 for row in self.rows}.values())

    @property
    def steps(self) -> tuple[int, int] | None:
        """The fewest and the most training steps of a run."""
        steps = [row.steps for row in self.rows if row.steps is not None]
        return (min(steps), max(steps)) if steps else None


@dataclass(frozen=True)
class Comparison:
    """All cells, row by row, of the rows that were asked for; `notes` is what differs, in words, numbered from 1."""

    experiment: Experiment
    scale: Scale
    statistics: tuple[str, ...]
    cells: tuple[tuple[Compared, ...], ...]
    left_out: tuple[str, ...]
    notes: tuple[str, ...]

    @cached_property
    def all(self) -> list[Compared]:
        """Every cell."""
        return [cell for row in self.cells for cell in row]

    @property
    def everywhere(self) -> tuple[int, ...]:
        """The notes of every cell that has conditions."""
        sets = [set(cell.notes) for cell in self.all if has_conditions(cell, self.experiment)]
        return tuple(sorted(set.intersection(*sets))) if len(sets) > 1 else ()

    @property
    def names(self) -> list[str]:
        """All runs, each once."""
        return list(dict.fromkeys(name for cell in self.all for name in cell.names))

    @property
    def failures(self) -> dict[str, str]:
        """The runs that failed or are damaged, and why."""
        return {row.run: row.reason for cell in self.all for row in cell.failed}

    @property
    def missing(self) -> list[str]:
        """The runs that are not finished."""
        return list(dict.fromkeys(name for cell in self.all for name in cell.missing))


def has_conditions(cell: Compared, experiment: Experiment) -> bool:
    """Whether the conditions of a cell's runs are compared with published ones.

    In a table with published values they are where there is one: ours alone differ from nothing.
    """
    return bool(cell.configs) and (cell.is_published if experiment.published else cell.shows.what == "accuracy")
