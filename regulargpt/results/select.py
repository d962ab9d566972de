"""Which rows are asked for: by the values of columns, by the protocol of the test; and what to group by if unsaid."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from languages.errors import UserError, nearest, one_of
from regulargpt.results.row import COLUMNS, OF_A_TEST, Row, Value, cell, sortable

# What a config says: the columns that tell groups apart if none are named. Runs that differ in the seed are a group.
CONFIGURED = (
    "language",
    "model",
    "chunk_size",
    "recipe",
    "supervision",
    "protocol",
    "tested",
    "lr",
    "d_model",
    "settings",
)

KINDS = {name: (typing.get_args(kind) or (kind,))[0] for name, kind in typing.get_type_hints(Row).items()}


def column(name: str, option: str) -> str:
    """The column of this name; UserError with the nearest one if there is none.

    >>> column("chunk-size", "--group-by")
    Traceback (most recent call last):
    languages.errors.UserError: --group-by chunk-size: no such column; did you mean 'chunk_size'?
    """
    if name not in COLUMNS:
        hint = nearest(name, COLUMNS) or f" {', '.join(COLUMNS)}"
        raise UserError(f"{option} {name or repr(name)}: no such column;{hint}")
    return name


def columns(text: str) -> tuple[str, ...]:
    """The columns of `--group-by`, each once.

    >>> columns("language, chunk_size")
    ('language', 'chunk_size')
    """
    return tuple(dict.fromkeys(column(name.strip(), "--group-by") for name in text.split(",")))


def conditions(texts: Iterable[str]) -> dict[str, list[Value]]:
    """The values allowed in each column that `--where COLUMN=VALUE` names.

    >>> conditions(["model=lstm", "model=gru", "lr=1e-3", "chunk_size="])
    {'model': ['lstm', 'gru'], 'lr': [0.001], 'chunk_size': [None]}
    """
    wanted: dict[str, list[Value]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UserError(f"--where {text}: write COLUMN=VALUE, as in --where model=lstm")
        name = column(name.strip(), "--where")
        wanted.setdefault(name, []).append(value_of(name, value.strip()))
    return wanted


def value_of(name: str, text: str) -> Value:
    """The value of a column as it is written on the command line."""
    kind = KINDS[name]
    if kind is str:
        return text
    if not text:
        return None
    if kind is bool:
        if text not in ("true", "false"):
            raise UserError(f"--where {name}={text}: {name} is true or false")
        return text == "true"
    for number in (int, float):
        with suppress(ValueError):
            return number(text)
    raise UserError(f"--where {name}={text}: {name} is a number")


def where(rows: Sequence[Row], wanted: Mapping[str, Sequence[Value]]) -> list[Row]:
    """The rows with one of the values in every column. What a failed run does not have is not held against it.

    Raises UserError if no row has one of the values in a column, or none has them all.
    """
    for name, values in wanted.items():
        there = {getattr(row, name) for row in rows}
        if not there & set(values):
            shown = [cell(value) for value in sorted(there, key=sortable)]
            raise UserError(f"--where {name}={cell(values[0])}: no run has that; {name} is {one_of(shown)}")
    kept = [row for row in rows if all(matches(row, name, values) for name, values in wanted.items())]
    if not kept:
        raise UserError("no run is all that --where asks for; leave one of the conditions out")
    return kept


def matches(row: Row, name: str, values: Sequence[Value]) -> bool:
    """Whether a row has one of these values in a column."""
    return getattr(row, name) in values or (not row.is_done and name in OF_A_TEST)


def under(rows: Sequence[Row], protocol: str) -> list[Row]:
    """The tests under a protocol, named with or without its version; failed runs stay.

    Raises UserError if no test was under it, or tests were under several versions of it.
    """
    there = sorted({row.tested for row in rows if row.is_done})
    found = [name for name in there if name == protocol] or [
        name for name in there if re.fullmatch(re.escape(protocol) + r"-\d+", name)
    ]
    if not found:
        known = [name for name in there if name]
        have = f"tests here are under {one_of(known)}" if known else "no test here was under a protocol"
        raise UserError(f"--tested {protocol}: {have}")
    if len(found) > 1:
        raise UserError(f"--tested {protocol}: tests here are under {one_of(found)}; name one of them")
    return [row for row in rows if not row.is_done or row.tested == found[0]]


def under_own(rows: Sequence[Row]) -> list[Row]:
    """The tests of each run under the protocol that it was trained for; failed runs stay.

    Raises UserError if there are only tests under others.
    """
    own = [row for row in rows if not row.is_done or row.tested == row.protocol]
    others = sorted({row.tested for row in rows if row.is_done})
    if others and not any(row.is_done for row in own):
        raise UserError(f"what is asked for was tested under {one_of(others)} only: add --tested {others[0]}")
    return own


def pooled(rows: Sequence[Row], by: Sequence[str]) -> list[str]:
    """The fields of the column `settings` in which runs of one group differ, when grouped by these columns.

    >>> runs = [Row(clip, "done", settings=f"training.clip={clip}") for clip in ("0.5", "1.0")]
    >>> pooled(runs, ["language"]), pooled(runs, ["settings"])
    (['training.clip'], [])
    """
    groups: dict[tuple[Value, ...], set[str]] = {}
    for row in rows:
        groups.setdefault(tuple(getattr(row, name) for name in by), set()).update(row.settings.split())
    differ: set[str] = set()
    for told in groups.values():
        keys = [text.partition("=")[0] for text in told]
        differ |= {key for key in keys if keys.count(key) > 1}
    return sorted(differ)


def varying(rows: Sequence[Row]) -> tuple[str, ...]:
    """The columns of the config in which rows differ, without the seed; the language if there are none.

    >>> varying([Row("a", "done", language="parity", lr=0.1), Row("b", "done", language="parity", lr=0.2)])
    ('lr',)
    """
    known = [row for row in rows if row.language]
    values = {name: {getattr(row, name) for row in known} - {None} for name in CONFIGURED}
    if all(row.tested == row.protocol for row in known):
        values.pop("tested")
    return tuple(name for name in CONFIGURED if len(values.get(name, ())) > 1) or ("language",)
