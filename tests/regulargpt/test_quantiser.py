"""The quantised network: states of nodes are replaced, those of leaves are not, by the nearest prototype exactly."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from regulargpt.finite.table import nearest_two
from regulargpt.models.tree.base import Tree
from regulargpt.models.tree.quantiser import ROWS, Quantiser
from tests.regulargpt.networks import SHAPES, TREES, each, random_model

LENGTHS = [1, 2, 3, 4, 5, 8, 9, 13]


def nearest(state: Tensor, prototypes: Tensor) -> Tensor:
    """By the definition: one state, one prototype after the other."""
    return prototypes[int(np.argmin([np.linalg.norm((state - p).detach().numpy()) for p in prototypes]))]


def root_of(model: Tree, word: list[int], prototypes: Tensor) -> Tensor:
    """The state of the root, chunk by chunk from the side on which the tree is aligned."""
    C, states = model.chunk_size, [model.leaves()[1 + symbol] for symbol in word]
    for _ in range(model.depth(len(word))):
        if model.aligned == "right":
            states.reverse()
        chunks = [states[i : i + C] for i in range(0, len(states), C)]
        above = []
        for chunk in chunks:
            rows = torch.cat([model.absent, torch.stack(chunk)])  # (1 + places, d_model)
            children = torch.tensor([[*range(1, 1 + len(chunk)), *[0] * (C - len(chunk))]])  # (1, C)
            above.append(nearest(model.merge(rows, children)[0], prototypes))
        states = above if model.aligned == "left" else above[::-1]
    (root,) = states
    return root


@torch.no_grad()
@each([*({"name": "regulargpt"} | shape for shape in SHAPES[::5]), *TREES])
def test_every_computation_replaces_the_states_of_nodes_alone(shape):
    model = random_model(3, **shape).eval()
    generator = torch.Generator().manual_seed(1)
    words = [torch.randint(2, (6, T), generator=generator) for T in LENGTHS]
    as_it_is = [model(w) for w in words]
    rows = model.leaves()
    for _ in range(2):  # states of two levels, moved a little
        windows = torch.cartesian_prod(*[torch.arange(1, len(rows))] * model.chunk_size)[:40]
        rows = torch.cat([model.absent, model.merge(rows, windows)])
    prototypes = rows[1:] + 0.1 * torch.randn(rows[1:].shape, generator=generator).double()
    expected = [model.readout(torch.stack([root_of(model, word, prototypes) for word in w.tolist()])) for w in words]
    leaves = model.leaves()
    model.quantiser.prototypes = prototypes
    assert torch.equal(model.leaves(), leaves)
    ways = [{}, {"readout": "all"}]
    if shape["name"] != "ldru":
        ways += [{"computation": "plain-tree"}, {"computation": "every"}]
    if shape["name"] == "regulargpt":
        ways += [{"computation": "dense"}, {"readout": "all", "computation": "dense"}]
    for w, logits in zip(words, expected, strict=True):
        for way in ways:
            found = model(w, **way)
            torch.testing.assert_close(found if "readout" not in way else found[:, -1], logits)
    assert len(torch.cat(expected).unique(dim=0)) > 1
    model.quantiser.prototypes = None
    for w, logits in zip(words, as_it_is, strict=True):
        assert torch.equal(model(w), logits)


def test_of_many_states_each_goes_to_its_own():
    prototypes = torch.randn(7, 5, generator=torch.Generator().manual_seed(0))
    chosen = torch.randint(7, (ROWS + 3, 2), generator=torch.Generator().manual_seed(1))
    quantiser = Quantiser()
    quantiser.prototypes = prototypes
    assert torch.equal(quantiser(prototypes[chosen] + 1e-3), prototypes[chosen])
    assert not quantiser.state_dict()


@given(seed=st.integers(0, 10_000), K=st.integers(2, 40), scale=st.sampled_from([1e-3, 1.0, 1e4]), near=st.booleans())
def test_they_are_those_of_all_distances(seed: int, K: int, scale: float, near: bool):
    rng = np.random.default_rng(seed)
    prototypes = scale * rng.normal(size=(K, 6))
    # Near a prototype a distance by |x|^2 - 2xp + |p|^2 would be rounding alone.
    states = prototypes[rng.integers(K, size=20)] + (1e-9 * scale * rng.normal(size=(20, 6)) if near else 0.3 * scale)
    expected = np.sort(np.sqrt(np.square(states[:, None] - prototypes).sum(-1)), 1)[:, :2]
    distances, numbers = nearest_two(torch.tensor(states), torch.tensor(prototypes))
    np.testing.assert_allclose(distances.numpy(), expected, rtol=1e-9, atol=1e-14 * scale)
    assert (numbers[:, 0] != numbers[:, 1]).all()


@pytest.mark.parametrize(
    ("state", "prototypes", "expected", "numbers"),
    [
        ([0.0, 0.0], [[1.0, 1.0]], [2**0.5, float("inf")], [0, 0]),  # a single one has no rival
        ([1.0, 1.0], [[0.0, 0.0], [0.0, 0.0], [9.0, 9.0]], [2**0.5, 2**0.5], [0, 1]),  # two at one place, no margin
    ],
)
def test_without_a_rival_or_a_margin(state: list, prototypes: list, expected: list, numbers: list):
    distances, found = nearest_two(torch.tensor([state] * 3), torch.tensor(prototypes))
    assert distances.tolist() == [pytest.approx(expected)] * 3
    assert found.tolist() == [numbers] * 3
