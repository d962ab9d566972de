"""The last layer of a tree's map, solved for a table by least squares."""

from typing import Any

import pytest
import torch

from regulargpt.certificate.tuning import last_layer
from regulargpt.certificate.tuning.fine_tuning import TrainingTable
from regulargpt.certificate.tuning.last_layer import solve_last_layer
from regulargpt.models.regulargpt import block
from regulargpt.models.tree.base import Tree
from tests.regulargpt.networks import SHAPES, TREES, D, K, all_windows, each, random_model

PRE = {"norm": "pre", "activation": "gelu", "attention_bias": True, "chunk_size": 2}
KINDS = [PRE | {"state_norm": True}, *TREES]


def case(shape: dict[str, Any], seed: int = 0) -> tuple[Tree, TrainingTable]:
    """A random network, and a table of random images of all windows of K prototypes, which its state norm can give."""
    model, generator = random_model(seed, 1.0, **shape), torch.Generator().manual_seed(seed)
    windows = torch.from_numpy(all_windows(model.chunk_size))
    leaves = windows[(windows < 3).all(1)]
    with torch.no_grad():
        prototypes = model.state_norm(torch.randn(K, D, generator=generator, dtype=torch.float64))
    images, of_leaves = (torch.randint(K, (len(w),), generator=generator) for w in (windows, leaves))
    return model, TrainingTable(prototypes, torch.zeros(K, dtype=torch.int64), leaves, of_leaves, windows, images)


def errors(model: Tree, table: TrainingTable) -> torch.Tensor:
    """The squared distances of all states from the prototypes where they should be."""
    nodes = model.merge(torch.cat([model.absent, table.prototypes]), table.windows)
    leaves = model.merge(model.leaves(), table.leaf_windows)
    return table.squared_errors(torch.cat([nodes, leaves]), torch.cat([table.images, table.leaf_images]))


@each([shape for shape in SHAPES if shape["norm"] == "pre" and not shape["state_norm"]])
def test_without_a_state_norm_it_is_the_least_of_all_squares(shape: dict[str, Any], monkeypatch: pytest.MonkeyPatch):
    """The gradient of the sum of squares is 0 there, and the sum is convex."""
    monkeypatch.setattr(last_layer, "NEAR", 0)
    monkeypatch.setattr(last_layer, "RIDGE", 1e-14)
    model, table = case(shape)
    assert solve_last_layer(model, table, seed=0)
    assert model.last_layer is not None
    total = errors(model, table).sum()
    for gradient in torch.autograd.grad(total, [model.last_layer.weight, model.last_layer.bias]):
        assert gradient.abs().max() < 1e-4


@each(KINDS)
def test_states_come_nearer_and_nothing_else_changes(shape: dict[str, Any]):
    model, table = case(shape)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    far = errors(model, table).sum()
    changes = model.last_layer is not None
    assert solve_last_layer(model, table, seed=0) == changes
    changed = {name for name, weight in model.state_dict().items() if not torch.equal(weight, before[name])}
    layers = {name: module for name, module in model.named_modules() if module is model.last_layer}
    assert changed == {f"{name}.{part}" for name in layers for part in ("weight", "bias")}
    assert errors(model, table).sum() <= (0.7 if changes else 1.0) * far


def test_it_is_a_function_of_network_table_and_seed_and_no_hook_stays(monkeypatch: pytest.MonkeyPatch):
    found = []
    for at, seed in enumerate((0, 0, 1)):
        model, table = case(KINDS[0])
        if at:  # windows go through in other pieces
            monkeypatch.setattr(block, "ROWS", 3)
        solve_last_layer(model, table, seed)
        assert not any(module._forward_pre_hooks for module in model.modules())
        found.append(model.last_layer.weight.detach())  # type: ignore[union-attr]
    torch.testing.assert_close(found[0], found[1], rtol=0, atol=1e-8)
    assert not torch.equal(found[0], found[2])


def test_what_cannot_be_solved_is_left_as_it_is():
    post, table = case(PRE | {"norm": "post", "state_norm": True})
    assert post.last_layer is None
    assert not solve_last_layer(post, table, seed=0)
    model, table = case(KINDS[0])
    before = model.last_layer.weight.clone()  # type: ignore[union-attr]
    with torch.no_grad():
        model.state_norm.weight[3] = 0.0  # type: ignore[union-attr]
    assert not solve_last_layer(model, table, seed=0)
    assert torch.equal(model.last_layer.weight, before)  # type: ignore[union-attr]


def test_of_a_large_table_some_windows_are_drawn(monkeypatch: pytest.MonkeyPatch):
    model, table = case(KINDS[0])
    monkeypatch.setattr(last_layer, "MOST_WINDOWS", len(table.windows) - 1)
    layer = model.last_layer
    assert layer is not None
    for seed in (0, 1):
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            sizes = [len(inputs) for inputs, _ in last_layer.missing(model, layer, table, generator)]
        assert sizes == [len(table.leaf_windows), *[len(table.windows) - 1] * (1 + last_layer.NEAR)]
    assert solve_last_layer(model, table, seed=0)
