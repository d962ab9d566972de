"""Trivial rules for a row of answers: each answers by a single number of the place in the row, and counts nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from languages.automata.moore import UNDEFINED
from languages.drawn import DrawnTask
from regulargpt.data.language import Words
from regulargpt.evaluation.shortcuts.rule import Labels

PLACES = 40  # parts of a row, each with an answer of its own: twentieths and fifths begin with the first

ROW_RULES = {
    "majority": "the most frequent answer",
    "place": "how far along the row it is",
    "last": "the last symbol of the word, and whether it is the first answer",
    "copy": "the symbol at the same place of the word, or that there is none",
}

Codes = npt.NDArray[np.int64]  # (batch, asked)


def row_features(words: Words, n_places: int, n_symbols: int) -> dict[str, Codes]:
    """What each of ROW_RULES sees at each of `n_places` places behind words (batch, length).

    >>> seen = row_features(np.array([[0, 1, 1]]), 4, 3)
    >>> seen["place"].tolist(), seen["last"].tolist(), seen["copy"].tolist()
    ([[5, 15, 25, 35]], [[3, 2, 2, 2]], [[0, 1, 1, 3]])
    """
    count, length = words.shape
    shape, at = (count, n_places), np.arange(n_places)
    copied = np.full(shape, n_symbols)
    copied[:, :length] = words[:, :n_places]
    return {
        "majority": np.zeros(shape, dtype=np.int64),
        "place": np.broadcast_to((2 * at + 1) * PLACES // (2 * n_places), shape),
        "last": 2 * words[:, -1:].astype(np.int64) + (at == 0),
        "copy": copied,
    }


@dataclass(frozen=True, eq=False)
class RowRule:
    """The answer for each thing that it sees."""

    answers: Labels  # (codes,)

    def __call__(self, codes: Codes) -> Labels:
        """The answers (batch, asked) where the rule sees these."""
        return self.answers[codes]


class RowCounts:
    """How often each answer stands where a rule sees what it sees, in all words so far."""

    def __init__(self, task: DrawnTask):
        self.task = task
        sizes = {"majority": 1, "place": PLACES, "last": 2 * task.n_symbols, "copy": task.n_symbols + 1}
        self.counts = {name: np.zeros((size, task.n_outputs), dtype=np.int64) for name, size in sizes.items()}

    def add(self, words: Words) -> None:
        """Count the answers of words (batch, length + asked)."""
        seen, labels = row_columns(self.task, words)
        there = labels != UNDEFINED
        for name, codes in seen.items():
            np.add.at(self.counts[name], (codes[there], labels[there]), 1)

    def rules(self) -> dict[str, RowRule]:
        """Of each kind the rule that is right most often; of what was never met, the most frequent answer."""
        usual = self.counts["majority"][0].argmax()
        return {name: RowRule(np.where(of.any(1), of.argmax(1), usual)) for name, of in self.counts.items()}


def row_columns(task: DrawnTask, words: Words) -> tuple[dict[str, Codes], Labels]:
    """What the rules see of words (batch, length + asked), and the answers (batch, asked), -1 where there is none."""
    length = task.symbols(words[0])
    labels = task.labels(words, every=True)[:, length:]
    return row_features(words[:, :length], labels.shape[1], task.n_symbols), labels


def shares(rule: RowRule, codes: Codes, labels: Labels) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Of each word the share of its answers that are right, and whether all are: (batch,), (batch,)."""
    there = labels != UNDEFINED
    right = (rule(codes) == labels) & there
    return right.sum(1) / there.sum(1), (right | ~there).all(1)
