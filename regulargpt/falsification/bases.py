"""Short words, as parts of powers u v^n w."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import product

import numpy as np

from regulargpt.falsification.machine import Guide, Word

MOST_U, MOST_V, MOST_W, MOST_CYCLES = 8, 32, 8, 64
MANY, LONGEST_END = 16, 3
"""Powers after which a word still goes on; and symbols of w."""


def pairs(guide: Guide) -> list[tuple[Word, Word]]:
    """u and v: all short ones, and at each state a shortest word to it and its shortest cycles.

    Only those whose u v^n can go on to a question for many n.
    """
    bases = dict.fromkeys([*product(*short_pairs(guide.machine.n_symbols)), *cycles(guide)])
    ends = (guide.machine.run(np.array([u + v * MANY]))[0] for u, v in bases)
    return [pair for pair, end in zip(bases, ends, strict=True) if guide.alive[int(end)]]


def short_pairs(n_symbols: int) -> tuple[list[Word], list[Word]]:
    """All u of at most two symbols and all v of at most three, or the first of them."""
    some = (v for v in short(n_symbols, 3, 4 * MOST_V) if v and is_primitive(v))
    return short(n_symbols, 2, MOST_U), list(some)[:MOST_V]


def cycles(guide: Guide) -> list[tuple[Word, Word]]:
    """A shortest word to each state, with shortest cycles there."""
    words = [(guide.access[state], v) for state, v in guide.cycles() if is_primitive(v)]
    return words[:MOST_CYCLES]


def endings(guide: Guide) -> list[Word]:
    """Short w, those that lead to a question among them."""
    return [w for w in guide.endings() if len(w) <= LONGEST_END][:MOST_W]


def short(n_symbols: int, longest: int, most: int) -> list[Word]:
    """The shortest words of at most so many symbols, the empty word first.

    >>> short(2, 2, 5)
    [(), (0,), (1,), (0, 0), (0, 1)]
    """
    words: list[Word] = []
    for length in range(longest + 1):
        for word in product(range(n_symbols), repeat=length):
            if len(words) == most:
                return words
            words.append(word)
    return words


def is_primitive(word: Word) -> bool:
    """Whether it is no power of a shorter word: that word's family has all its words.

    >>> is_primitive((0, 1, 0)), is_primitive((0, 1, 0, 1))
    (True, False)
    """
    return not any(word[:k] * (len(word) // k) == word for k in range(1, len(word) // 2 + 1))


def numbered(kinds: Sequence[Hashable]) -> list[int]:
    """How many of the same kind stand before each.

    >>> numbered(["a", "b", "a"])
    [0, 0, 1]
    """
    met: Counter[Hashable] = Counter()
    ranks = []
    for kind in kinds:
        ranks.append(met[kind])
        met[kind] += 1
    return ranks
