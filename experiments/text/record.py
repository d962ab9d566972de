"""What the page of a text table says, as plain values: page.json. The page is made from it and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from experiments.page.record import Made, Picture, part
from experiments.text.claims import Answer
from regulargpt.evaluation.interval import ENOUGH_SEEDS, SEGMENTS, Interval


@dataclass(frozen=True)
class Printed:
    """A published value: of which data, with its deviation and mark, over that at the training length, and what makes
    it doubtful."""

    data: str
    value: float
    sd: float | None
    mark: str
    ratio: float | None
    doubt: str


@dataclass(frozen=True)
class TextCell:
    """A row at a length: bits per byte here, the perplexity over that at the shortest length, another measure where the
    table shows one, and what was published."""

    row: str
    title: str
    multiple: int
    length: int
    bits: Interval | None
    ratio: Interval | None
    measure: Interval | None
    published: tuple[Printed, ...]


@dataclass(frozen=True)
class TextRow:
    """A row's runs: how many, how many are done, what each was trained on at most, why it was not tested,
    and how many learned too little to count."""

    row: str
    title: str
    attention: str
    runs: int
    done: int
    train_len: int
    tokens: int
    train_seconds: float
    problem: str
    unlearned: int = 0


@dataclass(frozen=True)
class ClaimRecord:
    """A claim, the rules that test it, the figures that were published, the verdict, and of how many seeds each figure
    is at least: 0 where that was not noted."""

    sentence: str
    source: str
    rules: tuple[str, ...]
    published: str
    answer: Answer
    figure: str
    why: str
    seeds: int = 0

    @property
    def is_of_a_kind(self) -> bool:
        """Whether it is about an encoding or a model, and not about just these networks."""
        return self.seeds >= ENOUGH_SEEDS


@dataclass(frozen=True, kw_only=True)
class TextRecord(Made):
    """The page of a text table.

    `conditions` are rows of a table: what, as published, here. `doubts` are about published values. `axis` is what the
    columns are: lengths, positions, or what a figure counts. `unlearned` are runs that learned too little to count,
    with what they come to at their training length. `over` is what intervals are over beside seeds: "files" of the text
    (or words); in pages whose runs are gone, "segments" or "words" of one network each, "" where figures are exact.
    `losses` is the file beside the page that has what each segment cost, "" where there is none.
    """

    scoring: str
    measure: str
    train_len: int
    claims: tuple[ClaimRecord, ...]
    cells: tuple[TextCell, ...]
    models: tuple[TextRow, ...]
    conditions: tuple[tuple[str, ...], ...]
    doubts: tuple[str, ...]
    notes: tuple[str, ...]
    axis: str = "length"
    unlearned: tuple[Mapping[str, Any], ...] = ()
    over: str = SEGMENTS
    losses: str = ""

    @property
    def rows(self) -> list[tuple[TextCell, ...]]:
        """The cells of each row."""
        return [tuple(cells) for _, cells in groupby(self.cells, key=lambda cell: cell.row)]


def text_from_json(values: Mapping[str, Any]) -> TextRecord:
    """The record in page.json."""
    kinds: dict[str, type] = {"claims": ClaimRecord, "models": TextRow, "curves": Picture}
    parts: dict[str, Any] = {key: tuple(part(kind, one) for one in values[key]) for key, kind in kinds.items()}
    cells = tuple(map(cell_from_json, values["cells"]))
    conditions = tuple(map(tuple, values["conditions"]))
    return part(TextRecord, {**values, **parts, "cells": cells, "conditions": conditions})


def cell_from_json(values: Mapping[str, Any]) -> TextCell:
    """A cell in page.json."""
    intervals = {key: values[key] and part(Interval, values[key]) for key in ("bits", "ratio", "measure")}
    printed = tuple(part(Printed, one) for one in values["published"])
    return part(TextCell, {**values, **intervals, "published": printed})
