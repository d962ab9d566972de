"""Small edits of words: symbols changed, brackets among those of their direction, or two symbols exchanged."""

from typing import Any

import numpy as np
import numpy.typing as npt

from languages.automata.words import Indices


def edited(
    random: np.random.Generator, words: Indices, direction: npt.NDArray[np.integer[Any]], edits: int, swaps: float
) -> Indices:
    """The words (count, length), each with 1..edits symbols changed, or a share `swaps` with two symbols exchanged.

    Half of the changes of a bracket are to another of its direction, if any: its kind changes, not its depth.

    >>> from languages.randomness import rng
    >>> words = np.zeros((100, 4), np.uint8)
    >>> int((edited(rng(0, "example"), words, np.array([1, 1, -1]), edits=2, swaps=0.0) != words).sum(1).max())
    2
    """
    count, length = map(int, words.shape)
    changed, n_symbols = words.copy(), len(direction)
    exchanged = random.random(count) < swaps
    sizes = random.integers(1, edits + 1, size=count)
    for edit in range(edits):
        rows = np.flatnonzero(~exchanged & (sizes > edit))
        place = random.integers(length, size=len(rows))
        old = changed[rows, place].astype(np.intp)
        # Any other symbol, each equally likely.
        new = (old + random.integers(1, max(2, n_symbols), size=len(rows))) % n_symbols
        keeps_depth = (random.random(len(rows)) < 0.5) & (direction[old] != 0)
        for kind in (1, -1):
            same, those = np.flatnonzero(direction == kind), keeps_depth & (direction[old] == kind)
            if len(same) > 1:
                step = random.integers(1, len(same), size=int(those.sum()))
                new[those] = same[(np.searchsorted(same, old[those]) + step) % len(same)]
        changed[rows, place] = new
    rows = np.flatnonzero(exchanged)
    first, second = random.integers(length, size=(2, len(rows)))
    changed[rows, first], changed[rows, second] = changed[rows, second], changed[rows, first]
    return changed
