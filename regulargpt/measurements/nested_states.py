"""The states of trees that follow brackets, each with what its node truly stands for in the language's algebra."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor

from languages.errors import UserError
from languages.randomness import rng
from regulargpt.certificate.search.nested_labels import Labels
from regulargpt.data.language import Words
from regulargpt.finite.nested_trees import children_of_nodes
from regulargpt.measurements.states import MAX_NODES, MAX_SUBWORDS, NodeStates
from regulargpt.models.tree.base import Tree
from regulargpt.models.tree.nodes import NestedLevels
from regulargpt.objectives.answers import to_tensor

Ints = npt.NDArray[np.int64]


@torch.no_grad()
def nested_node_states(model: Tree, words: Words, labels: Labels, seed: int = 0, thinned: bool = True) -> NodeStates:
    """As `node_states`, along brackets: the nodes above the symbols, with their labels as elements.

    A node's depth is 1 more than the highest among its children. Of each depth equal trees are taken once.

    >>> import languages
    >>> from regulargpt.finite.nested_specification import NestedSpecification
    >>> from regulargpt.models.regulargpt import RegularGPT
    >>> labels = Labels(NestedSpecification.from_task(languages.find("brackets-1")), 3, "right")
    >>> model = RegularGPT(2, 2, chunk_size=3, d_model=8, n_heads=2)
    >>> model.follow([1, -1])
    >>> found = nested_node_states(model, np.array([[0, 0, 1]]), labels)  # ( ( )
    >>> [labels.names[element] for element in found.elements.tolist()], found.depths.tolist()
    (['ε', '('], [1, 2])
    """
    nodes = NestedLevels.from_words(model, to_tensor(words, torch.device("cpu")))
    trees, parts = DistinctTrees(model, labels), list[NodeStates]()
    number = np.concatenate([[0], 1 + words.reshape(-1).astype(np.int64)])  # (1 + batch * length,): row 0 the pad
    number = np.concatenate([number, np.zeros(sum(map(len, nodes.nodes)), dtype=np.int64)])
    for depth, (start, at) in enumerate(children_of_nodes(nodes), 1):
        number[start : start + len(at)] = of_nodes = trees.numbered(number[at])
        kept, counts = drawn(of_nodes, seed, depth, thinned)
        chosen = [nodes.nodes[depth - 1][n] for n in kept.tolist()]
        word, begin, end = np.array([(node.word, node.start, node.end) for node in chosen]).T  # (rows,) each
        states = trees.states[torch.from_numpy(of_nodes[kept])].float().numpy()
        elements = trees.rows[of_nodes[kept]] - 1
        parts.append(NodeStates(states, elements, np.full(len(kept), depth), word, begin, end, counts))
        if not np.isfinite(states).all():
            raise UserError(f"states on words of length {words.shape[1]} are not finite; choose a shorter --length")
    return NodeStates.join(parts)


class DistinctTrees:
    """All different trees so far, by number: the pad, the symbols, then others, each with its state and its label."""

    def __init__(self, model: Tree, labels: Labels) -> None:
        self.model, self.labels = model, labels
        self.states: Float[Tensor, "room d_model"] = model.leaves()  # of the first `count`, and room for more
        self.count = len(self.states)
        self.rows = np.concatenate([[0], 1 + labels.count + np.arange(self.count - 1)])  # as in the table

    def numbered(self, windows: Ints) -> Ints:
        """The numbers (n,) of trees over windows (n, C) of numbers; none of them is there yet."""
        different, which = np.unique(windows, axis=0, return_inverse=True)
        used, children = np.unique(np.append(0, different), return_inverse=True)  # the pad stands first
        rows = self.states[torch.from_numpy(used)]
        apply = self.model.tree_layers(1)[0].apply
        self.add(apply(rows, torch.from_numpy(children.reshape(-1)[1:].reshape(different.shape))))  # (windows, C)
        self.rows = np.concatenate([self.rows, self.labels.image(self.rows[different])])
        return self.count - len(different) + which.reshape(-1)  # (windows,)

    def add(self, states: Float[Tensor, "new d_model"]) -> None:
        end = self.count + len(states)
        if end > len(self.states):
            self.states = torch.cat([self.states, self.states.new_zeros(end, self.states.shape[1])])
        self.states[self.count : end] = states
        self.count = end


def drawn(trees: Ints, seed: int, depth: int, thinned: bool) -> tuple[Ints, Ints]:
    """Some nodes of a level, or all, no two of the same tree, and how many of those drawn had it."""
    random = rng(seed, "nodes", depth)
    some = np.sort(random.permutation(len(trees))[: MAX_NODES if thinned else len(trees)])
    _, first, counts = np.unique(trees[some], return_index=True, return_counts=True)
    kept = np.sort(random.permutation(len(first))[: MAX_SUBWORDS if thinned else len(first)])
    return some[first[kept]], counts[kept]
