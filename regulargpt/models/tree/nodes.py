"""The tree along the brackets node by node, for those who look into it: what each node is made of, and its state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor

from languages.automata.nesting import partners
from regulargpt.models.tree.base import Tree
from regulargpt.models.tree.levels import leaf_level

Ints = npt.NDArray[np.intp]
Rows = Float[Tensor, "rows d_model"]
PAD = -1, -1
Place = tuple[int, int]  # (level, node); the leaves are level 0, what is absent is PAD


@dataclass(eq=False)
class Node:
    """A node over the symbols start..end of a word; its level is 1 more than the highest among its children.

    `children` are places by offset, from the side on which windows are aligned. A node `is_open` that holds the call
    and the inside of a pair, whose return is its sibling.
    """

    word: int
    start: int
    end: int
    children: tuple[Node | int | None, ...] = field(repr=False)  # positions of symbols; None where an inside is empty
    is_open: bool = False
    level: int = field(init=False)
    number: int = -1  # among the nodes of its level, of all words

    def __post_init__(self) -> None:
        self.level = 1 + max(child.level if isinstance(child, Node) else 0 for child in self.children)


class WordTree:
    """The nodes of one word's tree, children first. Without recursion: brackets may be nested deeply.

    >>> direction = np.array([1, -1, 0])
    >>> [(n.start, n.end, n.level) for n in WordTree(0, np.array([2, 0, 2, 1]), direction, 2, "right").nodes]  # x(x)
    [(2, 3, 1), (1, 3, 2), (1, 4, 3), (0, 4, 4)]
    """

    def __init__(self, word: int, symbols: Ints, direction: Ints, chunk_size: int, aligned: str) -> None:
        self.word, self.C, self.right = word, chunk_size, aligned == "right"
        self.nodes: list[Node] = []
        kinds = direction[symbols]
        rows: list[list[Node | int]] = [[]]  # the items of each forest that is open
        for at, (kind, other) in enumerate(zip(kinds.tolist(), partners(kinds[None])[0].tolist(), strict=True)):
            if other < 0:
                rows[-1].append(at)
            elif kind > 0:
                rows.append([])
            else:
                inside = self.forest(rows.pop())
                rows[-1].append(self.pair(other, inside, at))
        self.forest(rows[0])

    def forest(self, items: list[Node | int]) -> Node | None:
        """The root over a row of items."""
        if not items:
            return None
        while True:
            first = len(items) % self.C or self.C if self.right else self.C
            cuts = [0, *range(first, len(items), self.C), len(items)]
            items = [self.node(items[cuts[i] : cuts[i + 1]]) for i in range(len(cuts) - 1)]
            if isinstance(items[0], Node) and len(items) == 1:
                return items[0]

    def pair(self, call: int, inside: Node | None, close: int) -> Node:
        if self.C > 2:
            return self.node([call, inside, close])
        return self.node([self.node([call, inside], is_open=True), close])

    def node(self, children: Sequence[Node | int | None], is_open: bool = False) -> Node:
        first, last = children[0], [child for child in children if child is not None][-1]
        start = first.start if isinstance(first, Node) else first
        end = last.end if isinstance(last, Node) else last + 1
        assert start is not None, "an inside stands behind its call"
        by_offset = tuple(children[::-1] if self.right else children)
        self.nodes.append(Node(self.word, start, end, by_offset, is_open))
        return self.nodes[-1]


def levels_of_nodes(
    words: Int[Tensor, "batch length"], direction: Int[Tensor, "symbols"], chunk_size: int, aligned: str
) -> list[list[Node]]:
    """The nodes of all words, from level 1 on; those of a level by word, then from the left. Each knows its number."""
    kinds = direction.cpu().numpy().astype(np.intp)
    levels: list[list[Node]] = []
    for word, symbols in enumerate(words.cpu().numpy().astype(np.intp)):
        for node in sorted(WordTree(word, symbols, kinds, chunk_size, aligned).nodes, key=lambda node: node.start):
            levels += [[] for _ in range(node.level - len(levels))]
            levels[node.level - 1].append(node)
    for level in levels:
        for number, node in enumerate(level):
            node.number = number
    return levels


@dataclass(frozen=True)
class NestedLevels:
    """The structure of the trees of some words, as `levels_of_nodes` has it, and how states are computed in it."""

    model: Tree
    words: Int[Tensor, "batch length"]
    nodes: list[list[Node]]

    @classmethod
    def from_words(cls, model: Tree, words: Int[Tensor, "batch length"]) -> NestedLevels:
        assert model.direction is not None, "it follows brackets"
        return cls(model, words, levels_of_nodes(words, model.direction, model.chunk_size, model.aligned))

    def place(self, child: Node | int | None, word: int) -> Place:
        if child is None:
            return PAD
        return (child.level, child.number) if isinstance(child, Node) else (0, word * self.words.shape[1] + child)

    def children(self, level: int) -> list[list[Place]]:
        """By offset, the places of the children of each node; PAD where there is none, in all (nodes, C)."""
        C = self.model.chunk_size
        places_of = [[self.place(child, node.word) for child in node.children] for node in self.nodes[level - 1]]
        return [places + [PAD] * (C - len(places)) for places in places_of]

    def leaves(self) -> Rows:
        """The leaves of all words in a row; where somebody listens at `hook_embed`, each passes it alone."""
        level = leaf_level(self.model, self.words, share=False)
        return level.states[level.node.flatten()]  # (batch * length, d_model)

    def climb(self, below: Sequence[Rows]) -> Iterator[Rows]:
        """The states of all levels above those given, level 0 being the leaves; a node a row, none shared."""
        apply = self.model.tree_layers(1)[0].apply
        starts = np.cumsum([1, *(len(states) for states in below)]).tolist()
        table = torch.cat([self.model.absent, *below])
        for level in range(len(below), 1 + len(self.nodes)):
            places = self.children(level)
            rows = torch.tensor([[0 if of < 0 else starts[of] + number for of, number in row] for row in places])
            # Only the children, behind the pad: the map looks at every row that it is given.
            used, window = torch.unique(torch.cat([rows.new_zeros(1), rows.flatten()]), return_inverse=True)
            children = window[1:].view(rows.shape).to(table.device)  # (nodes, C)
            states = apply(table[used.to(table.device)], children)
            yield states
            table = torch.cat([table, states])
            starts.append(starts[-1] + len(states))

    def states(self) -> list[Rows]:
        """The states of all levels, level 0 being the leaves."""
        leaves = self.leaves()
        return [leaves, *self.climb([leaves])]

    def roots(self, states: Sequence[Rows]) -> Float[Tensor, "batch d_model"]:
        """The root of each word: its node of the highest level."""
        last = {node.word: node for level in self.nodes for node in level}
        return torch.stack([states[last[word].level][last[word].number] for word in range(len(self.words))])
