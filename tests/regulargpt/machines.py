"""Random automata, and the network that a monoid itself is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from languages.automata import MooreMachine
from languages.automata.monoid import TransitionMonoid
from languages.automata.semiautomaton import numbered
from regulargpt.finite.levels import Ints, from_left
from regulargpt.models.tree.shape import Side


@st.composite
def machines(
    draw: st.DrawFn, most: int = 3, symbols: tuple[int, ...] = (2,), outputs: tuple[int, ...] = (2,), least: int = -1
) -> MooreMachine:
    """Machines with at most so many states; an output of -1 is no answer."""
    Q, Sigma, names = draw(st.integers(1, most)), draw(st.sampled_from(symbols)), draw(st.sampled_from(outputs))
    rows = draw(st.lists(st.tuples(*[st.integers(0, Q - 1)] * Sigma), min_size=Q, max_size=Q))
    of_states = draw(st.tuples(*[st.integers(least, names - 1)] * Q))
    return MooreMachine(numbered(Q), "01"[:Sigma], tuple(rows), "q0", of_states, ("no", "yes", "more")[:names])


def multiplication(monoid: TransitionMonoid, aligned: Side = "right") -> Callable[[int, Ints], Ints]:
    """The table of a network that multiplies: a state is one more than the element."""

    def image(level: int, windows: Ints) -> Ints:
        value = np.append(0, np.arange(monoid.size) if level else monoid.generators).astype(np.int64)
        found = np.zeros(len(windows), dtype=np.int64)
        for column in from_left(list(windows.T), aligned):
            found = monoid.table[found, value[column]].astype(np.int64)
        return 1 + found

    return image
