"""A wrong word made shorter, by leaving out symbols, as long as it stays wrong (delta debugging)."""

from __future__ import annotations

import numpy as np

from regulargpt.falsification.asked import Word
from regulargpt.falsification.hunt import Hunt

KIND = "shortened"
AT_ONCE = 64
"""Words of a round."""


def shrink(hunt: Hunt, word: Word) -> Word:
    """A word from which no part of a length that was tried can be left out. Raises Spent before that, if it must.

    Source: Zeller and Hildebrandt, Simplifying and isolating failure-inducing input, 2002.
    """
    size = max(1, hunt.examinee.length(word) // 2)
    while size:
        shorter = without(hunt, word, size)
        wrong = hunt.try_all(KIND, shorter) if shorter.size else np.zeros(0, dtype=np.bool_)
        if wrong.any():
            word = tuple(shorter[wrong.argmax()].tolist())
        else:
            size //= 2
        size = min(size, hunt.examinee.length(word) - 1)
    return word


def without(hunt: Hunt, word: Word, size: int) -> np.ndarray:
    """The word without `size` symbols in a row, at some places (n, length); none where nothing would be left."""
    symbols, task = word[: hunt.examinee.length(word)], hunt.examinee.data.task
    if size >= len(symbols):
        return np.zeros((0, 0), dtype=np.int64)
    step = max(1 if size <= 2 else size, len(symbols) // AT_ONCE)
    places = range(0, len(symbols) - size + 1, step)
    shorter = dict.fromkeys(task.whole(symbols[:at] + symbols[at + size :]) for at in places)
    return np.array(list(shorter), dtype=np.int64)
