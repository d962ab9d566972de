"""Monoid elements as the lemma writes them: Flat of the |Q| x |Q| binary matrix of Eq. (6.2)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from languages.automata import MooreMachine
from regulargpt.construct.representation import Representation, Vectors, answers


def matrix(machine: MooreMachine, chunk_size: int) -> Representation:
    """Flat(A(sigma)), |Q|^2 numbers with a one in each row, and a path for each (i_0, ..., i_C).

    Path (i_0, ..., i_C) is active if the leftmost child takes i_0 to i_1, ..., the last one i_{C-1} to i_C; it writes
    (i_0, i_C). From each i_0 exactly one path is active. For C = 2 the paths are the units of Eq. (6.3), in order.

    >>> import languages
    >>> found = matrix(languages.get("parity").machine, 2)
    >>> found.size, found.ones, found.symbols[1].tolist(), len(found.writes)
    (4, 2, [0.0, 1.0, 1.0, 0.0], 8)
    """
    n, C = machine.n_states, chunk_size
    # In this order the paths that write the same coordinate stand together, as the units of Eq. (6.3) do.
    first, last, *between = np.indices((n,) * (C + 1)).reshape(C + 1, -1)  # (paths,) each
    states = [first, *between, last]  # i_0, ..., i_C
    steps = [p * n + q for p, q in pairwise(states)]  # of the leftmost child first
    readout = np.zeros((len(machine.output_names), n * n))
    row = machine.initial_index * n
    readout[:, row : row + n] = answers(machine.output_table, len(machine.output_names))
    return Representation(
        ones=n,
        identity=flat(np.arange(n)),
        symbols=np.stack([flat(column) for column in machine.table.T]),
        reads=np.stack(steps[::-1], 1),
        writes=first * n + last,
        readout=readout,
    )


def flat(element: np.ndarray) -> Vectors:
    """Flat of the matrix whose row q is OneHot(element[q]), Eq. (6.2).

    >>> flat(np.array([1, 1])).tolist()
    [0.0, 1.0, 0.0, 1.0]
    """
    return np.eye(len(element))[element].ravel()  # (Q * Q,)
