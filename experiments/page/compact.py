"""page.json without repetitions, and back: every value is exactly as it was.

Records with the same keys, as the cells of a table are, are written by column. In a column `[v, n]` is n times v, `[v]`
is a v that is a list itself. A column that is shorter than its records starts again and again. Where values are records
(or none), or lists of records, `of` are their columns. Long curves and losses are `squeezed`.
"""

from __future__ import annotations

import bz2
import json
from base64 import b85decode, b85encode
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby, islice
from typing import Any

Record = Mapping[str, Any]


def dense(value: Any) -> str:
    """JSON without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def squeezed(value: Any) -> str:
    """A plain value as text that is short and says nothing to people: its JSON by bzip2, in base 85.

    >>> unsqueezed(squeezed([[1.5, 2], "a"]))
    [[1.5, 2], 'a']
    """
    return b85encode(bz2.compress(dense(value).encode())).decode()


def unsqueezed(text: str) -> Any:
    """The value that `squeezed` took; ValueError or OSError for another text."""
    return json.loads(bz2.decompress(b85decode(text)))


def packed(parts: Record) -> dict[str, Any]:
    """What a file has of the parts of a page: records by column, curves short."""
    return {
        key: {"count": len(value), "columns": columns(value)}
        if are_alike(value) and "file" not in value[0]
        else with_curves(value, is_short=True)
        for key, value in parts.items()
    }


def unpacked(parts: Record) -> dict[str, Any]:
    """The parts that `packed` took."""
    return {
        key: records(value["columns"], value["count"])
        if isinstance(value, dict) and "columns" in value
        else with_curves(value, is_short=False)
        for key, value in parts.items()
    }


def with_curves(value: Any, is_short: bool) -> Any:
    """The value with the lines of its pictures, however deep they lie, short or as they were."""
    if isinstance(value, list):
        return [with_curves(item, is_short) for item in value]
    if not isinstance(value, dict):
        return value
    if "file" not in value:
        return {key: with_curves(item, is_short) for key, item in value.items()}
    lines = value["lines"]
    if is_short:
        return value | {"lines": min(lines, squeezed(lines), key=lambda it: len(dense(it)))}
    return value | {"lines": unsqueezed(lines) if isinstance(lines, str) else lines}


def are_alike(values: Any) -> bool:
    """Whether these are records with the same keys."""
    return (
        isinstance(values, list)
        and all(isinstance(record, dict) and record for record in values)
        and len({tuple(record) for record in values}) == 1
    )


def columns(records: Sequence[Record]) -> dict[str, Any]:
    """Records with the same keys by column.

    >>> columns([{"a": 1, "b": {"c": 0.5}}, {"a": 1, "b": None}])
    {'a': [1], 'b': {'there': [True, False], 'of': {'c': [0.5]}}}
    """
    return {key: column([record[key] for record in records]) for key in records[0]}


def column(values: list[Any]) -> Any:
    """A value of each record."""
    there = [value for value in values if value is not None]
    if are_alike(there):
        return {"there": listed([value is not None for value in values]), "of": columns(there)}
    if all(isinstance(value, list) for value in values) and are_alike(flat := [*chain(*values)]):
        return {"lengths": listed([*map(len, values)]), "of": columns(flat)}
    return listed(values)


def records(columns: Record, count: int) -> list[dict[str, Any]]:
    """The records that `columns` took."""
    each = [values_of(column, count) for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*each, strict=True)]


def values_of(column: Any, count: int) -> list[Any]:
    """The values that `column` took."""
    if isinstance(column, list):
        part = whole(column)
        return part * (count // len(part))
    if "there" in column:
        there = values_of(column["there"], count)
        some = iter(records(column["of"], sum(there)))
        return [next(some) if is_there else None for is_there in there]
    lengths = values_of(column["lengths"], count)
    every = iter(records(column["of"], sum(lengths)))
    return [[*islice(every, length)] for length in lengths]


def listed(values: Sequence[Any]) -> list[Any]:
    """Values that come again and again, once; equal ones together.

    >>> listed([1, 2, 1, 2]), listed([[0, 1], [0, 1], [2]])
    ([1, 2], [[[0, 1], 2], [[2]]])
    """
    texts = [*map(dense, values)]
    n = len(texts)
    period = next(p for p in range(1, n + 1) if n % p == 0 and texts == texts[:p] * (n // p))
    return [*stretches(values[:period])]


def stretches(values: Sequence[Any]) -> Iterator[Any]:
    """A list with equal values together, where that is shorter.

    >>> list(stretches([1.5, 1.5, 1.5, 2.5])), list(stretches([[1, 2], 1, 1.0]))
    ([[1.5, 3], 2.5], [[[1, 2]], 1, 1.0])
    """
    for text, equal in groupby(values, key=dense):  # 1 equals 1.0 and true, but is not written so
        value, *more = equal
        if len(more) * (len(text) + 1) > len("[,2]"):
            yield [value, 1 + len(more)]
        else:
            yield from [[value] if isinstance(value, list) else value] * (1 + len(more))


def whole(parts: Sequence[Any]) -> list[Any]:
    """The list that `stretches` took.

    >>> whole([[1.5, 3], 2.5]), whole([[[2, 3]]])
    ([1.5, 1.5, 1.5, 2.5], [[2, 3]])
    """
    values: list[Any] = []
    for part in parts:
        match part:
            case [value, times]:
                values += [value] * times
            case [value]:
                values.append(value)
            case _:
                values.append(part)
    return values
