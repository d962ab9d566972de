"""Deterministic automata: the regular languages, with their Boolean operations."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from languages.automata import operations
from languages.automata.moore import MooreMachine
from languages.automata.semiautomaton import Semiautomaton, Words, aligned, numbered
from languages.automata.validation import Delta as Delta  # the inherited constructor's type is looked up here
from languages.automata.validation import Names, check_state, check_states
from languages.errors import AutomatonError


@dataclass(frozen=True)
class Dfa(Semiautomaton):
    """A semiautomaton with an initial state q_0 and accepting states F: a regular language.

    `~`, `&`, `|`, `-` and `^` are complement, intersection, union, difference and symmetric difference; both
    languages must have the same symbols. `==` compares the machines, `equivalent` the languages.

    >>> even = Dfa(("even", "odd"), ("0", "1"), ((0, 1), (1, 0)), "even", {"even"})
    >>> even.accepts([[0, 1, 1], [1, 1, 1]]).tolist(), "0110" in even
    ([True, False], True)
    >>> (even & ~even).is_empty(), even.counterexample(~even)
    (True, '')
    """

    initial: str
    accepting: AbstractSet[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_state(self.initial, self.states, "the initial state is")
        if isinstance(self.accepting, str):
            raise AutomatonError(f"accepting states are a set of names; give {{{self.accepting!r}}}")
        check_states(self.accepting, self.states, "the accepting states include")
        self._set(accepting=frozenset(self.accepting))

    @cached_property
    def initial_index(self) -> int:
        return self.states.index(self.initial)

    @cached_property
    def is_accepting(self) -> npt.NDArray[np.bool_]:
        """Whether each state accepts (Q,), read-only."""
        # An array, for membership of a whole batch is one look-up.
        flags = np.array([state in self.accepting for state in self.states])
        flags.setflags(write=False)
        return flags

    def _default_start(self) -> int:
        return self.initial_index

    def accepts(self, words: Words, every: bool = False) -> npt.NDArray[np.bool_]:
        """Whether each word is in the language (batch,), or with `every` each prefix (batch, length)."""
        return np.asarray(self.is_accepting[self.run(words, every=every)])

    def __contains__(self, word: str) -> bool:
        return bool(self.accepts(word))

    @classmethod
    def from_regex(cls, pattern: str, alphabet: Names | None = None) -> Dfa:
        """The minimal automaton of a regular expression over single characters.

        `ab` one after the other, `a|b` union, `a*` any number, `a+` one or more, `a?` one or none, `a{2}`, `a{2,}`,
        `a{,3}` and `a{2,3}` so many, `(...)` a group, `()` the empty word, `a&b` intersection, `a^b` shuffle, `.` any
        symbol, `[ab]`, `[a-c]` and `[^ab]` one symbol of a class. Quantifiers bind most tightly, then concatenation,
        `^`, `&` and `|`. `∪ Σ ε ∅ ∗ ·` mean what textbooks mean, unless they are in `alphabet`. Other characters stand
        for themselves; there are no escapes. `alphabet` gives the symbols in order; by default the characters that
        stand for themselves, sorted.

        LanguageError, with the position: a syntax error, a character outside the alphabet, no symbols at all.
        TooLarge: an expression or automaton beyond the limits of docs/languages.md.

        >>> Dfa.from_regex("(ab)*").states
        ('q0', 'q1', 'q2')
        >>> Dfa.from_regex("0*1", alphabet="012").accepts("0021").item()
        False
        >>> [word in Dfa.from_regex("a{0}b^c") for word in ("bc", "cb", "abc")]
        [True, True, False]
        """
        from languages.regex.expression import deterministic_table  # a parser that most automata do not need

        symbols, rows, accepting = deterministic_table(pattern, alphabet)
        states = numbered(len(rows))
        final = {state for state, accepts in zip(states, accepting, strict=True) if accepts}
        return cls(states, symbols, rows, states[0], final).minimise()

    def as_moore(self, output_names: tuple[str, str] = ("reject", "accept")) -> MooreMachine:
        """The transducer that answers 1 where this accepts and 0 elsewhere."""
        outputs = tuple(int(flag) for flag in self.is_accepting)
        return MooreMachine(self.states, self.alphabet, self.delta, self.initial, outputs, output_names)

    def __invert__(self) -> Dfa:
        return replace(self, accepting=frozenset(self.states) - self.accepting)

    def __and__(self, other: Dfa) -> Dfa:
        return self._product(other, np.logical_and)

    def __or__(self, other: Dfa) -> Dfa:
        return self._product(other, np.logical_or)

    def __sub__(self, other: Dfa) -> Dfa:
        return self._product(other, np.greater)

    def __xor__(self, other: Dfa) -> Dfa:
        return self._product(other, np.not_equal)

    def _product(self, other: Dfa, rule: np.ufunc) -> Dfa:
        """The accessible part of the product automaton; a pair of states accepts where `rule` says so."""
        right_table = aligned(self, other)
        product = operations.search_product(self.table, self.initial_index, right_table, other.initial_index)
        left, right = operations.pairs(product, other.n_states)
        # The states keep their names, "(p, q)", so that a product can be read; `_dfa` numbers them where two agree.
        accepting = rule(self.is_accepting[left], other.is_accepting[right])
        names = [f"({self.states[p]}, {other.states[q]})" for p, q in zip(left, right, strict=True)]
        return _dfa(product.table, accepting, self.alphabet, names)

    def is_empty(self) -> bool:
        return not self.is_accepting[operations.search(self.table, self.initial_index).nodes].any()

    def minimise(self) -> Dfa:
        """The minimal complete automaton, states named q0, q1, ... in breadth-first order.

        Two automata with one alphabet have equal (`==`) minimal ones exactly if their languages are equal.
        """
        table, flags = operations.minimise(self.table, self.initial_index, self.is_accepting.astype(np.intp))
        return _dfa(table, flags.astype(np.bool_), self.alphabet)

    def reverse(self) -> Dfa:
        """The automaton of the words read backwards, by the subset construction; it can have 2**Q states."""
        table, flags = operations.reverse(self.table, self.initial_index, self.is_accepting)
        return _dfa(table, flags, self.alphabet)

    def counterexample(self, other: Dfa) -> str | None:
        """The shortest word in one language only, the first of them in the alphabet's order; None if equal.

        >>> Dfa.from_regex("(ab)*").counterexample(Dfa.from_regex("(ab)*|ba"))
        'ba'
        """
        word = operations.counter_example(
            (self.table, self.initial_index, self.is_accepting.astype(np.intp)),
            (aligned(self, other), other.initial_index, other.is_accepting.astype(np.intp)),
        )
        return None if word is None else self.decode(word)

    def equivalent(self, other: Dfa) -> bool:
        return self.counterexample(other) is None


def _dfa(
    table: operations.Table,
    accepting: npt.NDArray[np.bool_],
    alphabet: tuple[str, ...],
    names: Sequence[str] | None = None,
) -> Dfa:
    """The Dfa of a table whose first state is initial; numbered where `names` repeats one or is not given."""
    states = tuple(names) if names and len(set(names)) == len(names) else numbered(len(table))
    return Dfa(states, alphabet, table, states[0], {states[i] for i in np.flatnonzero(accepting)})
