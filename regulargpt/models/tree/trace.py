"""The trees along brackets of some words with all states, and what becomes of them when one node's state is changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from languages.errors import UserError
from regulargpt.models.hooks import HookPoint, hook_names, hooks
from regulargpt.models.layers import check_words
from regulargpt.models.tree.base import Tree
from regulargpt.models.tree.nodes import NestedLevels, Rows

PATTERN = "attn.hook_pattern"


@dataclass(frozen=True)
class NestedTrace:
    """All nodes of the trees of some words of equal length, level by level: level 0 are the leaves.

    A node's level is 1 more than the highest among its children, so the root is a word's only node of its highest
    level. Trees of several words have several shapes: nodes of a level are counted through all words.

    | what | shape | |
    |---|---|---|
    | `words` | (word, length) | the symbols |
    | `states[level]` | (node, d_model) | the state of each node, as the levels above read it |
    | `patterns[level]` | (node, n_heads, C) | what each node attends to, by offset; of ldru there are 0 heads |
    | `children[level]` | (node, C, 2) | by offset, level and node of each child; -1, -1 is the pad |
    | `spans[level]` | (node, 3) | the word, the first symbol (inclusive) and the last (exclusive) under the node |
    | `logits` | (word, n_outputs) | the answers |

    With C = 2 a pair is two nodes: one over the call and the inside, then one over that and the return. The tensors
    stay on the graph.
    """

    nodes: NestedLevels
    states: tuple[Rows, ...]
    patterns: tuple[Float[Tensor, "node n_heads C"], ...]
    logits: Float[Tensor, "word n_outputs"]

    @property
    def words(self) -> Int[Tensor, "word length"]:
        return self.nodes.words

    @cached_property
    def children(self) -> tuple[Int[Tensor, "node C 2"], ...]:
        levels = range(1, len(self.states))
        none = torch.zeros(self.words.numel(), 0, 2, dtype=torch.long)
        return none, *(torch.tensor(self.nodes.children(level)) for level in levels)

    @cached_property
    def spans(self) -> tuple[Int[Tensor, "node 3"], ...]:
        length = self.words.shape[1]
        leaves = [[word, at, at + 1] for word in range(len(self.words)) for at in range(length)]
        above = [[[node.word, node.start, node.end] for node in level] for level in self.nodes.nodes]
        return tuple(torch.tensor(level) for level in (leaves, *above))

    def subword(self, level: int, node: int) -> list[int]:
        """The symbols under one node.

        >>> from regulargpt.models.regulargpt import RegularGPT
        >>> model = RegularGPT(3, 2, chunk_size=3, d_model=8, n_heads=2)
        >>> model.follow([1, -1, 0])
        >>> trace_nested(model, torch.tensor([[2, 0, 2, 1]])).subword(level=2, node=0)  # x ( x )
        [0, 2, 1]
        """
        word, start, end = self.spans[level][node].tolist()
        return self.words[word, start:end].tolist()

    def patch(self, level: int, node: int, state: Float[Tensor, "d_model"], *, atol: float = 0.0) -> NestedPatch:
        """The trace as it would be if this node had another state; what is above it is computed again.

        A node counts as changed if a number of its state moved by more than `atol`.

        Raises `UserError` for a node that there is not, and for a state of another width.

        >>> from regulargpt.models.regulargpt import RegularGPT
        >>> model = RegularGPT(3, 2, chunk_size=3, d_model=8, n_heads=2)
        >>> model.follow([1, -1, 0])
        >>> trace = trace_nested(model, torch.tensor([[2, 0, 2, 1, 2, 2]]))  # x ( x ) x x
        >>> trace.patch(level=1, node=0, state=trace.states[0][0]).changed
        ((1, 0), (4, 0))
        """
        level = index("level", level, len(self.states))
        node, width = index("node", node, len(self.states[level])), self.states[level].shape[1:]
        if state.shape != width:
            raise UserError(f"a state of shape {tuple(state.shape)}; it is {tuple(width)}")
        changed = self.states[level].clone()
        changed[node] = state
        after = climbed(self.nodes, (*self.states[:level], changed), self.patterns[: level + 1])
        return NestedPatch(after, tuple(differing(self.states, after.states, atol)))


@dataclass(frozen=True)
class NestedPatch:
    """What becomes of a trace: `trace` after the change, and the nodes (level, node) that have changed."""

    trace: NestedTrace
    changed: tuple[tuple[int, int], ...]

    @property
    def logits(self) -> Float[Tensor, "word n_outputs"]:
        return self.trace.logits


def trace_nested(model: Tree, words: Int[Tensor, "word length"]) -> NestedTrace:
    """Compute the trees along the brackets of some words, a state for each node of each word, and keep everything.

    Raises `UserError` for a tree that follows no brackets, and while state noise is on.
    """
    if not isinstance(model, Tree) or model.direction is None:
        raise UserError("this network follows no brackets; use trace_tree of regulargpt.models.regulargpt.trace")
    check_words(words, "last")
    if model.training and model.state_noise.level:
        raise UserError("state noise would disturb every node; call model.eval()")
    nodes = NestedLevels.from_words(model, words)
    leaves = nodes.leaves()
    return climbed(nodes, (leaves,), (leaves.new_zeros(len(leaves), 0, 0),))


def climbed(nodes: NestedLevels, below: tuple[Rows, ...], patterns: tuple[Tensor, ...]) -> NestedTrace:
    """The trace with these lowest levels."""
    passed: list[Tensor] = []

    def keep(value: Tensor, hook: HookPoint) -> None:
        passed.append(value)

    model = nodes.model
    points = [name for name in hook_names(model) if name.endswith(PATTERN)]
    with hooks(model, [(points, keep)]):
        states = (*below, *nodes.climb(below))
    if not points:
        passed = [level.new_zeros(len(level), 0, model.chunk_size) for level in states[len(below) :]]
    return NestedTrace(nodes, states, (*patterns, *passed), model.readout(nodes.roots(states)))


def differing(before: Sequence[Rows], after: Sequence[Rows], atol: float) -> list[tuple[int, int]]:
    return [
        (level, node)
        for level, (x, y) in enumerate(zip(before, after, strict=True))
        for node in ((x - y).abs() > atol).any(-1).nonzero()[:, 0].tolist()
    ]


def index(name: str, value: int, size: int) -> int:
    """The number counted from 0, for a number that may be counted from the end; `UserError` if there is no such one."""
    if not -size <= value < size:
        raise UserError(f"{name} = {value}; there are {size}, counted from 0")
    return value % size
