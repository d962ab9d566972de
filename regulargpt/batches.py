"""Words for training and testing: each batch a pure function of (seed, purpose, step)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from languages.randomness import rng
from languages.task import Task
from regulargpt.config import EvaluationConfig, TaskConfig

Words = npt.NDArray[np.integer]  # (batch, length)


class Mixture(Protocol):
    """Which words of a balanced task are drawn: the section `task` says it for training, `evaluation` for the test."""

    @property
    def members(self) -> float:
        """The share of members."""
        ...

    @property
    def near_misses(self) -> float:
        """The share of near misses in the non-members."""
        ...

    @property
    def edits(self) -> int:
        """The most edits of a near miss."""
        ...

    @property
    def exchanges(self) -> float:
        """The share of near misses in which two symbols changed places."""
        ...


def training_words(task: Task, config: TaskConfig, seed: int, step: int, lengths: list[int], count: int) -> Words:
    """`count` words of one length, drawn uniformly from `lengths`.

    >>> import languages
    >>> task = languages.get("parity")
    >>> training_words(task, TaskConfig(), seed=0, step=7, lengths=[5], count=3).shape
    (3, 5)
    """
    random = rng(seed, "train", step)
    length = lengths[int(random.integers(len(lengths)))]
    return draw(task, config, random, length, count)


def is_tested(task: Task, config: EvaluationConfig, length: int) -> bool:
    """Whether there are test words of this length.

    >>> import languages
    >>> task, config = languages.get("dyck-2"), EvaluationConfig(both_classes=True)
    >>> is_tested(task, EvaluationConfig(), 41), is_tested(task, config, 41), is_tested(task, config, 42)
    (True, False, True)
    """
    if config.both_classes and task.sampling == "balanced":
        return len(task.classes(length)) == 2
    return task.has_length(length)


def test_words(task: Task, config: EvaluationConfig, seed: int, length: int, count: int) -> Words:
    """The test words of one length: the same for every model that is tested with this seed."""
    return draw(task, config, rng(seed, "test", length), length, count)


test_words.__test__ = False  # type: ignore[attr-defined]  # its name is no invitation to pytest


def draw(task: Task, mixture: Mixture, random: np.random.Generator, length: int, count: int) -> Words:
    """Words as the task samples them; of a balanced task, mixed as the config says."""
    if task.sampling == "uniform":
        return task.sample(random, length, count)
    return task.sample(
        random,
        length,
        count,
        near_misses=mixture.near_misses,
        edits=mixture.edits,
        exchanges=mixture.exchanges,
        members=mixture.members,
    )


def words_near(task: Task, word: Sequence[int], seed: int, step: int, count: int) -> Words:
    """`count` words (count, length) that differ from a word in at most two symbols; the word itself where they may not.

    >>> import languages
    >>> near = words_near(languages.get("parity"), (0, 1, 1, 0), seed=0, step=3, count=64)
    >>> near.shape, int((near != [0, 1, 1, 0]).sum(1).max())
    ((64, 4), 2)
    """
    random = rng(seed, "near a wrong word", step)
    words = np.tile(np.array(word), (count, 1))
    edits = random.integers(3, size=count)
    places, symbols = random.integers(len(word), size=(count, 2)), random.integers(task.n_symbols, size=(count, 2))
    for j in range(2):
        rows = np.flatnonzero(edits > j)
        words[rows, places[rows, j]] = symbols[rows, j]
    asked = task.labels(words) >= 0
    if task.domain is not None:
        asked &= task.domain.accepts(words)
    words[~asked] = word
    return words
