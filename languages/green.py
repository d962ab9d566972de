"""Green's relations of a transition monoid: which elements reach which by multiplication.

Two elements are R-related if each is the other times something on the right (further reading leads back and
forth), L-related likewise on the left, H-related if both, and D-related if two-sided, which in a finite monoid
is the same as J. Source: Green, On the structure of semigroups, 1951.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from languages.monoid import TransitionMonoid

Labels = npt.NDArray[np.intp]  # (M,): the class of each element, numbered in the order of their least elements
Graph = npt.NDArray[np.integer[Any]]  # (M, out-degree): the successors of each element


@dataclass(frozen=True)
class DClass:
    """A D-class as an egg-box: `rows` R-classes by `columns` L-classes, in each cell an H-class of `h_size`.

    It is regular if it has idempotents; then its cells with an idempotent are groups of `h_size` elements.
    """

    rows: int
    columns: int
    h_size: int
    idempotents: int

    @property
    def size(self) -> int:
        """How many elements it has."""
        return self.rows * self.columns * self.h_size

    @property
    def is_regular(self) -> bool:
        """Whether it has an idempotent; then every row and every column of its egg-box has one."""
        return self.idempotents > 0


@dataclass(frozen=True, eq=False)
class GreenRelations:
    """The class of each element under R, L, H and D, as label arrays (M,).

    >>> from languages.automata import Dfa
    >>> from languages.monoid import TransitionMonoid
    >>> green = GreenRelations.of(TransitionMonoid.syntactic(Dfa.from_regex("(ab)*")))
    >>> [(box.rows, box.columns, box.h_size, box.idempotents) for box in green.egg_boxes()]
    [(1, 1, 1, 1), (2, 2, 1, 2), (1, 1, 1, 1)]
    """

    R: Labels = field(repr=False)
    L: Labels = field(repr=False)
    H: Labels = field(repr=False)
    D: Labels = field(repr=False)
    idempotents: npt.NDArray[np.integer[Any]] = field(repr=False)

    @classmethod
    def of(cls, monoid: TransitionMonoid) -> GreenRelations:
        """The strongly connected components of the monoid's right, left and two-sided Cayley graphs."""
        r, l_ = strong_components(monoid.right), strong_components(monoid.left)
        d = strong_components(np.concatenate([monoid.right, monoid.left], axis=1))
        return cls(r, l_, in_order(r * monoid.size + l_), d, monoid.idempotents)

    def egg_boxes(self) -> tuple[DClass, ...]:
        """The D-classes, in the order of their labels; the first holds the identity."""
        boxes: list[DClass] = []
        for label in range(self.n_d_classes):
            members = np.equal(self.D, label)
            rows, columns, cells = (len(np.unique(labels[members])) for labels in (self.R, self.L, self.H))
            idempotents = int(members[self.idempotents].sum())
            boxes.append(DClass(rows, columns, int(members.sum()) // cells, idempotents))
        return tuple(boxes)

    @property
    def n_d_classes(self) -> int:
        """How many D-classes there are."""
        return int(self.D.max()) + 1

    @property
    def group_sizes(self) -> tuple[int, ...]:
        """The size of the groups in each regular D-class; all 1 exactly if the monoid is aperiodic."""
        return tuple(box.h_size for box in self.egg_boxes() if box.is_regular)


def in_order(labels: npt.NDArray[np.integer[Any]]) -> Labels:
    """The labels renumbered 0, 1, ... in the order of their first occurrence.

    >>> in_order(np.array([7, 3, 7, 9])).tolist()
    [0, 1, 0, 2]
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def strong_components(graph: Graph) -> Labels:
    """The strongly connected component of each node (n,), for successors (n, out-degree).

    Source: Tarjan, Depth-first search and linear graph algorithms, 1972, with an explicit stack.
    """
    successors: list[list[int]] = [[int(w) for w in row] for row in graph]
    found = [-1] * len(successors)  # when each node was found
    low = [0] * len(successors)  # the earliest node on the stack that it is known to reach
    component = [-1] * len(successors)
    stack: list[int] = []
    path: list[tuple[int, Iterator[int]]] = []
    clock = count()

    def enter(v: int) -> None:
        found[v] = low[v] = next(clock)
        stack.append(v)
        path.append((v, iter(successors[v])))

    def leave(v: int) -> None:
        if low[v] == found[v]:
            while component[v] < 0:
                component[stack.pop()] = v
        if path:
            above = path[-1][0]
            low[above] = min(low[above], low[v])

    for root in range(len(successors)):
        if found[root] < 0:
            enter(root)
        while path:
            v, rest = path[-1]
            w = next(rest, None)
            if w is None:
                path.pop()
                leave(v)
            elif found[w] < 0:
                enter(w)
            elif component[w] < 0:
                low[v] = min(low[v], found[w])
    return in_order(np.array(component))
