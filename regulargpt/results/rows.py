"""The tidy table of all runs in a folder: one row a run, a protocol it was tested under, and a length."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from regulargpt import tables
from regulargpt.results.columns import NAMES, PARTS, differing, known
from regulargpt.results.places import Place, places
from regulargpt.results.read import Progress, read
from regulargpt.results.row import RunRow, Value, cell
from regulargpt.storage import atomic
from regulargpt.storage.metrics import render_rows

CSV, JSONL = "results.csv", "results.jsonl"
# The columns of every table, before and after those of the configs.
FIRST = ("run", "status", "reason", *PARTS, "tested", "seed")
GUESSES = ("_chance", "_majority")
LAST = ("steps", "train_seconds", "proven", "as_it_is", "first_wrong", "given", "n_given")
LAST += ("measure", "length", "samples", "in_score")


@dataclass(frozen=True)
class Results:
    """The rows of all runs that came to an end, and the names of those that did not."""

    rows: list[RunRow]
    unfinished: list[str]


def rows(path: str | Path) -> list[RunRow]:
    """The table of a sweep, of a folder of run folders, of a run, or of a results.csv, sorted by run.

    Unfinished runs have no rows. Raises UserError if the folder holds no runs.
    """
    return collect([path]).rows


def write(path: str | Path) -> list[RunRow]:
    """Write results.csv and results.jsonl into the folder, each atomically; the rows.

    The bytes depend on the run folders alone, not on when or in which order the runs were done.
    """
    table = rows(path)
    atomic.write_text(Path(path) / CSV, to_csv(table))
    atomic.write_bytes(Path(path) / JSONL, to_jsonl(table))
    return table


def collect(paths: Sequence[str | Path], progress: Progress = lambda part, done, count: None) -> Results:
    """The runs of several folders in a single table. A run that lies in two of them, or is given twice, is there once.

    Different runs of the same name are named with their folders. `progress` is as in `read`.
    """
    distinct: dict[Path, tuple[Path, Place]] = {}
    for path in map(Path, paths):
        for place in places(path):
            distinct.setdefault(place.folder.resolve(), (path, place))
    runs: list[tuple[Path, str, list[RunRow] | None]] = []
    for path, place in distinct.values():
        if place.folder.suffix == ".csv" and not atomic.disk.is_folder(place.folder):
            by_run = groupby(from_csv(place.folder), key=lambda row: row.run)
            runs += [(path, name, list(of_run)) for name, of_run in by_run]
        else:
            runs.append((path, place.name, read(place, progress)))
    names, table, unfinished = Counter(name for _, name, _ in runs), [], []
    for path, own, of_run in runs:
        name = own if names[own] == 1 else f"{atomic.shown(path)}/{own}"
        if of_run is None:
            unfinished.append(name)
        else:
            table += of_run if name == own else [replace(row, run=name) for row in of_run]
    # Sorting is stable: within a run the order is that of `read`.
    return Results(sorted(table, key=lambda row: row.run), sorted(unfinished))


def columns(rows: Sequence[RunRow]) -> dict[str, str]:
    """The columns of results.csv but for the measures, and their keys: of the configs those in which runs differ."""
    names, several = known(rows), set(differing(rows))
    apart = {name: key for name, key in names.items() if key in several and name not in FIRST and name not in LAST}
    return {name: names.get(name, name) for name in FIRST} | apart | {name: names[name] for name in LAST}


def measures(rows: Iterable[RunRow]) -> list[str]:
    """The names of all measures, those that scores are made of first."""
    rows = list(rows)
    first = dict.fromkeys(row.measure for row in rows if row.measure)
    return list(first | dict.fromkeys(name for row in rows for name in row.measures))


def lines(rows: Sequence[RunRow]) -> tuple[list[str], list[list[Value]]]:
    """The header and the values of results.csv."""
    keys, named = columns(rows), measures(rows)
    guessed = [name for name in named if any(name in row.guesses for row in rows)]
    values = [
        [*map(row.get, keys.values()), *map(row.measures.get, named), *(x for m in guessed for x in guess(row, m))]
        for row in rows
    ]
    return [*keys, *named, *(f"{name}{part}" for name in guessed for part in GUESSES)], values


def guess(row: RunRow, measure: str) -> tuple[float | None, float | None]:
    """Chance and the best single answer of a measure, None where there is nothing to guess."""
    return row.guesses.get(measure, (None, None))


def to_csv(rows: Sequence[RunRow]) -> str:
    """results.csv.

    >>> print(to_csv([RunRow("a", "done", config={"seed": 3}, length=41, measures={"accuracy": 100.0})]), end="")
    run,status,reason,language,model,recipe,supervision,protocol,tested,seed,steps,train_seconds,proven,as_it_is,first_wrong,given,n_given,measure,length,samples,in_score,accuracy
    a,done,,,,,,,,3,,,,,,,,,41,,,100.0
    """
    header, values = lines(rows)
    return tables.csv([header, *([cell(value) for value in line] for line in values)])


def to_jsonl(rows: Sequence[RunRow]) -> bytes:
    """results.jsonl: the same table, one JSON object a row."""
    header, values = lines(rows)
    return render_rows(dict(zip(header, line, strict=True)) for line in values)


def from_csv(path: Path) -> list[RunRow]:
    """The rows of a results.csv, with as much of the configs as it says; FormatError if it is none."""
    table = csv.reader(io.StringIO(atomic.parse_text(atomic.read_bytes(path), path)))
    header = next(table, [])
    if header[: len(FIRST)] != list(FIRST) or LAST[-1] not in header:
        raise atomic.FormatError(f"{atomic.shown(path)} is no table of runs; give results.csv, or a folder of runs")
    end = header.index(LAST[-1]) + 1
    configs: dict[tuple[Any, ...], dict[str, Value]] = {}
    rows = []
    for number, line in enumerate(table, 2):
        if len(line) != len(header):
            place = f"{atomic.shown(path)}, line {number}"
            raise atomic.FormatError(f"{place}: {len(line)} columns, not {len(header)}; restore it from a copy")
        known = dict(zip(header[:end], map(value_of, header[:end], line), strict=True))
        own = {name: known.pop(name, None) for name in ("run", "status", "reason", "tested", *LAST)}
        config = {NAMES.get(name, name): value for name, value in known.items() if value not in (None, "")}
        config = configs.setdefault(tuple(config.items()), config)
        numbers = {name: float(text) for name, text in zip(header[end:], line[end:], strict=True) if text}
        chance, majority = GUESSES
        guesses = {
            name: (numbers.pop(f"{name}{chance}"), numbers.pop(f"{name}{majority}"))
            for name in list(numbers)
            if f"{name}{chance}" in numbers
        }
        # Tables that were written before the column was there have one measure a run.
        measure = own.pop("measure") or next(iter(numbers), "")
        rows.append(RunRow(**own, config=config, measure=measure, measures=numbers, guesses=guesses))
    return rows


def value_of(name: str, text: str) -> Any:
    """A value of results.csv: a name is text, anything else what it looks like; None if it is blank.

    >>> value_of("lr", "0.001"), value_of("proven", "true"), value_of("language", "012"), value_of("lr", "")
    (0.001, True, '012', None)
    """
    if name in (*PARTS, "run", "status", "reason", "tested", "given"):
        return text
    if text in ("true", "false"):
        return text == "true"
    for number in (int, float):
        with suppress(ValueError):
            return number(text)
    return text or None
