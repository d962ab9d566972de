"""The states' labels against the machine run on each sub-word, and the states against the model run on it."""

from typing import Any

import numpy as np
import pytest
import torch

import languages
from languages.automata.monoid import TransitionMonoid
from languages.errors import UserError
from languages.randomness import rng
from regulargpt.measurements import layers as layers_module
from regulargpt.measurements import states as states_module
from regulargpt.measurements.states import NodeStates, node_states
from regulargpt.models import MODELS
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.tree.levels import tree_levels

LANGUAGES = ["parity", "cycle-navigation", "even-pairs", "dyck-2", "flip-flop"]
SMALL = {"d_model": 8, "n_heads": 2, "d_ff": 16}


def sample(language: str, length: int, count: int = 4) -> tuple[Any, Any, TransitionMonoid]:
    task = languages.get(language)
    machine = task.machine.minimise()
    return task.sample(rng(0, "test"), length, count), machine, TransitionMonoid.from_machine(machine)


def regulargpt(n_symbols: int, **options: Any) -> RegularGPT:
    return RegularGPT(n_symbols, 2, **SMALL, **options).double().eval()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("chunk_size", "thickness"), [(2, 1), (3, 1), (2, 2)])
@pytest.mark.parametrize("all_positions", [False, True])
def test_labels_are_the_machine_run_on_the_sub_word(
    language: str, chunk_size: int, thickness: int, all_positions: bool
):
    words, machine, monoid = sample(language, 22)
    model = regulargpt(machine.n_symbols, chunk_size=chunk_size, thickness=thickness)
    found = node_states(model, words, monoid, all_positions=all_positions)
    assert found.depths.max() == {2: 5, 3: 3}[chunk_size]
    assert found.states.dtype == np.float32
    assert (found.ends - found.starts == np.minimum(chunk_size**found.depths, found.ends)).all()
    assert_labelled(found, words, machine, monoid)


def assert_labelled(found: NodeStates, words: Any, machine: Any, monoid: TransitionMonoid) -> None:
    """Each row has the element of its sub-word."""
    for word, start, end, element in zip(found.words, found.starts, found.ends, found.elements, strict=True):
        assert (machine.element(words[word, start:end]) == monoid.elements[element]).all()


@pytest.mark.parametrize("all_positions", [False, True])
@pytest.mark.parametrize("full", [{}, {"attention": "full"}], ids=str)
@pytest.mark.parametrize("options", [{"levels": 2}, {"levels": 7}, {"pad": "masked"}], ids=str)
def test_labels_of_the_ablations(options: dict[str, Any], full: dict[str, Any], all_positions: bool):
    words, machine, monoid = sample("cycle-navigation", 22)
    found = node_states(regulargpt(machine.n_symbols, **options, **full), words, monoid, all_positions=all_positions)
    assert found.depths.max() == options.get("levels", 5)
    reach = np.where(found.depths == 0, 1, 22) if full else 2**found.depths
    assert (found.ends - found.starts == np.minimum(reach, found.ends)).all()
    assert 22 in found.ends
    assert_labelled(found, words, machine, monoid)


@pytest.mark.parametrize("all_positions", [False, True])
@pytest.mark.parametrize("chunk_size", [2, 3])
def test_states_are_those_of_the_model_run_on_the_sub_word_alone(all_positions: bool, chunk_size: int):
    words, machine, monoid = sample("cycle-navigation", 11)
    model = regulargpt(machine.n_symbols, chunk_size=chunk_size)
    found = node_states(model, words, monoid, all_positions=all_positions)
    whole = np.flatnonzero((found.ends - found.starts == chunk_size**found.depths) & (found.depths > 0))
    assert len(whole) > 5
    for n in whole:
        alone = torch.from_numpy(words[None, found.words[n], found.starts[n] : found.ends[n]]).long()
        *_, root = tree_levels(model, alone)
        assert np.allclose(found.states[n], root.states[root.node[0, 0]].detach().numpy(), atol=1e-6)


def test_the_deepest_states_are_what_the_readout_reads():
    words, machine, monoid = sample("parity", 19)
    model = regulargpt(machine.n_symbols)
    found = node_states(model, words, monoid)
    roots = found.where(found.depths == 5)
    logits = model.readout(torch.from_numpy(roots.states).double())
    assert torch.allclose(logits, model(torch.from_numpy(words[roots.words]).long()), atol=1e-5)


@pytest.mark.parametrize("all_positions", [False, True])
def test_a_sub_word_is_one_row_of_a_depth_and_counted(all_positions: bool):
    words, machine, monoid = sample("parity", 21, count=9)
    found = node_states(regulargpt(machine.n_symbols), words, monoid, all_positions=all_positions)
    for depth in range(6):
        rows = found.where(found.depths == depth)
        sub_words = [tuple(words[w, a:b]) for w, a, b in zip(rows.words, rows.starts, rows.ends, strict=True)]
        assert len(set(sub_words)) == len(rows)
        nodes = 21 if all_positions else -(-21 // 2**depth)
        assert rows.counts.sum() == 9 * nodes
    assert len(found.where(found.depths == 0)) == 2


# Of a looped Transformer each prefix is read after passes of its own, not after the last.
OTHERS = ("regulargpt", "ldru", "encoder-decoder", "tape-rnn", "looped")


@pytest.mark.parametrize("name", [name for name in MODELS if name not in OTHERS])
def test_baselines_have_the_states_of_the_prefixes(name: str, monkeypatch):
    words, machine, monoid = sample("cycle-navigation", 9)
    options = {**SMALL, "n_layers": 2} if name in ("transformer", "decoder-only") else {"d_model": 8}
    model = MODELS[name].load()(machine.n_symbols, 5, **options).eval()
    monkeypatch.setattr(layers_module, "words_at_once", lambda model, length: 3)
    found = node_states(model, words, monoid)
    assert sorted(set(found.depths.tolist())) == ([1, 2] if name in ("transformer", "decoder-only") else [1])
    assert (found.starts == 0).all()
    last = found.where(found.depths == found.depths.max())
    assert_labelled(last, words, machine, monoid)
    for n in range(len(last)):
        prefix = words[last.words[n], : last.ends[n]]
        x = torch.from_numpy(last.states[n])
        logits = model.readout(model.ln_final(x) if name in ("transformer", "decoder-only") else model.activation(x))
        assert torch.allclose(logits, model(torch.from_numpy(prefix[None]).long())[0], atol=1e-5)


def test_of_many_nodes_some_are_drawn_by_the_seed(monkeypatch):
    words, machine, monoid = sample("parity", 40, count=30)
    model = regulargpt(machine.n_symbols)
    monkeypatch.setattr(states_module, "MAX_SUBWORDS", 10)
    monkeypatch.setattr(states_module, "MAX_NODES", 100)
    found, again, other = (node_states(model, words, monoid, seed) for seed in (0, 0, 1))
    assert np.bincount(found.depths).max() == 10
    assert (found.states == again.states).all()
    assert found.starts.tolist() != other.starts.tolist()
    assert all(found.where(found.depths == depth).counts.sum() <= 100 for depth in range(7))


@pytest.mark.parametrize("computation", ["tree", "plain-tree", "every", "dense"])
def test_listening_to_the_embeddings_and_states_changes_no_result(computation: Any):
    words = torch.from_numpy(sample("parity", 13)[0]).long()
    model = regulargpt(2, thickness=2)
    before = model(words, computation=computation)
    shapes: dict[str, list[tuple[int, ...]]] = {"hook_embed": [], "hook_state": []}
    for name, seen in shapes.items():
        model.get_submodule(name).register_forward_hook(lambda m, i, o, seen=seen: seen.append(tuple(o.shape)))
    assert torch.allclose(before, model(words, computation=computation), rtol=0, atol=1e-12)
    assert shapes["hook_embed"] == [(2, 8) if computation == "tree" else (4, 13, 8)]
    assert len(shapes["hook_state"]) == 1 + 4


def test_states_that_are_not_finite_are_refused():
    words, machine, monoid = sample("parity", 9)
    model = MODELS["rnn"].load()(machine.n_symbols, 2, d_model=8)
    with torch.no_grad():
        model.rnn.weight_ih_l0.fill_(float("inf"))
    with pytest.raises(UserError, match="states on words of length 9 are not finite; choose a shorter --length"):
        node_states(model, words, monoid)
