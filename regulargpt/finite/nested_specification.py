"""What a network has to answer to words with brackets: the algebra of a visibly pushdown machine, and its uses.

A forest of n items is a word of n letters over the elements of its items, so its levels are those of words (levels.py).
What differs from forest to forest is which elements are part of a word with an answer.

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
from regulargpt.finite.specification import Flags, Ints, relation_power
from regulargpt.models.tree.shape import Side


@dataclass(frozen=True, eq=False)
class ForestUses:
    """Which elements occur in forests made of `items` of which the whole is one of the `useful` elements (M + 1,).

    See `Uses` in levels.py; a span counts items.
    """

    times: Ints  # (M + 1, M + 1)
    items: Ints
    useful: Flags

    @cached_property
    def step(self) -> Flags:
        """Whether one more item leads from an element to another (M + 1, M + 1)."""
        step = np.zeros(self.times.shape, dtype=bool)
        step[np.arange(len(step))[:, None], self.times[:, self.items]] = True  # indices (M + 1, items)
        return step

    @cached_property
    def products(self) -> dict[int, Ints]:
        return {}

    def of_multiple(self, span: int) -> Ints:
        """The elements of rows of a multiple of `span` items, possibly none."""
        if span not in self.products:
            jump, found = relation_power(self.step, span), np.zeros(len(self.step), dtype=bool)
            found[0] = True
            while not np.array_equal(more := found | jump[found].any(0), found):
                found = more
            self.products[span] = np.flatnonzero(found)
        return self.products[span]

    def before(self, useful: Flags, span: int) -> Flags:
        """The elements (M + 1,) that are useful behind a multiple of `span` items."""
        return np.asarray(useful[self.times[self.of_multiple(span)]].any(0))

    def behind(self, useful: Flags, span: int) -> Flags:
        """The elements (M + 1,) that are useful with a multiple of `span` items behind them."""
        return np.asarray(useful[self.times[:, self.of_multiple(span)]].any(1))

    def can_be_inside(self, span: int, aligned: Side = "right") -> Flags:
        """The elements (M + 1,) of full nodes `span` items wide: on the side `aligned` stand full nodes, on the other
        any items."""
        before, behind = (1, span) if aligned == "right" else (span, 1)
        return self.before(self.behind(self.useful, behind), before)

    def can_be_rest(self, span: int, aligned: Side = "right") -> Flags:
        """The elements (M + 1,) of rests, beside which stand nodes `span` items wide."""
        return self.behind(self.useful, span) if aligned == "right" else self.before(self.useful, span)

    @property
    def useful_items(self) -> Flags:
        """The elements (M + 1,) that are useful among any other items."""
        return self.can_be_inside(1)


@dataclass(frozen=True, eq=False)
class NestedSpecification:
    """What every sub-word does, in the minimal algebra of the machine, and what the network must answer.

    Elements are those of the algebra, and one more, M, that no word has: it has no answer, and products with it are M.

    >>> from languages.context_free.brackets import brackets
    >>> specification = NestedSpecification.of(brackets(2))
    >>> specification.words, specification.answers.tolist()
    (('', ')', '(', '(]', ')('), [1, 0, 0, 0, 0, -1])
    """

    machine: PushdownTransducer
    algebra: NestedAlgebra = field(repr=False)

    @classmethod
    def of(cls, task: NestedTask) -> NestedSpecification:
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
        """Whether the machine has an answer to every word of one symbol or more."""
        after_one = np.unique(self.times[:-1][:, self.top.items])  # the last stands for no word
        return bool((self.answers[after_one[after_one < self.size]] >= 0).all())

    @cached_property
    def times(self) -> Ints:
        """What two sub-words do one after the other (M + 1, M + 1)."""
        found = np.full((self.size + 1, self.size + 1), self.size)
        found[:-1, :-1] = np.where(self.algebra.product < 0, self.size, self.algebra.product)
        return found

    @cached_property
    def wrap(self) -> Ints:
        """What a word between a call and a return does (M + 1, calls, returns)."""
        found = np.full((self.size + 1, *self.algebra.wrap.shape[1:]), self.size)
        found[:-1] = np.where(self.algebra.wrap < 0, self.size, self.algebra.wrap)
        return found

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
        return ForestUses(self.times, self.algebra.items.astype(np.int64), self.answers >= 0)

    @cached_property
    def inner(self) -> ForestUses:
        """The forests in pairs: useful is what some pair round it makes an item of a useful forest, inner or top."""
        items = self.algebra.items[self.algebra.flags[self.algebra.items] == 0].astype(np.int64)
        found = ForestUses(self.times, items, np.zeros(self.size + 1, dtype=bool))
        while True:
            useful = np.asarray(self.in_some_pair(found).any((1, 2)))
            if np.array_equal(useful, found.useful):
                return found
            found = ForestUses(self.times, items, useful)

    def in_some_pair(self, inner: ForestUses) -> Flags:
        """Whether the pair (M + 1, calls, returns) round a word is useful as an item of some forest."""
        return (self.top.useful_items | inner.useful_items)[self.wrap]

    @cached_property
    def useful_pairs(self) -> Flags:
        """(M + 1, calls, returns)"""
        return self.in_some_pair(self.inner)


@lru_cache(maxsize=8)
def minimal_algebra(machine: PushdownTransducer) -> NestedAlgebra:
    return NestedAlgebra.of(VisiblyPushdown.of(machine)).minimal()
