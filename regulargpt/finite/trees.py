"""The network on given words: the tree over a table, or over the states themselves."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor

from regulargpt.finite.float64_network import Float64Network
from regulargpt.finite.levels import Image, levels
from regulargpt.finite.specification import Specification
from regulargpt.models.tree.depth import depth
from regulargpt.models.tree.shape import Side

Ints = npt.NDArray[np.int64]


def roots(chunk_size: int, image: Image, words: Ints, aligned: Side = "right") -> Ints:
    """What `image` gives at the roots (n,) of the trees of words (n, T) of one length T >= 1.

    >>> ones = lambda level, windows: 1 + np.where(windows > 0, windows - 1, 0).sum(1) % 2
    >>> roots(2, ones, np.array([[0, 1, 1], [1, 1, 1]])).tolist()
    [1, 2]
    """
    nodes = 1 + words.astype(np.int64)
    for level in range(depth(words.shape[1], chunk_size)):
        missing = -nodes.shape[1] % chunk_size
        # Filled up at the far end to whole windows; reversed where they are by offset from the right.
        fill = (missing, 0) if aligned == "right" else (0, missing)
        windows = np.pad(nodes, ((0, 0), fill)).reshape(-1, chunk_size)  # (n * windows, C), from the left
        windows = windows[:, ::-1] if aligned == "right" else windows
        nodes = image(level, windows).reshape(len(words), -1)  # (n, windows)
    return nodes[:, 0]


def states(network: Float64Network, words: Ints) -> tuple[Float[Tensor, "nodes d_model"], Float[Tensor, "n d_model"]]:
    """The states of all nodes over words (n, T), each different sub-word of a level once, and those of the roots."""
    levels: list[Tensor] = []

    def image(level: int, windows: Ints) -> Ints:
        # Equal sub-words have equal windows: each goes through the block once.
        distinct, which = np.unique(windows, axis=0, return_inverse=True)
        levels.append(network.over(levels[-1], distinct) if level else network.over_symbols(distinct))
        return 1 + which.reshape(-1)  # (n * windows,), whichever shape numpy gives

    at = roots(network.chunk_size, image, words, network.aligned)
    return torch.cat(levels), levels[-1][at - 1]


def states_of_short_words(
    network: Float64Network, specification: Specification, max_windows: int = 1000
) -> Float[Tensor, "nodes d_model"]:
    """The states of all sub-words of the lower levels: of those levels that have at most `max_windows` windows."""
    by_level: list[list[Tensor]] = []

    def image(level: int, windows: Ints) -> Ints:
        if level == len(by_level):
            by_level.append([])
        first = 1 + sum(map(len, by_level[level]))
        by_level[level].append(
            network.over(torch.cat(by_level[level - 1]), windows) if level else network.over_symbols(windows)
        )
        return first + np.arange(len(windows))

    # The levels are followed with each state as its own prototype: nothing is brought together yet.
    for level in levels(specification, network.chunk_size, image, network.aligned):
        if len(level.nodes) ** network.chunk_size > max_windows:
            break
    return torch.cat([states for level in by_level for states in level] or [network.symbols[:0]])
