"""The tidy table of all runs in a folder: one row a run, a protocol it was tested under, and a length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regulargpt.results.places import Place, places
from regulargpt.results.read import fields, read
from regulargpt.results.row import COLUMNS, Row, to_csv, to_jsonl
from regulargpt.results.settings import with_settings
from regulargpt.storage import atomic

__all__ = ["COLUMNS", "CSV", "JSONL", "Results", "Row", "collect", "rows", "write"]

CSV, JSONL = "results.csv", "results.jsonl"


@dataclass(frozen=True)
class Results:
    """The rows of all runs that came to an end, and the names of those that did not."""

    rows: list[Row]
    unfinished: list[str]


def rows(path: str | Path) -> list[Row]:
    """The table of a sweep, of a folder of run folders, or of one run, sorted by run, protocol and length.

    Unfinished runs have no rows. Raises UserError if the folder holds no runs.

    >>> import tempfile
    >>> from regulargpt.storage.folder import RunFolder
    >>> run = RunFolder.create(Path(tempfile.mkdtemp()) / "a", "seed = 3\\n[task]\\ntrain_len = 1\\n", {})
    >>> run.write_accuracy([(2, 1.0, 512)])
    >>> [(row.run, row.seed, row.length, row.accuracy) for row in rows(run.path)]
    [('a', 3, 2, 100.0)]
    """
    return collect([path]).rows


def write(path: str | Path) -> list[Row]:
    """Write results.csv and results.jsonl into the folder, each atomically; the rows.

    The bytes depend on the run folders alone, not on when or in which order the runs were done.
    """
    table = rows(path)
    atomic.write_text(Path(path) / CSV, to_csv(table))
    atomic.write_bytes(Path(path) / JSONL, to_jsonl(table))
    return table


def collect(paths: Sequence[str | Path]) -> Results:
    """The runs of several folders in one table. A run that lies in two of them, or is given twice, is there once.

    Different runs of the same name are named with their folders.
    """
    found: dict[Path, tuple[Path, Place]] = {}
    for path in map(Path, paths):
        for place in places(path):
            found.setdefault(place.folder.resolve(), (path, place))
    names = Counter(place.name for _, place in found.values())
    table: list[Row] = []
    configs: dict[str, dict[str, Any]] = {}
    unfinished: list[str] = []
    for path, place in found.values():
        name = place.name if names[place.name] == 1 else f"{atomic.shown(path)}/{place.name}"
        of_run = read(place)
        if of_run is None:
            unfinished.append(name)
        else:
            table += of_run if name == place.name else [replace(row, run=name) for row in of_run]
            configs[name] = fields(place)
    # Sorting is stable: within a run the order is that of `read`.
    return Results(sorted(with_settings(table, configs), key=lambda row: row.run), sorted(unfinished))
