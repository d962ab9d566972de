"""Does the quantised network give the machine's answer to every word with brackets, of whatever length and depth?

Levels inside each forest (levels.py), a fixpoint over pairs outside, the top level last. Rows are counted as in the
table: prototypes from 1, then the symbols.

Forests are made of items; the roots of forests, with a bracket on either side, make new items; and so on until none is
new. There are finitely many kinds, so there is an end, and what holds for these holds for all words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from regulargpt.finite.levels import (
    LONGEST_COUNTED,
    MAX_SYMBOLS,
    Ints,
    Kinds,
    Level,
    TooManyWindows,
    levels_over,
    shortest_word,
)
from regulargpt.finite.nested_specification import ForestUses, NestedSpecification
from regulargpt.finite.proof import Proof, wrong_root
from regulargpt.models.tree.shape import Side

RowImage = Callable[[Ints], Ints]  # the prototypes (n,) over windows (n, C) of rows, by offset


def prove_nested(
    specification: NestedSpecification,
    chunk_size: int,
    n_prototypes: int,
    image: RowImage,
    answers: Ints,
    aligned: Side = "right",
) -> Proof:
    """Follow the forests to the end; `answers` (K,) are those at the prototypes.

    A wrong word is not always a shortest one: pairs are kept with the word that they came of first.

    >>> from languages.context_free.brackets import brackets
    >>> specification = NestedSpecification.of(brackets(1))
    >>> always_one = lambda windows: np.ones(len(windows), dtype=np.int64)
    >>> prove_nested(specification, 2, 1, always_one, np.array([0])).wrong
    (0, 1)
    """
    walk = Walk(specification, chunk_size, n_prototypes, image, aligned)
    walk.close()
    found = walk.top()
    wrong = None
    for height, level in enumerate(found[1:], 1):
        if (row := wrong_root(level.roots, specification.answers, answers)) is not None:
            wrong = tuple(walk.word(Inside(found, height, row)))
            break
    return Proof(walk.most_levels, walk.pairs(), pairs_of(Kinds.join([level.roots for level in found[1:]])), wrong)


def pairs_of(kinds: Kinds) -> Ints:
    """Each state with its element once (n, 2)."""
    return np.unique(np.stack([kinds.states, kinds.elements], axis=1), axis=0)


@dataclass(frozen=True)
class Inside:
    """The root of a forest: a row of the roots of a level."""

    levels: list[Level]
    height: int
    row: int

    @property
    def kinds(self) -> Kinds:
        return self.levels[self.height].roots


# What an item is made of: a symbol, or a pair of brackets and what stands in it.
Made = tuple[int] | tuple[int, Inside | None, int]


@dataclass
class Walk:
    """The items that there are so far, each with what it is made of, and the kinds of node that have occurred."""

    specification: NestedSpecification
    chunk_size: int
    n_prototypes: int
    image: RowImage
    aligned: Side
    made: dict[tuple[int, int], Made] = field(default_factory=dict)  # by state and element
    lengths: list[int] = field(default_factory=list)  # of each item, in symbols
    nodes: list[Ints] = field(default_factory=list)
    most_levels: int = 0

    def close(self) -> None:
        """Add pairs until none is new."""
        self.add_symbols(0)
        before = -1
        while len(self.made) > before:
            before = len(self.made)
            self.add_pairs(self.levels(self.specification.inner))

    def top(self) -> list[Level]:
        """The levels of whole words."""
        self.add_symbols(1, -1)
        return self.levels(self.specification.top)

    def add_symbols(self, *directions: int) -> None:
        for symbol in np.flatnonzero(np.isin(self.specification.algebra.direction, directions)).tolist():
            self.add(self.row(symbol), int(self.specification.letters[symbol]), (symbol,), 1)

    def add(self, state: int, element: int, made: Made, length: int) -> None:
        """An item, unless there is one of its kind."""
        if (state, element) not in self.made:
            self.made[state, element] = made
            self.lengths.append(min(length, LONGEST_COUNTED))

    def row(self, symbol: int) -> int:
        return 1 + self.n_prototypes + symbol

    def levels(self, uses: ForestUses) -> list[Level]:
        """The levels of forests of the items that there are."""
        states, elements = np.array(list(self.made), dtype=np.int64).reshape(-1, 2).T  # (2, items)
        none = np.full((len(states), self.chunk_size), -1)
        items = Kinds(states, elements, np.array(self.lengths, dtype=np.int64), none)
        found = list(levels_over(items, uses, self.chunk_size, lambda _, rows: self.image(rows), self.aligned))
        self.most_levels = max(self.most_levels, len(found) - 1)
        self.nodes += [pairs_of(level.nodes) for level in found[1:]]
        return found

    def add_pairs(self, found: list[Level]) -> None:
        """The items that are a pair of brackets round one of these forests, or round nothing."""
        insides: dict[tuple[int, int], Inside | None] = {(0, 0): None}
        for height, level in enumerate(found[1:], 1):
            for row in np.flatnonzero(self.specification.inner.useful[level.roots.elements]).tolist():
                kind = int(level.roots.states[row]), int(level.roots.elements[row])
                insides.setdefault(kind, Inside(found, height, row))
        of, (states, elements) = self.specification, np.array(list(insides), dtype=np.int64).T  # (2, insides)
        which, i, j = np.nonzero(of.useful_pairs[elements])
        if not len(which):
            return
        images = self.paired(of.calls[i], states[which], of.returns[j])
        wrapped, each = of.wrap[elements[which], i, j], list(insides.values())
        for n, (state, element) in enumerate(zip(images.tolist(), wrapped.tolist(), strict=True)):
            inside = each[which[n]]
            length = 2 + (0 if inside is None else int(inside.kinds.lengths[inside.row]))
            self.add(state, element, (int(of.calls[i[n]]), inside, int(of.returns[j[n]])), length)

    def paired(self, calls: Ints, insides: Ints, returns: Ints) -> Ints:
        """The states (n,) of pairs: of one window, or for C = 2 of (call, inside) and then of that and the return.

        An empty inside is the pad, 0.
        """
        call, close = self.row(0) + calls, self.row(0) + returns
        if self.chunk_size == 2:
            return self.merged(self.merged(call, insides), close)
        return self.merged(call, insides, close)

    def merged(self, *children: Ints) -> Ints:
        """The states (n,) over windows of these children (n,) each, from the left."""
        windows = np.zeros((len(children[0]), self.chunk_size), dtype=np.int64)
        windows[:, : len(children)] = np.stack(children[::-1] if self.aligned == "right" else children, axis=1)
        return self.image(windows)

    def word(self, root: Inside) -> list[int]:
        """A word of the kind of a root. Raises TooManyWindows where it is too long to be written out."""
        if int(root.kinds.lengths[root.row]) > MAX_SYMBOLS:
            raise TooManyWindows("the word on which the quantised network errs is too long to write out")
        return shortest_word(root.levels, root.height, root.kinds, root.row, self.aligned, self.word_of_item)

    def word_of_item(self, state: int, element: int) -> list[int]:
        made = self.made[state, element]
        if len(made) == 1:
            return [made[0]]
        call, inside, close = made
        return [call, *([] if inside is None else self.word(inside)), close]

    def pairs(self) -> Ints:
        """The kinds (n, 2) of nodes above the symbols, but for a call with a forest behind it: no word."""
        above = [kind for kind in self.made if kind[0] <= self.n_prototypes]
        items = np.array(above, dtype=np.int64).reshape(-1, 2)  # (items, 2), of none, too
        return np.unique(np.concatenate([items, *self.nodes]), axis=0)
