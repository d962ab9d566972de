"""Monoid elements as one-hot vectors over the transition monoid: its multiplication table, a path for each entry."""

from __future__ import annotations

import numpy as np

from languages.automata import MooreMachine
from languages.automata.monoid import TransitionMonoid
from regulargpt.construct.representation import Representation, answers


def one_hot(machine: MooreMachine, chunk_size: int) -> Representation:
    """OneHot of the element of the monoid, and a path for each C-tuple of elements, which writes their product.

    >>> import languages
    >>> found = one_hot(languages.get("parity").machine, 2)
    >>> found.size, found.symbols[1].tolist(), found.reads.tolist(), found.writes.tolist()
    (2, [0.0, 1.0], [[0, 0], [1, 0], [0, 1], [1, 1]], [0, 1, 1, 0])
    """
    monoid = TransitionMonoid.from_machine(machine)
    M, C = monoid.size, chunk_size
    tuples = np.indices((M,) * C).reshape(C, -1)  # (C, M^C), the leftmost child first
    written = tuples[0]
    for element in tuples[1:]:
        written = monoid.table[written, element].astype(np.intp)
    reached = machine.output_table[monoid.elements[:, machine.initial_index]]  # (M,)
    vectors = np.eye(M)
    return Representation(
        ones=1,
        identity=vectors[monoid.identity],
        symbols=vectors[monoid.generators],
        reads=tuples[::-1].T.copy(),  # (M^C, C), by offset: the rightmost child first
        writes=written,
        readout=answers(reached, len(machine.output_names)),
    )
