"""Which rows are requested: by the values of columns, by the protocol of the test, by the measure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from languages.errors import UserError, nearest, one_of
from regulargpt.objectives.measures import Measure
from regulargpt.objectives.measures import measure as measure_of
from regulargpt.results.columns import key_of
from regulargpt.results.row import OF_A_TEST, RunRow, Value, cell, sortable
from regulargpt.results.rows import measures

Wanted = Mapping[str, Sequence[str]]


def conditions(texts: Iterable[str]) -> dict[str, list[str]]:
    """The values allowed in each column that `--where COLUMN=VALUE` names, as they are written.

    >>> conditions(["model=lstm", "model=gru", "lr=1e-3", "chunk_size="])
    {'model': ['lstm', 'gru'], 'lr': ['1e-3'], 'chunk_size': ['']}
    """
    wanted: dict[str, list[str]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UserError(f"--where {text}: write COLUMN=VALUE, as in --where model=lstm")
        wanted.setdefault(name.strip(), []).append(value.strip())
    return wanted


def where(rows: Sequence[RunRow], wanted: Wanted, names: Mapping[str, str]) -> list[RunRow]:
    """The rows with one of the values in every column. What a failed run does not have is not held against it.

    Raises UserError if no row has any of the values in a column, or none has them all.
    """
    keys = {name: key_of(name, names, "--where") for name in wanted}
    for name, texts in wanted.items():
        there = {row.get(keys[name]) for row in rows}
        if not any(says(value, text) for value in there for text in texts):
            shown = [cell(value) for value in sorted(there, key=sortable)]
            raise UserError(f"--where {name}={texts[0]}: no run has that; {name} is {one_of(shown)}")
    kept = [row for row in rows if all(matches(row, keys[name], texts) for name, texts in wanted.items())]
    if not kept:
        raise UserError("no run is all that --where asks for; leave one of the conditions out")
    return kept


def matches(row: RunRow, key: str, texts: Sequence[str]) -> bool:
    """Whether a row has one of these values in a column."""
    return any(says(row.get(key), text) for text in texts) or (not row.is_done and key in OF_A_TEST)


def says(value: Value, text: str) -> bool:
    """Whether a text says this value, a number however it is written.

    >>> says(0.001, "1e-3"), says(True, "true"), says(None, ""), says("2", "2.0")
    (True, True, True, False)
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return value == float(text)
        except ValueError:
            return False
    return cell(value) == text


def under(rows: Sequence[RunRow], protocol: str) -> list[RunRow]:
    """The tests under a protocol, named with or without its version; failed runs stay.

    Raises UserError if no test was under it, or tests were under several versions of it.
    """
    there = sorted({row.tested for row in rows if row.is_done})
    names = [name for name in there if name == protocol] or [
        name for name in there if re.fullmatch(re.escape(protocol) + r"-\d+", name)
    ]
    if not names:
        known = [name for name in there if name]
        have = f"tests here are under {one_of(known)}" if known else "no test here was under a protocol"
        raise UserError(f"--tested {protocol}: {have}")
    if len(names) > 1:
        raise UserError(f"--tested {protocol}: tests here are under {one_of(names)}; name one of them")
    return [row for row in rows if not row.is_done or row.tested == names[0]]


def under_own(rows: Sequence[RunRow]) -> list[RunRow]:
    """The tests of each run under the protocol that it was trained for; failed runs stay.

    Raises UserError if there are only tests under others.
    """
    own = [row for row in rows if not row.is_done or row.tested == (row.get("protocol") or "")]
    others = sorted({row.tested for row in rows if row.is_done})
    if others and not any(row.is_done for row in own):
        raise UserError(f"what is asked for was tested under {one_of(others)} only: add --tested {others[0]}")
    return own


def measured(rows: Sequence[RunRow], name: str | None) -> Measure:
    """The measure to show: that of this name, else that of the runs' scores; accuracy if no run has any.

    Raises UserError if no run has it, or runs have different ones.
    """
    known, own = measures(rows), sorted({row.measure for row in rows if row.measure})
    if name is None and len(own) > 1:
        shared = [name for name in known if all(name in row.measures for row in rows if row.measures)]
        remedy = f"--measure {shared[0]}, which all have" if shared else "name one of them with --measure"
        raise UserError(f"the scores of these runs are of {one_of(own)}; {remedy}")
    if name is not None and known and (measure_of(name).scales or name) not in known:
        raise UserError(f"--measure {name}: no run has that;{nearest(name, known) or ' there is ' + one_of(known)}")
    return measure_of(name or next(iter(own), "accuracy"))


def beside_it(rows: Sequence[RunRow], measure: Measure) -> list[tuple[Measure, list[RunRow]]]:
    """The other shares that were measured, each with the runs that have it: nobody has to ask for them.

    >>> rows = [RunRow("a", "done", measures={"accuracy": 50.0, "words": 0.0}), RunRow("b", "done", measures={"accuracy": 9.0})]
    >>> [(other.name, [row.run for row in of]) for other, of in beside_it(rows, measure_of("accuracy"))]
    [('words', ['a'])]
    """  # noqa: E501
    others = [measure_of(name) for name in measures(rows) if name != measure.name]
    shares = [other for other in others if other.unit == measure.unit == "%"]
    return [(other, [row for row in rows if other.name in row.measures]) for other in shares]
