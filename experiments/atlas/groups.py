"""Means over languages, with intervals by bootstrap: languages are drawn again and again, with replacement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.atlas.columns import DONE, Row
from languages.randomness import rng
from regulargpt.evaluation.interval import Interval

RESAMPLES = 2_000
LANGUAGES = "languages"
INTERVAL = (2.5, 97.5)
"""Percentiles of the resampled values: a 95 % interval."""
SOLVED = 99.0
"""An accuracy in percent from which on a network is said to extrapolate."""


def finished(rows: Iterable[Row]) -> list[Row]:
    """The runs that say something: done, and of a language that has both answers among the scored words."""
    return [row for row in rows if row["state"] == DONE and not row["is_constant"]]


def of_network(rows: Iterable[Row], network: str) -> list[Row]:
    """Those of one network."""
    return [row for row in rows if row["network"] == network]


def accuracy(row: Row) -> float:
    """In percent."""
    return row["accuracy"]


def solved(row: Row) -> float:
    """100 if the network extrapolates, else 0."""
    return 100.0 * (row["accuracy"] >= SOLVED)


def proven(row: Row) -> float:
    """100 if the network is proven to compute the language, else 0."""
    return 100.0 * bool(row["proven"])


def budgets(rows: Iterable[Row]) -> str:
    """The most steps that each run might have had; where runs had different ones, also how many had which.

    >>> budgets([{"budget": 700.0}, {"budget": 700.0}]), budgets([{"budget": 700.0}, {"budget": 6000.0}])
    ('700', '700 (1), 6,000 (1)')
    """
    counts = sorted(Counter(int(row["budget"]) for row in rows).items())
    return ", ".join(f"{steps:,}" + f" ({runs})" * (len(counts) > 1) for steps, runs in counts)


def resamples(n: int) -> npt.NDArray[np.intp]:
    """Numbers of rows (RESAMPLES, n), the same whenever there are as many rows."""
    return rng(0, "atlas bootstrap").integers(n, size=(RESAMPLES, n))


def mean(rows: Sequence[Row], measured: Callable[[Row], float]) -> Interval:
    """The mean of a measure over rows, of which there is at least one.

    >>> mean([{"accuracy": 50.0}, {"accuracy": 50.0}], accuracy)
    Interval(value=50.0, low=50.0, high=50.0, over={'languages': 2}, level=0.95)
    """
    values = np.array([measured(row) for row in rows])  # (n,)
    low, high = np.percentile(values[resamples(len(values))].mean(axis=1), INTERVAL)
    return Interval(float(values.mean()), float(low), float(high), {LANGUAGES: len(values)})


def bands(rows: Iterable[Row], column: str, edges: Sequence[float]) -> dict[float, list[Row]]:
    """The rows by the first edge that their value of a column does not exceed, ascending; empty bands are left out.

    >>> found = bands([{"monoid": 3}, {"monoid": 5}, {"monoid": 4}], "monoid", (4, 8, 16))
    >>> {edge: len(rows) for edge, rows in found.items()}
    {4: 2, 8: 1}
    """
    by_band: dict[float, list[Any]] = {edge: [] for edge in edges}
    for row in rows:
        by_band[next(edge for edge in edges if row[column] <= edge)].append(row)
    return {edge: of_band for edge, of_band in by_band.items() if of_band}
