"""The fast runner against the definition, symbol by symbol."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from languages.automata import Semiautomaton, running
from languages.automata.running import run_reference

LENGTHS = [0, 1, 2, 3, 7, 8, 9, 16, 17, 40, 41, 63, 64, 65, 200]


def random_machine(rng: np.random.Generator, n_states: int, n_symbols: int) -> Semiautomaton:
    names = [f"s{i}" for i in range(n_states)], [f"a{i}" for i in range(n_symbols)]
    return Semiautomaton(*map(tuple, names), rng.integers(0, n_states, (n_states, n_symbols)))


def assert_equals_reference(machine: Semiautomaton, words: np.ndarray, start: np.ndarray) -> None:
    for every in (False, True):
        expected = run_reference(machine.table, words, start, every)
        states = machine.run(words, start, every)
        assert states.shape == expected.shape
        assert np.array_equal(states, expected)
    for word, first in zip(words, start, strict=True):
        assert machine.run(word, int(first)) == run_reference(machine.table, word[None], first[None])[0]


@given(
    st.integers(0, 2**32),
    st.sampled_from([1, 2, 3, 5, 14, 257, 300]),
    st.sampled_from([1, 2, 3, 5, 17, 256, 300]),
    st.integers(0, 5),
    st.sampled_from(LENGTHS),
)
def test_equals_the_definition(seed: int, n_states: int, n_symbols: int, batch: int, length: int) -> None:
    rng = np.random.default_rng(seed)
    machine = random_machine(rng, n_states, n_symbols)
    words = rng.integers(0, n_symbols, (batch, length))
    assert_equals_reference(machine, words, rng.integers(0, n_states, batch))


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.sampled_from([1, 2, 5, 30]), st.sampled_from([1, 2, 3, 80]), st.integers(1, 3))
def test_equals_the_definition_when_cut_in_chunks(seed: int, n_states: int, n_symbols: int, batch: int) -> None:
    rng = np.random.default_rng(seed)
    machine = random_machine(rng, n_states, n_symbols)
    length = int(rng.integers(3000, 5000))
    assert_equals_reference(machine, rng.integers(0, n_symbols, (batch, length)), rng.integers(0, n_states, batch))


def test_long_words_are_cut_in_blocks_of_small_tables() -> None:
    """Its blocks are as long as isqrt(length), more than Python would recurse."""
    machine = Semiautomaton(("0", "1", "2"), ("a",), ((1,), (2,), (0,)))
    word = np.zeros((1, 1_000_000), np.uint8)
    assert machine.run(word).tolist() == [1_000_000 % 3]
    assert np.array_equal(machine.run(word, every=True)[0], np.arange(1, 1_000_001) % 3)
    # Both ways of running are reached above.
    runner = running.Runner(np.array([[0, 1], [1, 0]]))
    assert runner.n_chunks(np.zeros((1000, 1), np.intp)) == 31
    assert runner.n_chunks(np.zeros((1000, 600), np.intp)) == 0
    assert runner.n_chunks(np.zeros((100, 1), np.intp)) == 0
    for n_states in (1, 2, 100, 5000):
        for n_symbols in (1, 2, 10, 300):
            runner = running.Runner(np.zeros((n_states, n_symbols), np.int32))
            g = runner.block(10**9, 10**6)
            assert g == 1 or n_states * n_symbols**g <= running.MAX_ENTRIES


@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 4), st.sampled_from([0, 1, 2, 50, 4001]))
def test_transition_is_the_run_from_every_state(seed: int, n_states: int, n_symbols: int, length: int) -> None:
    rng = np.random.default_rng(seed)
    machine = random_machine(rng, n_states, n_symbols)
    word = rng.integers(0, n_symbols, length)
    expected = [int(machine.run(word, q)) for q in range(n_states)]
    assert machine.element(word).tolist() == expected


@pytest.mark.parametrize(("n_states", "dtype"), [(2, np.uint8), (256, np.uint8), (257, np.uint16)])
def test_states_come_in_the_smallest_type(n_states: int, dtype: type) -> None:
    machine = random_machine(np.random.default_rng(0), n_states, 2)
    for words in ([[0, 1, 1]], np.zeros((1, 0), int), np.zeros((0, 4), int), [0]):
        assert machine.run(words).dtype == machine.run(words, every=True).dtype == dtype


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int8, np.int32, np.int64, np.uint64])
def test_words_of_any_integer_type_and_layout_are_not_changed(dtype: type) -> None:
    rng = np.random.default_rng(1)
    machine = random_machine(rng, 4, 2)
    words = rng.integers(0, 2, (30, 40)).astype(dtype)
    words.setflags(write=False)
    expected = run_reference(machine.table, words.astype(np.intp)[::2, ::-3], np.zeros(15, int), every=True)
    assert np.array_equal(machine.run(words[::2, ::-3], every=True), expected)
    assert np.array_equal(machine.run(np.asfortranarray(words)[::2, ::-3], every=True), expected)
