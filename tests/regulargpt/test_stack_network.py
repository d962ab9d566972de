"""Stack networks as machines: proofs of constructed and of random ones, against the network run word by word."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from languages.context_free.brackets import brackets
from regulargpt.finite.stack_network import StackNetwork
from regulargpt.finite.stack_product import Proven, StackProduct, UndecidedProduct, Wrong
from tests.regulargpt.stack_networks import network_of, run
from tests.regulargpt.test_stack_product import ANSWERS, NAMES, WORDS, cases, late, machine_of, outputs


def proof(weights, machine, **options):
    limits = {key: options.pop(key) for key in ("max_lag", "limit") if key in options}
    network = StackNetwork(weights, **options)
    return StackProduct(network, machine, **limits).run(), network


def right_on(weights, machine, words, **options):
    right = machine.answers(words, every=True)
    return not ((right >= 0) & (run(weights, words, **options)[1] != right)).any()


@settings(max_examples=25)
@given(cases(True), outputs, st.booleans())
def test_a_network_made_of_a_machine_is_proven_and_with_the_machine_made_late_with_its_lag(moves, names, visible):
    machine = machine_of(moves, names, visible)
    weights = network_of(machine)
    found, network = proof(weights, machine)
    assert isinstance(found, Proven)
    assert found.lag == 0
    assert right_on(weights, machine, WORDS[4])
    if found.entries:
        assert network.margins.sign == 0.5
    lagging = proof(network_of(late(machine)), machine)[0]
    assert isinstance(lagging, Proven)
    assert lagging.lag <= 1


@settings(max_examples=40)
@given(cases(False), outputs, st.integers(0, 2**32 - 1))
def test_a_counterexample_is_a_shortest_wrong_word_of_the_network_itself(moves, names, seed):
    """Of networks with the signs of some weights changed, and of networks that are random altogether."""
    machine, random = machine_of(moves, names, False), np.random.default_rng(seed)
    weights = network_of(machine)
    for name, array in weights.items():
        weights[name] = array * np.where(random.random(array.shape) < 0.02, -1, 1).astype(np.float32)
    if seed % 2:
        weights = {name: random.normal(size=array.shape).astype(np.float32) for name, array in weights.items()}
    product = StackProduct(StackNetwork(weights), machine, limit=3000)
    found = product.run()
    if isinstance(found, Proven):
        assert all(right_on(weights, machine, words) for words in WORDS[:5])
    elif isinstance(found, Wrong) and product.doubt is None:  # else ties may be broken otherwise
        word = np.array([found.word])
        right, given = machine.answers(word, every=True)[0], run(weights, word)[1][0]
        assert ((right >= 0) & (right != given)).nonzero()[0].tolist() == [len(found.word) - 1]
        if len(found.word) <= 5:
            assert all(right_on(weights, machine, words) for words in WORDS[: len(found.word) - 1])


def test_visible_actions_and_empty_cells_of_minus_one():
    """Brackets that act need no layer of actions; what an empty stack reads is an option."""
    machine = brackets(2).machine
    direction = brackets(2).visibly.direction.tolist()
    weights = network_of(machine)
    width = len(machine.stack)
    for unit in np.flatnonzero((weights["input.weight"][:, -width:] == -1).all(1)):
        weights["input.weight"][unit, -width:] = -1 / (width + 1)  # an empty cell reads -1, and the sum is 1 again
        weights["input.bias"][unit] += 1 / (width + 1) - 1
    del weights["action.weight"], weights["action.bias"]
    found, network = proof(weights, machine, max_lag=0, direction=direction, empty=-1.0)
    assert isinstance(found, Proven)
    assert network.margins.action == np.inf
    assert not isinstance(proof(weights, machine, max_lag=0, direction=direction)[0], Proven)


@pytest.mark.parametrize(
    ("layer", "said"),
    [("recurrent.weight", "a sign"), ("action.weight", "an action"), ("readout.weight", "two answers are tied")],
)
def test_what_rounding_decides_is_not_proven(layer, said):
    """Weights in place of which there could be others that differ by less than the rounding of sums."""
    machine = brackets(1).machine
    weights = network_of(machine)
    name = layer.replace("weight", "bias")
    weights[layer], weights[name] = weights[layer] * np.float32(0), weights[name] * np.float32(0)
    if layer == "recurrent.weight":
        weights["input.weight"], weights["input.bias"] = weights["input.weight"] * 0, weights["input.bias"] * 0
    found, _ = proof(weights, machine)
    assert isinstance(found, Wrong) or (isinstance(found, UndecidedProduct) and said in found.reason)
    tilted = dict(weights)
    tilted[name] = np.full_like(weights[name], 1e-40)
    assert not isinstance(proof(tilted, machine)[0], Proven)


def test_sums_of_float32_in_any_order_lie_within_the_bound_and_not_without_what_was_pushed():
    """The bound holds where a pushed vector cancels; without the term for it, it does not."""
    random, units, width, symbols = np.random.default_rng(0), 24, 6, 3
    f32, exceeded = np.float32, 0

    def summed(*parts):
        """Each row added up in an order of its own."""
        terms = random.permuted(np.concatenate(parts, axis=1), axis=1)
        total = np.zeros(len(terms), f32)
        for column in terms.T:
            total += column
        return total

    for _ in range(300):
        sizes = {"input": (units, symbols + width), "recurrent": (units, units), "push": (width, units)}
        w = {f"{name}.weight": random.normal(size=size).astype(f32) for name, size in sizes.items()}
        w |= {f"{name}.bias": random.normal(size=size[0]).astype(f32) for name, size in sizes.items()}
        w |= {"action.weight": np.zeros((3, units), f32), "action.bias": np.zeros(3, f32)}
        h = np.where(random.random(units) < 0.5, -1, 1).astype(f32)
        # A bias that takes nearly all away, and a top that counts for much.
        w["push.bias"] = (-(w["push.weight"].astype(float) @ h) + 1e-6 * random.normal(size=width)).astype(f32)
        w["input.weight"][:, symbols:] *= 100
        network = StackNetwork(w)
        network._add(h[None].astype(float))
        u, far = network._sums(*np.array([[1], [2], [1]]))
        v = summed(w["push.weight"] * h, w["push.bias"][:, None])
        x, r = w["input.weight"][:, 2:3], w["input.weight"][:, symbols:] * v
        given = summed(x, r, w["recurrent.weight"] * h, w["input.bias"][:, None], w["recurrent.bias"][:, None])
        off = abs(given - u[0])
        assert (off <= far[0]).all()
        without = dataclasses.replace(network)
        without.units, without.pushed, without.moved = network.units, network.pushed, 0 * network.moved
        exceeded += (off > without._sums(*np.array([[1], [2], [1]]))[1][0]).any()
    assert exceeded > 10


def test_states_are_numbered_once_whatever_the_batches(monkeypatch):
    """In batches of two cases the same machine is found."""
    machine = machine_of([(NAMES[i % 3], i % 4) for i in range(18)], ANSWERS, False)
    whole = proof(network_of(machine, spare=3), machine)
    monkeypatch.setattr("regulargpt.finite.stack_network.CASES", 2)
    assert proof(network_of(machine, spare=3), machine)[0] == whole[0]
    assert whole[1].n_states == whole[0].states
