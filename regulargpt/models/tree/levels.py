"""The nodes of a word's tree: those the answer depends on, O(T) of them, each distinct sub-word once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from regulargpt.models.tree.base import Layer, Map, Tree
from regulargpt.models.tree.shape import Side
from regulargpt.models.tree.sharing import MAX_DISTINCT, MIN_NODES, identify


@dataclass(frozen=True)
class TreeLevel:
    """The nodes of a layer: `node[b, i]` is the row of `states` of the i-th node of word b; row 0 is the pad, or what
    else stands for an absent place.

    `children[u]` holds, by offset, the rows of the level below from which row 1 + u was computed; leaves have none.
    """

    node: Int[Tensor, "batch nodes"]
    states: Float[Tensor, "rows d_model"]
    children: Int[Tensor, "computed C"]


def windows_from_right(
    node: Int[Tensor, "batch nodes"], chunk_size: int, stride: int
) -> Int[Tensor, "batch windows C"]:
    """Windows of C nodes by offset, taken from the right end every `stride` nodes; 0 is the pad, on the left only.

    >>> windows_from_right(torch.tensor([[1, 2, 3]]), 2, stride=2).tolist()
    [[[1, 0], [3, 2]]]
    >>> windows_from_right(torch.tensor([[1, 2, 3]]), 2, stride=1).tolist()
    [[[1, 0], [2, 1], [3, 2]]]
    """
    n_windows = -(-node.shape[1] // stride)
    left = (n_windows - 1) * stride + chunk_size - node.shape[1]
    return F.pad(node, (left, 0)).unfold(1, chunk_size, stride).flip(-1)  # (batch, windows, C)


def windows_from_left(node: Int[Tensor, "batch nodes"], chunk_size: int) -> Int[Tensor, "batch windows C"]:
    """Windows of C nodes, taken from the left end one after the other; 0 is what is absent, on the right only.

    >>> windows_from_left(torch.tensor([[1, 2, 3]]), 2).tolist()
    [[[1, 2], [3, 0]]]
    """
    return F.pad(node, (0, -node.shape[1] % chunk_size)).unfold(1, chunk_size, chunk_size)  # (batch, windows, C)


def windows_of(
    node: Int[Tensor, "batch nodes"], chunk_size: int, aligned: Side, last: bool
) -> Int[Tensor, "batch windows C"]:
    """The windows of a layer. Only the last of a level's K layers thins the nodes out: the others feed each of them."""
    if aligned == "left":
        return windows_from_left(node, chunk_size)
    return windows_from_right(node, chunk_size, stride=chunk_size if last else 1)


def tree_levels(model: Tree, words: Int[Tensor, "batch length"], share: bool = True) -> Iterator[TreeLevel]:
    """The levels of the tree from the leaves up; the last node of the last level is the answer's.

    With adaptive depth it is the only tree there; with a fixed depth there are more where a word is too long for it,
    and a word that is too short goes on as a single node.

    `share` identifies equal sub-words; it never changes a state, only how often it is computed. Without it a listener
    to `hook_embed` sees every position, (batch, length, d_model), with it every symbol, (n_symbols, d_model).
    """
    leaves = leaf_level(model, words, share)
    yield leaves
    yield from levels_above(model, leaves, model.tree_layers(words.shape[1]), share)


def leaf_level(model: Tree, words: Int[Tensor, "batch length"], share: bool) -> TreeLevel:
    """The leaves: a row for each symbol, or for each position where somebody listens to each."""
    none = words.new_zeros(0, model.chunk_size, dtype=torch.long)
    if not model.hook_embed.listened_to() or share:
        return TreeLevel(words.long() + 1, model.leaves(), none)
    states = torch.cat([model.absent, model.positions(words).flatten(0, 1)])  # (1 + batch * length, d_model)
    node = 1 + torch.arange(words.numel(), device=words.device).view(words.shape)  # (batch, length)
    return TreeLevel(node, states, none)


def levels_above(model: Tree, level: TreeLevel, layers: Sequence[Layer], share: bool) -> Iterator[TreeLevel]:
    for apply, last in layers:
        windows = windows_of(level.node, model.chunk_size, model.aligned, last)
        level, share = level_over(model, level.states, windows, apply, share)
        yield level


def level_over(
    model: Tree,
    below: Float[Tensor, "rows d_model"],
    windows: Int[Tensor, "batch nodes C"],
    apply: Map,
    share: bool,
) -> tuple[TreeLevel, bool]:
    """The level over windows of the rows below, and whether equal nodes are looked for above it, too."""
    share = share and windows.shape[0] * windows.shape[1] >= MIN_NODES
    if share:
        children, node = identify(windows, len(below))
        share = len(children) < MAX_DISTINCT * node.numel()
    else:
        children = windows.flatten(0, 1)  # (batch * nodes, C)
        node = torch.arange(len(children), device=windows.device).view(windows.shape[:2])  # (batch, nodes)
    return TreeLevel(node + 1, torch.cat([model.absent, apply(below, children)]), children), share
