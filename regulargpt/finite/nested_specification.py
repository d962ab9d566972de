"""What a network has to answer to words with brackets: the algebra of a visibly pushdown machine, and its uses.

A forest of n items is a word of n letters over the elements of its items, so its levels are those of words (levels.py).
What differs from forest to forest is which elements are part of a word with an answer.

A machine without brackets has one, too, but specification.py says more of it: its elements are functions on its states,
and what is useful follows from these, far fewer than elements (52 for 568 in modular arithmetic: 21 times as fast).

Source: Alur, Kumar, Madhusudan and Viswanathan, Congruences for visibly pushdown languages, ICALP 2005.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from languages.automata.algebra import NestedAlgebra
from languages.automata.moore import UNDEFINED
from languages.automata.pushdown import PushdownTransducer
from languages.automata.visibly import CALL, RETURN, VisiblyPushdown
from languages.context_free.nested import NestedTask
from languages.tasks import TreeTask
from regulargpt.finite.specification import Flags, ForestUses, Ints, Specification


@dataclass(frozen=True, eq=False)
class NestedSpecification:
    """What every sub-word does, in the minimal algebra of the machine, and what the network must answer.

    Elements are those of the algebra, and one more, M, that no word has: it has no answer, and products with it are M.

    >>> from languages.context_free.brackets import brackets
    >>> specification = NestedSpecification.from_task(brackets(2))
    >>> specification.words, specification.answers.tolist()
    (('', ')', '(', '(]', ')('), [1, 0, 0, 0, 0, -1])
    """

    machine: PushdownTransducer
    algebra: NestedAlgebra = field(repr=False)

    @classmethod
    def from_task(cls, task: NestedTask) -> NestedSpecification:
        """Raises AutomatonError or TooLarge if its algebra is too large, or its brackets are not visible."""
        return cls.of_machine(task.machine)

    @classmethod
    def of_machine(cls, machine: PushdownTransducer) -> NestedSpecification:
        return cls(machine, minimal_algebra(machine))

    @property
    def size(self) -> int:
        """How many elements there are of words."""
        return self.algebra.size

    @property
    def words(self) -> tuple[str, ...]:
        """A shortest word of each element."""
        return self.algebra.words

    @property
    def task_elements(self) -> Ints:
        """The elements as reports name them."""
        return np.arange(self.size + 1)

    @cached_property
    def answers(self) -> Ints:
        """The machine's answer to words of each element (M + 1,); -1 where it has none."""
        return np.append(self.algebra.answers, UNDEFINED).astype(np.int64)

    @property
    def answers_every_word(self) -> bool:
        """Whether the machine has an answer to every non-empty word."""
        after_one = np.unique(self.times[:-1][:, self.top.items])  # the last stands for no word
        return bool((self.answers[after_one[after_one < self.size]] >= 0).all())

    @cached_property
    def times(self) -> Ints:
        """What two sub-words do in turn (M + 1, M + 1)."""
        products = np.full((self.size + 1, self.size + 1), self.size)
        products[:-1, :-1] = np.where(self.algebra.product < 0, self.size, self.algebra.product)
        return products

    @cached_property
    def wrap(self) -> Ints:
        """What a word between a call and a return does (M + 1, calls, returns)."""
        elements = np.full((self.size + 1, *self.algebra.wrap.shape[1:]), self.size)
        elements[:-1] = np.where(self.algebra.wrap < 0, self.size, self.algebra.wrap)
        return elements

    @cached_property
    def letters(self) -> Ints:
        """The element (Sigma,) of each symbol as an item."""
        return self.algebra.letter.astype(np.int64)

    @cached_property
    def calls(self) -> Ints:
        return np.flatnonzero(self.algebra.direction == CALL)

    @cached_property
    def returns(self) -> Ints:
        return np.flatnonzero(self.algebra.direction == RETURN)

    @cached_property
    def top(self) -> ForestUses:
        """The forest that is the whole word."""
        return ForestUses(self.times, self.times, self.algebra.items.astype(np.int64), self.answers >= 0)

    @cached_property
    def inner(self) -> ForestUses:
        """The forests in pairs: useful is what some pair round it makes an item of a useful forest, inner or top."""
        items = self.algebra.items[self.algebra.flags[self.algebra.items] == 0].astype(np.int64)
        uses = ForestUses(self.times, self.times, items, np.zeros(self.size + 1, dtype=bool))
        while True:
            useful = np.asarray(self.in_some_pair(uses).any((1, 2)))
            if np.array_equal(useful, uses.useful):
                return uses
            uses = ForestUses(self.times, self.times, items, useful)

    def in_some_pair(self, inner: ForestUses) -> Flags:
        """Whether the pair (M + 1, calls, returns) round a word is useful as an item of some forest."""
        return (self.top.useful_items | inner.useful_items)[self.wrap]

    @cached_property
    def useful_pairs(self) -> Flags:
        """(M + 1, calls, returns)"""
        return self.in_some_pair(self.inner)


AnySpecification = Specification | NestedSpecification


def specification_of(task: TreeTask) -> AnySpecification:
    """The specification that a task gives. Raises AutomatonError or TooLarge as the two kinds do."""
    return NestedSpecification.from_task(task) if isinstance(task, NestedTask) else Specification.from_task(task)


@lru_cache(maxsize=8)
def minimal_algebra(machine: PushdownTransducer) -> NestedAlgebra:
    return NestedAlgebra.from_machine(VisiblyPushdown.from_machine(machine)).minimal()
