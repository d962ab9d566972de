"""The states of trees that follow brackets, each with what its node truly stands for in the language's algebra."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from languages.errors import UserError
from languages.randomness import rng
from regulargpt.certificate.search.nested_labels import Labels
from regulargpt.data.language import Words
from regulargpt.finite.nested_trees import rows_of_nodes
from regulargpt.measurements.states import MAX_NODES, MAX_SUBWORDS, MAX_SYMBOLS, NodeStates
from regulargpt.models.tree.base import Tree
from regulargpt.models.tree.nodes import NestedLevels, Node
from regulargpt.objectives.answers import to_tensor

Ints = npt.NDArray[np.int64]


@torch.no_grad()
def nested_node_states(model: Tree, words: Words, labels: Labels, seed: int = 0) -> NodeStates:
    """As `node_states`, along brackets: the nodes above the symbols, with their labels as elements.

    A node's depth is one more than the highest among its children. What stands for the same sub-word is taken once.

    >>> import languages
    >>> from regulargpt.finite.nested_specification import NestedSpecification
    >>> from regulargpt.models.regulargpt import RegularGPT
    >>> labels = Labels(NestedSpecification.of(languages.find("brackets-1")), 3, "right")
    >>> model = RegularGPT(2, 2, chunk_size=3, d_model=8, n_heads=2)
    >>> model.follow([1, -1])
    >>> found = nested_node_states(model, np.array([[0, 0, 1]]), labels)  # ( ( )
    >>> [labels.names[element] for element in found.elements.tolist()], found.depths.tolist()
    (['ε', '('], [1, 2])
    """
    nodes = NestedLevels.of(model, to_tensor(words, torch.device("cpu")))
    parts, states = [], nodes.states()
    for depth, rows in enumerate(rows_of_nodes(nodes, labels.count, labels.image), 1):
        kept, counts = drawn(words, nodes.nodes[depth - 1], seed, depth)
        chosen = [nodes.nodes[depth - 1][n] for n in kept.tolist()]
        word, start, end = np.array([(node.word, node.start, node.end) for node in chosen]).T  # (rows,) each
        of_rows = states[depth][torch.from_numpy(kept)].float().numpy()
        parts.append(NodeStates(of_rows, rows[kept] - 1, np.full(len(kept), depth), word, start, end, counts))
        if not np.isfinite(of_rows).all():
            raise UserError(f"states on words of length {words.shape[1]} are not finite; choose a shorter --length")
    return NodeStates.join(parts)


def drawn(words: Words, nodes: list[Node], seed: int, depth: int) -> tuple[Ints, Ints]:
    """Some nodes of a level, no two over the same sub-word, and how many of those drawn had it."""
    random = rng(seed, "nodes", depth)
    reach = max(node.end - node.start for node in nodes)
    some = np.sort(random.permutation(len(nodes))[: min(MAX_NODES, max(1, MAX_SYMBOLS // reach))])
    first: dict[tuple[bool, bytes], int] = {}
    counts: dict[int, int] = {}
    for number in some.tolist():
        node = nodes[number]
        # A call with its inside is no row of items, though it may be over the same symbols as one.
        kept = first.setdefault((node.is_open, words[node.word, node.start : node.end].tobytes()), number)
        counts[kept] = counts.get(kept, 0) + 1
    rows = np.sort(random.permutation(len(counts))[:MAX_SUBWORDS])
    return np.array(list(counts))[rows], np.array(list(counts.values()))[rows]
