"""Multi-query associative recall: pairs of a key and a value, then some of these keys, each a question."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from languages.automata.moore import UNDEFINED
from languages.automata.oracle import Oracle
from languages.automata.words import Indices, smallest_unsigned
from languages.drawn import DrawnTask
from languages.errors import LanguageError
from languages.specification import spec

MOST_SYMBOLS = 65_536
Numbers = npt.NDArray[np.integer]


def mqar(pairs: str = "4", vocabulary: int = 64, power: float = 0.01, fill: str = "any") -> DrawnTask:
    """The value that stood behind a key first, asked wherever the key comes again.

    Of `vocabulary` symbols the first is blank, the others of the first half are keys, those of the second half values.
    Words begin with `pairs` pairs; all their keys differ, and so do their values. Behind them each key is queried once,
    the last at the end of the word. From one place of a question to the next are two symbols. The m-th place behind
    the pairs is drawn in proportion to m^(power - 1): mostly the first ones, with power 1 all alike. Between the
    questions stand any symbols, or blanks. So lengths are odd, and at least 4 pairs - 1. With "most" pairs a word has
    as many as its length and the keys allow, a quarter; with "any" each number up to that is as likely.

    The machine remembers a value or none of every key: it is finite, of more than (values + 1)^keys states.

    LanguageError: an option out of range, or more pairs than there are keys.

    >>> task = mqar(pairs="2", fill="blank")
    >>> task.machine.answers("k1 v0 k2 v1 k2 . k1", every=True).tolist()
    [-1, -1, -1, -1, 1, -1, 0]
    >>> from languages.randomness import rng
    >>> words = task.sample(rng(0, "example"), length=13, count=2)
    >>> [task.machine.decode(word) for word in words]
    ['k10 v9 k31 v29 . . k31 . . . . . k10', 'k21 v26 k16 v0 . . k21 . . . . . k16']

    Source: Arora et al. 2023, "Zoology: Measuring and improving recall in efficient language models", and its code
    (`multiquery_ar`). There words have another symbol, a filler, no question is bound to stand at the end,
    and a key that stands among the fillers by chance is not asked.
    """
    check(pairs, vocabulary, power, fill)
    half = vocabulary // 2
    keys, values = [f"k{i}" for i in range(1, half)], [f"v{i}" for i in range(half)]
    drawing = WordDrawing(pairs, vocabulary, power, fill == "any")
    options = {"pairs": (pairs, "4"), "vocabulary": (vocabulary, 64), "power": (power, 0.01), "fill": (fill, "any")}
    return DrawnTask(
        name=spec("mqar", options),
        machine=Oracle((".", *keys, *values), tuple(values), partial(recalled, first_value=half)),
        summary="the value that stood behind a key first, wherever the key comes again",
        source="Arora et al. 2023 (Zoology, MQAR)",
        examples=(("k1 v0 k1", "v0"), ("k1 v1 . k1 v0 k1", "v1")),
        draw=drawing.draw,
        has=drawing.has,
        level="vast",
    )


def check(pairs: str, vocabulary: int, power: float, fill: str) -> None:
    """LanguageError for an option out of range; the message names it."""
    if vocabulary % 2 or not 4 <= vocabulary <= MOST_SYMBOLS:
        raise LanguageError(f"mqar: vocabulary is {vocabulary}; it is an even number, 4 to {MOST_SYMBOLS}")
    if not 0 < power <= 1:
        raise LanguageError(f"mqar: power is {power}; it is a number above 0.0, at most 1.0")
    if fill not in ("any", "blank"):
        raise LanguageError(f"mqar: fill is {fill!r:.80}; it is 'any' or 'blank'")
    if pairs in ("any", "most"):
        return
    if not (pairs.isascii() and pairs.isdigit() and len(pairs) < 6 and pairs == str(int(pairs)) and int(pairs)):
        raise LanguageError(f"mqar: pairs is {pairs!r:.80}; it is a whole number from 1, 'any' or 'most'")
    if int(pairs) >= vocabulary // 2:
        available = f"vocabulary={vocabulary} has {vocabulary // 2 - 1}"
        raise LanguageError(f"mqar: {pairs} pairs need as many keys, and {available}; raise vocabulary or lower pairs")


def recalled(words: Indices, first_value: int) -> npt.NDArray[np.int64]:
    """(batch, length) the number of the value that each key of these words asks for, -1 where there is no question.

    >>> recalled(np.array([[1, 4, 2, 2, 5, 1, 2]]), first_value=4).tolist()  # k1 v0 k2 k2 v1 k1 k2
    [[-1, -1, -1, -1, -1, 0, 1]]
    """
    numbers = np.full(words.shape, UNDEFINED, dtype=np.int64)
    if not words.size:
        return numbers
    is_key = (words > 0) & (words < first_value)
    # The same key of two words is two numbers.
    keys = words.astype(np.int64) + first_value * np.arange(len(words))[:, None]  # (batch, length)
    rows, places = np.nonzero(is_key[:, :-1] & (words[:, 1:] >= first_value))
    bound, first = np.unique(keys[rows, places], return_index=True)  # of each key that has a value, its first place
    known = np.isin(keys, bound) & is_key
    at = first[np.searchsorted(bound, keys[known])]  # (questions or earlier,)
    is_later = places[at] < np.nonzero(known)[1]
    values = words[rows[at], places[at] + 1].astype(np.int64) - first_value
    numbers[known] = np.where(is_later, values, UNDEFINED)
    return numbers


@dataclass(frozen=True)
class WordDrawing:
    """How words are drawn: `mqar` says what of."""

    pairs: str
    vocabulary: int
    power: float
    is_filled: bool

    def has(self, length: int) -> bool:
        """Whether there are words of this length."""
        fewest = int(self.pairs) if self.pairs.isdigit() else 1
        return length % 2 == 1 and 4 * fewest - 1 <= length

    def draw(self, random: np.random.Generator, length: int, count: int) -> Numbers:
        kind = smallest_unsigned(self.vocabulary)
        words = random.integers(self.vocabulary * self.is_filled or 1, size=(count, length), dtype=kind)
        numbers = self.numbers(random, length, count)
        for n in np.unique(numbers).tolist():
            words[numbers == n] = self.asking(random, words[numbers == n], n)
        return words

    def numbers(self, random: np.random.Generator, length: int, count: int) -> Numbers:
        """(count,) how many pairs each word has."""
        most = min((length + 1) // 4, self.vocabulary // 2 - 1)
        if self.pairs == "any":
            return random.integers(1, most + 1, size=count)
        return np.full(count, most if self.pairs == "most" else int(self.pairs))

    def asking(self, random: np.random.Generator, words: Indices, n: int) -> Indices:
        """These words (count, length) with n pairs in front, and a question for each."""
        count, length = words.shape
        half = self.vocabulary // 2
        keys = some(random, count, half - 1, n) + 1  # (count, n)
        words[:, 0 : 2 * n : 2] = keys
        words[:, 1 : 2 * n : 2] = some(random, count, half, n) + half
        places = gaps(random, count, (length + 1) // 2 - n, n, self.power)
        np.put_along_axis(words, 2 * (n + places), keys.astype(words.dtype), 1)
        return words


def some(random: np.random.Generator, count: int, n_all: int, n: int) -> npt.NDArray[np.int64]:
    """(count, n) numbers below n_all, in each row different ones: the beginning of a shuffle."""
    others = random.integers(np.arange(n), n_all, size=(count, n))
    numbers = np.tile(np.arange(n_all, dtype=smallest_unsigned(n_all)), (count, 1))  # (count, n_all)
    rows = np.arange(count)
    for i in range(n):
        other, mine = numbers[rows, others[:, i]], numbers[:, i].copy()
        numbers[rows, others[:, i]], numbers[:, i] = mine, other
    return numbers[:, :n].astype(np.int64)


def gaps(random: np.random.Generator, count: int, space: int, n: int, power: float) -> npt.NDArray[np.int64]:
    """(count, n) the places of n questions of `space`, drawn one after the other; the last place is one of them."""
    # Who draws without putting back draws in the order in which clocks of these rates ring.
    waits = random.exponential(size=(count, space)) * np.arange(1, space + 1) ** (1 - power)
    places = waits.argsort(1)[:, :n]  # (count, n)
    # Which key is asked at the end must say nothing: each is as likely.
    rows, ends = np.arange(count), random.integers(n, size=count)
    is_end = places == space - 1
    now = np.where(is_end.any(1), is_end.argmax(1), ends)  # (count,)
    places[rows, now] = places[rows, ends]
    places[rows, ends] = space - 1
    return places
