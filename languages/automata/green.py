"""Green's relations of a transition monoid: which elements reach which by multiplication.

Two elements are R-related if each is the other times something on the right (further reading leads back and
forth), L-related likewise on the left, H-related if both, and D-related if two-sided, which in a finite monoid
is the same as J. Source: Green, On the structure of semigroups, 1951.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from languages.automata.monoid import TransitionMonoid

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
        return self.rows * self.columns * self.h_size

    @property
    def is_regular(self) -> bool:
        """Whether it has an idempotent; then every row and every column of its egg-box has one."""
        return self.idempotents > 0


@dataclass(frozen=True, eq=False)
class GreenRelations:
    """The class of each element under R, L, H and D, as label arrays (M,).

    >>> from languages.automata import Dfa
    >>> from languages.automata.monoid import TransitionMonoid
    >>> green = GreenRelations.from_monoid(TransitionMonoid.syntactic(Dfa.from_regex("(ab)*")))
    >>> [(box.rows, box.columns, box.h_size, box.idempotents) for box in green.egg_boxes()]
    [(1, 1, 1, 1), (2, 2, 1, 2), (1, 1, 1, 1)]
    """

    R: Labels = field(repr=False)
    L: Labels = field(repr=False)
    H: Labels = field(repr=False)
    D: Labels = field(repr=False)
    idempotents: npt.NDArray[np.integer[Any]] = field(repr=False)
    below: npt.NDArray[np.integer[Any]] = field(repr=False)  # (pairs, 2): D-classes of which one symbol leads down

    @classmethod
    def from_monoid(cls, monoid: TransitionMonoid) -> GreenRelations:
        """The strongly connected components of the monoid's right, left and two-sided Cayley graphs."""
        r, l_ = strong_components(monoid.right), strong_components(monoid.left)
        both = np.concatenate([monoid.right, monoid.left], axis=1)  # (M, 2 Sigma)
        d = strong_components(both)
        return cls(r, l_, in_order(r * monoid.size + l_), d, monoid.idempotents, descents(d, both))

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
        return int(self.D.max()) + 1

    @cached_property
    def depth(self) -> int:
        """The J-depth of the monoid: how many classes the longest strict chain of J-classes has.

        J(x) <= J(y) iff x = a y b for some a, b: iff x is reached from y in the two-sided Cayley graph. Between its
        strongly connected components, the J-classes, this graph has no cycle; the depth is its longest path.
        Source: Rhodes and Steinberg, The q-theory of finite semigroups, 2009, section 4.14.
        """
        import networkx as nx  # slow to import

        arrows = {(int(above), int(below)) for above, below in self.below.tolist()}
        order = nx.DiGraph(arrows)
        return 1 + int(nx.dag_longest_path_length(order)) if arrows else 1

    @property
    def group_sizes(self) -> tuple[int, ...]:
        """The size of the groups in each regular D-class; all 1 exactly if the monoid is aperiodic."""
        return tuple(box.h_size for box in self.egg_boxes() if box.is_regular)


def descents(labels: Labels, graph: Graph) -> npt.NDArray[np.integer[Any]]:
    """The pairs (pairs, 2) of different classes with an arrow from the first to the second, each once.

    >>> descents(np.array([0, 0, 1]), np.array([[1], [2], [2]])).tolist()
    [[0, 1]]
    """
    arrows = np.stack([np.repeat(labels, graph.shape[1]), labels[graph.ravel()]], axis=1)  # (n * out-degree, 2)
    return np.unique(arrows[arrows[:, 0] != arrows[:, 1]], axis=0)


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
    """The strongly connected component of each node (n,), for successors (n, out-degree)."""
    import networkx as nx  # slow to import, and needed here alone

    rows: list[list[int]] = graph.tolist()
    successors = nx.DiGraph(dict(enumerate(rows)))
    labels = np.empty(len(graph), np.intp)
    for label, component in enumerate(nx.strongly_connected_components(successors)):
        labels[list(component)] = label
    return in_order(labels)
