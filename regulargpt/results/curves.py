"""Accuracy by length of groups: the mean over runs, and the band from the worst to the best."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from regulargpt.results.row import Key, Row, cell
from regulargpt.results.statistics import Group, groups, key_of


@dataclass(frozen=True)
class Curve:
    """One group by length: mean, worst and best run at every length, in percent; no lengths if every run failed."""

    group: Group
    lengths: tuple[int, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


def curves(rows: Sequence[Row], by: Sequence[str]) -> list[Curve]:
    """The curves of the groups, in the order of the table.

    >>> rows = [Row(run, "done", seed=0, length=41, accuracy=a) for run, a in [("a", 100.0), ("b", 90.0)]]
    >>> (curve,) = curves(rows, ["seed"])
    >>> curve.lengths, curve.mean, curve.low, curve.high
    ((41,), (95.0,), (90.0,), (100.0,))
    """
    at: dict[Key, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row.length is not None and row.accuracy is not None:
            at[key_of(row, by)][row.length].append(row.accuracy)
    return [curve_of(group, at[group.key]) for group in groups(rows, by)]


def curve_of(group: Group, at: Mapping[int, Sequence[float]]) -> Curve:
    """The curve of the accuracies of runs by length."""
    lengths = sorted(at)
    mean, low, high = (tuple(of(at[length]) for length in lengths) for of in (fmean, min, max))
    return Curve(group, tuple(lengths), mean, low, high)


def label(key: Key, by: Sequence[str]) -> str:
    """A key in words: a name speaks for itself, a number needs that of its column.

    >>> label(("parity", 2, None), ("language", "chunk_size", "lr"))
    'parity, chunk_size 2'
    """
    named = zip(key, by, strict=True)
    parts = [
        cell(value) if isinstance(value, str) else f"{column} {cell(value)}" for value, column in named if cell(value)
    ]
    return ", ".join(parts) or "others"
