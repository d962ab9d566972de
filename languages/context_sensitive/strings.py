"""Strings copied, reordered and sorted: four of the context-sensitive tasks of Deletang et al. 2023."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from languages.automata.moore import UNDEFINED
from languages.automata.words import Indices
from languages.context_sensitive.rows import check_choice, letters_of, row_machine
from languages.drawn import DrawnTask
from languages.sampling.sampler import uniform_words
from languages.sampling.walks import SPREAD
from languages.specification import spec

SOURCE = "Deletang et al. 2023"
GAP, PADDING = "2", "3"
SAMPLERS = ("uniform", "skewed")


def duplicate_string(letters: int = 2) -> DrawnTask:
    """The word twice, over `letters` symbols 0, 1, ...: a queue's task.

    LanguageError: letters outside 2..10.

    >>> duplicate_string().written([0, 1, 1, 2, 2, 2, 2, 2, 2])
    ('011', '011011')

    Source: Deletang et al. 2023, "Duplicate String".
    """
    symbols = letters_of("duplicate-string", letters)
    return DrawnTask(
        name=spec("duplicate-string", {"letters": (letters, 2)}),
        machine=row_machine(symbols, symbols, lambda words: np.concatenate([words, words], axis=1)),
        summary="the word twice, a symbol at a time",
        source=SOURCE,
        examples=(("00110", "0011000110"), ("1", "11")),
        draw=lambda random, length, count: uniform_words(random, letters, length, count),
        asked=lambda length: 2 * length,
        level="context-sensitive",
    )


def odds_first(version: str = "code", letters: int = 2) -> DrawnTask:
    """The symbols at odd places, then those at even places, over `letters` symbols 0, 1, ....

    `version`: the "code" counts places from 0, so that the second symbol comes first; the "paper" counts from 1.

    LanguageError: another version, or letters outside 2..10.

    >>> [odds_first(version).written([0, 0, 1, 1, 2, 2, 2, 2])[1] for version in ("code", "paper")]
    ['0101', '0101']
    >>> [odds_first(version).written([0, 1, 1, 2, 2, 2])[1] for version in ("code", "paper")]
    ['101', '011']

    Source: Deletang et al. 2023, "Odds First", and its code.
    """
    check_choice("odds-first", "version", version)
    symbols = letters_of("odds-first", letters)
    first = 1 if version == "code" else 0
    return DrawnTask(
        name=spec("odds-first", {"version": (version, "code"), "letters": (letters, 2)}),
        machine=row_machine(
            symbols, symbols, lambda words: np.concatenate([words[:, first::2], words[:, 1 - first :: 2]], axis=1)
        ),
        summary="the symbols at odd places, then those at even places",
        source=SOURCE,
        examples=(("00110101", "01110100" if version == "code" else "01000111"), ("1", "1")),
        draw=lambda random, length, count: uniform_words(random, letters, length, count),
        asked=int,
        level="context-sensitive",
    )


def missing_duplicate_string(version: str = "code") -> DrawnTask:
    """The bit that is missing, at the symbol 2, from a word of bits that stands there twice.

    `version`: the "code" has odd lengths too, with a symbol 3 behind the two; the "paper" even ones alone. The code's
    one word of length 1, which has no bit missing, is left out.

    LanguageError: another version.

    >>> task = missing_duplicate_string()
    >>> task.machine.answers("01100210_").item(), task.machine.answers("10112113_").item(), task.has_length(1)
    (1, -1, False)

    Source: Deletang et al. 2023, "Missing Duplicate", and its code.
    """
    check_choice("missing-duplicate-string", "version", version)
    padded = version == "code"
    return DrawnTask(
        name=spec("missing-duplicate-string", {"version": (version, "code")}),
        machine=row_machine(("0", "1", GAP, *([PADDING] if padded else [])), "01", missing),
        summary="the bit missing from a word that stands there twice",
        source=SOURCE,
        examples=(("01100210", "1"), *([("1011213", "0")] if padded else [])),
        draw=with_a_gap,
        asked=lambda length: 1,
        has=lambda length: length > 1 and (padded or length % 2 == 0),
        level="context-sensitive",
    )


def missing(words: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """(batch, 1) the missing bits of words (batch, length), -1 where the halves are not equal but for one gap."""
    half = words.shape[1] // 2
    first, second, rest = np.split(words, [half, 2 * half], axis=1)
    gap = (first == 2) ^ (second == 2)  # (batch, half); in either alone
    bits = np.where(first == 2, second, first)  # (batch, half)
    is_question = (gap.sum(1) == 1) & ((first == second) | gap).all(1) & (bits < 2).all(1) & (rest == 3).all(1)
    return np.where(is_question, (bits * gap).sum(1), UNDEFINED)[:, None]


def with_a_gap(random: np.random.Generator, length: int, count: int) -> Indices:
    """Words (count, length) of uniform bits twice, one of them a gap; 3 behind them where the length is odd."""
    once = random.integers(2, size=(count, length // 2), dtype=np.uint8)
    words = np.concatenate([once, once, np.full((count, length % 2), 3, dtype=np.uint8)], axis=1)
    words[np.arange(count), random.integers(2 * (length // 2), size=count)] = 2
    return words


def bucket_sort(sampler: str = "uniform", letters: int = 5) -> DrawnTask:
    """The symbols in order, over 0, 1, ...: a machine of a counter for each symbol does it.

    `sampler`: "uniform", as published; or "skewed", whose words favour symbols of their own, so that no place in the
    row says which symbol stands there.

    LanguageError: another sampler, or letters outside 2..10.

    >>> bucket_sort().written([4, 2, 1, 3, 5, 5, 5, 5])
    ('4213', '1234')

    Source: Deletang et al. 2023, "Bucket Sort".
    """
    check_choice("bucket-sort", "sampler", sampler, SAMPLERS)
    symbols = letters_of("bucket-sort", letters)

    def draw(random: np.random.Generator, length: int, count: int) -> Indices:
        return (uniform_words if sampler == "uniform" else skewed_words)(random, letters, length, count)

    return DrawnTask(
        name=spec("bucket-sort", {"sampler": (sampler, "uniform"), "letters": (letters, 5)}),
        machine=row_machine(symbols, symbols, lambda words: np.sort(words, axis=1)),
        summary="the symbols in order",
        source=SOURCE,
        examples=(("421302214", "011222344"), ("41", "14")) if letters == 5 else (("10", "01"),),
        draw=draw,
        asked=int,
        level="context-sensitive",
    )


def skewed_words(random: np.random.Generator, letters: int, length: int, count: int) -> Indices:
    """Words (count, length), the chances of symbols in each drawn from a Dirichlet distribution."""
    sums = random.dirichlet(np.full(letters, SPREAD), size=count).cumsum(1)[:, :-1]  # (count, letters - 1)
    chances = random.random((count, length))
    return (chances[:, :, None] >= sums[:, None, :]).sum(2).astype(np.uint8)
