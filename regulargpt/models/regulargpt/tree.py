"""RegularGPT as a tree: only the nodes the last position depends on, O(T) of them, each distinct sub-word once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from regulargpt.models.regulargpt.sharing import FEWEST, REPEATS, identify

if TYPE_CHECKING:
    from regulargpt.models.regulargpt.model import RegularGPT


@dataclass(frozen=True)
class Level:
    """The nodes of one layer: `node[b, i]` is the row of `states` of the i-th node of word b; row 0 is the pad.

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
    return F.pad(node, (left, 0)).unfold(1, chunk_size, stride).flip(-1)


def tree_levels(model: RegularGPT, words: Int[Tensor, "batch length"], share: bool = True) -> Iterator[Level]:
    """The levels of the tree from the leaves up; the last node of the last one is the answer's.

    With adaptive depth it is the only one there; with a fixed depth there are more where a word is too long for it, and
    a word that is too short goes on as a single node.

    `share` identifies equal sub-words; it never changes a state, only how often it is computed. Without it a listener
    to `hook_embed` sees every position, (batch, length, d_model), with it every symbol, (n_symbols, d_model).
    """
    C, K = model.chunk_size, model.thickness
    if model.hook_embed.listened_to() and not share:
        states = torch.cat([model.pad, model.positions(words).flatten(0, 1)])
        node = 1 + torch.arange(words.numel(), device=words.device).view(words.shape)
    else:
        states, node = model.leaves(), words.long() + 1
    yield Level(node, states, node.new_zeros(0, C))
    for level in range(model.depth(words.shape[1])):
        for k, block in enumerate(model.layers(level)):
            windows = windows_from_right(node, C, stride=C if k == K - 1 else 1)
            share = share and windows.shape[0] * windows.shape[1] >= FEWEST
            if share:
                children, node = identify(windows, len(states))
                share = len(children) < REPEATS * node.numel()
            else:
                children = windows.flatten(0, 1)
                node = torch.arange(len(children), device=words.device).view(windows.shape[:2])
            node = node + 1
            states = block(states, children)
            if k == K - 1:
                states = model.settle(states)
            states = torch.cat([model.pad, states])
            yield Level(node, states, children)
