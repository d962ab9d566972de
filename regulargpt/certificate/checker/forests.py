"""Rows of items, as a word of symbols is one: which parts of them belong to a word with an answer.

A relation between states has a row for each state: those that it leads to, as the bits of a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from regulargpt.certificate.checker.files import Rejected

Function = tuple[int, ...]  # what a word does: the state it leads to from each state
Side = Literal["right", "left"]  # from which rows of items are cut into windows
Relation = list[int]
MAX_ROUNDS = 500  # until a relation is settled


class Forest:
    """Rows of items: `step` relates the states before and behind an item, `ends` those before and behind a whole row
    that is part of a word with an answer. `product` is of two functions, the first one first.

    Of a finite automaton the items are symbols, and rows are words, from the first state to a state with an answer.
    """

    def __init__(self, step: Relation, ends: Relation, product: Callable[[Function, Function], Function]):
        self.step, self.ends, self.functions = step, ends, Functions(product)
        self._power = 1, step  # a span, and what so many items do
        self._repeated = {0: [1 << q for q in range(len(step))]}
        self._useful: dict[tuple[int, int], Relation] = {}

    def can_be_inside(self, function: Function, span: int, aligned: Side) -> bool:
        """Whether a word with an answer can have such a node, `span` items wide, inside a row.

        On the side `aligned` of it stand nodes of so many items, on the other side any items.
        """
        return self.can_stand(function, *((1, span) if aligned == "right" else (span, 1)))

    def can_be_rest(self, function: Function, span: int, aligned: Side) -> bool:
        """Whether a word with an answer can have such a node at the end of a row, beside nodes `span` items wide.

        Aligned on the right, it begins the row, and the others follow. Aligned on the left, it ends the row, and the
        others stand before it.
        """
        return self.can_stand(function, *((0, span) if aligned == "right" else (span, 0)))

    def can_stand(self, function: Function, before: int, after: int) -> bool:
        """Whether it leads from a state to one that `useful` relates to it."""
        return any(ends >> p & 1 for p, ends in zip(function, self.useful(before, after), strict=True))

    def useful(self, before: int, after: int) -> Relation:
        """States q and p such that in some row of a word with an answer a multiple of `before` items leads to q, and
        a multiple of `after` items leads from p to the end. A multiple of none is none."""
        if (before, after) not in self._useful:
            first, then = self.repeated(before), self.repeated(after)
            relation = [0] * len(self.step)
            for start, ends in enumerate(self.ends):
                if ends:
                    last = bits(p for p, reached in enumerate(then) if reached & ends)
                    for q in states_of(first[start]):
                        relation[q] |= last
            self._useful[before, after] = relation
        return self._useful[before, after]

    def repeated(self, span: int) -> Relation:
        """What rows of a multiple of `span` items, possibly none, lead to."""
        if span not in self._repeated:
            # C^(l + 1) is a multiple of C^l: what the next level's nodes do is a power of what the last one's do.
            known, done = self._power if span % self._power[0] == 0 else (1, self.step)
            self._power = span, power(done, span // known)
            self._repeated[span] = closure(self._power[1])
        return self._repeated[span]

    def reached(self, start: int) -> set[int]:
        """The states that rows of one item or more lead to."""
        return states_of(union(self.repeated(1), self.step[start]))

    def has_loop(self) -> bool:
        """Whether a word with an answer can have rows of any length: some part of one leads back to where it began."""
        return any(ends >> q & 1 and q in self.reached(q) for q, ends in enumerate(self.useful(1, 1)))


class Functions:
    """The functions on states that rows of items have, numbered as they come."""

    def __init__(self, product: Callable[[Function, Function], Function]):
        self._product, self.all = product, list[Function]()
        self._number: dict[Function, int] = {}

    def number(self, function: Function) -> int:
        if function not in self._number:
            self._number[function] = len(self.all)
            self.all.append(function)
        return self._number[function]

    def product(self, first: int, then: int) -> int:
        """What two rows do in turn."""
        return self.number(self._product(self.all[first], self.all[then]))


def bits(states: Iterable[int]) -> int:
    """A set of states as the bits of a number."""
    return sum(1 << q for q in states)


def states_of(bits: int) -> set[int]:
    """The states that the bits of a number stand for.

    >>> states_of(0b101)
    {0, 2}
    """
    return {q for q, bit in enumerate(reversed(f"{bits:b}")) if bit == "1"}


def union(relation: Relation, states: int) -> int:
    """What a relation leads to from any of these states, as bits."""
    union_bits = 0
    for q in states_of(states):
        union_bits |= relation[q]
    return union_bits


def power(relation: Relation, steps: int) -> Relation:
    """What so many steps lead to, by squaring.

    >>> [f"{states:03b}" for states in power([0b010, 0b100, 0b101], 3)]
    ['101', '111', '111']
    """

    def after(first: Relation, then: Relation) -> Relation:
        return [union(then, states) for states in first]

    result = [1 << q for q in range(len(relation))]
    while steps:
        if steps & 1:
            result = after(result, relation)
        steps >>= 1
        if steps:
            relation = after(relation, relation)
    return result


def closure(relation: Relation) -> Relation:
    """What any number of steps leads to, possibly none (Warshall 1962).

    >>> [f"{states:03b}" for states in closure([0b010, 0b000, 0b001])]
    ['011', '010', '111']
    """
    reach = [states | 1 << q for q, states in enumerate(relation)]
    for q in range(len(reach)):
        behind = reach[q]
        reach = [states | behind if states >> q & 1 else states for states in reach]
    return reach


def either(first: Relation, second: Relation) -> Relation:
    """What one of two relations leads to."""
    return [mine | other for mine, other in zip(first, second, strict=True)]


def settled(change: Callable[[Relation], Relation], relation: Relation) -> Relation:
    """The relation that a change, made again and again, does not change any more."""
    for _ in range(MAX_ROUNDS):
        changed = change(relation)
        if changed == relation:
            return relation
        relation = changed
    raise Rejected(f"what rows of items do is not settled within {MAX_ROUNDS} rounds: too many to go through")
