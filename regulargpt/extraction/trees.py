"""The network on given words: the tree over a table, or over the states themselves."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor

from regulargpt.certificate.levels import Image, levels
from regulargpt.certificate.machine import Question
from regulargpt.certificate.table import Exact
from regulargpt.models.regulargpt.depth import depth

Ints = npt.NDArray[np.int64]


def roots(chunk_size: int, image: Image, words: Ints) -> Ints:
    """What `image` gives at the roots (n,) of the trees of words (n, T) of one length T >= 1.

    >>> ones = lambda level, windows: 1 + np.where(windows > 0, windows - 1, 0).sum(1) % 2
    >>> roots(2, ones, np.array([[0, 1, 1], [1, 1, 1]])).tolist()
    [1, 2]
    """
    nodes = 1 + words.astype(np.int64)
    for level in range(depth(words.shape[1], chunk_size)):
        left = -nodes.shape[1] % chunk_size
        windows = np.pad(nodes, ((0, 0), (left, 0))).reshape(-1, chunk_size)[:, ::-1]  # by offset
        nodes = image(level, windows).reshape(len(words), -1)
    return nodes[:, 0]


def states(network: Exact, words: Ints) -> tuple[Float[Tensor, "nodes d_model"], Float[Tensor, "n d_model"]]:
    """The states of all nodes over words (n, T), each different sub-word of a level once, and those of the roots."""
    found: list[Tensor] = []

    def image(level: int, windows: Ints) -> Ints:
        distinct, which = np.unique(windows, axis=0, return_inverse=True)
        found.append(network.over(found[-1], distinct) if level else network.over_symbols(distinct))
        return 1 + which.reshape(-1)

    at = roots(network.chunk_size, image, words)
    return torch.cat(found), found[-1][at - 1]


def short(network: Exact, question: Question, most: int = 1000) -> Float[Tensor, "nodes d_model"]:
    """The states of all sub-words of the lower levels: of those levels that have at most `most` windows."""
    found: list[list[Tensor]] = []

    def image(level: int, windows: Ints) -> Ints:
        if level == len(found):
            found.append([])
        first = 1 + sum(map(len, found[level]))
        found[level].append(
            network.over(torch.cat(found[level - 1]), windows) if level else network.over_symbols(windows)
        )
        return first + np.arange(len(windows))

    for level in levels(question, network.chunk_size, image):
        if len(level.nodes) ** network.chunk_size > most:
            break
    return torch.cat([states for some in found for states in some] or [network.symbols[:0]])
