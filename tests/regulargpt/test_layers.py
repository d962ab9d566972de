"""States of nodes at a hook point: those that `run_with_cache` has, or a refusal in one line."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
import torch

from languages.errors import UserError
from regulargpt import models
from regulargpt.measurements.layers import DepthStates, layers
from regulargpt.models import MODELS
from regulargpt.models.base import Model
from regulargpt.models.gru import Gru
from regulargpt.models.hooks import hook_names, run_with_cache
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.transformer import Transformer

WORDS = np.array([*itertools.product(range(2), repeat=5)])  # (32, 5)
SIZES: dict[str, Any] = {"d_model": 8, "n_heads": 2, "d_ff": 12}
IN_BLOCK = ["mlp.hook_pre", "mlp.hook_post", "hook_attn_out", "hook_mlp_out", "hook_resid_post", "attn.hook_z"]


@pytest.fixture(autouse=True)
def _no_grad():
    with torch.no_grad():
        yield


@pytest.mark.parametrize("chunk_size", [2, 3])
@pytest.mark.parametrize("point", IN_BLOCK)
def test_the_nodes_of_a_tree_have_what_passes_in_the_plain_tree(point: str, chunk_size: int):
    model = RegularGPT(2, 3, chunk_size=chunk_size, **SIZES)
    name = f"blocks.0.{point}"
    found = layers(model, WORDS, False, name)
    _, cache = run_with_cache(model, torch.from_numpy(WORDS), computation="plain-tree", names_filter=name)
    assert [layer.depth for layer in found] == [*range(1, model.depth(5) + 1)]
    for layer, passed in zip(found, cache.values(), strict=True):
        assert np.allclose(layer.states, passed.reshape(len(WORDS), len(layer.positions), -1), atol=1e-6)


def test_the_state_that_goes_on_is_the_one_at_its_hook_point():
    for model in (RegularGPT(2, 3, **SIZES), Gru(2, 3, d_model=8)):
        for all_positions in (False, True):
            usual = layers(model, WORDS, all_positions)
            named = layers(model, WORDS, all_positions, "hook_state")
            for one, other in zip(usual[-len(named) :], named, strict=True):
                assert one.depth == other.depth
                assert np.array_equal(one.positions, other.positions)
                assert np.allclose(one.states, other.states, atol=1e-6)


@pytest.mark.parametrize("point", IN_BLOCK)
def test_all_positions_have_what_passes_there(point: str):
    name = f"blocks.0.{point}"
    for model in (RegularGPT(2, 3, **SIZES), Transformer(2, 3, n_layers=1, encoding="none", **SIZES)):
        _, cache = run_with_cache(model, torch.from_numpy(WORDS), readout="all", names_filter=name)
        for layer, passed in zip(layers(model, WORDS, True, name), cache.values(), strict=True):
            assert np.allclose(layer.states, passed.flatten(2), atol=1e-6)


def test_what_passes_once_a_symbol_is_a_vector_at_each_position():
    model = Gru(2, 3, d_model=8)
    (h,) = layers(model, WORDS, False, "layers.0.hook_h")
    (state,) = layers(model, WORDS, False)
    assert np.allclose(h.states, state.states, atol=1e-6)


def drawn(name: str) -> Model:
    """A model of two symbols and two answers, before any training."""
    return models.build(MODELS.options(name, "model"), 2, 2, torch.Generator().manual_seed(0), None).eval()


def at_each(model: Model) -> tuple[list[DepthStates], list[str]]:
    """The layers at all hook points of a model, and what is said of points without them."""
    taken, refused = list[DepthStates](), list[str]()
    for point in hook_names(model):
        try:
            taken += layers(model, WORDS, False, point)
        except UserError as error:
            refused.append(str(error))
    return taken, refused


@pytest.mark.parametrize("name", sorted(set(MODELS) - {"encoder-decoder"}))
def test_every_hook_point_of_every_model_has_a_vector_of_each_node_or_is_refused_in_a_line(name: str):
    model = drawn(name)
    taken, refused = at_each(model)
    assert taken
    for layer in taken:
        assert layer.states.shape[:2] == (len(WORDS), len(layer.positions))
        assert layer.states.ndim == 3
    for said in refused:
        assert re.fullmatch(r"(at \S+ .* passes, no vector at each position|at \S+ no vector of each node passes|"
                            r"\S+ is not passed once a level); choose another hook point", said)  # fmt: skip


def test_a_model_that_answers_no_prefix_is_refused_whatever_the_hook_point():
    model = models.build(
        MODELS.options("encoder-decoder", "model"), 2, 2, torch.Generator().manual_seed(0), None
    ).eval()
    taken, refused = at_each(model)
    assert not taken
    assert all("has no state of each prefix" in said for said in refused)


def test_what_is_of_pairs_of_positions_is_no_vector_of_each_also_where_the_numbers_agree():
    model = Transformer(2, 3, n_layers=1, encoding="none", d_model=10, n_heads=5, d_ff=12)  # as many heads as symbols
    with pytest.raises(UserError, match=r"at blocks\.0\.attn\.hook_pattern \(32, 5, 5, 5\) passes, no vector at each"):
        layers(model, WORDS, False, "blocks.0.attn.hook_pattern")
    with pytest.raises(UserError, match=r"did you mean 'blocks\.0\.mlp\.hook_post'"):
        layers(model, WORDS, False, "blocks.0.mlp.hook_posd")
