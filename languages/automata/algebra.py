"""The finite algebra of a visibly pushdown machine: what the transition monoid is to a finite automaton.

A well-matched word u acts on the states alone, f_u: Q -> Q, and there are finitely many such functions. Two operations
make them: f_{uv} = f_v after f_u, and wrap_{a,b}(f)(q) = delta_r(f(q'), g, b) with (q', g) = delta_c(q, a), f_{aub}.
A word with pending brackets acts too, on what stays: a pending return as q -> delta_bottom(q, b), a pending call as
q -> q'. Such words stand at the top level only, and a pending call never left of a pending return: they would match.

Source: Alur, Kumar, Madhusudan and Viswanathan, Congruences for visibly pushdown languages, ICALP 2005.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count, product
from typing import Any

import numpy as np
import numpy.typing as npt

from languages.automata.congruence import refine
from languages.automata.nesting import partners
from languages.automata.visibly import CALL, RETURN, VisiblyPushdown
from languages.automata.words import decode
from languages.budget import VARIABLE, TooLarge, allowed

Ints = npt.NDArray[np.intp]
NONE = -1  # no such product, no such element
PENDING_RETURN, PENDING_CALL = 1, 2  # flags of an element; a well-matched element has neither
MAX_ELEMENTS, MAX_PRODUCTS = 4000, 2**22


@dataclass(frozen=True, eq=False)
class NestedAlgebra:
    """Elements are numbered by the length of their shortest words; element 0 is the identity, the empty word's.

    >>> from languages.context_free.brackets import brackets
    >>> algebra = NestedAlgebra.from_machine(brackets(2).visibly).minimal()
    >>> algebra.words  # balanced, a bracket too many on either side, wrong, too many on both
    ('', ')', '(', '(]', ')(')
    """

    alphabet: tuple[str, ...]
    direction: Ints  # (Sigma,)
    product: Ints = field(repr=False)  # (M, M): at [i, j] "word of i, then word of j"; -1 for call left of return
    wrap: Ints = field(repr=False)  # (M, calls, returns): "a, word of i, b"; -1 where it has pending brackets
    letter: Ints = field(repr=False)  # (Sigma,) the element of each symbol as a word; of a bracket, pending
    flags: Ints = field(repr=False)  # (M,) PENDING_RETURN + PENDING_CALL
    answers: Ints = field(repr=False)  # (M,) the answer to a word of the element, -1 for none
    least: tuple[tuple[int, ...], ...] = field(repr=False)  # a shortest word of each
    items: Ints = field(repr=False)  # the elements of single items: of symbols and pairs; they generate all

    @classmethod
    def from_machine(cls, machine: VisiblyPushdown) -> NestedAlgebra:
        """All that words do to the states of a machine. TooLarge for more than 4,000 elements."""
        return Closure(machine).algebra()

    @property
    def size(self) -> int:
        return len(self.flags)

    @property
    def words(self) -> tuple[str, ...]:
        """A shortest word of each element."""
        return tuple(decode(np.array(word, dtype=np.intp), self.alphabet) for word in self.least)

    def of_word(self, word: npt.NDArray[Any]) -> int:
        """The element of a word (length,), along its brackets."""
        direction = self.direction[word]
        partner = partners(direction[None])[0].tolist()
        calls, returns = (np.flatnonzero(self.direction == kind).tolist() for kind in (CALL, RETURN))
        open_elements, element = list[int](), 0
        for i, symbol in enumerate(word.tolist()):
            if partner[i] == NONE:
                element = int(self.product[element, self.letter[symbol]])
            elif direction[i] == CALL:
                open_elements.append(element)
                element = 0
            else:
                a, b = calls.index(int(word[partner[i]])), returns.index(symbol)
                element = int(self.product[open_elements.pop(), self.wrap[element, a, b]])
        return element

    def minimal(self) -> NestedAlgebra:
        """Elements that no context tells apart as one: the same for every machine with these answers.

        The coarsest congruence that keeps answers, "no question" being an answer, and what is pending.
        """
        right, left = self.product[:, self.items], self.product[self.items].T  # (M, items) both
        translations = np.concatenate([right, left, self.wrap.reshape(self.size, -1)], axis=1)  # (M, calls * returns)
        # What there is none of is another element, with a colour of its own.
        table = np.where(translations == NONE, self.size, translations)
        table = np.concatenate([table, np.full_like(table[:1], self.size)])
        colours = np.append((self.answers + 1) * 4 + self.flags, NONE)
        classes, _ = refine(table, np.unique(colours, return_inverse=True)[1], rounds=len(table))
        first = np.sort(np.unique(classes[:-1], return_index=True)[1])  # a shortest word's element of each class
        number = np.full(classes.max() + 1, NONE)
        number[classes[first]] = np.arange(len(first))
        to: Ints = np.append(number[classes[:-1]], NONE)  # index -1, none, stays none
        return NestedAlgebra(
            self.alphabet,
            self.direction,
            to[self.product[np.ix_(first, first)]],
            to[self.wrap[first]],
            to[self.letter],
            self.flags[first],
            self.answers[first],
            tuple(self.least[int(i)] for i in first),
            np.unique(to[self.items]),
        )


class Closure:
    """The functions that words induce, shortest words first."""

    def __init__(self, machine: VisiblyPushdown) -> None:
        self.machine = machine
        self.functions: list[Ints] = []
        self.flags: list[int] = []
        self.least: list[tuple[int, ...]] = []
        self.number: dict[tuple[bytes, int], int] = {}
        self.items: dict[int, int] = {}  # element of a single item -> its place among the items
        self.split: list[tuple[int, int]] = []  # of each element: what it is the product of, an element and an item
        self.right: dict[tuple[int, int], int] = {}
        self._serial, self._queue = count(), list[Any]()
        self._close()

    def _close(self) -> None:
        machine, kind = self.machine, np.intp
        self._reach(np.arange(machine.n_states, dtype=kind), 0, (), False, (0, NONE))
        for i, x in enumerate(machine.internals.tolist()):
            self._reach(machine.internal_to[:, i], 0, (x,), True, (0, NONE))
        for i, b in enumerate(machine.returns.tolist()):
            self._reach(machine.bottom_to[:, i], PENDING_RETURN, (b,), True, (0, NONE))
        for i, a in enumerate(machine.calls.tolist()):
            self._reach(machine.call_to[:, i], PENDING_CALL, (a,), True, (0, NONE))
        while self._queue:
            _, _, function, flags, word, item, split = heappop(self._queue)
            key = function.tobytes(), flags
            if is_new := key not in self.number:
                self._add(key, function, flags, word, split)
            element = self.number[key]
            if item and element not in self.items:
                self.items[element] = len(self.items)
                for before in range(len(self.functions)):
                    self._multiply(before, element)
            if is_new:
                for other in list(self.items):
                    if other != element:
                        self._multiply(element, other)
                if not flags:
                    self._wrap(function, word)

    def _add(self, key: tuple[bytes, int], function: Ints, flags: int, word: tuple[int, ...], split: Any) -> None:
        if len(self.functions) >= (most := allowed(MAX_ELEMENTS)) or len(self.right) > allowed(MAX_PRODUCTS):
            raise TooLarge(f"the algebra has more than {most:,} elements; use a smaller machine, or set {VARIABLE}=2")
        self.number[key] = len(self.functions)
        self.functions.append(function)
        self.flags.append(flags)
        self.least.append(word)
        self.split.append(split)

    def _reach(self, function: Ints, flags: int, word: tuple[int, ...], item: bool, split: tuple[int, int]) -> None:
        heappush(self._queue, (len(word), next(self._serial), np.ascontiguousarray(function), flags, word, item, split))

    def _multiply(self, before: int, item: int) -> None:
        """An element, then an item; nothing where a call would stand left of a return."""
        if self.flags[before] & PENDING_CALL and self.flags[item] & PENDING_RETURN:
            return
        function, flags = self.functions[item][self.functions[before]], self.flags[before] | self.flags[item]
        if (known := self.number.get((function.tobytes(), flags))) is None:
            self._reach(function, flags, self.least[before] + self.least[item], False, (before, item))
        self.right[before, item] = NONE if known is None else known

    def _wrap(self, function: Ints, word: tuple[int, ...]) -> None:
        calls, returns = self.machine.calls.tolist(), self.machine.returns.tolist()
        for i, j in product(range(len(calls)), range(len(returns))):
            self._reach(self.wrapped(function, i, j), 0, (calls[i], *word, returns[j]), True, (0, NONE))

    def wrapped(self, function: Ints, a: int, b: int) -> Ints:
        """wrap_{a,b}(f) of every state."""
        inside = function[self.machine.call_to[:, a]]
        return self.machine.return_to[inside, self.machine.pushed[:, a], b]

    def algebra(self) -> NestedAlgebra:
        machine, items = self.machine, np.array(list(self.items), dtype=np.intp)
        functions, flags = np.array(self.functions), np.array(self.flags, dtype=np.intp)
        size = len(functions)
        right = np.full((size + 1, len(items)), NONE)  # the last row, index -1, is that of no element
        for (before, item), known in self.right.items():
            if known == NONE:
                key = functions[item][functions[before]].tobytes(), int(flags[before] | flags[item])
                known = self.number[key]
            right[before, self.items[item]] = known
        table = np.full((size, size), NONE)
        table[:, 0] = np.arange(size)
        # u (v i) = (u v) i: column by column, as every element but items and the identity is a shorter one and an item.
        for element in range(1, size):
            before, item = (0, element) if element in self.items else self.split[element]
            table[:, element] = right[table[:, before], self.items[item]]
        wrap = np.full((size, len(machine.calls), len(machine.returns)), NONE)
        for element, a, b in np.argwhere(wrap[flags == 0] == NONE).tolist():
            element = int(np.flatnonzero(flags == 0)[element])
            wrap[element, a, b] = self.number[self.wrapped(functions[element], a, b).tobytes(), 0]
        letter = [self._letter(symbol) for symbol in range(machine.machine.n_symbols)]
        return NestedAlgebra(
            machine.machine.alphabet,
            machine.direction,
            table,
            wrap,
            np.array(letter, dtype=np.intp),
            flags,
            machine.outputs[functions[:, machine.start]].astype(np.intp),
            tuple(self.least),
            items,
        )

    def _letter(self, symbol: int) -> int:
        machine, kind = self.machine, int(self.machine.direction[symbol])
        of, among, flag = {
            CALL: (machine.call_to, machine.calls, PENDING_CALL),
            RETURN: (machine.bottom_to, machine.returns, PENDING_RETURN),
        }.get(kind, (machine.internal_to, machine.internals, 0))
        return self.number[np.ascontiguousarray(of[:, int(among.searchsorted(symbol))]).tobytes(), flag]
