"""Does the quantised network give the machine's answer to every word? Decided, not sampled.

The kinds of node (levels.py) are pairs of what the network has and what the sub-word does. If the answer at every
root's kind is the machine's, induction over the tree proves the language for every length. If not, the kind's shortest
sub-word is a word that is answered wrongly, and no shorter word is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from regulargpt.finite.levels import Image, Kinds, Level, levels, shortest_word
from regulargpt.finite.specification import Specification
from regulargpt.models.tree.shape import Side

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Proof:
    """What came out, by the kinds of node of all levels: `pairs` (n, 2) of state, from 1, and element of the monoid.

    `roots` (m, 2) are those among them that are the root of some word's tree.
    `wrong` is the shortest word that the quantised network answers wrongly, None if there is none: it is proven.
    """

    n_levels: int
    pairs: Ints
    roots: Ints
    wrong: tuple[int, ...] | None

    @property
    def holds(self) -> bool:
        """Whether the quantised network is right at every length."""
        return self.wrong is None

    @property
    def is_homomorphism(self) -> bool:
        """Whether each prototype stands for one element: the table is the monoid's multiplication."""
        return len(np.unique(self.pairs[:, 0])) == len(self.pairs)


def prove(specification: Specification, chunk_size: int, image: Image, answers: Ints, aligned: Side = "right") -> Proof:
    """Follow the levels to their end, or to the first wrong answer.

    `image` is the quantised network's table, `answers` (K,) its answers at the prototypes.

    >>> import languages
    >>> specification = Specification.of(languages.get("parity"))
    >>> parity = lambda level, windows: 1 + np.where(windows > 0, windows - 1, 0).sum(1) % 2
    >>> prove(specification, 2, parity, np.array([0, 1])).holds
    True
    >>> any_one = lambda level, windows: 1 + np.where(windows > 0, windows - 1, 0).max(1)
    >>> prove(specification, 2, any_one, np.array([0, 1])).wrong
    (1, 1)
    """
    found: list[Level] = []
    pairs: list[Ints] = []
    roots: list[Ints] = []

    def proof(n_levels: int, wrong: tuple[int, ...] | None) -> Proof:
        of_nodes, of_roots = (np.unique(np.concatenate(rows), axis=0) for rows in (pairs, roots))
        return Proof(n_levels, of_nodes, of_roots, wrong)

    for height, level in enumerate(levels(specification, chunk_size, image, aligned)):
        found.append(level)
        if not height:
            continue  # leaves are symbols, and counted apart from prototypes
        for kinds, rows in ((level.nodes, pairs), (level.roots, roots)):
            rows.append(np.stack([kinds.states, kinds.elements], axis=1))
        if (wrong := wrong_root(level.roots, specification.answers, answers)) is not None:
            return proof(height, tuple(shortest_word(found, height, level.roots, wrong, aligned)))
    return proof(len(found) - 1, None)


def wrong_root(roots: Kinds, right: Ints, answers: Ints) -> int | None:
    """The wrongly answered root with the shortest word; `right` are the answers to words of each element."""
    right = right[roots.elements]
    wrong = (right >= 0) & (answers[roots.states - 1] != right)
    if not wrong.any():
        return None
    return int(np.where(wrong, roots.lengths, np.iinfo(np.int64).max).argmin())
