"""What a network has to answer, as one machine: without an answer (-1) where the word is outside the task's domain."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from languages.automata import MooreMachine, operations
from languages.automata.monoid import TransitionMonoid
from languages.automata.moore import UNDEFINED
from languages.automata.semiautomaton import numbered
from languages.task import Task
from regulargpt.models.tree.shape import Side

Flags = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


def specified_machine(task: Task) -> MooreMachine:
    """The minimal machine that answers as the task's does, and has no answer to words outside its domain.

    >>> import languages
    >>> machine = specified_machine(languages.get("modular-arithmetic:plus=true"))
    >>> machine.answers("+2*3").item(), machine.answers("2*3").item()
    (1, -1)
    """
    machine, domain = task.machine, task.domain
    if domain is None:
        return machine.minimise()
    joint = operations.search_product(machine.table, machine.initial_index, domain.table, domain.initial_index)
    q, d = operations.pairs(joint, domain.n_states)
    outputs = np.where(domain.is_accepting[d], machine.output_table[q], UNDEFINED)
    names = numbered(len(q))
    product = MooreMachine(names, machine.alphabet, joint.table, "q0", tuple(outputs.tolist()), machine.output_names)
    return product.minimise()


def trivial(task: Task) -> str:
    """Why a task asks nothing of a network: non-empty words have one answer only, or none; else empty.

    >>> import languages
    >>> trivial(languages.get("parity")), trivial(languages.get("regex:(a|b)*"))
    ('', 'every word of one symbol or more has the answer accept: there is nothing to learn')
    """
    machine = specified_machine(task)
    given = set(machine.output_table[np.unique(machine.table)].tolist()) - {UNDEFINED}
    if len(given) > 1:
        return ""
    if not given:
        return "no word of one symbol or more has an answer: there is nothing to learn"
    if task.is_classification and given == {0}:
        return "no word of one symbol or more is a member: there is nothing to learn"
    answer = machine.output_names[given.pop()]
    return f"every word of one symbol or more has the answer {answer}: there is nothing to learn"


@dataclass(frozen=True, eq=False)
class ForestUses:
    """Which elements occur in rows of `items` that lead from a state, `start`, to one of the `useful` ones (Q,).

    Elements act on states: of a finite automaton these are its own, far fewer than elements; of an algebra the elements
    themselves, as products act on them. Of `times` element 0 is the identity; a span counts items.
    """

    times: npt.NDArray[np.integer[Any]]  # (M, M)
    moves: npt.NDArray[np.integer[Any]]  # (Q, M): where an element leads from each state
    items: Ints
    useful: Flags
    start: int = 0

    @cached_property
    def step(self) -> Flags:
        """Whether one more item leads from a state to another (Q, Q)."""
        step = np.zeros((len(self.moves),) * 2, dtype=bool)
        step[np.arange(len(step))[:, None], self.moves[:, self.items]] = True  # indices (Q, items)
        return step

    @cached_property
    def jumps(self) -> dict[int, tuple[Flags, Flags]]:
        return {}

    def jump(self, span: int) -> tuple[Flags, Flags]:
        """Whether `span` items lead from a state to another (Q, Q), and the states (Q,) that multiples reach."""
        if span not in self.jumps:
            jump, found = relation_power(self.step, span), np.arange(len(self.step)) == self.start
            while not np.array_equal(more := found | jump[found].any(0), found):
                found = more
            self.jumps[span] = jump, found
        return self.jumps[span]

    def answerable(self, span: int) -> Flags:
        """The states (Q,) from which a multiple of `span` items, possibly none, leads to a useful one."""
        jump, found = self.jump(span)[0], self.useful
        # Backwards, `span` items at a time, until nothing is added: at most Q times.
        while not np.array_equal(more := found | (jump & found).any(1), found):
            found = more
        return found

    def reached(self, span: int) -> Flags:
        """The states (Q,) to which a multiple of `span` items, possibly none, leads from the first."""
        return self.jump(span)[1]

    def can_be_inside(self, span: int, aligned: Side = "right") -> Flags:
        """The elements (M,) that a full node `span` items wide can have in some useful row.

        On the side `aligned` of it stand full nodes, on the other side any items.
        """
        before, after = (1, span) if aligned == "right" else (span, 1)
        return np.asarray(self.answerable(after)[self.moves[self.reached(before)]].any(0))

    def can_be_rest(self, span: int, aligned: Side = "right") -> Flags:
        """The elements (M,) of the rest of a row, beside which stand nodes `span` items wide."""
        if aligned == "right":
            return self.answerable(span)[self.moves[self.start]]
        return np.asarray(self.useful[self.moves[self.reached(span)]].any(0))

    @property
    def useful_items(self) -> Flags:
        """The elements (M,) that are useful among any other items."""
        return self.can_be_inside(1)


@dataclass(frozen=True)
class Specification:
    """What every sub-word does, and what the network must answer.

    `machine` answers where the task does, `monoid` is its transition monoid. `task_elements` (M,) are the elements of
    `task_monoid`, the transition monoid of the task's own machine, which may have fewer: it need not know where a word
    leaves the domain.

    >>> import languages
    >>> specification = Specification.from_task(languages.get("parity"))
    >>> specification.monoid.size, specification.answers.tolist()
    (2, [0, 1])
    """

    machine: MooreMachine
    monoid: TransitionMonoid
    task_monoid: TransitionMonoid
    task_elements: Ints

    @classmethod
    def from_task(cls, task: Task) -> Specification:
        """The specification that a task gives. Raises AutomatonError if its monoid is too large."""
        machine = specified_machine(task)
        if task.domain is None:
            return cls.of_machine(machine)
        monoid, task_monoid = (
            TransitionMonoid.from_machine(machine),
            TransitionMonoid.from_machine(task.machine.minimise()),
        )
        # Both monoids read the same words: element i is the word of its parent and one symbol more, in both.
        elements = np.zeros(monoid.size, dtype=np.int64)
        for i in range(1, monoid.size):
            elements[i] = task_monoid.right[elements[monoid.parent[i]], monoid.symbol[i]]
        return cls(machine, monoid, task_monoid, elements)

    @classmethod
    def of_machine(cls, machine: MooreMachine, max_size: int | None = None) -> Specification:
        """The answers of a machine. Raises AutomatonError if its monoid is too large, or larger than `max_size`."""
        monoid = TransitionMonoid.from_machine(machine, max_size)
        return cls(machine, monoid, monoid, np.arange(monoid.size))

    @property
    def times(self) -> npt.NDArray[np.integer[Any]]:
        """What two sub-words do in turn (M, M)."""
        return self.monoid.table

    @property
    def size(self) -> int:
        """How many elements there are."""
        return self.monoid.size

    @property
    def words(self) -> tuple[str, ...]:
        """A shortest word of each element of the task's own machine."""
        return self.task_monoid.words

    @cached_property
    def target_answers(self) -> Ints:
        """The answer to words of each element of the task's own machine; -1 where no word of it has an answer."""
        answers = np.full(int(self.task_elements.max()) + 1, UNDEFINED)
        # Words of one such element may lie inside and outside the domain: the answer is that inside.
        np.maximum.at(answers, self.task_elements, self.answers)
        return answers

    @cached_property
    def answers(self) -> Ints:
        """The machine's answer after each element (M,) from the initial state; -1 where it has none."""
        return self.machine.output_table[self.monoid.elements[:, self.machine.initial_index].astype(np.int64)]

    @cached_property
    def letters(self) -> Ints:
        """The element (Sigma,) of each symbol."""
        return self.monoid.generators.astype(np.int64)

    @cached_property
    def top(self) -> ForestUses:
        """The row of symbols that is the whole word: elements act on the machine's states, not on each other."""
        moves, useful = self.monoid.elements.T, self.machine.output_table >= 0  # (Q, M), (Q,)
        return ForestUses(self.times, moves, self.letters, useful, self.machine.initial_index)


def relation_power(relation: Flags, exponent: int) -> Flags:
    """A relation (Q, Q) followed by itself, `exponent` times in all; by squaring, for spans grow like C^l.

    >>> cycle = np.array([[False, True, False], [False, False, True], [True, False, False]])
    >>> relation_power(cycle, 4).astype(int).tolist()
    [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    """
    result = np.eye(len(relation), dtype=bool)
    while exponent:
        # Integers have no fast product; float32 counts exactly up to 2^24 states.
        if exponent & 1:
            result = (result.astype(np.float32) @ relation.astype(np.float32)) > 0
        relation = (relation.astype(np.float32) @ relation.astype(np.float32)) > 0
        exponent >>= 1
    return result
