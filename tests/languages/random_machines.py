"""Random machines, and all members of a language up to a length: for the tests of whatever runs or draws them."""

from itertools import product

import numpy as np
from hypothesis import strategies as st

from languages.automata import Dfa, Semiautomaton


def random_machine(seed: int, n_states: int, n_symbols: int) -> Semiautomaton:
    delta = np.random.default_rng(seed).integers(0, n_states, (n_states, n_symbols))
    return Semiautomaton(tuple(map(str, range(n_states))), tuple("abc"[:n_symbols]), delta)


MACHINES = st.builds(random_machine, st.integers(0, 2**32), st.integers(2, 4), st.integers(1, 3))


@st.composite
def dfas(draw: st.DrawFn, alphabet: str = "ab", max_states: int = 6) -> Dfa:
    n = draw(st.integers(1, max_states))
    states = tuple(f"s{i}" for i in range(n))
    row = st.lists(st.integers(0, n - 1), min_size=len(alphabet), max_size=len(alphabet))
    delta = draw(st.lists(row, min_size=n, max_size=n))
    return Dfa(states, tuple(alphabet), delta, draw(st.sampled_from(states)), draw(st.sets(st.sampled_from(states))))


def members(dfa: Dfa, length: int) -> list[tuple[int, ...]]:
    """All words of a length that the automaton accepts, in order."""
    words = np.array(list(product(range(dfa.n_symbols), repeat=length)), dtype=np.uint8)
    words = words.reshape(dfa.n_symbols**length, length)
    return [tuple(word) for word in words[dfa.accepts(words)].tolist()]


def near(dfa: Dfa, words: np.ndarray) -> np.ndarray:
    """Which of these words over two symbols are one edit from a member."""
    length = words.shape[1]
    one_edit = np.repeat(words[:, None].astype(np.uint8), length, axis=1) ^ np.eye(length, dtype=np.uint8)
    return dfa.accepts(one_edit.reshape(-1, length)).reshape(-1, length).any(axis=1)
