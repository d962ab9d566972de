"""What an experiment is: rows and columns of a table, and the runs behind each cell at each scale."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal

from experiments.claims import Claim
from experiments.published import Number
from languages.errors import UserError, nearest, one_of
from regulargpt.config.recipes import resolve
from regulargpt.config.schema import RunConfig
from regulargpt.storage.folder import RunFolder

# smoke: whether it works, its figures mean nothing; cpu: two cores in hours, with early stopping; full: as published.
SCALES = ("smoke", "cpu", "full")
Scale = Literal["smoke", "cpu", "full"]
Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Shows:
    """What of its runs a cell shows: their accuracy, that of each, how many are proven, and of these as they are, the
    length of the shortest wrong word, the training or its seconds, or the depth.

    The accuracy is the score, or that at a single `length`; `tested` is the protocol of the test, "" for the runs' own.
    With `measure` it is in that measure, "" for the measure that makes the runs' own score. The depth is that of a word
    of `length` symbols. The training is its seconds and its steps.
    """

    what: Literal["accuracy", "each", "proven", "as it is", "first wrong", "seconds", "training", "depth"] = "accuracy"
    tested: str = ""
    length: int | None = None
    measure: str = ""


@dataclass(frozen=True)
class Column:
    """A column: which runs (columns of the same name `runs` share them), and what of them is shown.

    `published` is the column of the published table that it is compared with, if any. With `fails_at` a cell
    says at which length a run first fails, instead of a picture.
    """

    name: str
    title: str
    runs: str
    shows: Shows = Shows()
    published: str | None = None
    fails_at: bool = False


@dataclass(frozen=True)
class Analysis:
    """What was found in a run: the value that stands beside the published value, sentences, and a picture."""

    value: Number
    sentences: tuple[str, ...]
    picture: Path | None


@dataclass(frozen=True)
class Experiment:
    """One table or figure.

    `configs(row, runs, scale)` are the runs behind a cell, equal ones shared among cells; `shows(row, column)` is what
    of them the cell shows. Columns of `former` stand where there are records of them: their recipes are gone.
    `published` names the table that cells are compared with, `statements` what else is quoted, `related` newer results
    (experiments/published/). `statistics` are those over the runs of a cell, by default those that were published, or
    the maximum and the mean; "worst" is the lowest at any length of any run. `claims` are sentences that the cells are
    to bear out (`experiments/score_claims.py`). A figure has an `analyse` that looks into its runs; what that writes
    stays in the run's folder.
    """

    name: str
    title: str
    rows: tuple[str, ...]
    columns: tuple[Column, ...]
    configs: Callable[[str, str, Scale], list[RunConfig]]
    former: tuple[Column, ...] = ()
    published: str | None = None
    shows: Callable[[str, Column], Shows] = lambda row, column: column.shows
    statements: str | None = None
    related: tuple[str, ...] = ()
    statistics: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    analyse: Callable[[RunFolder], Analysis] | None = None

    def all_configs(self, scale: Scale, only: Sequence[str] = ()) -> list[RunConfig]:
        """Every run once, seed by seed, so that each cell soon shows something.

        `only` are rows, or `row/runs`: the runs of a column. UserError for no such scale, row or runs.
        """
        if scale not in SCALES:
            raise UserError(f"unknown scale '{scale}';{nearest(scale, SCALES) or ' choose ' + one_of(SCALES)}")
        cells = [cell for place in only or self.rows for cell in self.cells_of(place)]
        configs = dict.fromkeys(config for row, name in cells for config in self.configs(row, name, scale))
        return sorted(configs, key=lambda config: config.seed)

    def cells_of(self, place: str) -> list[tuple[str, str]]:
        """The rows and runs that a row, or `row/runs`, names; a row's own name may have a slash in it."""
        runs = list(dict.fromkeys(column.runs for column in self.columns))
        if place in self.rows:
            return [(place, name) for name in runs]
        row, _, name = place.rpartition("/")
        if row not in self.rows:
            raise UserError(f"{self.name} has no row '{place}';{nearest(place, self.rows) or ' ' + one_of(self.rows)}")
        if name not in runs:
            raise UserError(
                f"{self.name}: row {row} has no column '{name}';{nearest(name, runs) or ' ' + one_of(runs)}"
            )
        return [(row, name)]


def configs(
    language: str,
    recipe: str,
    model: str,
    preset: str,
    fields: Fields,
    seeds: Sequence[int],
    rates: Sequence[float] = (),
) -> list[RunConfig]:
    """The runs of a recipe under a protocol, one a seed and, if `rates` are given, a learning rate.

    >>> [c.seed for c in configs("parity", "paper", "rnn", "thesis", {"training.steps": 10}, seeds=(0, 1))]
    [0, 1]
    """
    base = resolve(recipe, model, language, fields, preset=preset or None)
    axes = product(seeds, rates or (base.training.lr,))
    return [base.replaced({"seed": seed, "training.lr": rate}) for seed, rate in axes]
