"""Random semiautomata for the tests of their monoids."""

import numpy as np
from hypothesis import strategies as st

from languages.automata import Semiautomaton


def random_machine(seed: int, n_states: int, n_symbols: int) -> Semiautomaton:
    delta = np.random.default_rng(seed).integers(0, n_states, (n_states, n_symbols))
    return Semiautomaton(tuple(map(str, range(n_states))), tuple("abc"[:n_symbols]), delta)


MACHINES = st.builds(random_machine, st.integers(0, 2**32), st.integers(2, 4), st.integers(1, 3))
