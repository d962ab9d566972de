"""The network on given words with brackets: the tree over a table, or over the states themselves.

Each word with brackets has a tree of its own. Without, all words of one length share one: trees.py reads them at once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor

from regulargpt.finite.float64_network import Float64Network
from regulargpt.finite.levels import Image
from regulargpt.models.tree.nodes import NestedLevels

Ints = npt.NDArray[np.int64]


def children_of_nodes(nodes: NestedLevels) -> Iterator[tuple[int, Ints]]:
    """Of each level from 1 on the children (nodes, C), and where its nodes stand: in a single row with all others.

    The pad is 0; behind it stand the symbols of all words, then the nodes, level by level.
    """
    starts = np.cumsum([1, nodes.words.numel(), *map(len, nodes.nodes)])
    for level in range(1, 1 + len(nodes.nodes)):
        places = np.array(nodes.children(level))  # (nodes, C, 2)
        yield int(starts[level]), np.where(places[..., 0] < 0, 0, starts[places[..., 0]] + places[..., 1])


def rows_of_nodes(nodes: NestedLevels, n_prototypes: int, image: Image) -> list[Ints]:
    """What `image` gives at the nodes of each level from 1 on; symbols are the rows behind so many prototypes."""
    symbols = 1 + n_prototypes + nodes.words.numpy().reshape(-1).astype(np.int64)  # (batch * length,)
    row = np.concatenate([[0], symbols, np.zeros(sum(map(len, nodes.nodes)), dtype=np.int64)])
    images = list[Ints]()
    for level, (start, at) in enumerate(children_of_nodes(nodes)):
        images.append(image(level, row[at]))
        row[start : start + len(at)] = images[-1]
    return images


def nested_roots(network: Float64Network, n_prototypes: int, image: Image, words: Ints) -> Ints:
    """The prototypes (n,), from 1, at the roots of the trees of words (n, T) of one length T >= 1."""
    nodes = NestedLevels.from_words(network.model, torch.from_numpy(words.astype(np.int64)))
    rows = rows_of_nodes(nodes, n_prototypes, image)
    roots = {node.word: (level, node.number) for level, level_nodes in enumerate(nodes.nodes) for node in level_nodes}
    return np.array([rows[level][number] for level, number in (roots[word] for word in range(len(words)))])


@torch.no_grad()
def nested_states(
    network: Float64Network, words: Ints
) -> tuple[Float[Tensor, "nodes d_model"], Float[Tensor, "n d_model"]]:
    """The states of all nodes over words (n, T), and those of the roots."""
    nodes = NestedLevels.from_words(network.model, torch.from_numpy(words.astype(np.int64)))
    levels = nodes.states()
    return torch.cat(levels[1:]), nodes.roots(levels)
