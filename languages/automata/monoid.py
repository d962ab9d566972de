"""The transition monoid of a semiautomaton: the finite set of functions that words induce on its states.

It is what a network that reads words in any order of composition has to learn: A(uv) = A(v) after A(u).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from languages.automata import Dfa, Semiautomaton, Words
from languages.automata.running import Runner
from languages.automata.words import checked, decode, encode, smallest_unsigned
from languages.budget import VARIABLE, TooLarge, allowed, hint
from languages.errors import AutomatonError

Elements = npt.NDArray[np.integer[Any]]

MAX_SIZE = 20_000
MAX_BYTES = 2**27  # of all elements together
MAX_STEPS = 2**31  # states times elements times symbols, where a product costs as much as 512 more states
MAX_TABLE = 10_000  # elements of a multiplication table: 200 MB


def most_elements(machine: Semiautomaton) -> int:
    """How many elements of its monoid are enumerated."""
    size = machine.n_states * np.dtype(smallest_unsigned(machine.n_states)).itemsize  # of each element
    steps = (machine.n_states + 512) * machine.n_symbols  # for each element
    return max(1, min(allowed(MAX_SIZE), allowed(MAX_BYTES) // size, allowed(MAX_STEPS) // steps))


@dataclass(frozen=True, eq=False)
class TransitionMonoid:
    """The monoid of a semiautomaton; elements are numbered in the shortlex order of their least words.

    `elements[i]` is element i as a function on the states, `right[i, a]` the element of "word of i, then
    symbol a". Element i > 0 was first reached from element `parent[i]` by symbol `symbol[i]`.
    Source: thesis, section 6.6.1; Eilenberg, Automata, languages and machines B, 1976.

    >>> flip = Semiautomaton(("even", "odd"), "01", ((0, 1), (1, 0)))
    >>> monoid = TransitionMonoid.from_machine(flip)
    >>> monoid.size, monoid.words, monoid.is_group
    (2, ('', '1'), True)
    >>> monoid.table.tolist(), monoid.of_word("0111").item()
    ([[0, 1], [1, 0]], 1)
    """

    alphabet: tuple[str, ...]
    elements: Elements = field(repr=False)  # (M, Q), the functions
    right: Elements = field(repr=False)  # (M, Sigma)
    parent: Elements = field(repr=False)  # (M,)
    symbol: Elements = field(repr=False)  # (M,)

    @classmethod
    def from_machine(cls, machine: Semiautomaton, max_size: int | None = None) -> TransitionMonoid:
        """All functions that words induce; TooLarge if there are more than `max_size`, by default 20,000.

        For a machine of thousands of states or symbols the default is less: what some seconds and 128 MiB allow.
        """
        most = most_elements(machine) if max_size is None else max_size
        steps = machine.table.T.astype(smallest_unsigned(machine.n_states), order="C")  # (Sigma, Q)
        identity = np.arange(machine.n_states, dtype=steps.dtype)
        number = {identity.tobytes(): 0}
        elements, origin = [identity], [(0, 0)]
        right: list[list[int]] = []
        # The list grows while it is gone through: breadth-first, so the words found are the shortlex least.
        for i, function in enumerate(elements):
            row: list[int] = []
            for a, product in enumerate(steps[:, function]):
                j = number.setdefault(product.tobytes(), len(elements))
                if j == len(elements):
                    elements.append(product)
                    origin.append((i, a))
                row.append(j)
            right.append(row)
            if len(elements) > most:
                remedy = "raise max_size" if max_size is not None else f"set {VARIABLE}=2 for twice as many"
                raise TooLarge(
                    f"the transition monoid has more than {most} elements; minimise the machine, or {remedy}"
                )
        parent, symbol = np.array(origin, dtype=np.intp).T  # (M,) each
        return cls(machine.alphabet, np.array(elements), np.array(right, dtype=np.intp), parent, symbol)

    @classmethod
    def syntactic(cls, dfa: Dfa, max_size: int | None = None) -> TransitionMonoid:
        """The syntactic monoid of a language: the transition monoid of its minimal automaton."""
        return cls.from_machine(dfa.minimise(), max_size)

    @property
    def size(self) -> int:
        return len(self.elements)

    @property
    def identity(self) -> int:
        return 0

    @property
    def generators(self) -> Elements:
        """The element of each symbol (Sigma,)."""
        return self.right[0]

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The shortlex least word of each element."""
        least: list[list[int]] = [[]]
        for parent, symbol in zip(self.parent[1:], self.symbol[1:], strict=True):
            least.append([*least[parent], int(symbol)])
        return tuple(decode(np.array(word, dtype=np.intp), self.alphabet) for word in least)

    @cached_property
    def left(self) -> Elements:
        """The element of "symbol a, then word of i" at [i, a] (M, Sigma)."""
        left = np.empty_like(self.right)
        left[0] = self.generators
        # a (w b) = (a w) b: from the parent's row, without multiplying functions.
        for i in range(1, self.size):
            left[i] = self.right[left[self.parent[i]], self.symbol[i]]
        return left

    @cached_property
    def table(self) -> Elements:
        """The multiplication table (M, M): at [i, j] the element of "word of i, then word of j"."""
        if self.size > allowed(MAX_TABLE):
            raise AutomatonError(
                f"the multiplication table of {self.size} elements is too large; at most {allowed(MAX_TABLE)} are "
                f"supported{hint(self.size, MAX_TABLE)}"
            )
        kind = smallest_unsigned(self.size)
        columns = np.empty((self.size, self.size), kind)
        columns[0] = np.arange(self.size, dtype=kind)
        steps = self.right.T.astype(kind, order="C")  # (Sigma, M)
        for j in range(1, self.size):
            columns[j] = steps[self.symbol[j]][columns[self.parent[j]]]
        return columns.T  # (M, M), row first, then column; made by columns, which are contiguous

    @cached_property
    def _runner(self) -> Runner:
        return Runner(self.right)

    def of_word(self, words: Words, every: bool = False) -> Elements:
        """The element of each word (batch,), or with `every` of each prefix (batch, length).

        `words`: a text, or symbol indices (length,) or (batch, length), as for `Semiautomaton.run`.
        """
        array = encode(words, self.alphabet) if isinstance(words, str) else checked(words, len(self.alphabet))
        batch = np.atleast_2d(array)
        elements = self._runner.run(batch, np.zeros(len(batch), np.intp), every)
        return elements if array.ndim == 2 else elements[0]

    @cached_property
    def idempotents(self) -> Elements:
        """The elements e with e e = e, ascending."""
        squares = np.take_along_axis(self.elements, self.elements, axis=1)
        return np.flatnonzero((squares == self.elements).all(axis=1))

    @cached_property
    def is_group(self) -> bool:
        """Whether every symbol permutes the states."""
        # A function of a finite set is a permutation if it misses no state.
        symbols = np.sort(self.elements[self.generators], axis=1)  # (Sigma, Q)
        return bool(np.all(symbols == self.elements[self.identity]))

    @cached_property
    def is_aperiodic(self) -> bool:
        """Whether the monoid is aperiodic, x**(n+1) = x**n for some n: the language is star-free.

        n = Q is enough for a function on Q states. Source: Schützenberger, On finite monoids having only
        trivial subgroups, 1965.
        """
        power, exponent = self.elements, 1
        while exponent < self.elements.shape[1]:
            power, exponent = np.take_along_axis(power, power, axis=1), 2 * exponent
        return bool((np.take_along_axis(self.elements, power, axis=1) == power).all())
