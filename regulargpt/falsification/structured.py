"""Long words of a kind: as the task draws them, near misses, deep ones, those that stay in one state, long runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count

import numpy as np

from languages.context_free.nested import NestedTask
from languages.errors import LanguageError, SamplingError
from languages.randomness import rng
from regulargpt.falsification.asked import Examinee, Words
from regulargpt.falsification.hunt import Hunt
from regulargpt.falsification.machine import Guide

LENGTHS = (12, 20, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024, 2048, 4096)
QUADRATIC = 512
"""Longer words cost a network too much that holds a number for each pair of positions."""
EACH = 8
Draw = Callable[[np.random.Generator, int], Words]


def structured(hunt: Hunt) -> None:
    """Some words of each length and kind in turn, until the budget is spent."""
    kinds = dict(draws(hunt.examinee))
    most = QUADRATIC if hunt.examinee.is_quadratic else max(LENGTHS)
    lengths = [length for length in LENGTHS if length <= min(most, hunt.examinee.longest)]
    for number in count() if lengths else ():
        length = lengths[number % len(lengths)]
        for kind, draw in kinds.items():
            random = rng(hunt.seed, f"falsify: {kind}", number)
            try:
                words = draw(random, length).astype(np.int64)
            except (LanguageError, SamplingError):  # no such word, or too large a table to draw it from
                words = np.zeros((0, 1), dtype=np.int64)
            hunt.try_all(kind, words)


def draws(examinee: Examinee) -> Iterator[tuple[str, Draw]]:
    """The kinds of words that the task has."""
    task = examinee.data.task

    def members(random: np.random.Generator, length: int) -> Words:
        if not task.has_length(length):
            length = next((T for T in range(length, 2 * length) if task.has_length(T)), length)
        return task.sample(random, length, EACH)

    def near_misses(random: np.random.Generator, length: int) -> Words:
        return task.sample(random, length, EACH, near_misses=1.0, edits=2, members=0.0)

    yield "as drawn", members
    if task.is_classification:
        yield "near misses", near_misses
    if isinstance(task, NestedTask):
        deep = replace(task, depth="every")
        yield "deep", lambda random, length: deep.sample(random, length, EACH)
    yield "runs", lambda random, length: np.array([task.whole(word) for word in runs(random, length, examinee.symbols)])
    if examinee.machine is not None:
        guide = Guide(examinee.machine)
        yield "one state", lambda random, length: staying(random, length, guide)


def runs(random: np.random.Generator, length: int, n_symbols: int) -> list[tuple[int, ...]]:
    """Words of long runs of single symbols, of all lengths on a scale of doublings."""
    words = []
    for _ in range(EACH):
        word: list[int] = []
        while len(word) < length:
            word += [int(random.integers(n_symbols))] * int(2 ** random.uniform(0, np.log2(length)))
        words.append(tuple(word[:length]))
    return words


def staying(random: np.random.Generator, length: int, guide: Guide) -> Words:
    """Words that come to a state, stay there as long as they can, and end with any two symbols."""
    loops = guide.table == np.arange(len(guide.table))[:, None]  # (Q, Sigma)
    some = np.flatnonzero(loops.any(1) & guide.alive)
    words = np.zeros((0 if not len(some) else EACH, length), dtype=np.int64)
    for word in words:
        state = int(some[random.integers(len(some))])
        word[:] = random.choice(np.flatnonzero(loops[state]), length)
        start = guide.access[state][:length]
        word[: len(start)] = start
        end = int(random.integers(3))
        word[length - end :] = random.integers(guide.machine.n_symbols, size=end)
    return words
