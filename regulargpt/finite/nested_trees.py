"""The network on given words with brackets: the tree over a table, or over the states themselves."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor

from regulargpt.finite.float64_network import Float64Network
from regulargpt.finite.nested_proof import RowImage
from regulargpt.models.tree.nodes import NestedLevels

Ints = npt.NDArray[np.int64]


def rows_of_nodes(nodes: NestedLevels, n_prototypes: int, image: RowImage) -> list[Ints]:
    """What `image` gives at the nodes of each level from 1 on; symbols are the rows behind so many prototypes."""
    rows = [1 + n_prototypes + nodes.words.numpy().reshape(-1).astype(np.int64)]  # (batch * length,)
    for level in range(1, 1 + len(nodes.nodes)):
        starts = np.cumsum([1, *map(len, rows)])
        places = np.array(nodes.children(level))  # (nodes, C, 2)
        at = np.where(places[..., 0] < 0, 0, starts[places[..., 0]] + places[..., 1])
        rows.append(image(np.concatenate([[0], *rows])[at]))
    return rows[1:]


def nested_roots(network: Float64Network, n_prototypes: int, image: RowImage, words: Ints) -> Ints:
    """The prototypes (n,), from 1, at the roots of the trees of words (n, T) of one length T >= 1."""
    nodes = NestedLevels.of(network.model, torch.from_numpy(words.astype(np.int64)))
    rows = rows_of_nodes(nodes, n_prototypes, image)
    roots = {node.word: (level, node.number) for level, found in enumerate(nodes.nodes) for node in found}
    return np.array([rows[level][number] for level, number in (roots[word] for word in range(len(words)))])


@torch.no_grad()
def nested_states(
    network: Float64Network, words: Ints
) -> tuple[Float[Tensor, "nodes d_model"], Float[Tensor, "n d_model"]]:
    """The states of all nodes over words (n, T), and those of the roots."""
    nodes = NestedLevels.of(network.model, torch.from_numpy(words.astype(np.int64)))
    found = nodes.states()
    return torch.cat(found[1:]), nodes.roots(found)
