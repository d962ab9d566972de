"""Identifying equal windows against numpy's unique, on every branch of the key."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.tree import sharing
from regulargpt.models.tree.levels import tree_levels
from regulargpt.models.tree.sharing import identify

# n_rows ** C for C = 2..8 passes 2**62 well inside these, and MAX_MARKS and 16 * nodes too.
ROWS = [1, 2, 3, 17, 300, 2**16, 2**21, 2**31, 2**40, 2**62]


@st.composite
def windows(draw: st.DrawFn) -> tuple[torch.Tensor, int]:
    """Windows of a few values each, small and close to n_rows, so that they repeat and their keys are large."""
    n_rows, C = draw(st.sampled_from(ROWS)), draw(st.integers(2, 8))
    batch, nodes = draw(st.integers(1, 4)), draw(st.integers(1, 9))
    values = st.sampled_from(sorted({0, 1 % n_rows, n_rows // 2, n_rows - 1}))
    entries = draw(st.lists(values, min_size=batch * nodes * C, max_size=batch * nodes * C))
    return torch.tensor(entries).view(batch, nodes, C), n_rows


def assert_identified(found: torch.Tensor, n_rows: int) -> None:
    distinct, node = identify(found, n_rows)
    rows, inverse = np.unique(found.flatten(0, 1).numpy(), axis=0, return_inverse=True)
    assert distinct.numpy().tolist() == rows.tolist()
    assert node.shape == found.shape[:2]
    assert node.flatten().numpy().tolist() == inverse.reshape(-1).tolist()


@given(windows())
def test_windows_are_those_of_numpy_unique_in_its_order(case: tuple[torch.Tensor, int]):
    assert_identified(*case)


@pytest.mark.parametrize(
    ("n_rows", "C", "nodes", "expected"),
    [
        *[(3, 2, 1, "marks"), (4, 2, 1, "marks"), (5, 2, 1, "sort")],
        *[(2048, 2, 300_000, "marks"), (2049, 2, 300_000, "sort")],
        *[(2**31 - 1, 2, 50, "sort"), (2**31, 2, 50, "rows"), (214, 8, 50, "sort"), (216, 8, 50, "rows")],
    ],
)
def test_each_branch_up_to_its_bounds(n_rows: int, C: int, nodes: int, expected: str, monkeypatch):
    called = []
    by_marks, by_sort = sharing._unique_by_marks, torch.unique

    def marks(*args):
        called.append("marks")
        return by_marks(*args)

    def sort(*args, **kwargs):
        called.append("rows" if "dim" in kwargs else "sort")
        return by_sort(*args, **kwargs)

    monkeypatch.setattr(sharing, "_unique_by_marks", marks)
    monkeypatch.setattr(torch, "unique", sort)
    random = np.random.default_rng(0)
    others = random.integers(max(0, n_rows - 40), n_rows, (1, nodes - 1, C))
    assert_identified(torch.from_numpy(np.concatenate([np.full((1, 1, C), n_rows - 1), others], axis=1)), n_rows)
    assert called == [expected]


@pytest.mark.parametrize("chunk_size", [2, 3, 7])
@pytest.mark.parametrize(
    "options", [{}, {"levels": 2}, {"levels": 6}, {"pad": "masked"}, {"pad": "masked", "levels": 6}], ids=str
)
@torch.no_grad()
def test_a_shared_node_has_the_state_that_it_has_alone(chunk_size: int, options: dict):
    model = RegularGPT(2, 2, chunk_size=chunk_size, d_model=8, n_heads=2, d_ff=12, **options).double()
    for length in (1, chunk_size - 1, chunk_size, chunk_size + 1, chunk_size**2 + 1, 30):
        words = torch.randint(0, 2, (70, max(1, length)), generator=torch.Generator().manual_seed(length))
        shared, alone = (list(tree_levels(model, words, share)) for share in (True, False))
        for one, other in zip(shared, alone, strict=True):
            assert one.node.shape == other.node.shape
            assert float((one.states[one.node] - other.states[other.node]).abs().max()) <= 1e-12
        assert len(shared[1].children) < len(alone[1].children)
