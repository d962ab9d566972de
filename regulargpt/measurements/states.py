"""The hidden states of a network, each with the true monoid element of the sub-word behind it (section 6.6.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from languages.automata.monoid import TransitionMonoid
from languages.automata.words import smallest_unsigned
from languages.errors import UserError
from languages.randomness import rng
from regulargpt.data.language import Words
from regulargpt.measurements.layers import DepthStates, layers

# Of each depth so many nodes are drawn, and so many distinct sub-words of theirs are kept.
MAX_NODES, MAX_SUBWORDS = 8192, 1000
# What holds the sub-words of the drawn nodes while equal ones are found: fewer are drawn where they are very long.
MAX_SYMBOLS = 1 << 26


@dataclass(frozen=True)
class NodeStates:
    """Rows of hidden states: no two of a depth stand for the same sub-word.

    Row n is the state at depth `depths[n]` and position `ends[n] - 1` of word `words[n]`; what it depends on is the
    sub-word from `starts[n]` (inclusive) to `ends[n]` (exclusive). Its monoid element A(sigma_{a:b}) is `elements[n]`,
    an index into a `TransitionMonoid`. Among the nodes drawn, `counts[n]` had that sub-word. Depth 0 are the leaves;
    depth l + 1 are the block outputs o_i^(l) of section 6.6.2.
    """

    states: npt.NDArray[np.float32]  # (rows, width)
    elements: npt.NDArray[np.int64]  # (rows,)
    depths: npt.NDArray[np.int64]  # (rows,)
    words: npt.NDArray[np.int64]  # (rows,)
    starts: npt.NDArray[np.int64]  # (rows,)
    ends: npt.NDArray[np.int64]  # (rows,)
    counts: npt.NDArray[np.int64]  # (rows,)

    def __len__(self) -> int:
        return len(self.elements)

    def where(self, chosen: npt.NDArray[np.bool_] | npt.NDArray[np.integer]) -> NodeStates:
        """Some of the rows, by a mask or by their numbers."""
        return NodeStates(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    @classmethod
    def join(cls, parts: Sequence[NodeStates]) -> NodeStates:
        """All rows, one part after the other."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__dataclass_fields__))


@torch.no_grad()
def node_states(
    model: nn.Module,
    words: Words,
    monoid: TransitionMonoid,
    seed: int = 0,
    *,
    all_positions: bool = False,
    at: str = "",
    thinned: bool = True,
) -> NodeStates:
    """The states of the model on words of equal length, at every depth, with their true monoid elements.

    RegularGPT and ldru: the nodes of the tree, or of RegularGPT with `all_positions` those of every position. Of a
    thick level (K > 1), the last layer. Pads are left out; a node at an end stands for what it has of the word. With
    full attention there is no tree: all positions, with the monoid element of the prefix. Of other models the state
    that the readout reads, at `hook_output` (recurrent models), or that at `hook_state`, or else the residual stream
    after each block (Transformer). Both are taken at every position, with the monoid element of the prefix. `at` names
    another hook point to take the states at.

    Of each depth at most `MAX_NODES` nodes are drawn by `seed`, and at most `MAX_SUBWORDS` distinct sub-words kept; all
    if they are not to be `thinned`.

    Raises UserError where states are not finite (some recurrent networks overflow on long words), for a model that
    has neither hook point, and where at `at` no vector of each node passes.

    >>> import languages
    >>> task = languages.get("parity")
    >>> from regulargpt import RegularGPT
    >>> model = RegularGPT(2, 2, d_model=8, n_heads=2, d_ff=8)
    >>> found = node_states(model, np.array([[0, 1, 1]]), TransitionMonoid.from_machine(task.machine.minimise()))
    >>> for n in range(len(found)):
    ...     print(found.depths[n], found.starts[n], found.ends[n], found.elements[n])
    0 0 1 0
    0 1 2 1
    1 0 1 0
    1 1 3 0
    2 0 3 0
    """
    words = np.asarray(words)
    parts = []
    for layer in layers(model, words, all_positions, at):
        parts.append(draw(layer, words, monoid, seed, thinned))
        if not np.isfinite(parts[-1].states).all():
            raise UserError(f"states on words of length {words.shape[1]} are not finite; choose a shorter --length")
    return NodeStates.join(parts)


def draw(layer: DepthStates, words: Words, monoid: TransitionMonoid, seed: int, thinned: bool = True) -> NodeStates:
    """Rows of a depth: nodes drawn, equal sub-words taken once, the machine run on each."""
    random = rng(seed, "nodes", layer.depth)
    reach = min(layer.reach, words.shape[1])
    n_nodes = len(words) * len(layer.positions)
    most = min(MAX_NODES, max(1, MAX_SYMBOLS // reach)) if thinned else n_nodes
    drawn = np.sort(random.permutation(n_nodes)[:most])
    word, node = drawn // len(layer.positions), drawn % len(layer.positions)
    start, position = layer.starts[node], layer.positions[node]
    below = sub_words(words, word, start, position, reach, before=len(monoid.alphabet))
    first, counts = distinct(below)
    kept = np.sort(random.permutation(len(first))[: MAX_SUBWORDS if thinned else len(first)])
    rows = first[kept]
    word, node, start, position = word[rows], node[rows], start[rows], position[rows]
    return NodeStates(
        layer.states[word, node],
        elements_of(monoid, below[rows]),
        np.full(len(rows), layer.depth),
        word,
        start,
        position + 1,
        counts[kept],
    )


def sub_words(
    words: Words, word: npt.NDArray, start: npt.NDArray, position: npt.NDArray, reach: int, before: int
) -> Words:
    """The sub-words from `start` to `position` of each word (rows, reach), `before` what stands before them.

    >>> sub_words(np.array([[0, 1, 1]]), np.array([0, 0]), np.array([0, 1]), np.array([0, 2]), 2, before=2).tolist()
    [[2, 0], [1, 1]]
    """
    # In the smallest integers that hold the symbols: there are `reach` of them for each row.
    kind = smallest_unsigned(before + 1)
    padded = np.concatenate([np.full((len(words), reach - 1), before, kind), words.astype(kind)], axis=1)
    windows = np.lib.stride_tricks.sliding_window_view(padded, reach, axis=1)[word, position]
    outside = np.arange(reach) < (start - position - 1 + reach)[:, None]  # (rows, reach)
    return np.where(outside, kind(before), windows)


def elements_of(monoid: TransitionMonoid, rows: Words) -> npt.NDArray[np.int64]:
    """The element of each sub-word (rows,), the number after the last symbol's being the identity.

    >>> import languages
    >>> parity = TransitionMonoid.from_machine(languages.get("parity").machine)
    >>> elements_of(parity, np.array([[2, 1], [1, 1], [0, 1]])).tolist()
    [1, 0, 1]
    """
    # One column more, which changes nothing: that of the number that stands before the word.
    left = np.column_stack([monoid.left, np.arange(monoid.size)]).astype(np.int64)
    elements: npt.NDArray[np.int64] = np.full(len(rows), monoid.identity, np.int64)
    for symbols in rows.T[::-1]:
        elements = left[elements, symbols]
    return elements


def distinct(rows: Words) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Where each distinct row first occurs, ascending, and how often it does.

    >>> [found.tolist() for found in distinct(np.array([[1, 1], [0, 1], [1, 1]]))]
    [[0, 1], [2, 1]]
    """
    # A row as one value of its bytes: np.unique sorts these many times faster than rows with axis=0.
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1] * rows.itemsize)))[:, 0]  # (rows,)
    _, first, counts = np.unique(whole, return_index=True, return_counts=True)
    order = np.argsort(first)
    return first[order], counts[order]
