"""The columns of atlas.csv, written and read: what stands behind every figure of the page."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from experiments.atlas.algebra import NUMBERS
from languages.errors import UserError
from regulargpt import tables
from regulargpt.storage.atomic import parse_text, read_bytes, write_text

Row = Mapping[str, Any]
FILE = "atlas.csv"
DONE, FAILED, REFUSED = "done", "failed", "refused"
"""What became of a run."""
TEXTS = ("language", "network", "kind", "state", "reason")
RESULTS = ("accuracy", "worst", "first_below_99", "chance", "proven", "learned_at", "certified_at", "steps", "seconds")
COLUMNS: tuple[str, ...] = (
    "language",
    "network",
    "alphabet",
    "kind",
    "is_constant",
    *NUMBERS,
    *RESULTS,
    "state",
    "reason",
)


def write(path: Path, rows: Iterable[Row]) -> None:
    """The rows as CSV; what a row lacks is an empty cell, true and false are 1 and 0."""
    cells = ([_cell(row.get(name)) for name in COLUMNS] for row in rows)
    write_text(path, tables.csv([COLUMNS, *cells]))


def _cell(value: object) -> object:
    return int(value) if isinstance(value, bool) else value


def read(path: Path) -> list[Row]:
    """The rows of a file: texts, numbers, and None for an empty cell of a number.

    Raises UserError for a file with other columns, or a number that is none.
    """
    return [{name: _value(name, line[name], path) for name in COLUMNS} for line in lines(path)]


def lines(path: Path) -> list[Mapping[str, str]]:
    """The rows of a file as they stand there. Raises UserError for a file with other columns."""
    found = csv.DictReader(parse_text(read_bytes(path), path).splitlines())
    if tuple(found.fieldnames or ()) != COLUMNS:
        raise UserError(f"{path} has not the columns of an atlas; make it anew with python -m experiments.atlas OUT")
    return list(found)


def _value(name: str, text: str, path: Path) -> str | float | None:
    if name in TEXTS:
        return text
    try:
        return float(text) if text else None
    except ValueError:
        raise UserError(f"{path}: {name} is '{text}', not a number; restore the file") from None
