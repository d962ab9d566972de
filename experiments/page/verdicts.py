"""Where the published mean lies against the runs here, counted by column."""

from __future__ import annotations

from collections import Counter

from experiments.cells import Compared, Comparison
from experiments.page.document import Block, Paragraph, Table
from experiments.page.wording import HALF

VERDICTS = ("above", "within", "below", "not there")


def verdicts(found: Comparison) -> list[Block]:
    """A row a column: how many of its cells are where."""
    if not found.percent or "mean" not in found.statistics:
        return []
    at = found.statistics.index("mean")
    counted: dict[str, Counter[str]] = {}
    for cell in found.all:
        published = cell.published[at]
        if isinstance(published, int | float):
            counted.setdefault(cell.column.title, Counter())[verdict(cell, published)] += 1
    if not counted:
        return []
    rows = tuple((title, *(str(counts[name]) for name in VERDICTS)) for title, counts in counted.items())
    text = (
        "Each cell by its mean: within, if the published mean is one that lies between the worst and the best of our "
        "runs; else above or below it."
    )
    return [Paragraph(text), Table("", ("ours, of so many cells", *VERDICTS), rows)]


def verdict(cell: Compared, published: float) -> str:
    """Where our runs are: of single runs, or equal ones, within is what prints the same."""
    scores = cell.group.scores if cell.group else ()
    if not scores:
        return "not there"
    if scores[0] - HALF <= published <= scores[-1] + HALF:
        return "within"
    return "above" if scores[0] > published else "below"
