"""All minimal complete automata of two states over two symbols, each once."""

from __future__ import annotations

from itertools import product

from languages.automata import Dfa

STATES, ALPHABET = ("q0", "q1"), ("0", "1")


def two_state_dfas() -> list[Dfa]:
    """The 24 of them, in the order of their tables; the first state is the initial state.

    Of 16 tables 12 reach the second state; of the four sets of accepting states two tell the states apart.

    >>> len(two_state_dfas())
    24
    """
    tables = [((a, b), (c, d)) for a, b, c, d in product(range(2), repeat=4)]
    dfas = [Dfa(STATES, ALPHABET, table, "q0", {accepting}) for table in tables for accepting in STATES]
    # A minimal automaton is its own minimal automaton, with the states in breadth-first order: none comes twice.
    return [dfa for dfa in dfas if dfa.minimise() == dfa]
