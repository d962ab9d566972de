"""What the page of a checkpoint says, as plain values: page.json. The page is made from it and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from experiments.page.record import Made, Picture, part
from experiments.text.record import ClaimRecord
from regulargpt.evaluation.interval import Interval


@dataclass(frozen=True)
class AskedCell:
    """A strategy on a task at a size: what was found of how many prompts, at which temperature, and as published.

    All numbers are None where it was not asked.
    """

    task: str
    size: int
    title: str
    strategy: str
    samples: int
    tokens: int | None
    exact: Interval | None
    tau: float | None
    at_bound: bool
    published: float | None
    published_tau: float | None


@dataclass(frozen=True, kw_only=True)
class CheckpointRecord(Made):
    """The page of a checkpoint: its name and the digest of its weights, which published model has its sizes ("" if none
    has), the claims, and a cell for each task, strategy and size. `conditions` are rows of a table: what, as published,
    here.
    """

    checkpoint: str
    weights: str
    published_as: str
    claims: tuple[ClaimRecord, ...]
    cells: tuple[AskedCell, ...]
    conditions: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]

    @property
    def tasks(self) -> dict[str, dict[str, list[AskedCell]]]:
        """The cells of each task, by strategy."""
        found = {task: list(cells) for task, cells in groupby(self.cells, key=lambda cell: cell.task)}
        return {
            task: {strategy: list(row) for strategy, row in groupby(cells, key=lambda cell: cell.strategy)}
            for task, cells in found.items()
        }


def checkpoint_from_json(values: Mapping[str, Any]) -> CheckpointRecord:
    """The record in page.json."""
    cells = tuple(cell_from_json(one) for one in values["cells"])
    claims = tuple(part(ClaimRecord, one) for one in values["claims"])
    curves = tuple(part(Picture, one) for one in values["curves"])
    conditions = tuple(map(tuple, values["conditions"]))
    parts = {"cells": cells, "claims": claims, "curves": curves, "conditions": conditions}
    return part(CheckpointRecord, {**values, **parts})


def cell_from_json(values: Mapping[str, Any]) -> AskedCell:
    """A cell in page.json."""
    return part(AskedCell, {**values, "exact": values["exact"] and part(Interval, values["exact"])})
