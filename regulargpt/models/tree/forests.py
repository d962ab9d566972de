"""Where a word's brackets are: its forests, and when each can be computed. Arrays only, without recursion."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from languages.automata.nesting import partners

Ints = npt.NDArray[np.intp]
LEAF = -1  # of an item that is no pair
ABSENT = -1  # behind the end of a word


@dataclass(frozen=True)
class Forests:
    """The forests of a batch of words: a forest is a row of items, an item a symbol or a pair (call, forest, return).

    A pair's symbols are those of its own forest's number. Forests 0 .. batch - 1 are the words' top levels; items stand
    by forest, in their order.
    """

    call: Ints  # (forests,) the symbol before each forest; -1 at the top level
    close: Ints  # (forests,) the symbol behind it; -1 at the top level
    size: Ints  # (forests,) how many items it has
    height: Ints  # (forests,) 0 without pairs, else 1 more than the highest in a pair
    symbol: Ints  # (items,) of an item that is a symbol
    inside: Ints  # (items,) the forest in an item that is a pair, LEAF of a symbol

    @cached_property
    def start(self) -> Ints:
        """(forests,) where each forest's items begin."""
        return np.concatenate([[0], np.cumsum(self.size)[:-1]]).astype(np.intp)

    @property
    def highest(self) -> int:
        return int(self.height.max(initial=0))

    def by_height(self) -> list[Ints]:
        """The forests of each height, from 0 on."""
        order = np.argsort(self.height, kind="stable")
        return np.split(order, np.searchsorted(self.height[order], np.arange(1, self.highest + 1)))

    def items_of(self, forests: Ints) -> Ints:
        """The items of these forests, forest by forest."""
        sizes = self.size[forests]
        ends = np.cumsum(sizes)
        return np.repeat(self.start[forests] - (ends - sizes), sizes) + np.arange(ends[-1] if len(ends) else 0)


def forests_of(words: npt.NDArray[np.integer[Any]], direction: Ints) -> Forests:
    """The forests of words (batch, length); `direction` (Sigma,) is 1 of a call, -1 of a return, else 0.

    A shorter word ends with ABSENT, which is no symbol.

    >>> found = forests_of(np.array([[0, 2, 0, 1, 1, 0]]), np.array([1, -1, 0]))  # ( x ( ) ) (
    >>> found.size.tolist(), found.height.tolist(), found.call.tolist()
    ([2, 2, 0], [2, 1, 0], [-1, 0, 0])
    """
    batch, length = words.shape
    words = words.astype(np.intp)
    kind = np.where(words == ABSENT, 0, direction[words])
    partner = partners(kind)
    opens, closes = (partner >= 0) & (kind > 0), (partner >= 0) & (kind < 0)
    # How many pairs are open round each symbol; a pair stands where its call does.
    depth = np.cumsum(opens, axis=1) - np.cumsum(closes, axis=1) - opens
    row, place = np.nonzero(~closes & (words != ABSENT))
    pair_row, pair_place = np.nonzero(opens)
    # Openers, of the words and of the pairs, and items in one order: an item's forest is that of the opener before it.
    rows = np.concatenate([np.arange(batch), pair_row, row])
    depths = np.concatenate([np.zeros(batch, np.intp), depth[pair_row, pair_place] + 1, depth[row, place]])
    places = np.concatenate([np.full(batch, -1), pair_place, place])
    opener = np.concatenate([np.ones(batch + len(pair_row), bool), np.zeros(len(row), bool)])
    order = np.lexsort((places, rows, depths))
    # The top levels come first, as depth is the first key: forests are numbered by depth, then word, then place.
    forest = np.cumsum(opener[order]) - 1
    at_opener, at_item = np.flatnonzero(opener[order]), np.flatnonzero(~opener[order])
    of_forest, of_item = order[at_opener], order[at_item]
    item_row, item_place, item_forest = rows[of_item], places[of_item], forest[at_item]
    call, close = np.full(len(of_forest), -1), np.full(len(of_forest), -1)
    pairs = np.arange(batch, len(of_forest))
    r, p = rows[of_forest[pairs]], places[of_forest[pairs]]
    call[pairs], close[pairs] = words[r, p], words[r, partner[r, p]]
    number = np.full((batch, length), LEAF)
    number[r, p] = pairs
    inside = number[item_row, item_place]
    size = np.bincount(item_forest, minlength=len(of_forest))
    by_forest = np.argsort(item_forest, kind="stable")
    return Forests(
        call,
        close,
        size.astype(np.intp),
        heights(inside, item_forest, depths[of_forest]),
        words[item_row, item_place][by_forest],
        inside[by_forest],
    )


def heights(inside: Ints, forest: Ints, depth: Ints) -> Ints:
    """(forests,) the height of each, from the deepest up; `forest` (items,) is the forest an item is in."""
    heights_of = np.zeros(len(depth), dtype=np.intp)
    outer = np.full(len(depth), LEAF)
    pairs = inside != LEAF
    outer[inside[pairs]] = forest[pairs]
    starts = np.searchsorted(depth, np.arange(int(depth.max(initial=0)) + 2))
    for level in range(len(starts) - 2, 0, -1):
        deep = slice(starts[level], starts[level + 1])
        np.maximum.at(heights_of, outer[deep], heights_of[deep] + 1)
    return heights_of
