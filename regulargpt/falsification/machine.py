"""What the searches ask of the language's machine: which states still lead to a question, and words that lead there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from languages.automata import MooreMachine, operations
from languages.automata.moore import UNDEFINED
from languages.sampling.graph import closure

Word = tuple[int, ...]
MOST_STATES = 64
"""From which cycles and endings are looked for: each takes a search through the machine."""


@dataclass(frozen=True)
class Guide:
    """A minimal machine (outputs -1: no question), for searches that follow it.

    >>> import languages
    >>> guide = Guide(languages.get("parity").machine)
    >>> guide.counts(4).astype(int).tolist(), guide.access, guide.cycles()
    ([2, 4, 8, 16], [(), (1,)], [(0, (0,)), (0, (1, 1)), (1, (0,)), (1, (1, 1))])
    """

    machine: MooreMachine

    @property
    def table(self) -> npt.NDArray[np.int32]:
        return self.machine.table

    @property
    def right(self) -> npt.NDArray[np.int64]:
        """The number of the right answer in each state (Q,)."""
        return self.machine.output_table

    @cached_property
    def alive(self) -> npt.NDArray[np.bool_]:
        """(Q,) the states from which a word, the empty word too, leads to a question."""
        n = self.machine.n_symbols
        targets = self.table.ravel().astype(np.intp)  # (Q * Sigma,)
        return closure(self.right != UNDEFINED, targets, np.repeat(np.arange(len(self.table)), n))

    @property
    def is_total(self) -> bool:
        """Whether every non-empty word is a question."""
        return bool((self.right[np.unique(self.table)] != UNDEFINED).all())

    def counts(self, longest: int) -> npt.NDArray[np.float64]:
        """How many words of 1..longest symbols can go on to a question."""
        ways, totals = np.zeros(len(self.table)), []
        ways[self.machine.initial_index] = 1.0
        for _ in range(longest):
            after = np.zeros(len(ways))
            np.add.at(after, self.table, ways[:, None])  # (Q, Sigma)
            ways = np.where(self.alive, after, 0.0)
            totals.append(ways.sum())
        return np.array(totals)

    def extended(
        self, words: npt.NDArray[np.integer], states: npt.NDArray[np.integer]
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.integer], npt.NDArray[np.integer]]:
        """Words (n, T) with their states (n,), each with one symbol more that can go on to a question.

        Which word each came from, the words, their states.
        """
        after = self.table[states]  # (n, Sigma)
        of, symbol = np.nonzero(self.alive[after])
        longer = np.concatenate([words[of], symbol[:, None].astype(words.dtype)], axis=1)
        return of, longer, after[of, symbol]

    @cached_property
    def access(self) -> list[Word]:
        """A shortest word to each state, in the order of the states of a minimal machine."""
        tree = operations.search(self.table, self.machine.initial_index)
        words = {int(node): tuple(tree.word(at).tolist()) for at, node in enumerate(tree.nodes)}
        return [words.get(state, ()) for state in range(len(self.table))]

    def cycles(self, most: int = 2) -> list[tuple[int, Word]]:
        """At each state alive some shortest cycles, by different first symbols: (state, word)."""
        cycles = []
        for state in np.flatnonzero(self.alive)[:MOST_STATES].tolist():
            words = [word for a in range(self.machine.n_symbols) if (word := self.back(state, a)) is not None]
            cycles += [(state, word) for word in sorted(words, key=len)[:most]]
        return cycles

    def back(self, state: int, symbol: int) -> Word | None:
        """A shortest cycle that begins with this symbol; None if there is none."""
        tree = operations.search(self.table, int(self.table[state, symbol]))
        at = np.flatnonzero(tree.nodes == state)
        return (symbol, *tree.word(int(at[0])).tolist()) if len(at) else None

    def endings(self) -> list[Word]:
        """The empty word, all symbols, and from states that are no question a shortest word to one."""
        symbols = [(a,) for a in range(self.machine.n_symbols)]
        others = np.flatnonzero(self.alive & (self.right == UNDEFINED))[:MOST_STATES]
        return list(dict.fromkeys([(), *symbols, *map(self.ending, others.tolist())]))

    def ending(self, state: int) -> Word:
        """A shortest word from this state to a question."""
        tree = operations.search(self.table, state)
        at = int((self.right[tree.nodes] != UNDEFINED).argmax())
        return tuple(tree.word(at).tolist())
