"""Does the quantised network give the machine's answer to every word, of whatever length? Decided, not sampled.

The kinds of node (levels.py) are pairs of what the network has and what the sub-word does. If the answer at every
root's kind is the machine's, induction over the tree proves the language for every length. If not, the kind's shortest
sub-word is a word that is answered wrongly; without brackets no shorter word is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from regulargpt.finite.levels import Image, Kinds
from regulargpt.finite.nested_specification import NestedSpecification
from regulargpt.finite.specification import Specification
from regulargpt.finite.walk import Inside, Pairs, Walk, pairs_of
from regulargpt.models.tree.shape import Side

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Proof:
    """What came out, by the kinds of node of all levels: `pairs` (n, 2) of state, from 1, and element of the monoid.

    `roots` (m, 2) are those among them that are the root of some word's tree.
    `wrong` is a word that the quantised network answers wrongly, without brackets a shortest; None if there is none: it
    is proven.
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


def prove(
    specification: Specification | NestedSpecification,
    chunk_size: int,
    image: Image,
    answers: Ints,
    aligned: Side = "right",
    before_symbols: int = 0,
) -> Proof:
    """Follow the levels to their end, without brackets no further than to the first wrong answer.

    `image` is the quantised network's table, `answers` (K,) its answers at the prototypes. With brackets symbols stand
    beside nodes above them, in rows behind the prototypes: there are `before_symbols`. Else both are counted from 1.
    A wrong word with brackets is not always a shortest one: pairs are kept with the word that they came of first.

    >>> import languages
    >>> specification = Specification.from_task(languages.get("parity"))
    >>> parity = lambda level, windows: 1 + np.where(windows > 0, windows - 1, 0).sum(1) % 2
    >>> prove(specification, 2, parity, np.array([0, 1])).holds
    True
    >>> any_one = lambda level, windows: 1 + np.where(windows > 0, windows - 1, 0).max(1)
    >>> prove(specification, 2, any_one, np.array([0, 1])).wrong
    (1, 1)
    >>> always_one = lambda level, windows: np.ones(len(windows), dtype=np.int64)
    >>> brackets = NestedSpecification.from_task(languages.find("brackets-1"))
    >>> prove(brackets, 2, always_one, np.array([0]), before_symbols=1).wrong
    (0, 1)
    """
    walk = Walk(specification.letters, chunk_size, image, aligned, before_symbols)
    is_nested = isinstance(specification, NestedSpecification)
    if is_nested:
        Pairs(walk, specification).close()
    walk.add_symbols(range(len(specification.letters)))
    levels_so_far, wrong = [], None
    for level in walk.levels(specification.top):
        levels_so_far.append(level)
        if len(levels_so_far) > 1 and (row := wrong_root(level.roots, specification.answers, answers)) is not None:
            wrong = wrong or Inside(levels_so_far, len(levels_so_far) - 1, row)
            if not is_nested:
                break
    roots = pairs_of([level.roots for level in levels_so_far[1:]])
    word = None if wrong is None else tuple(walk.word(wrong))
    return Proof(walk.n_levels, walk.pairs(), roots, word)


def wrong_root(roots: Kinds, right: Ints, answers: Ints) -> int | None:
    """The wrongly answered root with the shortest word; `right` are the answers to words of each element."""
    right = right[roots.elements]
    wrong = (right >= 0) & (answers[roots.states - 1] != right)
    if not wrong.any():
        return None
    return int(np.where(wrong, roots.lengths, np.iinfo(np.int64).max).argmin())
