"""Languages of one counter: more ones than zeros, and as many b as a."""

from __future__ import annotations

import numpy as np

from languages.answers import CLASSES
from languages.automata.pushdown import Move, PushdownTransducer
from languages.automata.words import Indices
from languages.drawn import DrawnTask

FIRST, OTHER = "first", "other"  # what is pushed at height 0, and above


def majority() -> DrawnTask:
    """Are there more 1 than 0 in the word? Members of a length are equally likely.

    >>> majority().machine.answers("10011", every=True).tolist()
    [1, 0, 0, 0, 1]

    Source: Butoi et al. 2025, "Majority"; Pérez et al. 2021.
    """
    # The stack is as high as ones and zeros are apart; the state says which are more.
    moves = [Move("even", "1", "ones", push=FIRST), Move("even", "0", "zeros", push=FIRST)]
    for state, more, less in (("ones", "1", "0"), ("zeros", "0", "1")):
        moves += [Move(state, more, state, push=OTHER)]
        moves += [Move(state, less, state, (OTHER,), pop=True), Move(state, less, "even", (FIRST,), pop=True)]
    outputs = {state: CLASSES[state == "ones"] for state in ("even", "ones", "zeros")}
    return DrawnTask(
        name="majority",
        machine=PushdownTransducer.from_outputs("01", "even", moves, outputs, CLASSES),
        summary="membership: more 1 than 0",
        source="Butoi et al. 2025",
        examples=(("10110", "accept"), ("10", "reject")),
        draw=more_ones,
        sampling="balanced",
    )


def more_ones(random: np.random.Generator, length: int, count: int) -> Indices:
    """Uniform words (count, length) with more 1 than 0: where there are fewer, each symbol is the other one."""
    words = random.integers(2, size=(count, length), dtype=np.uint8)
    while (equal := 2 * words.sum(1, dtype=np.int64) == length).any():
        words[equal] = random.integers(2, size=(int(equal.sum()), length), dtype=np.uint8)
    return words ^ (2 * words.sum(1, dtype=np.int64, keepdims=True) < length)


def anbn() -> DrawnTask:
    """Is the word a..ab..b, with as many b as a, at least one? There is one member of each even length.

    >>> anbn().machine.answers("aabb", every=True).tolist()
    [0, 0, 0, 1]

    Source: Gers and Schmidhuber 2001.
    """
    moves = [Move("start", "a", "a", push=FIRST), Move("start", "b", "wrong"), Move("a", "a", "a", push=OTHER)]
    for state in ("a", "b"):
        moves += [Move(state, "b", "b", (OTHER,), pop=True), Move(state, "b", "all", (FIRST,), pop=True)]
    moves += [Move("b", "a", "wrong")]
    moves += [Move(state, symbol, "wrong") for state in ("all", "wrong") for symbol in "ab"]
    outputs = {state: CLASSES[state == "all"] for state in ("start", "a", "b", "all", "wrong")}
    return DrawnTask(
        name="anbn",
        machine=PushdownTransducer.from_outputs("ab", "start", moves, outputs, CLASSES),
        summary="membership: a..ab..b, as many b as a",
        source="Gers and Schmidhuber 2001",
        examples=(("aabb", "accept"), ("aab", "reject"), ("abab", "reject")),
        draw=lambda random, length, count: in_blocks(2, length, count),
        has=lambda length: length % 2 == 0,
        sampling="balanced",
    )


def in_blocks(letters: int, length: int, count: int) -> Indices:
    """The word (count, length) of each letter equally often, one letter after the other.

    >>> in_blocks(3, 6, 1).tolist()
    [[0, 0, 1, 1, 2, 2]]
    """
    return np.tile(np.repeat(np.arange(letters, dtype=np.uint8), length // letters), (count, 1))
