"""A minimal Moore machine learned from questions alone: Angluin's L*, counter-examples as Rivest and Schapire do.

Two words are in one state while no known suffix tells them apart. A counter-example gives one suffix that does.
Sources: Angluin, Learning regular sets from queries and counterexamples, 1987; Rivest and Schapire, Inference of
finite automata using homing sequences, 1993.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from languages.automata import MooreMachine
from regulargpt.finite.nonempty import EMPTY, Word, smallest_machine

Ints = npt.NDArray[np.int64]
Query = Callable[[Ints], Ints]  # the answers (n,) to words (n, T) of one length
Ask = Callable[[Sequence[Word]], Sequence[int]]  # the answers to words of any lengths


class Unbounded(Exception):
    """There are more states than were allowed."""


class TooLong(Unbounded):
    """There may be no more states than were allowed, but longer words would have to tell them apart."""


def by_length(query: Callable[[Ints], npt.NDArray[Any]], words: Sequence[Word]) -> list[Any]:
    """The answers to words of any lengths, a length at a time.

    >>> by_length(lambda words: words.sum(1), [(1,), (1, 1), (0,)])
    [1, 2, 0]
    """
    places: dict[int, list[int]] = defaultdict(list)
    for i, word in enumerate(words):
        places[len(word)].append(i)
    found: list[Any] = [None] * len(words)
    for alike in places.values():
        answers = query(np.array([words[i] for i in alike], dtype=np.int64)).tolist()
        for i, answer in zip(alike, answers, strict=True):
            found[i] = answer
    return found


class Learner:
    """What is known of a language: access words, one a state, and the suffixes that tell them apart.

    `empty` is the answer to the empty word, which nobody is asked, where a machine is smallest with several.

    >>> learner = Learner(2, lambda words: [sum(word) % 3 for word in words], most_states=10)
    >>> table, colours = learner.hypothesis()
    >>> table.tolist(), colours.tolist()
    ([[1, 2], [1, 2], [2, 3], [3, 1]], [-2, 0, 1, 2])
    """

    def __init__(self, n_symbols: int, ask: Ask, most_states: int, empty: int | None = None):
        self.n_symbols, self.ask, self.most_states, self.empty = n_symbols, ask, most_states, empty
        self.access: list[Word] = [()]
        self.suffixes: list[Word] = [()]
        self.known: dict[Word, int] = {(): EMPTY}
        self._hypothesis: tuple[Ints, Ints] | None = None
        self._rows: dict[Word, tuple[int, ...]] = {}

    def answers(self, words: Iterable[Word]) -> list[int]:
        """The answers to words of any lengths; each is asked once."""
        wanted = list(words)
        if new := [word for word in dict.fromkeys(wanted) if word not in self.known]:
            self.known.update(zip(new, self.ask(new), strict=True))
        return [self.known[word] for word in wanted]

    def batch(self, words: Ints) -> Ints:
        """The answers (n,) to words (n, T); each is asked once, for near a tie another batch may say otherwise."""
        return np.array(self.answers(map(tuple, words.tolist())), dtype=np.int64)

    def rows(self, words: list[Word]) -> list[tuple[int, ...]]:
        """What follows each word by each suffix; of words that had a row, only by what is new."""
        known = [self._rows.get(word, ()) for word in words]
        asked = [
            [word + suffix for suffix in self.suffixes[len(row) :]] for word, row in zip(words, known, strict=True)
        ]
        flat = iter(self.answers(word for row in asked for word in row))
        found = [(*row, *(next(flat) for _ in more)) for row, more in zip(known, asked, strict=True)]
        self._rows.update(zip(words, found, strict=True))
        return found

    def hypothesis(self) -> tuple[Ints, Ints]:
        """The machine so far: transitions (Q, Sigma) and answers (Q,), from state 0.

        Raises Unbounded when there are too many states.
        """
        if self._hypothesis is None:
            self._hypothesis = self._close()
        return self._hypothesis

    def _close(self) -> tuple[Ints, Ints]:
        """States for all that follows those that there are."""
        state = {row: q for q, row in enumerate(self.rows(self.access))}
        table: list[list[int]] = []
        # Rows that are new become states, whose successors are looked at in the next round.
        while len(table) < len(self.access):
            new = self.access[len(table) :]
            after = [(*word, a) for word in new for a in range(self.n_symbols)]
            found: list[int] = []
            for word, row in zip(after, self.rows(after), strict=True):
                if row not in state:
                    state[row] = len(self.access)
                    self.access.append(word)
                    if len(self.access) > self.most_states:
                        raise Unbounded
                found.append(state[row])
            table += [found[i : i + self.n_symbols] for i in range(0, len(found), self.n_symbols)]
        return np.array(table, dtype=np.int64), np.array(self.answers(self.access), dtype=np.int64)

    def proposed(self, words: Ints) -> Ints:
        """What the machine so far answers (n,) to words (n, T)."""
        table, colours = self.hypothesis()
        states = np.zeros(len(words), dtype=np.int64)
        for symbols in words.T:
            states = table[states, symbols]
        return np.maximum(colours, -1)[states]

    def machine(self, alphabet: tuple[str, ...], output_names: tuple[str, ...]) -> MooreMachine:
        """The machine so far, minimal, with the answer to the empty word that makes it smallest."""
        return smallest_machine(*self.hypothesis(), alphabet, output_names, self.empty)

    def refine(self, word: Word) -> None:
        """Take the suffix of a wrongly answered word at which the machine and the language part."""
        table, _ = self.hypothesis()
        path = [0]
        for symbol in word:
            path.append(int(table[path[-1], symbol]))

        def after(i: int) -> int:
            return self.answers([self.access[path[i]] + word[i:]])[0]

        # Bisection: on the way the answer to "access word, then rest of the word" changes; there is the suffix.
        low, high = 0, len(word)
        start = after(low)
        assert start != after(high), "the word is no counter-example"
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if after(middle) == start else (low, middle)
        self.suffixes.append(word[high:])
        self._hypothesis = None
