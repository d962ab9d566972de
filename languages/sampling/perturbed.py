"""Near misses by insertions, replacements and deletions: a member of another length becomes a word of this length."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from languages.automata.words import Indices

INSERT, REPLACE, DELETE = range(3)
Draw = Callable[[np.random.Generator, int, int], Indices]


def perturbed(
    random: np.random.Generator, draw: Draw, has: Callable[[int], bool], n_symbols: int, length: int, count: int
) -> Indices:
    """Words (count, length): members after K edits, K geometric with 1/2, each kind of edit equally likely.

    `draw` gives members of the lengths that `has` says. Edits are drawn first, so that it is known how long the member
    is; those after which there is none are drawn again. A word may still be a member.

    Source: Butoi et al. 2025, section 4 and its code.

    >>> from languages.randomness import rng
    >>> zeros = lambda random, length, count: np.zeros((count, length), np.uint8)
    >>> perturbed(rng(0, "example"), zeros, bool, 2, 6, 100).shape
    (100, 6)
    """
    return np.stack([perturbed_word(random, draw, has, n_symbols, length) for _ in range(count)])


def perturbed_word(
    random: np.random.Generator, draw: Draw, has: Callable[[int], bool], n_symbols: int, length: int
) -> Indices:
    """One word (length,)."""
    while True:
        edits = random.integers(3, size=random.geometric(0.5)).tolist()
        before = length - edits.count(INSERT) + edits.count(DELETE)
        if before >= 1 and has(before):
            word = draw(random, before, 1)[0].tolist()
            if all(edit(random, word, kind, n_symbols) for kind in edits):
                return np.array(word, dtype=np.uint8)


def edit(random: np.random.Generator, word: list[int], kind: int, n_symbols: int) -> bool:
    """Change a word; False where it is empty, so that nothing can be replaced or deleted."""
    if kind == INSERT:
        word.insert(int(random.integers(len(word) + 1)), int(random.integers(n_symbols)))
        return True
    if not word:
        return False
    place = int(random.integers(len(word)))
    if kind == DELETE:
        del word[place]
    else:
        word[place] = (word[place] + int(random.integers(1, n_symbols))) % n_symbols
    return True
