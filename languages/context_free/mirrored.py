"""A word and its mirror image, with a mark between them or without."""

from __future__ import annotations

import numpy as np

from languages.answers import CLASSES
from languages.automata.pushdown import Move, PushdownTransducer
from languages.automata.words import Indices
from languages.drawn import DrawnTask
from languages.membership import membership
from languages.sampling.sampler import uniform_words

BITS, MARK = ("0", "1"), "#"
SOURCE = "Butoi et al. 2025"


def marked_reversal() -> DrawnTask:
    """Is the word w, #, and w backwards, over 0 and 1? 1 is "accept", answered at every symbol. w may be empty.

    >>> marked_reversal().machine.answers("01#10", every=True).tolist()
    [0, 0, 0, 0, 1]

    Source: Butoi et al. 2025, "Marked Reversal"; Chomsky and Schützenberger 1963.
    """

    def draw(random: np.random.Generator, length: int, count: int) -> Indices:
        word = uniform_words(random, 2, length // 2, count)
        return np.concatenate([word, np.full((count, 1), 2, dtype=np.uint8), word[:, ::-1]], axis=1)

    return DrawnTask(
        name="marked-reversal",
        machine=mirror_machine(),
        summary="membership: a word, a mark, and the word backwards",
        source=SOURCE,
        examples=(("01#10", "accept"), ("01#01", "reject"), ("#", "accept")),
        draw=draw,
        has=lambda length: length % 2 == 1,
        sampling="balanced",
    )


def mirror_machine() -> PushdownTransducer:
    """Of 5 states. The first symbol is pushed as one of its own, so that the machine knows which symbol is the last."""
    first, again = {a: f"first {a}" for a in BITS}, {"0": "1", "1": "0"}
    moves = [Move("start", a, "word", push=first[a]) for a in BITS] + [Move("start", MARK, "all", (None,))]
    moves += [Move("word", a, "word", push=a) for a in BITS] + [Move("word", MARK, "mirror")]
    for a in BITS:
        moves += [Move("mirror", a, "mirror", (a,), pop=True), Move("mirror", a, "all", (first[a],), pop=True)]
        moves += [Move("mirror", a, "wrong", (None, again[a], first[again[a]]))]
    moves += [Move("mirror", MARK, "wrong")]
    moves += [Move(state, symbol, "wrong") for state in ("all", "wrong") for symbol in (*BITS, MARK)]
    outputs = {state: CLASSES[state == "all"] for state in ("start", "word", "mirror", "all", "wrong")}
    return PushdownTransducer.from_outputs((*BITS, MARK), "start", moves, outputs, CLASSES)


def unmarked_reversal() -> DrawnTask:
    """Is the word w and w backwards, over 0 and 1? Context-free, and no deterministic pushdown machine answers it.

    >>> unmarked_reversal().machine.answers("0110", every=True).tolist()
    [0, 0, 0, 1]

    Source: Butoi et al. 2025, "Unmarked Reversal".
    """

    def draw(random: np.random.Generator, length: int, count: int) -> Indices:
        word = uniform_words(random, 2, length // 2, count)
        return np.concatenate([word, word[:, ::-1]], axis=1)

    return DrawnTask(
        name="unmarked-reversal",
        machine=membership(BITS, lambda words: (words == words[:, ::-1]).all(1) & (words.shape[1] % 2 == 0)),
        summary="membership: a word, and the word backwards",
        source=SOURCE,
        examples=(("0110", "accept"), ("01", "reject")),
        draw=draw,
        has=lambda length: length % 2 == 0,
        sampling="balanced",
    )
