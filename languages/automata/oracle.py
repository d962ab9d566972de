"""Machines beyond a stack: the answers of a Python function, in place of a table of moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from languages.automata.semiautomaton import Words
from languages.automata.words import Indices, Text, checked, decode, encode

Answering = Callable[[Indices], npt.NDArray[np.int64]]


@dataclass(frozen=True)
class Oracle:
    """What answers words of a language above the context-free ones: `function` of words (batch, length).

    It gives an index into `output_names` after each symbol, (batch, length), -1 where nothing is to be answered.
    `last` gives the answers (batch,) after the last symbol alone, where that is quicker.

    >>> zeros = Oracle(("0", "1"), ("even", "odd"), lambda words: (words == 0).cumsum(1) % 2)
    >>> zeros.answers("0010").item(), zeros.answers("0010", every=True).tolist()
    (1, [1, 0, 0, 1])
    """

    alphabet: tuple[str, ...]
    output_names: tuple[str, ...]
    function: Answering
    last: Answering | None = None

    @property
    def n_symbols(self) -> int:
        return len(self.alphabet)

    def encode(self, text: Text) -> Indices:
        """Symbol indices (length,) of a text or a list of symbols; WordError for a symbol that there is not."""
        return encode(text, self.alphabet)

    def decode(self, word: npt.ArrayLike) -> str:
        """The text of a word of symbol indices (length,)."""
        return decode(word, self.alphabet)

    def answers(self, words: Words, every: bool = False) -> npt.NDArray[np.int64]:
        """The answer after each word (batch,), or with `every` after each symbol (batch, length); -1 for none."""
        array = self.encode(words) if isinstance(words, str) else checked(words, self.n_symbols)
        batch = np.atleast_2d(array)
        if not every and self.last is not None:
            labels = self.last(batch)  # (batch,)
        else:
            labels = self.function(batch)  # (batch, length)
            labels = labels if every else labels[:, -1]
        return labels if array.ndim == 2 else labels[0]
