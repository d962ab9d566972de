"""The quantised chain side by side with the machine that it should be: right on every word, or the shortest wrong word.

Both are finite, so all pairs that words lead to are gone through, breadth-first. Pairs after which the machine has no
answer to anything are left out: there is no question there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from languages.automata import MooreMachine, operations
from regulargpt.finite.chain_rows import Rows
from regulargpt.finite.nonempty import Word

Flags = npt.NDArray[np.bool_]

# Margins that rounding in float64 does not reach; the checker decides.
CERTAIN = 1e-9


@dataclass(frozen=True, eq=False)
class ChainProduct:
    """What comes up: the pairs (n, 2) of row number and machine state, the rows that they use (K+1, Sigma), the rows
    whose answers are requested; and the shortest wrong word, None if every answer is right."""

    rows: Rows
    machine: MooreMachine
    pairs: npt.NDArray[np.intp]
    used: Flags
    has_answer: Flags
    wrong: Word | None

    @classmethod
    def explore(cls, rows: Rows, machine: MooreMachine) -> ChainProduct:
        """Go through all pairs from the start."""
        table, output, is_alive = machine.table, machine.output_table, alive(machine)
        n_states, n_symbols = table.shape
        nowhere = len(rows.images) * n_states  # the node for all pairs at which there is no question

        def step(nodes: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
            k, q = np.divmod(np.minimum(nodes, nowhere - 1), n_states)
            after = rows.images[k] * n_states + table[q]  # (nodes, Sigma)
            return np.where((nodes == nowhere)[:, None] | ~is_alive[table[q]], nowhere, after)

        graph = operations.breadth_first(step, nowhere + 1, n_symbols, machine.initial_index)
        nodes = np.flatnonzero(graph.nodes != nowhere)
        k, q = np.divmod(graph.nodes[nodes], n_states)
        right, goes_on = output[table[q]], is_alive[table[q]]  # (pairs, Sigma)
        used, is_used = (np.zeros(rows.images.shape, dtype=bool) for _ in range(2))
        np.logical_or.at(used, k, goes_on)
        np.logical_or.at(is_used, k, right >= 0)
        # Pairs stand in the order of their least words, so the first wrong answer is to the shortest wrong word.
        at, symbol = np.nonzero((right >= 0) & (rows.answers[k] != right))
        wrong = (*graph.word(int(nodes[at[0]])).tolist(), int(symbol[0])) if len(at) else None
        return cls(rows, machine, np.column_stack([k, q]), used, is_used, wrong)

    @cached_property
    def smallest_margin(self) -> float:
        """By how much the nearest point is nearer than the second, at worst; infinite where there is one point."""
        return float(self.rows.margins[self.used].min(initial=np.inf))

    @cached_property
    def smallest_answer_margin(self) -> float:
        """By how much an answer's logit is the largest, at worst."""
        return float(self.rows.answer_margins[self.has_answer].min(initial=np.inf))

    @property
    def is_proven(self) -> bool:
        """Whether every answer is right, by margins that rounding does not reach."""
        return self.wrong is None and min(self.smallest_margin, self.smallest_answer_margin) > CERTAIN

    @property
    def points_met(self) -> Flags:
        """The points (K,) that come up."""
        is_met = np.zeros(len(self.rows.images), dtype=bool)
        is_met[self.pairs[:, 0]] = True
        return is_met[1:]


def alive(machine: MooreMachine) -> Flags:
    """The states (Q,) at which, or after which, the machine has an answer.

    >>> import languages
    >>> from regulargpt.finite.specification import specified_machine
    >>> machine = specified_machine(languages.get("modular-arithmetic"))
    >>> int(alive(machine).sum()), machine.n_states
    (50, 51)
    """
    is_alive = machine.output_table >= 0
    while not np.array_equal(more := is_alive | is_alive[machine.table].any(1), is_alive):
        is_alive = more
    return is_alive
