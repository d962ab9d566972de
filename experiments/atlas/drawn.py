"""Minimal automata of three to six states over two symbols, drawn at random: each is a function of its number."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import numpy as np

from languages.automata import Dfa
from languages.automata.monoid import TransitionMonoid
from languages.budget import TooLarge
from languages.randomness import rng

FEWEST_STATES, MOST_STATES = 3, 6
LARGEST = 60
"""Elements of the largest transition monoid."""
TRIES = 100_000


def drawn_dfa(number: int) -> Dfa:
    """The automaton with this number, its states named in breadth-first order.

    It has 3, 4, 5 or 6 states, in turn. Transitions are uniform over the states, and each state accepts with
    probability 1/2; drawn again until the automaton is minimal and its transition monoid has at most `LARGEST`
    elements.

    >>> [drawn_dfa(number).n_states for number in range(5)]
    [3, 4, 5, 6, 3]
    """
    Q = FEWEST_STATES + number % (MOST_STATES - FEWEST_STATES + 1)
    for step in range(TRIES):
        dfa = some_dfa(rng(number, "atlas", step), Q).minimise()
        if dfa.n_states == Q and is_small(dfa):
            return dfa
    raise AssertionError(f"one in {TRIES:,} is minimal and small")


def some_dfa(random: np.random.Generator, Q: int) -> Dfa:
    """Q states: transitions uniform over them for each of two symbols, each state accepting with probability 1/2."""
    states = tuple(f"q{i}" for i in range(Q))
    table = random.integers(Q, size=(Q, 2))
    accepting = {state for state, coin in zip(states, random.integers(2, size=Q), strict=True) if coin}
    return Dfa(states, ("0", "1"), table, "q0", accepting)


def is_small(dfa: Dfa) -> bool:
    """Whether the transition monoid has at most `LARGEST` elements."""
    try:
        TransitionMonoid.from_machine(dfa, LARGEST)
    except TooLarge:
        return False
    return True


def different() -> Iterator[tuple[int, Dfa]]:
    """The numbers from 0 on with their automata, without those that a smaller number gives too."""
    known: set[Dfa] = set()
    for number in count():
        dfa = drawn_dfa(number)
        if dfa not in known:
            known.add(dfa)
            yield number, dfa
