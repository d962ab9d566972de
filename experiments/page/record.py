"""What a page says, as plain values: page.json. The page in Markdown and in HTML is made from it and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from experiments.cells import STATISTICS
from experiments.published import Number

Values = Mapping[str, Number | None]


@dataclass(frozen=True)
class Cell:
    """One cell: its place, what it shows, what was published and what came out, and what its runs were.

    `shows`, `tested` and `length` are those of `experiments.experiment.Shows`. `scores` are those of the single runs,
    empty where nobody noted them; `low` to `high` is the 95 % interval of their median, of six runs or more.
    `train_seconds`, of all runs together, and `steps`, the fewest and the most, are None where they are not known.
    `shortcuts` are the scores of rules without an automaton on the words that `words` names, `found` are the sentences
    of a figure's analysis, `notes` the numbers of the page's notes.
    """

    row: str
    column: str
    title: str
    shows: str
    tested: str
    length: int | None
    levels: int | None
    published: Values
    ours: Values
    difference: Values
    runs: int
    done: int
    failed: int
    missing: int
    proven: int | None
    scores: tuple[float, ...]
    max: float | None
    mean: float | None
    sd: float | None
    min: float | None
    low: float | None
    high: float | None
    first_below_99: int | None
    steps: tuple[int, int] | None
    train_seconds: float | None
    words: str
    shortcuts: Mapping[str, float] | None
    found: tuple[str, ...]
    notes: tuple[int, ...]

    @property
    def is_published(self) -> bool:
        """Whether there is a published value."""
        return any(value is not None for value in self.published.values())


@dataclass(frozen=True)
class Shown:
    """A picture: the file that it lies in beside the page, and what it shows."""

    title: str
    file: str
    text: str


@dataclass(frozen=True)
class Record:
    """A page: its cells, row by row, and all that stands around them.

    `lead` are the first sentences, `protocols` those about how was tested. `everywhere` are the notes of every cell
    that has conditions; `is_published` says whether these are conditions of a published table. `looks` are pictures of
    an analysis, `curves` accuracies by length. `environments` are those in which runs were made, with how many.
    `remarks` are sentences about how the page came to be.
    """

    experiment: str
    scale: str
    heading: str
    title: str
    lead: tuple[str, ...]
    statistics: tuple[str, ...]
    is_published: bool
    cells: tuple[Cell, ...]
    notes: tuple[str, ...]
    everywhere: tuple[int, ...]
    protocols: tuple[str, ...]
    looks: tuple[Shown, ...]
    curves: tuple[Shown, ...]
    related: tuple[str, ...]
    left_out: tuple[str, ...]
    failed: tuple[Mapping[str, str], ...]
    missing: tuple[str, ...]
    command: str
    seconds: tuple[float, ...]
    train_seconds: float
    environments: tuple[Mapping[str, Any], ...]
    remarks: tuple[str, ...] = ()

    @property
    def rows(self) -> list[tuple[Cell, ...]]:
        """The cells of each row."""
        return [
            tuple(cell for cell in self.cells if cell.row == row) for row in dict.fromkeys(c.row for c in self.cells)
        ]

    @property
    def percent(self) -> bool:
        """Whether the cells hold shares in percent."""
        return set(self.statistics) <= set(STATISTICS)


def from_json(values: Mapping[str, Any]) -> Record:
    """The record in page.json."""
    cells = tuple(Cell(**only(Cell, cell)) for cell in values["cells"])
    pictures = {key: tuple(Shown(**picture) for picture in values[key]) for key in ("looks", "curves")}
    return Record(**{**only(Record, values), "cells": cells, **pictures})


def only(owner: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the dataclass's fields, lists as tuples."""
    found = {field.name: values[field.name] for field in fields(owner) if field.name in values}
    return {key: tuple(value) if isinstance(value, list) else value for key, value in found.items()}
