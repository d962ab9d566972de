"""What every network of mixers owes, on all of them and on one that uses all that a mixer may have.

Symbol by symbol is the reference. A chunked form that goes wrong at the end of a chunk, a state or a convolution that
is lost between pieces, and a hook point that sees another state than the one carried would be noticed here alone.
"""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from regulargpt.finite.chain import Chain
from regulargpt.models import MODELS, recurrent
from regulargpt.models.hooks import HookPoint, hook_names, run_with_cache, run_with_hooks
from regulargpt.models.mixing.mixer import Mixer, packed, unpacked
from regulargpt.models.mixing.model import UNDECAYED, Mixing
from tests.regulargpt.cases import MIXING, OUTPUTS, SYMBOLS, assert_equal, built, fresh, slopes, variants, words_of
from tests.regulargpt.toy_mixing import Toy, ToyMixer

VARIANTS = [written for name in MIXING for written in variants(name)]
ALL = ["toy", *VARIANTS]


def network(case: str) -> Mixing:
    """In float64, with no parameter at 0 or 1."""
    return built(case) if case != "toy" else Toy(SYMBOLS, OUTPUTS, d_model=6).double()


def mixers(model: Mixing) -> list[Mixer]:
    return [part for part in model.modules() if isinstance(part, Mixer)]


def by_loop(model: Mixing) -> Mixing:
    """The same network, symbol by symbol in every mixer."""
    for mixer in mixers(model):
        mixer.along = mixer.loop
    return model


def in_pieces(model: Mixing, words: Tensor, sizes: list[int]) -> Tensor:
    """The answers at all positions, read in pieces of these sizes, the last as long as it is."""
    found, state = [], None
    for piece in words.split([*sizes, words.shape[1] - sum(sizes)], 1):
        logits, state = model.read(piece, state, "all")
        found.append(logits)
    return torch.cat(found, 1)


def assert_near(found: list[Tensor], expected: list[Tensor]) -> None:
    """To 1e-12 of the largest number of each tensor: gradients are sums in which some of it cancels."""
    for one, other in zip(found, expected, strict=True):
        scale = max(1.0, float(other.abs().max()))
        torch.testing.assert_close(one / scale, other / scale, rtol=0, atol=1e-12)


@st.composite
def cuts(draw: st.DrawFn, most: int = 40) -> tuple[int, list[int]]:
    """A length, and the sizes of all pieces but the last."""
    length = draw(st.integers(1, most))
    ends = sorted(draw(st.sets(st.integers(1, length - 1), max_size=4))) if length > 1 else []
    return length, [end - start for start, end in zip([0, *ends], ends, strict=False)]


@pytest.mark.parametrize("case", ALL)
@given(cut=cuts(), seed=st.integers(0, 99))
@settings(max_examples=4)
def test_in_one_piece_or_in_any_it_is_what_it_is_symbol_by_symbol(case: str, cut: tuple[int, list[int]], seed: int):
    length, sizes = cut
    model, words = network(case), words_of(2, length, seed)
    reference = by_loop(network(case))
    expected = slopes(reference, reference(words, readout="all"))
    assert_near(slopes(model, model(words, readout="all")), expected)
    assert_near(slopes(model, in_pieces(model, words, sizes)), expected)
    assert_near([in_pieces(model, words, [1] * (length - 1)).detach()], expected[:1])


@pytest.mark.parametrize("case", ALL)
def test_to_listen_changes_no_output_and_no_gradient(case: str):
    model, words, heard = network(case), words_of(2, 7), []
    listener = [(lambda name: True, lambda value, hook: heard.append(hook.name))]
    found = slopes(model, run_with_hooks(model, words, "all", fwd_hooks=listener))
    assert set(heard) == set(hook_names(model))
    assert_equal(found, slopes(model, model(words, readout="all")), 1e-12)


@pytest.mark.parametrize("case", ALL)
@torch.no_grad()
def test_a_changed_state_changes_the_answer_there_and_after_and_is_carried_on(case: str):
    """The last block's state after the third symbol: it goes on as from a state with these numbers in it."""
    model, words, t = network(case), words_of(3, 7), 2
    point = f"blocks.{len(model.blocks) - 1}.mixer.hook_recurrent"
    (state, buffers), *_ = reversed(model.read(words[:, : t + 1], None, "all")[1])
    moved = packed(state) * 0.7 + 0.1

    def move(states: Tensor, hook: HookPoint) -> Tensor:
        return torch.cat([states[:, :t], moved[:, None], states[:, t + 1 :]], 1)

    found, before = run_with_hooks(model, words, "all", fwd_hooks=[(point, move)]), model(words, readout="all")
    assert_equal([found[:, :t]], [before[:, :t]], 1e-12)
    assert float((found - before)[:, t:].abs().amax((0, 2)).min()) > 1e-9
    carries = model.read(words[:, : t + 1], None, "all")[1]
    carries[-1] = (unpacked(moved, state), buffers)
    assert_equal([found[:, t + 1 :]], [model.read(words[:, t + 1 :], carries, "all")[0]], 1e-12)


@pytest.mark.parametrize("case", ALL)
@torch.no_grad()
def test_the_hook_point_sees_the_state_that_is_carried(case: str):
    model, words = network(case), words_of(2, 5)
    cache = run_with_cache(model, words, readout="all")[1]
    for number, (state, _) in enumerate(model.read(words, None, "all")[1]):
        seen = cache[f"blocks.{number}.mixer.hook_recurrent"]
        assert seen.shape == (2, 5, packed(state).shape[1])
        assert_equal([seen[:, -1]], [packed(state)], 1e-12)


@pytest.mark.parametrize("case", ALL)
def test_words_of_a_batch_do_not_influence_each_other(case: str):
    model, words = network(case), words_of(4, 9)
    alone = torch.cat([model(word[None], readout="all") for word in words])
    assert_equal([model(words, readout="all")], [alone], 1e-12)


@pytest.mark.parametrize("case", ALL)
@torch.no_grad()
def test_it_is_a_chain_whose_state_is_a_vector(case: str):
    model, words = network(case), words_of(3, 8)
    chain = Chain(model)
    logits, states = chain.along(words)
    assert_equal([logits], [model(words, readout="all")], 1e-12)
    assert_equal([states[:, -1]], [chain.read(words)[1]], 1e-12)


@pytest.mark.parametrize("case", ALL)
def test_every_parameter_is_trained_once_and_rates_of_decay_are_not_pulled_to_zero(case: str):
    model = network(case)
    groups = model.parameter_groups()
    ids = [id(p) for group in groups for p in group["params"]]
    assert sorted(ids) == sorted(id(p) for p in model.parameters())
    kept = {id(p) for group in groups if group.get("weight_decay") == 0.0 for p in group["params"]}
    names = {name.rpartition(".")[2] for name, p in model.named_parameters() if id(p) in kept}
    assert names == {name.rpartition(".")[2] for name, _ in model.named_parameters()} & {*UNDECAYED}


@pytest.mark.parametrize("case", VARIANTS)
def test_a_generator_gives_the_weights(case: str):
    before = torch.get_rng_state()
    first, again = (fresh(case, seed=3).state_dict() for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(value, again[name]) for name, value in first.items())


@pytest.mark.parametrize("name", MIXING)
def test_networks_that_differ_have_different_names(name: str):
    found = [MODELS.options(written, "model") for written in variants(name)]
    assert found[0].title == name
    networks = {repr(options.arguments()): options.title for options in found}
    assert len({*networks.values()}) == len(networks)


@pytest.mark.parametrize("case", ALL)
@torch.no_grad()
def test_a_long_word_is_read_in_pieces(case: str, monkeypatch: pytest.MonkeyPatch):
    """So its memory does not grow with the word."""
    model, lengths = network(case), []
    monkeypatch.setattr(recurrent, "PIECE", 8)
    for mixer in mixers(model):
        along = mixer.along
        mixer.along = lambda inputs, state, of=along: lengths.append(inputs[0].shape[1]) or of(inputs, state)
    model(words_of(1, 100))
    assert max(lengths) == 8


def test_a_state_of_complex_numbers_comes_back_from_its_numbers():
    state, _ = ToyMixer(3, torch.Generator().manual_seed(0)).double().start(2)
    numbers = torch.randn(2, 11, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert torch.equal(packed(unpacked(numbers, state)), numbers)
    assert [part.dtype for part in unpacked(numbers, state)] == [part.dtype for part in state]
