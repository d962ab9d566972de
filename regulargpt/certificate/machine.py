"""What a network is asked, as one machine: without an answer (-1) where the word is outside the task's domain."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from languages import operations
from languages.automata import MooreMachine
from languages.monoid import TransitionMonoid
from languages.task import Task

Flags = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


def asked(task: Task) -> MooreMachine:
    """The minimal machine that answers as the task's does, and has no answer to words outside its domain.

    >>> import languages
    >>> machine = asked(languages.get("modular-arithmetic:plus=true"))
    >>> machine.answers("+2*3").item(), machine.answers("2*3").item()
    (1, -1)
    """
    machine, domain = task.machine, task.domain
    if domain is None:
        return machine.minimise()
    found = operations.search_product(machine.table, machine.initial_index, domain.table, domain.initial_index)
    q, d = operations.pairs(found, domain.n_states)
    outputs = np.where(domain.is_accepting[d], machine.output_table[q], -1)
    names = tuple(f"q{i}" for i in range(len(q)))
    product = MooreMachine(names, machine.alphabet, found.table, "q0", tuple(outputs.tolist()), machine.output_names)
    return product.minimise()


@dataclass(frozen=True)
class Question:
    """What every sub-word does, and what the network must answer.

    `machine` answers where the task asks, `monoid` is its transition monoid. `classes` (M,) are the elements of
    `transitions`, the transition monoid of the task's own machine, which may have fewer: it need not know where a word
    leaves the domain.

    >>> import languages
    >>> question = Question.of(languages.get("parity"))
    >>> question.monoid.size, question.answers.tolist()
    (2, [0, 1])
    """

    machine: MooreMachine
    monoid: TransitionMonoid
    transitions: TransitionMonoid
    classes: Ints

    @classmethod
    def of(cls, task: Task) -> Question:
        """The question that a task asks. Raises AutomatonError if its monoid is too large."""
        machine = asked(task)
        monoid = TransitionMonoid.of(machine)
        if task.domain is None:
            return cls(machine, monoid, monoid, np.arange(monoid.size))
        transitions = TransitionMonoid.of(task.machine.minimise())
        classes = np.zeros(monoid.size, dtype=np.int64)
        for i in range(1, monoid.size):
            classes[i] = transitions.right[classes[monoid.parent[i]], monoid.symbol[i]]
        return cls(machine, monoid, transitions, classes)

    @cached_property
    def answers(self) -> Ints:
        """The machine's answer after each element (M,) from the initial state; -1 where it has none."""
        return self.machine.output_table[self.ends]

    @cached_property
    def ends(self) -> Ints:
        """The state (M,) to which each element leads from the initial state."""
        return self.monoid.elements[:, self.machine.initial_index].astype(np.int64)

    def answerable(self, span: int) -> Flags:
        """The states (Q,) from which a word of a multiple of `span` symbols, possibly none, leads to an answer."""
        step = np.zeros((self.machine.n_states,) * 2, dtype=np.int64)
        np.add.at(step, (np.arange(self.machine.n_states)[:, None], self.machine.table), 1)
        jump = _power(step > 0, span)
        found = self.machine.output_table >= 0
        while not np.array_equal(more := found | (jump & found).any(1), found):
            found = more
        return found

    def inside(self, span: int) -> Flags:
        """The elements (M,) that a full node `span` symbols wide can have in some word with an answer."""
        reached = operations.search(self.machine.table, self.machine.initial_index).nodes
        return np.asarray(self.answerable(span)[self.monoid.elements[:, reached]].any(1))

    def leftmost(self, span: int) -> Flags:
        """The elements (M,) of the leftmost node, to the right of which stand nodes `span` symbols wide."""
        return self.answerable(span)[self.ends]


def _power(relation: Flags, exponent: int) -> Flags:
    result = np.eye(len(relation), dtype=bool)
    while exponent:
        if exponent & 1:
            result = (result.astype(np.int64) @ relation) > 0
        relation = (relation.astype(np.int64) @ relation) > 0
        exponent >>= 1
    return result
