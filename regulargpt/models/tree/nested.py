"""The tree that follows the brackets: what stands in a pair is computed first, as a word of its own.

A forest of n items is computed exactly as a word of n symbols is; a pair is another node (C >= 3: one window of call,
inside and return) or two (C = 2: call and inside, then that and the return). An empty inside is the pad. The same map
is used at every node. Without brackets it is the tree of the word.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from regulargpt.models.tree.base import Tree
from regulargpt.models.tree.forests import ABSENT, Forests, Ints, forests_of
from regulargpt.models.tree.groups import RandomBracketing
from regulargpt.models.tree.levels import tree_levels
from regulargpt.models.tree.nodes import NestedLevels
from regulargpt.models.tree.schedule import Scheduler

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


def root_of(model: Tree, words: Int[Tensor, "batch length"], share: bool = True) -> Float[Tensor, "batch d_model"]:
    """The state of each word's root, in the model's own tree."""
    if model.direction is not None and share:
        return nested_root(model, words, model.direction)
    if model.direction is not None:
        nodes = NestedLevels.from_words(model, words)
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

    Equal nodes of forests of equal height are computed once. `nested_root_plainly` is the readable way.
    """
    if bracketing is None and not (direction[words.long()] != 0).any():
        *_, root = tree_levels(model, words)
        return F.embedding(root.node[:, -1], root.states)
    forests = forests_of(words.cpu().numpy(), direction.cpu().numpy().astype(np.intp))
    return Computation(model, forests, bracketing).roots(len(words))


class Computation:
    """The states of all nodes of a batch: step by step, those that can be computed together at once."""

    def __init__(self, model: Tree, forests: Forests, bracketing: RandomBracketing | None = None) -> None:
        self.model, self.forests, self.bracketing = model, forests, bracketing
        (self.layer,) = model.tree_layers(1)

    def roots(self, batch: int) -> Float[Tensor, "batch d_model"]:
        """The states of the roots of the words, the first forests."""
        states: Rows = self.model.leaves()  # row 0 the pad, 1 + s the symbol s, then nodes that are still needed
        C, n_leaves, right = self.model.chunk_size, len(states) - 1, self.model.aligned == "right"
        schedule = Scheduler(self.forests, n_leaves, C, right, self.bracketing).schedule(batch)
        last, kept = schedule.last_uses(n_leaves), np.arange(1 + n_leaves)
        row = np.arange(len(last))  # of each node that is still needed, its row of `states`
        for step, windows in enumerate(schedule.steps):
            # Only the rows that are needed now: the map projects each of those that it is given.
            used, children = np.unique(np.append(0, windows), return_inverse=True)
            children = children[1:].reshape(windows.shape)  # (m, C)
            new = self.layer.apply(gathered(states, row[used]), to_index(children, states))
            needed = last[kept] > step
            old = states if needed.all() else gathered(states, np.flatnonzero(needed))
            states, first = torch.cat([old, new]), schedule.first(step, n_leaves)
            kept = np.concatenate([kept[needed], np.arange(first, first + len(new))])
            row[kept] = np.arange(len(kept))
        return gathered(states, row[schedule.roots])


def to_index(rows: Ints, states: Rows) -> Int[Tensor, "*n"]:
    return torch.from_numpy(rows).to(states.device)


def gathered(states: Rows, rows: Ints) -> Float[Tensor, "n d_model"]:
    # F.embedding is the quickest gather whose backward adds in a fixed order on every device.
    return F.embedding(to_index(rows, states), states)


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
