"""The kinds of node in the trees of all words: levels of rows of items; with brackets, a fixpoint over pairs outside.

Without brackets items are symbols. With brackets forests are made of items; the roots of forests, with a bracket on
either side, make new items; and so on until none is new. There are finitely many kinds, so there is an end, and what
holds for these holds for all words. Rows are counted as in the table: prototypes from 1, then the symbols.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from languages.automata.visibly import INTERNAL
from regulargpt.finite.levels import (
    LONGEST_COUNTED,
    MAX_SYMBOLS,
    Image,
    Ints,
    Kinds,
    Level,
    TooManyWindows,
    levels_over,
    shortest_word,
)
from regulargpt.finite.nested_specification import NestedSpecification
from regulargpt.finite.specification import ForestUses
from regulargpt.models.tree.shape import Side


def pairs_of(parts: Sequence[Kinds]) -> Ints:
    """Each state with its element once (n, 2)."""
    return np.unique(np.concatenate([np.stack([of.states, of.elements], axis=1) for of in parts]), axis=0)


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
    """The items that there are so far, each with what it is made of, and the kinds of node that have occurred.

    `letters` (Sigma,) are the elements of symbols; so many prototypes are counted before them, 0 without brackets.
    """

    letters: Ints
    chunk_size: int
    image: Image
    aligned: Side
    before_symbols: int
    made: dict[tuple[int, int], Made] = field(default_factory=dict)  # by state and element
    lengths: list[int] = field(default_factory=list)  # of each item, in symbols
    nodes: list[Kinds] = field(default_factory=list)
    n_levels: int = 0

    def add_symbols(self, symbols: Iterable[int]) -> None:
        for symbol in symbols:
            self.add(self.row(symbol), int(self.letters[symbol]), (symbol,), 1)

    def add(self, state: int, element: int, made: Made, length: int) -> None:
        """An item, unless there is one of its kind."""
        if (state, element) not in self.made:
            self.made[state, element] = made
            self.lengths.append(min(length, LONGEST_COUNTED))

    def row(self, symbol: int) -> int:
        return 1 + self.before_symbols + symbol

    def items(self) -> Kinds:
        states, elements = np.array(list(self.made), dtype=np.int64).reshape(-1, 2).T  # (2, items)
        none = np.full((len(states), self.chunk_size), -1)
        return Kinds(states, elements, np.array(self.lengths, dtype=np.int64), none)

    def levels(self, uses: ForestUses) -> Iterator[Level]:
        """The levels of rows of the items that there are."""
        for height, level in enumerate(levels_over(self.items(), uses, self.chunk_size, self.image, self.aligned)):
            if height:
                self.n_levels = max(self.n_levels, height)
                self.nodes.append(level.nodes)
            yield level

    def word(self, root: Inside) -> list[int]:
        """A word of the kind of a root. Raises TooManyWindows where it is too long to be written out."""
        # Of a forest in a pair the length would not be that of the word.
        if self.before_symbols and int(root.kinds.lengths[root.row]) > MAX_SYMBOLS:
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
        items = self.items()
        return pairs_of([items[items.states <= self.before_symbols], *self.nodes])


@dataclass
class Pairs:
    """What a walk has with brackets: pairs round the forests of the items that there are."""

    walk: Walk
    specification: NestedSpecification

    def close(self) -> None:
        """Add symbols that stand inside pairs, and pairs, until none is new."""
        walk, before = self.walk, -1
        walk.add_symbols(np.flatnonzero(self.specification.algebra.direction == INTERNAL).tolist())
        while len(walk.made) > before:
            before = len(walk.made)
            self.add(list(walk.levels(self.specification.inner)))

    def add(self, found: list[Level]) -> None:
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
            self.walk.add(state, element, (int(of.calls[i[n]]), inside, int(of.returns[j[n]])), length)

    def paired(self, calls: Ints, insides: Ints, returns: Ints) -> Ints:
        """The states (n,) of pairs: of one window, or for C = 2 of (call, inside) and then of that and the return.

        An empty inside is the pad, 0.
        """
        call, close = self.walk.row(0) + calls, self.walk.row(0) + returns
        if self.walk.chunk_size == 2:
            return self.merged(self.merged(call, insides), close)
        return self.merged(call, insides, close)

    def merged(self, *children: Ints) -> Ints:
        """The states (n,) over windows of these children (n,) each, from the left."""
        windows = np.zeros((len(children[0]), self.walk.chunk_size), dtype=np.int64)
        windows[:, : len(children)] = np.stack(children[::-1] if self.walk.aligned == "right" else children, axis=1)
        return self.walk.image(1, windows)
