"""The two nearest prototypes: found by a matrix product, and as exact as without one."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regulargpt.finite.table import nearest_two


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


def test_a_single_prototype_has_no_rival():
    distances, numbers = nearest_two(torch.zeros(3, 2), torch.ones(1, 2))
    assert distances[:, 0].tolist() == pytest.approx([2**0.5] * 3)
    assert distances[:, 1].tolist() == [float("inf")] * 3
    assert numbers[:, 0].tolist() == [0, 0, 0]


def test_two_prototypes_at_one_place_leave_no_margin():
    distances, numbers = nearest_two(torch.ones(1, 2), torch.tensor([[0.0, 0.0], [0.0, 0.0], [9.0, 9.0]]))
    assert (distances[:, 1] - distances[:, 0]).item() == 0.0
    assert numbers.tolist() == [[0, 1]]
