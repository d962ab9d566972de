"""Words that a network answers wrongly, looked for in advance: a bounded search that a seed decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from languages.randomness import rng
from languages.tasks import TreeTask
from regulargpt.classroom.nested import Machine

Words = npt.NDArray[np.integer]  # (words, length)
Answers = npt.NDArray[np.int64]  # (words,)

LENGTHS = (*range(1, 17), 20, 24, 32, 40, 48, 64, 96, 128, 192, 256, 384, 512)
MOST_WORDS = 256
"""Of a length: if there are no more, all of them are tried."""
MOST_SYMBOLS = 4096
"""Of a length: long words are fewer."""


@dataclass(frozen=True)
class WrongWords:
    """What the search came to: a wrong word of each length that has one, and how many words of each length were tried.

    `whole` are the lengths of which all words were tried.
    """

    words: tuple[tuple[int, ...], ...]
    tried: tuple[tuple[int, int], ...]  # (length, words)
    whole: frozenset[int]

    def none_found(self) -> str:
        """What was tried, for a page without a wrong word.

        >>> WrongWords((), ((1, 2), (2, 4), (8, 16)), frozenset({1, 2})).none_found()
        'No wrong word was found: 22 words were tried, all words of 1 to 2 symbols and 16 words of 8 symbols.'
        """
        total = sum(count for _, count in self.tried)
        drawn = [(length, count) for length, count in self.tried if length not in self.whole]
        said = [f"all words of {span(sorted(self.whole))}"] if self.whole else []
        if drawn:
            lengths, counts = zip(*drawn, strict=True)
            said.append(f"{sum(counts):,} words of {span(lengths)}")
        return f"No wrong word was found: {total:,} words were tried, {' and '.join(said)}."


def span(lengths: tuple[int, ...] | list[int]) -> str:
    """Lengths in words.

    >>> span([1, 2, 3]), span([20]), span([9, 16, 32])
    ('1 to 3 symbols', '20 symbols', '9 to 32 symbols')
    """
    if len(lengths) == 1:
        return "1 symbol" if lengths[0] == 1 else f"{lengths[0]} symbols"
    return f"{lengths[0]} to {lengths[-1]} symbols"


def search(
    answers: Callable[[Words], Answers],
    machine: Machine,
    task: TreeTask,
    seed: int,
    too_long: Callable[[int], str | None] = lambda length: None,
) -> WrongWords:
    """The first wrong word of each length among those that are tried: all of them, or some drawn by the seed.

    `answers` are the network's, as the machine numbers them; words without an answer of the machine are not tried.

    >>> import languages
    >>> task = languages.get("parity")
    >>> found = search(lambda words: words[:, -1] % 2, task.machine, task, seed=0)
    >>> found.words[:2], found.tried[:3]
    (((1, 0), (0, 1, 0)), ((1, 2), (2, 4), (3, 8)))
    """
    wrong, tried, whole = [], [], set()
    for length, words, is_whole in candidates(task, seed, too_long):
        right = machine.answers(words)
        words, right = words[right >= 0], right[right >= 0]
        if not len(words):
            continue
        tried.append((length, len(words)))
        whole |= {length} if is_whole else set()
        missed = np.flatnonzero(answers(words) != right)
        if len(missed):
            wrong.append(tuple(words[missed[0]].tolist()))
    return WrongWords(tuple(wrong), tuple(tried), frozenset(whole))


def candidates(task: TreeTask, seed: int, too_long: Callable[[int], str | None]) -> Iterator[tuple[int, Words, bool]]:
    """Each length, its words, and whether they are all."""
    for length in LENGTHS:
        if too_long(length) is not None or not task.has_length(length):
            continue
        if task.n_symbols**length <= MOST_WORDS:
            yield length, every_word(task.n_symbols, length), True
        else:
            count = min(MOST_WORDS, MOST_SYMBOLS // length)
            yield length, task.sample(rng(seed, "wrong words", length), length, count), False


def every_word(n_symbols: int, length: int) -> Words:
    """All words of a length, in order.

    >>> every_word(2, 2).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    return np.indices((n_symbols,) * length).reshape(length, -1).T  # (n_symbols ** length, length)
