"""Languages of several counters: brackets of K kinds that may cross each other, and as many b and c as a."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from languages.answers import CLASSES
from languages.automata.oracle import Oracle
from languages.automata.words import Indices
from languages.context_free.brackets import PAIRS
from languages.context_free.counters import in_blocks
from languages.drawn import DrawnTask
from languages.errors import LanguageError
from languages.membership import membership


def anbncn() -> DrawnTask:
    """Is the word a..ab..bc..c, as many of each, at least one? There is one member of each third length.

    >>> anbncn().machine.answers("aabbcc", every=True).tolist()
    [0, 0, 0, 0, 0, 1]

    Source: Gers and Schmidhuber 2001.
    """

    def member(words: Indices) -> npt.NDArray[np.bool_]:
        length = words.shape[1]
        if length % 3:
            return np.zeros(len(words), dtype=np.bool_)
        return (words == in_blocks(3, length, 1)).all(1)

    return DrawnTask(
        name="anbncn",
        machine=membership("abc", member),
        summary="membership: a..ab..bc..c, as many of each",
        source="Gers and Schmidhuber 2001",
        examples=(("aabbcc", "accept"), ("aabbc", "reject"), ("abcabc", "reject")),
        draw=lambda random, length, count: in_blocks(3, length, count),
        has=lambda length: length % 3 == 0,
        sampling="balanced",
        level="context-sensitive",
    )


def dyck_shuffle(kinds: int) -> DrawnTask:
    """Is each of K kinds of brackets balanced, whatever stands between? One counter for each kind.

    Members: each pair is of any kind, the kinds stand in any order, and the brackets of one kind are uniform.

    LanguageError: K outside 2..4.

    >>> dyck_shuffle(2).machine.answers("([)]", every=True).tolist()
    [0, 0, 0, 1]

    Source: Suzgun et al. 2019, "LSTM Networks Can Perform Dynamic Counting"; Bhattamishra et al. 2020.
    """
    if not 2 <= kinds <= len(PAIRS):
        raise LanguageError(f"dyck-shuffle-{kinds}: the number of kinds, 2 to {len(PAIRS)}; for one write brackets-1")
    pairs = PAIRS[:kinds]

    def answers(words: Indices) -> npt.NDArray[np.int64]:
        open_or_none = np.ones(words.shape, dtype=np.bool_)
        balanced = np.ones(words.shape, dtype=np.bool_)
        for kind in range(kinds):
            depth = ((words == 2 * kind).astype(np.int64) - (words == 2 * kind + 1)).cumsum(1)  # (batch, length)
            open_or_none &= np.minimum.accumulate(depth, axis=1) >= 0
            balanced &= depth == 0
        return (open_or_none & balanced).astype(np.int64)

    def draw(random: np.random.Generator, length: int, count: int) -> Indices:
        return shuffled(random, kinds, length, count)

    return DrawnTask(
        name=f"dyck-shuffle-{kinds}",
        machine=Oracle(tuple(symbol for pair in pairs for symbol in pair), CLASSES, answers),
        summary=f"membership: brackets of {kinds} kinds, each kind balanced",
        source="Suzgun et al. 2019",
        examples=(("([)]", "accept"), ("(]", "reject")),
        draw=draw,
        has=lambda length: length % 2 == 0,
        sampling="balanced",
        level="context-sensitive",
    )


def shuffled(random: np.random.Generator, kinds: int, length: int, count: int) -> Indices:
    """Members (count, length): how many pairs are of which kind, where brackets of the kind stand, and which."""
    pair = random.integers(kinds, size=(count, length // 2))
    kind = random.permuted(np.repeat(pair, 2, axis=1), axis=1)  # (count, length)
    left = (kind[:, :, None] == np.arange(kinds)).sum(1)  # (count, kinds) brackets that are to come
    depth, rows, chances = np.zeros_like(left), np.arange(count), random.random((length, count))
    words = np.empty((count, length), dtype=np.uint8)
    for t in range(length):
        place = (rows, kind[:, t])
        h, m = depth[place], left[place]
        opens = chances[t] < (h + 2) / (h + 1) * (m - h) / (2 * m)  # so that words of one kind are equally likely
        words[:, t] = 2 * kind[:, t] + ~opens
        depth[place] += np.where(opens, 1, -1)
        left[place] -= 1
    return words
