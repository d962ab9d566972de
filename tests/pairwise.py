"""Fewer cases than a full product, in which any two values of different axes still meet."""

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any


def pairwise(*axes: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Rows of one value an axis; each row is the next of the product that brings the most new pairs.

    >>> pairwise("ab", [1, 2], [True, False])
    [('a', 1, True), ('a', 2, False), ('b', 1, False), ('b', 2, True)]
    """
    rows = {row: set(combinations(enumerate(row), 2)) for row in product(*(range(len(axis)) for axis in axes))}
    left, chosen = set().union(*rows.values()), []
    while left:
        best = max(rows, key=lambda row: len(rows[row] & left))
        left -= rows.pop(best)
        chosen.append(best)
    return [tuple(axis[at] for axis, at in zip(axes, row, strict=True)) for row in chosen]
