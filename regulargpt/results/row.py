"""A row of the tidy table, and the table as CSV and as JSON lines."""

from __future__ import annotations

import csv
import dataclasses
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass

from regulargpt.storage.metrics import render_rows

Value = str | int | float | bool | None
Key = tuple[Value, ...]

DONE, FAILED, DAMAGED = "done", "failed", "damaged"


@dataclass(frozen=True, slots=True)
class Row:
    """A run, a test of it, and a length; a run that failed or is damaged is one row without length.

    `settings` are the fields of the config in which runs differ that agree in the columns before it, but for the seed.
    `tested` is the protocol of the test, `accuracy` in percent, `in_score` whether the length is in the scored range.
    None is what a row does not have: the chunk size of an LSTM, the proof of a run of which none was asked.
    """

    run: str
    status: str
    reason: str = ""
    language: str = ""
    model: str = ""
    chunk_size: int | None = None
    recipe: str = ""
    supervision: str = ""
    protocol: str = ""
    tested: str = ""
    seed: int | None = None
    lr: float | None = None
    d_model: int | None = None
    settings: str = ""
    steps: int | None = None
    train_seconds: float | None = None
    proven: bool | None = None
    length: int | None = None
    accuracy: float | None = None
    samples: int | None = None
    in_score: bool | None = None

    @property
    def is_done(self) -> bool:
        """Whether the row is a result."""
        return self.status == DONE


COLUMNS = tuple(column.name for column in dataclasses.fields(Row))
# What a run has once a test and length, so that a run that failed has none of it.
OF_A_TEST = ("tested", "length", "accuracy", "samples", "in_score")


def cell(value: Value) -> str:
    """A value as it stands in the table.

    >>> [cell(value) for value in (None, True, 0.0003, "regex:(a|b)*")]
    ['', 'true', '0.0003', 'regex:(a|b)*']
    """
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def sortable(value: Value) -> tuple[bool, float, list[str | int]]:
    """What sorts values: numbers by size, also those in names; what is missing last.

    >>> sorted([None, 10, 9.5], key=sortable), sorted(["dyck-12", "dyck-2"], key=sortable)
    ([9.5, 10, None], ['dyck-2', 'dyck-12'])
    """
    if isinstance(value, str):
        parts = re.split(r"([0-9]+)", value)
        return False, 0.0, [int(part) if at % 2 else part for at, part in enumerate(parts)]
    return value is None, float(value or 0), []


def render_csv(lines: Iterable[Iterable[str]]) -> str:
    """Lines as CSV, quoted where they must be.

    >>> print(render_csv([("run", "reason"), ("a", 'said "no", left')]), end="")
    run,reason
    a,"said ""no"", left"
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


def to_csv(rows: Iterable[Row]) -> str:
    """results.csv.

    >>> to_csv([Row("a", "done", seed=0)]).splitlines()[1]
    'a,done,,,,,,,,,0,,,,,,,,,,'
    """
    return render_csv([COLUMNS, *([cell(getattr(row, column)) for column in COLUMNS] for row in rows)])


def to_jsonl(rows: Iterable[Row]) -> bytes:
    """results.jsonl: the same table, one JSON object a row.

    >>> to_jsonl([Row("a", "failed", "out of memory")])[:58]
    b'{"run": "a", "status": "failed", "reason": "out of memory"'
    """
    return render_rows({column: getattr(row, column) for column in COLUMNS} for row in rows)
