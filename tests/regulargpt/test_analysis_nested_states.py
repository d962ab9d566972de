"""States of trees along brackets with what they stand for: against the algebra, and against every node by itself."""

import numpy as np
import pytest
import torch

from languages.randomness import rng
from regulargpt.certificate.search.nested_labels import Labels
from regulargpt.finite.nested_specification import NestedSpecification
from regulargpt.measurements.nested_states import nested_node_states
from regulargpt.models.ldru.model import Ldru
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.tree.base import Tree
from regulargpt.models.tree.nodes import NestedLevels
from tests.languages.test_context_free import nested

SHAPES = [("brackets-2", 2, "right"), ("brackets-2", 3, "right"), ("formula", 2, "left"), ("xml-2", 4, "right")]


@pytest.mark.parametrize(("name", "C", "aligned"), SHAPES)
@torch.no_grad()
def test_each_node_has_its_own_state_and_what_its_sub_word_does(name: str, C: int, aligned: str):
    task, model = nested(name), tree(name, C, aligned)
    words = task.sample(rng(0, "nodes"), 21, 6)
    labels = Labels(NestedSpecification.from_task(task), C, model.aligned)
    found = nested_node_states(model, words, labels)
    nodes = NestedLevels.from_words(model, torch.from_numpy(words.astype(np.int64)))
    states = nodes.states()
    node_of = {(node.level, node.word, node.start, node.end): node for level in nodes.nodes for node in level}
    assert found.counts.sum() == len(node_of)  # none is left out, and equal ones count
    for row in range(len(found)):
        place = (*(column[row].item() for column in (found.depths, found.words, found.starts, found.ends)),)
        node, element = node_of[place], int(found.elements[row])
        assert np.allclose(found.states[row], states[node.level][node.number].numpy(), atol=1e-5)
        assert labels.elements[element] == labels.specification.algebra.of_word(words[node.word, node.start : node.end])
        assert not node.is_open or labels.names[element].endswith("…")


def tree(name: str, C: int, aligned: str) -> Tree:
    n_symbols, generator = nested(name).n_symbols, torch.Generator().manual_seed(0)
    if aligned == "left":
        model = Ldru(n_symbols, 2, d_model=8, generator=generator)
    else:
        model = RegularGPT(n_symbols, 2, chunk_size=C, d_model=8, n_heads=2, d_ff=16, generator=generator)
    model.follow(nested(name).visibly.direction.tolist())
    return model.eval()
