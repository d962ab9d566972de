"""A minimal Moore machine learned from questions alone: Angluin's L*, counter-examples as Rivest and Schapire do.

Two words are in one class while no known context tells them apart. A counter-example gives one context that does. Of a
finite automaton classes are states and contexts suffixes; nested_lstar.py has the algebra of words with brackets. That
would do without brackets, too, but not as well: contexts on both sides tell more words apart than states do, so in
modular arithmetic it asks 2.5 times as much and takes twice as long.

Sources: Angluin, Learning regular sets from queries and counterexamples, 1987; Rivest and Schapire, Inference of
finite automata using homing sequences, 1993.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from languages.automata import MooreMachine
from languages.convert.machines import AnyMachine
from regulargpt.finite.nonempty import EMPTY, Context, Word, machine, smallest_machine

Ints = npt.NDArray[np.int64]
Query = Callable[[Ints], Ints]  # the answers (n,) to words (n, T) of one length
Key = tuple[int, ...]  # what a guess needs the class of
Guess = TypeVar("Guess")
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
    in_order: list[Any] = [None] * len(words)
    for alike in places.values():
        answers = query(np.array([words[i] for i in alike], dtype=np.int64)).tolist()
        for i, answer in zip(alike, answers, strict=True):
            in_order[i] = answer
    return in_order


class ObservationTable(ABC, Generic[Guess]):
    """What is known of a language: a word of each class, and the contexts that tell classes apart.

    `ask` gives the answers to words; `known` are answers that need not be asked for. Words are of `kinds` kinds, each
    with contexts of its own. A guess raises Unbounded where it needs more than `most` classes.
    """

    def __init__(self, ask: Ask, most: int, kinds: int, known: Mapping[Word, int]) -> None:
        self.ask, self.most, self.known = ask, most, dict(known)
        self.words: list[Word] = [()]
        self.flags = [0]  # the kind of each word
        self.contexts: dict[int, list[Context]] = {kind: [((), ())] for kind in range(kinds)}
        self._hypothesis: Guess | None = None
        self._rows: dict[Word, tuple[int, ...]] = {}

    @property
    def hypothesis(self) -> Guess:
        """The guess so far. Raises Unbounded when there are too many classes."""
        if self._hypothesis is None:
            self._hypothesis = self.guess(self._close())
        return self._hypothesis

    @abstractmethod
    def guess(self, after: Mapping[Key, int]) -> Guess:
        """The guess by the class of what each key stands for."""

    @abstractmethod
    def wanted(self, after: Mapping[Key, int]) -> list[Key]:
        """What a guess still needs the classes of."""

    @abstractmethod
    def word(self, key: Key) -> tuple[Word, int]:
        """The word that a key stands for, and its kind."""

    @abstractmethod
    def proposed(self, words: Ints) -> Ints:
        """What the guess answers (n,) to words (n, T). Raises Unbounded where it would be too large."""

    @abstractmethod
    def proposal(self, alphabet: tuple[str, ...], output_names: tuple[str, ...]) -> AnyMachine:
        """The guess as a machine."""

    def machine(self, alphabet: tuple[str, ...], output_names: tuple[str, ...]) -> AnyMachine:
        """The machine of the guess, as small as it can be."""
        return self.smallest(self.proposal(alphabet, output_names))

    def smallest(self, proposal: Any) -> AnyMachine:
        """What a proposal is once nothing speaks against it."""
        return proposal

    @abstractmethod
    def refine(self, word: Word) -> None:
        """Learn from a wrongly answered word: one more context, and with it a class at least."""

    def answers(self, words: Iterable[Word]) -> list[int]:
        """The answers to words of any lengths; each is queried once."""
        wanted = list(words)
        if new := [word for word in dict.fromkeys(wanted) if word not in self.known]:
            self.known.update(zip(new, self.ask(new), strict=True))
        return [self.known[word] for word in wanted]

    def batch(self, words: Ints) -> Ints:
        """The answers (n,) to words (n, T); each is queried once, for near a tie another batch may say otherwise."""
        return np.array(self.answers(map(tuple, words.tolist())), dtype=np.int64)

    def rows(self, words: Sequence[Word], flags: Sequence[int]) -> list[tuple[int, ...]]:
        """The kind of each word, and its answers in the contexts of its kind: equal for words that are one so far.

        Of words that had a row, only what is new is asked.
        """
        known = [self._rows.get(word, (of,)) for word, of in zip(words, flags, strict=True)]
        asked = [
            [u + word + v for u, v in self.contexts[row[0]][len(row) - 1 :]]
            for word, row in zip(words, known, strict=True)
        ]
        flat = iter(self.answers(word for row in asked for word in row))
        found = [(*row, *(next(flat) for _ in more)) for row, more in zip(known, asked, strict=True)]
        self._rows.update(zip(words, found, strict=True))
        return found

    def _close(self) -> dict[Key, int]:
        """Classes for all that follows those that there are."""
        number = {row: e for e, row in enumerate(self.rows(self.words, self.flags))}
        after: dict[Key, int] = {}
        # Rows that are new become classes; what follows them is looked at in the next round.
        while wanted := self.wanted(after):
            words, flags = zip(*map(self.word, wanted), strict=True)
            for key, word, of, row in zip(wanted, words, flags, self.rows(words, flags), strict=True):
                if row not in number:
                    number[row] = len(self.words)
                    self.words.append(word)
                    self.flags.append(of)
                    if len(self.words) > self.most:
                        raise Unbounded
                after[key] = number[row]
        return after

    def parting(self, last: int, word: Callable[[int], Word]) -> int:
        """Where the answer to words that the guess takes for one changes, of those from 0 to the `last`: by bisection.

        The first is one that is answered wrongly, of the last the guess has the answer.
        """
        low, high = 0, last
        start, end = self.answers([word(low)])[0], self.answers([word(high)])[0]
        assert start != end, "the word is no counter-example"
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.answers([word(middle)])[0] == start else (low, middle)
        return high

    def tell_apart(self, flags: int, context: Context) -> None:
        """One more context for words of a kind."""
        self.contexts[flags].append(context)
        self._hypothesis = None


class Learner(ObservationTable[tuple[Ints, Ints]]):
    """L* for finite automata: a class is a state, which is what follows a word, so contexts are suffixes.

    The guess is a machine: transitions (Q, Sigma) and answers (Q,), from state 0. `empty` is the answer to the empty
    word, which nobody is asked, where a machine is smallest with several.

    >>> learner = Learner(2, lambda words: [sum(word) % 3 for word in words], most_states=10)
    >>> table, colours = learner.hypothesis
    >>> table.tolist(), colours.tolist()
    ([[1, 2], [1, 2], [2, 3], [3, 1]], [-2, 0, 1, 2])
    """

    def __init__(self, n_symbols: int, ask: Ask, most_states: int, empty: int | None = None):
        super().__init__(ask, most_states, 1, {(): EMPTY})
        self.n_symbols, self.empty = n_symbols, empty

    def guess(self, after: Mapping[Key, int]) -> tuple[Ints, Ints]:
        table = np.array([*after.values()], dtype=np.int64).reshape(-1, self.n_symbols)  # (Q, Sigma)
        return table, np.array(self.answers(self.words), dtype=np.int64)

    def wanted(self, after: Mapping[Key, int]) -> list[Key]:
        new = range(len(after) // self.n_symbols, len(self.words))
        return [(q, a) for q in new for a in range(self.n_symbols)]

    def word(self, key: Key) -> tuple[Word, int]:
        return (*self.words[key[0]], key[1]), 0

    def proposed(self, words: Ints) -> Ints:
        table, colours = self.hypothesis
        states = np.zeros(len(words), dtype=np.int64)
        for symbols in words.T:
            states = table[states, symbols]
        return np.maximum(colours, -1)[states]

    def proposal(self, alphabet: tuple[str, ...], output_names: tuple[str, ...]) -> MooreMachine:
        return machine(*self.hypothesis, alphabet, output_names)

    def smallest(self, proposal: MooreMachine) -> MooreMachine:
        """The minimal machine, with the answer to the empty word that makes it smallest."""
        return smallest_machine(*self.hypothesis, proposal.alphabet, proposal.output_names, self.empty)

    def refine(self, word: Word) -> None:
        table, _ = self.hypothesis
        path = [0]
        for symbol in word:
            path.append(int(table[path[-1], symbol]))
        # "Access word, then rest of the word": where its answer changes, there is the suffix.
        at = self.parting(len(word), lambda i: self.words[path[i]] + word[i:])
        self.tell_apart(0, ((), word[at:]))
