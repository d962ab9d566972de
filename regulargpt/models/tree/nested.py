"""The tree that follows the brackets: what stands in a pair is computed first, as a word of its own.

A forest of n items is computed exactly as a word of n symbols is; a pair is one more node (C >= 3: one window of call,
inside and return) or two (C = 2: call and inside, then that and the return). An empty inside is the pad. The same map
is used at every node. Without brackets it is the tree of the word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from regulargpt.models.tree.base import Tree
from regulargpt.models.tree.forests import ABSENT, LEAF, Forests, Ints, forests_of
from regulargpt.models.tree.levels import level_over, tree_levels
from regulargpt.models.tree.nodes import NestedLevels
from regulargpt.models.tree.sharing import identify

Rows = Float[Tensor, "rows d_model"]


def nested_logits(model: Tree, batches: Sequence[Int[Tensor, "n length"]]) -> Float[Tensor, "words n_outputs"]:
    """The logits of words of many lengths, in order; equal nodes of all of them are computed once.

    >>> from regulargpt.models.regulargpt import RegularGPT
    >>> model = RegularGPT(3, 2, d_model=8, n_heads=2, d_ff=8)
    >>> model.follow([1, -1, 0])
    >>> nested_logits(model, [torch.tensor([[0, 1]]), torch.tensor([[0, 2, 1, 2], [1, 0, 0, 1]])]).shape
    torch.Size([3, 2])
    """
    assert model.direction is not None, "it follows brackets"
    longest = max(words.shape[1] for words in batches)
    padded = torch.cat([F.pad(words.long(), (0, longest - words.shape[1]), value=ABSENT) for words in batches])
    forests = forests_of(padded.cpu().numpy(), model.direction.cpu().numpy().astype(np.intp))
    return model.readout(Computation(model, forests).roots(len(padded)))


@dataclass(frozen=True)
class Groups:
    """How the nodes of several forests, one forest after the other, are put together: neighbours form a group.

    A group is one window of the map, or a node that waits; groups are numbered from the left.
    """

    group: Ints  # (nodes,) the group of each
    place: Ints  # (nodes,) its place in the window, by offset
    waits: npt.NDArray[np.bool_]  # (groups,)
    size: Ints  # (forests,) how many groups each has


def windows_of_rows(size: Ints, C: int, right: bool) -> Groups:
    """Windows of C neighbours in forests of so many nodes, counted from the right or the left.

    >>> found = windows_of_rows(np.array([3, 1]), 2, right=True)
    >>> found.group.tolist(), found.place.tolist(), found.size.tolist()
    ([0, 1, 1, 2], [0, 1, 0, 0], [2, 1])
    """
    count, within = -(-size // C), numbered(size)
    if right:
        within = np.repeat(size, size) - 1 - within
    window = np.repeat(count, size) - 1 - within // C if right else within // C
    group = np.repeat(np.cumsum(count) - count, size) + window
    return Groups(group, within % C, np.zeros(int(count.sum()), dtype=np.bool_), count)


def numbered(size: Ints) -> Ints:
    """0, 1, ... for the nodes of each forest.

    >>> numbered(np.array([2, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    return np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size)


@dataclass(frozen=True)
class RandomBracketing:
    """Another tree in every forest: above level 1 about the share `share` of the windows is merged at a time.

    The other nodes wait meanwhile; C nodes or fewer are merged at once. The answer must stay: see bracketings.py, which
    does this to words.
    """

    share: float
    random: np.random.Generator

    def groups(self, size: Ints, C: int, right: bool) -> Groups:
        """Windows of C neighbours from a random place on, each merged by a coin, but one at least in each forest."""
        few, within = np.repeat(size <= C, size), numbered(size)
        shift = self.random.integers(np.clip(size - C, 0, C - 1) + 1)
        block = (within - np.repeat(shift, size)) // C  # -1 before the first
        full = (block >= 0) & (np.repeat(shift, size) + (block + 1) * C <= np.repeat(size, size))
        number = np.repeat(np.cumsum(size) - size, size) + np.maximum(block, 0)  # of the block, as good as a name
        coins = self.random.random(len(within)) < self.share
        tossed = full & coins[number]
        none = ~np.logical_or.reduceat(tossed, np.cumsum(size) - size)
        merged = few | tossed | (full & np.repeat(none, size) & (block == 0))
        at_end = (within - np.repeat(shift, size)) % C
        begins = np.where(few, within == 0, ~merged | (at_end == 0))
        place = np.where(few, within, np.where(merged, at_end, 0))
        if right:
            place = np.where(few, np.repeat(size, size) - 1, np.where(merged, C - 1, 0)) - place
        group = np.cumsum(begins) - 1
        count = np.add.reduceat(begins.astype(np.intp), np.cumsum(size) - size)
        return Groups(group, place, ~merged[begins], count)


def root_of(model: Tree, words: Int[Tensor, "batch length"], share: bool = True) -> Float[Tensor, "batch d_model"]:
    """The state of each word's root, in the model's own tree."""
    if model.direction is not None and share:
        return nested_root(model, words, model.direction)
    if model.direction is not None:
        nodes = NestedLevels.of(model, words)
        return nodes.roots(nodes.states())
    *_, root = tree_levels(model, words, share)
    return root.states[root.node[:, -1]]


def nested_root(
    model: Tree,
    words: Int[Tensor, "batch length"],
    direction: Int[Tensor, "symbols"],
    bracketing: RandomBracketing | None = None,
) -> Float[Tensor, "batch d_model"]:
    """The state of each word's root, in the tree that follows its brackets.

    Equal nodes of forests of one height are computed once. `nested_root_plainly` is the readable way.
    """
    if bracketing is None and not (direction[words.long()] != 0).any():
        *_, root = tree_levels(model, words)
        return F.embedding(root.node[:, -1], root.states)
    forests = forests_of(words.cpu().numpy(), direction.cpu().numpy().astype(np.intp))
    return Computation(model, forests, bracketing).roots(len(words))


class Computation:
    """The states of all forests and pairs of a batch, those first that need no others."""

    def __init__(self, model: Tree, forests: Forests, bracketing: RandomBracketing | None = None) -> None:
        self.model, self.forests, self.bracketing = model, forests, bracketing
        (self.layer,) = model.tree_layers(1)
        self.states: Rows = model.leaves()  # row 0 the pad, 1 + s the symbol s, then the pairs
        self.pair = np.zeros(len(forests.size), dtype=np.intp)  # the row of the pair round each forest

    def roots(self, batch: int) -> Float[Tensor, "batch d_model"]:
        found: list[tuple[Ints, Rows]] = []
        for forests in self.forests.by_height():
            pairs: list[tuple[Ints, Rows, Ints]] = []
            for done, states, rows in self.finished(forests):
                inner = done >= batch
                if inner.any():
                    pairs.append((done[inner], *self.closed(done[inner], states, rows[inner])))
                if not inner.all():
                    found.append((done[~inner], states[self.index(rows[~inner])]))
            for done, states, rows in pairs:
                # Row 0 is the pad, which is there already.
                self.pair[done] = len(self.states) + rows - 1
                self.states = torch.cat([self.states, states[1:]])
        order = np.argsort(np.concatenate([done for done, _ in found]), kind="stable")
        return torch.cat([states for _, states in found])[self.index(order)]

    def index(self, rows: Ints) -> Int[Tensor, "n"]:
        return torch.from_numpy(rows).to(self.states.device)

    def rows_of(self, forests: Ints) -> Ints:
        """The rows of the items of these forests."""
        items = self.forests.items_of(forests)
        inside = self.forests.inside[items]
        return np.where(inside == LEAF, 1 + self.forests.symbol[items], self.pair[inside])

    def finished(self, forests: Ints) -> list[tuple[Ints, Rows, Ints]]:
        """Level by level: the forests whose root is there, the states so far, and the roots' rows among them."""
        found, size, states = list[tuple[Ints, Rows, Ints]](), self.forests.size[forests], self.states
        if (empty := size == 0).any():
            found.append((forests[empty], states, np.zeros(int(empty.sum()), dtype=np.intp)))
        forests, size = forests[~empty], size[~empty]
        rows, share, groups = self.rows_of(forests), True, self.usual
        while len(forests):
            of = groups(size)
            windows = np.zeros((len(of.waits), self.model.chunk_size), dtype=np.intp)
            windows[of.group, of.place] = rows
            level, share = level_over(self.model, states, self.index(windows[~of.waits])[None], self.layer.apply, share)
            rows = windows.max(axis=1)  # what waits stands alone in its window
            if of.waits.any():
                rows[~of.waits] = len(states) - 1 + level.node[0].cpu().numpy()
                states = torch.cat([states, level.states[1:]])
            else:
                rows, states = level.node[0].cpu().numpy(), level.states
            size, done, groups = of.size, of.size == 1, self.later
            if done.any():
                found.append((forests[done], states, rows[np.cumsum(size)[done] - 1]))
                rows, forests, size = rows[np.repeat(~done, size)], forests[~done], size[~done]
        return found

    def usual(self, size: Ints) -> Groups:
        return windows_of_rows(size, self.model.chunk_size, self.model.aligned == "right")

    def later(self, size: Ints) -> Groups:
        """Above level 1, where random bracketings begin."""
        if self.bracketing is None:
            return self.usual(size)
        return self.bracketing.groups(size, self.model.chunk_size, self.model.aligned == "right")

    def closed(self, forests: Ints, states: Rows, inside: Ints) -> tuple[Rows, Ints]:
        """The states of the pairs round forests whose roots are rows of `states`, and their rows; row 0 is the pad."""
        C, right = self.model.chunk_size, self.model.aligned == "right"
        # The leaves and the roots in one table; an empty inside is the pad, row 0 of both.
        n_leaves = self.model.embedding.weight.shape[0]
        table = torch.cat([self.states[: 1 + n_leaves], states])
        inside = np.where(inside == 0, 0, 1 + n_leaves + inside)
        call, close = 1 + self.forests.call[forests], 1 + self.forests.close[forests]
        if C == 2:
            opened, rows = self.merged(table, np.stack([inside, call] if right else [call, inside], axis=1))
            rows = 1 + n_leaves + rows
            table = torch.cat([table[: 1 + n_leaves], opened])
            return self.merged(table, np.stack([close, rows] if right else [rows, close], axis=1))
        windows = np.zeros((len(forests), C), dtype=np.intp)
        windows[:, :3] = np.stack([close, inside, call] if right else [call, inside, close], axis=1)
        return self.merged(table, windows)

    def merged(self, table: Rows, windows: Ints) -> tuple[Rows, Ints]:
        """The states of windows (n, C), equal ones once, behind the pad, and their rows."""
        children, node = identify(self.index(windows)[None], len(table))
        states = torch.cat([self.model.absent, self.layer.apply(table, children)])
        return states, 1 + node[0].cpu().numpy()


def nested_root_plainly(
    model: Tree, word: Int[Tensor, "length"], direction: Int[Tensor, "symbols"]
) -> Float[Tensor, "d_model"]:
    """The state of one word's root by recursion, a node at a time: the definition."""
    leaves, symbols, kinds = model.leaves(), word.tolist(), direction[word.long()].tolist()
    C, right = model.chunk_size, model.aligned == "right"
    absent = leaves[0]

    def merge(children: list[Tensor]) -> Tensor:
        children = children[::-1] if right else children
        table = torch.stack([absent, *children])
        row = torch.arange(1, len(children) + 1)
        # The pad is row 0, wherever it came from: an empty inside, or a place before the word.
        row[torch.tensor([child is absent for child in children])] = 0
        return model.merge(table, F.pad(row, (0, C - len(children)))[None])[0]

    def forest(items: list[Tensor]) -> Tensor:
        if not items:
            return absent
        while True:
            first = len(items) % C or C
            cuts = [0, *range(first, len(items), C)] if right else range(0, len(items), C)
            ends = [*cuts[1:], len(items)]
            items = [merge(items[start:end]) for start, end in zip(cuts, ends, strict=True)]
            if len(items) == 1:
                return items[0]

    def read(at: int, inside: bool) -> tuple[list[Tensor], int]:
        """The items from a position on, and where they end: at the end, or at the return that closes them."""
        items: list[Tensor] = []
        while at < len(symbols):
            if kinds[at] < 0 and inside:
                return items, at
            leaf, at = leaves[1 + symbols[at]], at + 1
            if kinds[at - 1] > 0:
                inner, end = read(at, True)
                if end < len(symbols):
                    root, close = forest(inner), leaves[1 + symbols[end]]
                    pair = [merge([leaf, root]), close] if C == 2 else [leaf, root, close]
                    items.append(merge(pair))
                    at = end + 1
                    continue
                # Nothing closes it: what was read behind it belongs to this row.
                return [*items, leaf, *inner], end
            items.append(leaf)
        return items, at

    return forest(read(0, False)[0])
