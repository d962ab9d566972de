"""Labelled words that proposed machines are held against: all short ones, and words drawn as in training.

Where words have brackets, half of those that are drawn are drawn by depth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt

from languages.automata.moore import UNDEFINED
from languages.context_free.nested import NestedTask
from languages.randomness import rng
from languages.tasks import AnyTask, TreeTask
from regulargpt.data.base import Words
from regulargpt.data.language import LanguageData
from regulargpt.finite.learn import short_words
from regulargpt.finite.lstar import Query
from regulargpt.finite.nonempty import Word

Ints = npt.NDArray[np.int64]

# Held-out words of all lengths together; and all words of the lengths that have at most so many.
HELD_OUT, SHORT = 4096, 512
# Rounds in which all words of a length are drawn; a second round is hardly ever needed.
ROUNDS = 16


@dataclass(frozen=True)
class HeldOut:
    """Words, batches (n, T) of equal length each, and their answers."""

    words: Sequence[Ints]
    answers: Sequence[Ints]

    @classmethod
    def draw(cls, data: LanguageData, seed: int, number: int) -> HeldOut:
        """Words of all lengths of the training, drawn as there; with brackets, half of them by depth."""
        return cls.label(data.tree_task, drawn(data, seed, "held out", number))

    @classmethod
    def short(cls, data: LanguageData) -> HeldOut:
        """All words of the shortest lengths that are questions: what is drawn hardly has them all."""
        task, longest = data.tree_task, data.options.train_len
        every = [words for words in short_words(task.n_symbols, SHORT) if words.shape[1] <= longest]
        if isinstance(task, NestedTask):
            every = list(with_members(task, every, longest))
        questions = [words[task.questions(words)] for words in every]
        return cls.label(task, [words for words in questions if len(words)])

    @classmethod
    def label(cls, task: TreeTask, words: Sequence[Words]) -> HeldOut:
        """These words with their answers, none outside the domain."""
        batches = [batch.astype(np.int64) for batch in words]
        return cls(batches, [labels(task, batch) for batch in batches])

    def __add__(self, other: HeldOut) -> HeldOut:
        return HeldOut([*self.words, *other.words], [*self.answers, *other.answers])

    @property
    def count(self) -> int:
        """How many answers it tells: that a word is no question is known."""
        return sum(int((right != UNDEFINED).sum()) for right in self.answers)

    def up_to(self, longest: int) -> HeldOut:
        """Those of at most so many symbols."""
        kept = [i for i, words in enumerate(self.words) if words.shape[1] <= longest]
        return HeldOut([self.words[i] for i in kept], [self.answers[i] for i in kept])

    def wrong(self, answers: Query) -> list[Word]:
        """The words that a network or machine answers otherwise, batch by batch."""
        return [tuple(word) for batch in self.wrong_batches(answers) for word in batch.tolist()]

    def wrong_batches(self, answers: Query) -> Iterator[Ints]:
        """The same as batches (n, T), each looked at when it is requested."""
        for words, right in zip(self.words, self.answers, strict=True):
            if (wrong := answers(words) != right).any():
                yield words[wrong]


def labels(task: AnyTask, words: Ints) -> Ints:
    """The answers (n,) to words (n, T), -1 outside the domain."""
    answers = task.labels(words).astype(np.int64)
    return answers if task.domain is None else np.where(task.domain.accepts(words), answers, UNDEFINED)


def plan(data: LanguageData) -> tuple[list[int], int]:
    """The lengths of held-out words, and how many words each has."""
    lengths = data.lengths(data.options.train_len)
    return lengths, -(-HELD_OUT // len(lengths))


def drawn(data: LanguageData, seed: int, purpose: str, number: int = 0) -> list[Words]:
    """Words (n, T) of all lengths of the training, drawn as there; with brackets, half of them by depth."""
    lengths, each = plan(data)
    of_length = list(enumerate(lengths, start=number * len(lengths)))
    if not isinstance(data.task, NestedTask):
        return [data.batch(seed, purpose, i, [T], each) for i, T in of_length]
    half, by_depth = each // 2, f"{purpose} by depth"
    both = [
        [data.batch(seed, purpose, i, [T], each - half), data.by_depth.batch(seed, by_depth, i, [T], half)]
        for i, T in of_length
    ]
    return [np.concatenate(words) for words in both]


def with_members(task: NestedTask, short: Sequence[Ints], longest: int) -> Iterator[Ints]:
    """The empty word, these words of 1, 2, .. symbols, and all words of the grammar of lengths that have few."""
    yield np.zeros((1, 0), dtype=np.int64)
    for length in range(1, longest + 1):
        parts = list(short[length - 1 : length])
        if 0 < task.grammar.count(length) <= SHORT + 0.5:
            parts.append(members(task, length))
        if parts:
            yield np.unique(np.concatenate(parts), axis=0)


def members(task: NestedTask, length: int) -> Ints:
    """All words (n, length) of the grammar; there are few."""
    count = round(task.grammar.count(length))
    words = np.zeros((0, length), dtype=np.int64)
    for number in range(ROUNDS):
        drawn = task.grammar.uniform(rng(length, "all words", number), length, 16 * count)
        words = np.unique(np.concatenate([words, drawn.astype(np.int64)]), axis=0)
        if len(words) == count:
            break
    return words


def batches(words: Iterable[Word]) -> list[Ints]:
    """The words in their order, neighbours of one length together: batches (n, T)."""
    return [np.array(list(alike), dtype=np.int64) for _, alike in groupby(words, key=len)]
