"""page.json without repetitions, and back: every number is exactly as it was.

A cell whose values have the same keys as those of the cell before it, in reading order, has `changes` instead of
`values`: what differs. Its lines are pairs of text and kind. In a list of numbers, `[v, n]` is n times v, and
`[a, b, s]` goes from a to b in steps of s. The band of a curve that is "values" equals them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

# Shorter stretches take more room in brackets than number by number.
MIN_EQUAL, MIN_STEPS = 3, 4


def packed(page: dict[str, Any]) -> dict[str, Any]:
    """What a file has of a page's plain values."""
    return with_blocks(json.loads(json.dumps(page)), packed_cell, packed_curve)


def unpacked(page: dict[str, Any]) -> dict[str, Any]:
    """The plain values of a page."""
    return with_blocks(page, unpacked_cell, unpacked_curve)


def with_blocks(
    page: dict[str, Any], cell: Callable[[Any, Any], tuple[Any, Any]], curve: Callable[[Any], Any]
) -> dict[str, Any]:
    """The page with other cells and curves."""

    def changed(block: Any) -> Any:
        if isinstance(block, dict) and "rows" in block:
            return block | {"rows": with_cells(block["rows"], cell)}
        if isinstance(block, dict) and "lines" in block:
            return block | {"lines": [*map(curve, block["lines"])]}
        return block

    sections = [section | {"blocks": [*map(changed, section["blocks"])]} for section in page["sections"]]
    return page | {"sections": sections}


def with_cells(rows: list[list[Any]], change: Callable[[Any, Any], tuple[Any, Any]]) -> list[list[Any]]:
    """The rows of a table with other cells; `change` has a cell and the values before it, and gives its own values."""
    before: dict[str, Any] = {}

    def changed(cell: Any) -> Any:
        nonlocal before
        if isinstance(cell, str):
            return cell
        cell, before = change(cell, before)
        return cell

    return [[*map(changed, row)] for row in rows]


def packed_cell(cell: dict[str, Any], before: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A cell by what differs from the one before."""
    packed: dict[str, Any] = {**cell, "lines": [[*line.values()] for line in cell["lines"]]}
    values = packed.pop("values", before)
    if "values" in cell:
        packed |= {"changes": changes(before, values)} if is_alike(before, values) else {"values": values}
    return packed, values


def unpacked_cell(cell: dict[str, Any], before: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The cell that `packed_cell` took."""
    lines = [dict(zip(("text", "kind"), line, strict=False)) for line in cell["lines"]]
    plain: dict[str, Any] = {**cell, "lines": lines}
    if "changes" in cell:
        plain["values"] = merged(before, plain.pop("changes"))
    return plain, plain.get("values", before)


def is_alike(before: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether both have the same keys, in all depth.

    >>> is_alike({"a": {"b": 1}}, {"a": {"b": 2}}), is_alike({"a": {"b": 1}}, {"a": {}})
    (True, False)
    """
    if before.keys() != now.keys():
        return False
    pairs = [(before[key], now[key]) for key in now]
    return all(is_alike(a, b) for a, b in pairs if isinstance(a, dict) and isinstance(b, dict))


def changes(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """What differs, of two that are alike.

    >>> changes({"a": 1, "b": {"c": 1, "d": 2}}, {"a": 1, "b": {"c": 1, "d": 3}})
    {'b': {'d': 3}}
    """
    return {
        key: changes(before[key], value) if isinstance(value, dict) and isinstance(before[key], dict) else value
        for key, value in now.items()
        if repr(value) != repr(before[key])  # 1 equals 1.0, but is not written so
    }


def merged(before: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """What `changes` were made from."""
    both = {
        key: merged(before[key], value) if isinstance(value, dict) and isinstance(before[key], dict) else value
        for key, value in changes.items()
    }
    return before | both


def packed_curve(curve: dict[str, Any]) -> dict[str, Any]:
    """A curve with short lists of numbers."""
    bands = {key: "values" for key in ("low", "high") if repr(curve.get(key)) == repr(curve["values"])}
    lists = {key: [*stretches(value)] for key, value in curve.items() if isinstance(value, list)}
    return curve | lists | bands


def unpacked_curve(curve: dict[str, Any]) -> dict[str, Any]:
    """The curve that `packed_curve` took."""
    plain = curve | {key: whole(value) for key, value in curve.items() if isinstance(value, list)}
    return plain | {key: plain["values"] for key in ("low", "high") if curve.get(key) == "values"}


def stretches(numbers: Sequence[Any]) -> Iterator[Any]:
    """A list of numbers, with equal and evenly spaced ones together.

    >>> list(stretches([1.5, 1.5, 1.5, 2.5])), list(stretches([7, 10, 20, 30, 40]))
    ([[1.5, 3], 2.5], [7, [10, 40, 10]])
    """
    at = 0
    while at < len(numbers):
        equal, even = at + 1, at + 1
        while equal < len(numbers) and repr(numbers[equal]) == repr(numbers[at]):
            equal += 1
        step = numbers[even] - numbers[at] if even < len(numbers) else 0
        while even < len(numbers) and isinstance(numbers[even], int) and numbers[even] - numbers[even - 1] == step:
            even += 1
        if equal - at >= MIN_EQUAL:
            yield [numbers[at], equal - at]
            at = equal
        elif even - at >= MIN_STEPS and step and isinstance(numbers[at], int):
            yield [numbers[at], numbers[even - 1], step]
            at = even
        else:
            yield numbers[at]
            at += 1


def whole(parts: Sequence[Any]) -> list[Any]:
    """The list that `stretches` took.

    >>> whole([[1.5, 3], 2.5]), whole([7, [10, 40, 10]])
    ([1.5, 1.5, 1.5, 2.5], [7, 10, 20, 30, 40])
    """
    numbers: list[Any] = []
    for part in parts:
        match part:
            case [value, times]:
                numbers += [value] * times
            case [first, last, step]:
                numbers += range(first, last + step, step)
            case _:
                numbers.append(part)
    return numbers
