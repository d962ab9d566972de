"""Machines that answer whether a word is a member, from a function of whole words."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from languages.answers import CLASSES
from languages.automata.oracle import Oracle
from languages.automata.words import Indices

Member = Callable[[Indices], npt.NDArray[np.bool_]]
"""Of words (batch, length >= 1) which are members, (batch,)."""


def membership(alphabet: Sequence[str], member: Member) -> Oracle:
    """The machine that answers 0 "reject" or 1 "accept" after each symbol, from a function of each prefix.

    >>> squares = membership("ab", lambda words: np.array([word[::2] == word[1::2] for word in words.tolist()]))
    >>> squares.answers("aabb", every=True).tolist(), squares.answers("aab").item()
    ([0, 1, 0, 1], 0)
    """

    def prefixes(words: Indices) -> npt.NDArray[np.int64]:
        labels = np.zeros(words.shape, dtype=np.int64)
        for t in range(words.shape[1]):
            labels[:, t] = member(words[:, : t + 1])
        return labels

    return Oracle(tuple(alphabet), CLASSES, prefixes, lambda words: member(words).astype(np.int64))
