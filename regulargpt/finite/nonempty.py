"""Machines of networks: no network answers the empty word, so it decides neither what is equal nor what is minimal."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from languages.automata import Dfa, MooreMachine, operations
from languages.automata.semiautomaton import numbered
from languages.task import CLASSES, Task
from regulargpt.finite.specification import specified_machine

Ints = npt.NDArray[np.int64]
Word = tuple[int, ...]
Context = tuple[Word, Word]  # (u, v) round a hole

# What stands for the answer to the empty word.
EMPTY = -2


def machine(
    table: npt.NDArray[np.integer], colours: Ints, alphabet: tuple[str, ...], output_names: tuple[str, ...]
) -> MooreMachine:
    """The machine from state 0; without an answer where the colour is negative."""
    outputs = tuple(np.maximum(colours, -1).tolist())
    return MooreMachine(numbered(len(table)), alphabet, table, "q0", outputs, output_names)


def smallest_machine(
    table: Ints, colours: Ints, alphabet: tuple[str, ...], output_names: tuple[str, ...], empty: int | None = None
) -> MooreMachine:
    """The minimal machine, the answer of state 0, if it is EMPTY, chosen so that there are the fewest states.

    Of several such answers it is `empty`, else the first.

    >>> table, colours = np.array([[1, 2], [1, 2], [2, 1]]), np.array([EMPTY, 0, 1])
    >>> smallest_machine(table, colours, ("0", "1"), ("even", "odd")).n_states
    2
    """
    # The empty word has a state of its own only if no answer lets it share another.
    choices = [*([] if empty is None else [empty]), *range(len(output_names))]
    firsts = choices if colours[0] == EMPTY else [int(colours[0])]
    machines = [machine(table, np.append([first], colours[1:]), alphabet, output_names).minimise() for first in firsts]
    return min(machines, key=lambda each: each.n_states)


def answer_to_empty_word(task: Task) -> int:
    """What the task answers to the empty word, by convention; -1 if nothing."""
    machine = specified_machine(task)
    return int(machine.output_table[machine.initial_index])


def with_fresh_start(table: npt.NDArray[np.integer], start: int, colours: Ints) -> tuple[Ints, Ints]:
    """The machine with a new state 0, of colour EMPTY, to which only the empty word leads.

    >>> table, colours = with_fresh_start(np.array([[0, 1], [1, 0]]), 0, np.array([0, 1]))
    >>> table.tolist(), colours.tolist()
    ([[1, 2], [1, 2], [2, 1]], [-2, 0, 1])
    """
    # The new state goes where the old initial one went, and nothing leads back to it.
    return np.vstack([table[start], table]).astype(np.int64) + 1, np.append(EMPTY, colours)


def restricted_to(table: Ints, colours: Ints, domain: Dfa | None) -> tuple[Ints, Ints]:
    """The machine from state 0 with no answer, -1, to the words outside the domain."""
    if domain is None:
        return table, colours
    # Side by side with the domain's automaton: it says which words count.
    joint = operations.search_product(table, 0, domain.table, domain.initial_index)
    q, d = operations.pairs(joint, domain.n_states)
    return joint.table.astype(np.int64), np.where(domain.is_accepting[d], colours[q], -1)


def counterexample(mine: MooreMachine, true: MooreMachine) -> Word | None:
    """The shortest word, not the empty word, that two machines over the same symbols and outputs answer differently.

    >>> parity = MooreMachine(("even", "odd"), "01", ((0, 1), (1, 0)), "even", (0, 1), ("even", "odd"))
    >>> any_one = MooreMachine(("none", "some"), "01", ((0, 1), (1, 1)), "none", (0, 1), ("even", "odd"))
    >>> counterexample(parity, any_one)
    (1, 1)
    """
    (left, seen), (right, shown) = (with_fresh_start(m.table, m.initial_index, m.output_table) for m in (mine, true))
    word = operations.counter_example((left, 0, seen), (right, 0, shown))
    return None if word is None else tuple(int(symbol) for symbol in word)


def as_dfa(machine: MooreMachine) -> Dfa | MooreMachine:
    """A machine that rejects or accepts every word, as an automaton; any other as it is."""
    if machine.output_names != CLASSES or -1 in machine.outputs:
        return machine
    accepting = {state for state, output in zip(machine.states, machine.outputs, strict=True) if output == 1}
    return Dfa(machine.states, machine.alphabet, machine.delta, machine.initial, accepting)
