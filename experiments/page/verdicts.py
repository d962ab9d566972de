"""Where the published mean lies against the runs here, counted by column."""

from __future__ import annotations

from collections import Counter

from experiments.page.markdown import safe, table
from experiments.page.record import Cell, Record
from experiments.page.wording import HALF

VERDICTS = ("above", "within", "below", "not there")


def verdicts(found: Record) -> list[str]:
    """A row a column: how many of its cells are where."""
    if not found.percent or "mean" not in found.statistics:
        return []
    counted: dict[str, Counter[str]] = {}
    for cell in found.cells:
        published = cell.published["mean"]
        if isinstance(published, int | float):
            counted.setdefault(cell.title, Counter())[verdict(cell, published)] += 1
    if not counted:
        return []
    rows = tuple((title, *(str(counts[name]) for name in VERDICTS)) for title, counts in counted.items())
    text = (
        "Each cell by its mean: within, if the published mean is one that lies between the worst and the best of our "
        "runs; else above or below it."
    )
    return [safe(text), table(("ours, of so many cells", *VERDICTS), rows)]


def verdict(cell: Cell, published: float) -> str:
    """Where our runs are: of single runs, or equal ones, within is what prints the same."""
    group = cell.group
    if group is None or group.min is None or group.max is None:
        return "not there"
    if group.min - HALF <= published <= group.max + HALF:
        return "within"
    return "above" if group.min > published else "below"
