"""Words by random walks of a pushdown machine: each has symbol weights of its own, so some pop far more than push."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from languages.automata.pushdown import NO_MOVE, POP, PushdownTransducer
from languages.automata.words import Indices, smallest_unsigned
from languages.errors import SamplingError

SPREAD = 0.5  # of the Dirichlet distribution that a word's weights come from: below 1 most words favour few symbols


def walks(
    machine: PushdownTransducer, random: np.random.Generator, length: int, count: int, skip: tuple[int, ...] = ()
) -> Indices:
    """Words (count, length) along moves of the machine, without the symbols `skip`.

    At each step a move is drawn among those of the state and the top of the stack, in proportion to the word's weights.
    SamplingError where a walk comes to a place without a move.

    >>> from languages.context_free.stack_manipulation import stack_manipulation
    >>> from languages.randomness import rng
    >>> task = stack_manipulation()
    >>> words = walks(task.machine, rng(0, "example"), 20, 100, skip=(task.n_symbols - 1,))
    >>> words.shape, bool(task.questions(np.pad(words, ((0, 0), (0, 1)), constant_values=5)).all())
    ((100, 20), True)
    """
    allowed = np.array([symbol for symbol in range(machine.n_symbols) if symbol not in skip])
    weights = random.dirichlet(np.full(len(allowed), SPREAD), size=count) + 1e-12  # (count, allowed)
    chances = random.random((length, count))
    words = np.zeros((count, length), dtype=smallest_unsigned(machine.n_symbols))
    rows, height = np.arange(count), np.zeros(count, dtype=np.intp)
    state, stack = np.full(count, machine.initial_index), np.zeros((count, length + 1), dtype=np.int32)
    for t in range(length):
        top = stack[rows, height]
        possible = machine.table[state[:, None], allowed, top[:, None]] != NO_MOVE  # (count, allowed)
        if not possible.any(1).all():
            raise SamplingError(f"a walk of {t} symbols has no move that goes on; draw words in another way")
        symbol = allowed[drawn(weights * possible, chances[t])]
        action, state = machine.actions[state, symbol, top], machine.table[state, symbol, top]
        height += (action >= 0).astype(np.intp) - (action == POP)
        pushing = np.flatnonzero(action >= 0)
        stack[pushing, height[pushing]] = 1 + action[pushing]
        words[:, t] = symbol
    return words


def drawn(weights: npt.NDArray[np.float64], chances: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
    """(count,) a column of each row of `weights` (count, n) in proportion to its entries; `chances` in [0, 1).

    >>> drawn(np.array([[1.0, 0.0, 3.0], [0.0, 1.0, 0.0]]), np.array([0.3, 0.9])).tolist()
    [2, 1]
    """
    sums = weights.cumsum(1)
    return (sums > (chances * sums[:, -1])[:, None]).argmax(1)
