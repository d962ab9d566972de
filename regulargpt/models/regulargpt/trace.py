"""The tree of each word as arrays (word, level, node), and what becomes of it when one node's state is changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from languages.errors import UserError
from regulargpt.models.hooks import HookPoint, hooks
from regulargpt.models.layers import check_words
from regulargpt.models.regulargpt.model import RegularGPT
from regulargpt.models.tree.levels import Layer, TreeLevel, levels_above, windows_from_right
from regulargpt.models.tree.trace import index

Nodes = tuple[Tensor, ...]


@dataclass(frozen=True)
class Trace:
    """All nodes of the trees of some words of one length, level by level: level 0 are the leaves, the last is the root.

    | what | shape | |
    |---|---|---|
    | `words` | (word, length) | the symbols |
    | `states[level]` | (word, node, d_model) | the state of each node, as the level above reads it |
    | `patterns[level]` | (word, node, n_heads, C) | what each node attends to, by offset to the left |
    | `children[level]` | (node, C) | by offset, the nodes of the level below; -1 is the pad |
    | `spans[level]` | (node, 2) | first symbol (inclusive) and last (exclusive) of the sub-word under the node |
    | `logits` | (word, n_outputs) | the answers |

    Nodes are counted from the left, and -1 is the last. Leaves attend to nothing: there C is 0. In a thick network
    (K > 1) each of a level's K layers is a level here. The tensors stay on the graph.
    """

    model: RegularGPT
    words: Int[Tensor, "word length"]
    states: Nodes
    patterns: Nodes
    logits: Float[Tensor, "word n_outputs"]

    @cached_property
    def children(self) -> Nodes:
        C = self.model.chunk_size
        children = [torch.zeros(self.words.shape[1], 0, dtype=torch.long)]
        for layer in self.layers:
            numbers = 1 + torch.arange(len(children[-1]))[None]  # (1, nodes below); 0 is the pad
            children.append(windows_from_right(numbers, C, stride=C if layer.last else 1)[0] - 1)
        return tuple(children)

    @cached_property
    def spans(self) -> Nodes:
        ends = torch.arange(1, self.words.shape[1] + 1)
        spans = [torch.stack([ends - 1, ends], 1)]  # (length, 2)
        for below in self.children[1:]:
            # The child at offset 0 ends where its parent does; that farthest left that is no pad begins with it.
            starts = spans[-1][below.clamp(min=0), 0].masked_fill(below < 0, self.words.shape[1])
            spans.append(torch.stack([starts.min(1).values, spans[-1][below[:, 0], 1]], 1))  # (node, 2)
        return tuple(spans)

    @property
    def layers(self) -> list[Layer]:
        """The layers between the levels: `layers[n]` makes level n + 1."""
        return self.model.tree_layers(self.words.shape[1])

    def subword(self, level: int, node: int, word: int = 0) -> list[int]:
        """The symbols under one node.

        >>> trace_tree(RegularGPT(2, 2, d_model=8, n_heads=2), torch.tensor([[0, 1, 1]])).subword(level=1, node=1)
        [1, 1]
        """
        start, end = self.spans[level][node].tolist()
        return self.words[word, start:end].tolist()

    def patch(
        self, level: int, node: int, state: Float[Tensor, "d_model"], word: int = 0, *, atol: float = 0.0
    ) -> Patch:
        """The trace as it would be if this node of this word had another state; what is above it is computed again.

        A node counts as changed if a number of its state moved by more than `atol`.

        Raises `UserError` for a node that there is not, and for a state of another width.

        >>> trace = trace_tree(RegularGPT(2, 2, d_model=8, n_heads=2), torch.tensor([[0, 1, 1, 0, 1]]))
        >>> trace.patch(level=1, node=0, state=trace.states[1][0, 2]).changed
        ((1, 0), (2, 0), (3, 0))
        """
        level = index("level", level, len(self.states))
        node = index("node", node, self.states[level].shape[1])
        word = index("word", word, len(self.words))
        if state.shape != self.states[level].shape[2:]:
            raise UserError(f"a state of shape {tuple(state.shape)}; it is {tuple(self.states[level].shape[2:])}")
        states = self.states[level].clone()
        states[word, node] = state
        above, patterns, logits = _climb(self.model, states, self.layers[level:])
        after = Trace(
            self.model,
            self.words,
            (*self.states[:level], states, *above),
            (*self.patterns[: level + 1], *patterns),
            logits,
        )
        return Patch(after, tuple(_differing(self.states, after.states, word, atol)))


@dataclass(frozen=True)
class Patch:
    """What becomes of a trace: `trace` after the change, and the nodes (level, node) of that word that have changed.

    A change may die out on the way up: then the root, and the answer, are not among them.
    """

    trace: Trace
    changed: tuple[tuple[int, int], ...]

    @property
    def logits(self) -> Float[Tensor, "word n_outputs"]:
        return self.trace.logits


def trace_tree(model: RegularGPT, words: Int[Tensor, "word length"]) -> Trace:
    """Run RegularGPT as the plain tree, a state for each node of each word, and keep everything.

    Raises `UserError` for another model, for a tree that follows brackets, for full attention, which has no tree, and
    while state noise is on.

    >>> words = torch.tensor([[0, 1, 1, 0, 1], [1, 1, 0, 0, 1]])
    >>> model = RegularGPT(2, 2, d_model=8, n_heads=2)
    >>> trace = trace_tree(model, words)
    >>> for states, patterns in zip(trace.states, trace.patterns):
    ...     tuple(states.shape), tuple(patterns.shape)
    ((2, 5, 8), (2, 5, 2, 0))
    ((2, 3, 8), (2, 3, 2, 2))
    ((2, 2, 8), (2, 2, 2, 2))
    ((2, 1, 8), (2, 1, 2, 2))
    >>> trace.children[1].tolist(), trace.spans[1].tolist()
    ([[0, -1], [2, 1], [4, 3]], [[0, 1], [1, 3], [3, 5]])
    >>> torch.allclose(trace.logits, model(words), atol=1e-6)
    True
    """
    if not isinstance(model, RegularGPT):
        raise UserError(f"trace_tree reads the tree of a RegularGPT, not of {type(model).__name__}; use run_with_cache")
    check_words(words, "last")
    if model.direction is not None:
        raise UserError("this tree follows brackets; use trace_nested of regulargpt.models.tree.trace")
    if model.full:
        raise UserError("full attention has no tree; use run_with_cache with computation='dense'")
    if model.training and model.state_noise.level:
        raise UserError("state noise would disturb every node; call model.eval()")
    leaves = model.positions(words)  # (word, length, d_model)
    states, patterns, logits = _climb(model, leaves, model.tree_layers(words.shape[1]))
    n_heads = model.layers(0)[0].attn.n_heads
    nothing = leaves.new_zeros(*leaves.shape[:2], n_heads, 0)
    return Trace(model, words, (leaves, *states), (nothing, *patterns), logits)


def _climb(model: RegularGPT, states: Float[Tensor, "word node d_model"], layers: Sequence[Layer]):
    passed: list[Tensor] = []

    def keep(value: Tensor, hook: HookPoint) -> None:
        passed.append(value)

    # A row for each node, in the leaves too: what is computed again has the same shapes, and so the same last bits
    # where nothing changed.
    node = 1 + torch.arange(states[..., 0].numel(), device=states.device).view(states.shape[:2])  # (word, node)
    rows = torch.cat([model.pad, states.flatten(0, 1)])  # (1 + word * node, d_model)
    level = TreeLevel(node, rows, node.new_zeros(0, model.chunk_size))
    with hooks(model, [(lambda name: name.endswith("attn.hook_pattern"), keep)]):
        levels = list(levels_above(model, level, layers, share=False))
    above = [level.states[level.node] for level in levels]  # each (word, node, d_model)
    patterns = [p.unflatten(0, x.shape[:2]) for p, x in zip(passed, above, strict=True)]  # (word, node, n_heads, C)
    return above, patterns, model.readout([states, *above][-1][:, -1])


def _differing(before: Nodes, after: Nodes, word: int, atol: float) -> list[tuple[int, int]]:
    return [
        (level, node)
        for level, (x, y) in enumerate(zip(before, after, strict=True))
        for node in ((x[word] - y[word]).abs() > atol).any(-1).nonzero()[:, 0].tolist()
    ]
