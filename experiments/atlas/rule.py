"""A shallow decision tree over the algebra of languages, and its rule in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from experiments.atlas.algebra import NUMBERS
from experiments.atlas.columns import Row
from experiments.atlas.groups import solved

DEPTH, SMALLEST_SHARE, FEWEST = 2, 0.05, 5
"""Questions to a leaf; the share of languages that a leaf has at least, and their number."""
FLAGS = {
    "is_group": ("no group", "a group"),
    "is_aperiodic": ("not aperiodic", "aperiodic"),
    "empty_alone": ("the empty word not alone in its class", "the empty word alone in its class"),
}
"""Columns of 0 and 1: what each of them says."""


def rule(rows: Sequence[Row]) -> list[str]:
    """The leaves of the tree that tells the languages on which a network extrapolates, in words; none without rows.

    >>> row = dict.fromkeys(NUMBERS, 1.0)
    >>> rows = [row | {"monoid": float(size), "accuracy": 100.0 - size} for size in (*[0] * 20, *[9] * 20)]
    >>> rule(rows)
    ['monoid <= 4.5: 20 of 20 extrapolate', 'monoid > 4.5: 0 of 20 extrapolate']
    """
    from sklearn.tree import DecisionTreeClassifier

    if not rows:
        return []
    features = np.array([[row[name] for name in NUMBERS] for row in rows])  # (n, columns)
    answers = np.array([solved(row) > 0 for row in rows])  # (n,)
    least = max(FEWEST, int(SMALLEST_SHARE * len(rows)))
    tree = DecisionTreeClassifier(max_depth=DEPTH, min_samples_leaf=least, random_state=0).fit(features, answers)
    of_leaf = tree.apply(features)  # (n,)
    extrapolating = []
    for leaf, questions in leaves(tree.tree_):
        here = answers[of_leaf == leaf]
        extrapolating.append(f"{' and '.join(questions.values()) or 'all'}: {here.sum()} of {len(here)} extrapolate")
    return extrapolating


def leaves(tree: Any, node: int = 0, answers: Mapping[Any, str] = {}) -> Iterator[tuple[int, Mapping[Any, str]]]:
    """The leaves below a node, each with the answers on the way to it.

    Of two bounds of a column on the same side the later bound is the narrower, and takes the other's place.
    """
    left, right = tree.children_left[node], tree.children_right[node]
    if left == right:  # a leaf has no children
        yield node, answers
        return
    name, bound = list(NUMBERS)[tree.feature[node]], tree.threshold[node]
    for child, is_above in ((left, False), (right, True)):
        yield from leaves(tree, child, {**answers, (name, is_above): answer(name, bound, is_above)})


def answer(name: str, bound: float, is_above: bool) -> str:
    """One side of a split.

    >>> answer("j_depth", 3.5, True), answer("is_group", 0.5, False)
    ('j_depth > 3.5', 'no group')
    """
    return FLAGS[name][is_above] if name in FLAGS else f"{name} {'>' if is_above else '<='} {bound:.6g}"
