"""What a page says, as plain values: page.json. The page is made from it and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import groupby
from typing import Any, TypeVar

from experiments.cells import STATISTICS, ShortcutScores
from experiments.experiment import Shows
from experiments.published import Number
from regulargpt.results.statistics import Group

Values = Mapping[str, Number | None]
Part = TypeVar("Part")


@dataclass(frozen=True)
class Cell:
    """One cell: its place, what it shows, what was published and what came out, and what its runs were.

    `group` are the statistics of its runs, None where no run has ended; it has no `scores` where nobody noted them.
    `train_seconds`, of all runs together, and `steps`, the fewest and the most, are None where they are not known.
    `shortcuts` are what rules without an automaton score, `found` the sentences of a figure's analysis, `notes` the
    numbers of the page's notes.
    """

    row: str
    column: str
    title: str
    shows: Shows
    levels: int | None
    published: Values
    ours: Values
    difference: Values
    runs: int
    done: int
    missing: int
    group: Group | None
    steps: tuple[int, int] | None
    train_seconds: float | None
    shortcuts: ShortcutScores | None
    found: tuple[str, ...]
    notes: tuple[int, ...]

    @property
    def failed(self) -> int:
        """How many runs failed or are damaged."""
        return self.runs - self.done - self.missing

    @property
    def is_published(self) -> bool:
        """Whether there is a published value."""
        return any(value is not None for value in self.published.values())


@dataclass(frozen=True)
class Picture:
    """A picture: the file that it lies in beside the page, and what it shows."""

    title: str
    file: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Made:
    """What every page says: what it is of, and how it was made.

    `lead` are the first sentences. `curves` are pictures by length. `session_seconds` has a number for each call of the
    command, `environments` are those in which runs were made, with how many. `remarks` say how the page came to be.
    """

    experiment: str
    scale: str
    heading: str
    title: str
    lead: tuple[str, ...]
    curves: tuple[Picture, ...]
    left_out: tuple[str, ...]
    failed: tuple[Mapping[str, str], ...]
    missing: tuple[str, ...]
    command: str
    session_seconds: tuple[float, ...]
    train_seconds: float
    environments: tuple[Mapping[str, Any], ...]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Record(Made):
    """A page of scores: its cells, row by row, and all that stands around them.

    `protocols` are the sentences about how was tested. `everywhere` are the notes of every cell that has conditions;
    `is_published` says whether these are conditions of a published table. `pictures` are those of an analysis.
    """

    statistics: tuple[str, ...]
    is_published: bool
    cells: tuple[Cell, ...]
    notes: tuple[str, ...]
    everywhere: tuple[int, ...]
    protocols: tuple[str, ...]
    pictures: tuple[Picture, ...]
    related: tuple[str, ...]

    @property
    def rows(self) -> list[tuple[Cell, ...]]:
        """The cells of each row."""
        return [tuple(cells) for _, cells in groupby(self.cells, key=lambda cell: cell.row)]

    @property
    def percent(self) -> bool:
        """Whether the cells hold shares in percent."""
        return set(self.statistics) <= set(STATISTICS)


def from_json(values: Mapping[str, Any]) -> Record:
    """The record in page.json."""
    cells = tuple(map(cell_from_json, values["cells"]))
    pictures = {key: tuple(part(Picture, one) for one in values[key]) for key in ("pictures", "curves")}
    return part(Record, {**values, "cells": cells, **pictures})


def cell_from_json(values: Mapping[str, Any]) -> Cell:
    """A cell in page.json."""
    kinds: dict[str, type] = {"shows": Shows, "group": Group, "shortcuts": ShortcutScores}
    parts = {name: values[name] and part(kind, values[name]) for name, kind in kinds.items()}
    return part(Cell, {**values, **parts})


def part(kind: type[Part], values: Mapping[str, Any]) -> Part:
    """A dataclass from the values of its fields, lists as tuples; others are left out."""
    found = {field.name: values[field.name] for field in fields(kind) if field.name in values}  # pyright: ignore
    return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in found.items()})
