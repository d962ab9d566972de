"""atlas.csv, a row a language and network, and languages.csv beside it, a row a language with its algebra.

Every figure of the page follows from both.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.atlas.algebra import NUMBERS
from languages.errors import UserError
from regulargpt import tables
from regulargpt.storage.atomic import parse_text, read_bytes, write_text

Row = Mapping[str, Any]
FILE, LANGUAGES = "atlas.csv", "languages.csv"
DONE, FAILED, REFUSED = "done", "failed", "refused"
"""What became of a run."""
TEXTS = ("language", "network", "kind", "state", "reason")
RESULTS = ("accuracy", "worst", "first_below_99", "chance", "proven", "learned_at", "certified_at", "steps")
# `budget` is how many steps the run might have had.
RESULTS += ("budget", "seconds")
OF_LANGUAGE: tuple[str, ...] = ("language", "alphabet", "kind", "is_constant", *NUMBERS)
OF_RUN: tuple[str, ...] = ("language", "network", *RESULTS, "state", "reason")
COLUMNS = (*OF_LANGUAGE, *OF_RUN[1:])


def write(path: Path, rows: Iterable[Row]) -> None:
    """The rows as two tables; what a row lacks is an empty cell, true and false are 1 and 0."""
    rows = list(rows)
    languages = {row["language"]: row for row in rows}.values()
    for place, names, of in ((path.with_name(LANGUAGES), OF_LANGUAGE, languages), (path, OF_RUN, rows)):
        write_text(place, tables.csv([names, *([_cell(row.get(name)) for name in names] for row in of)]))


def _cell(value: object) -> object:
    return int(value) if isinstance(value, bool) else value


def read(path: Path) -> list[Row]:
    """The rows of a file: texts, numbers, and None for an empty cell of a number.

    Raises UserError for a file with other columns, or a number that is none.
    """
    return [{name: _value(name, line[name], path) for name in COLUMNS} for line in lines(path)]


def lines(path: Path) -> list[Row]:
    """The rows of a file as they stand there. Raises UserError for a file with other columns, or without a language."""
    runs = _table(path, OF_RUN)
    languages = {line["language"]: line for line in _table(path.with_name(LANGUAGES), OF_LANGUAGE)}
    if lacking := next((line["language"] for line in runs if line["language"] not in languages), None):
        raise UserError(f"{path.with_name(LANGUAGES)} lacks {lacking}; copy the one that belongs to {path}")
    return [{**languages[line["language"]], **line} for line in runs]


def _table(path: Path, names: Sequence[str]) -> list[Row]:
    reader = csv.DictReader(parse_text(read_bytes(path), path).splitlines())
    if tuple(reader.fieldnames or ()) != tuple(names):
        raise UserError(f"{path} has not the columns of an atlas; make it anew with python -m experiments.atlas OUT")
    return list(reader)


def _value(name: str, text: str, path: Path) -> str | float | None:
    if name in TEXTS:
        return text
    try:
        return float(text) if text else None
    except ValueError:
        raise UserError(f"{path}: {name} is '{text}', not a number; restore the file") from None
