"""Accuracy by length, and what it is worth beside chance and the rule that always gives the same answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from languages.task import Task
from regulargpt.batches import is_tested, test_words
from regulargpt.config import EvaluationConfig
from regulargpt.objectives import Objective

FEWEST_WORDS = 32
# Symbols in one forward pass: enough to keep a device busy, few enough for the caches and for memory. A model that
# attends from every position to every other counts each pair.
SYMBOLS_AT_ONCE = 1 << 19
CPU_PAIRS_AT_ONCE, GPU_PAIRS_AT_ONCE = 1 << 19, 1 << 22


@dataclass(frozen=True)
class Point:
    """The result at one length: the share of right words, of how many, and the share of each answer in the labels."""

    length: int
    accuracy: float
    samples: int
    label_shares: tuple[float, ...]

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % confidence interval of the accuracy.

        >>> [round(x, 4) for x in Point(41, 1.0, 512, ()).interval]
        [0.9926, 1.0]
        """
        z, n, p = 1.959963984540054, self.samples, self.accuracy
        centre = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        return max(0.0, centre - half), min(1.0, centre + half)


def samples_at(length: int, config: EvaluationConfig) -> int:
    """How many words are drawn at a length: fewer at very long ones.

    >>> [samples_at(T, EvaluationConfig()) for T in (500, 10_000, 1_000_000)]
    [512, 512, 33]
    """
    return min(config.samples, max(FEWEST_WORDS, config.symbols // length))


@torch.no_grad()
def accuracy_by_length(
    model: nn.Module,
    task: Task,
    objective: Objective,
    lengths: Iterable[int],
    *,
    config: EvaluationConfig,
    seed: int,
    device: torch.device,
    on_test: Callable[[Mapping[int, int]], None] = lambda words: None,
    on_point: Callable[[Point], None] = lambda point: None,
) -> list[Point]:
    """Test at each of the lengths with test words, on fresh words that depend on the seed and the length only.

    `on_test` is told at first how many words there are of each length, `on_point` each result.
    """
    model.eval()
    words, points = {T: samples_at(T, config) for T in lengths if is_tested(task, config, T)}, []
    on_test(words)
    for length in words:
        point = _point(model, task, objective, length, config, seed, device)
        points.append(point)
        on_point(point)
    return points


def _point(
    model: nn.Module,
    task: Task,
    objective: Objective,
    length: int,
    config: EvaluationConfig,
    seed: int,
    device: torch.device,
) -> Point:
    samples = samples_at(length, config)
    words = test_words(task, config, seed, length, samples)
    at_once = words_at_once(model, length)
    right = sum(
        int(objective.correct(model, words[at : at + at_once], device).sum()) for at in range(0, samples, at_once)
    )
    counts = np.bincount(task.labels(words), minlength=task.n_outputs)
    return Point(length, right / samples, samples, tuple(float(c) / samples for c in counts))


def words_at_once(model: nn.Module, length: int) -> int:
    """How many words of a length go through the model together."""
    if not getattr(model, "quadratic", False):
        return max(1, SYMBOLS_AT_ONCE // length)
    on_cpu = next(model.parameters()).device.type == "cpu"
    return max(1, (CPU_PAIRS_AT_ONCE if on_cpu else GPU_PAIRS_AT_ONCE) // length**2)


@dataclass(frozen=True)
class Score:
    """The test range in one line; all shares in percent.

    `majority` is the score of the best rule that always gives the same answer, `chance` that of guessing.
    """

    score: float
    min_accuracy: float
    first_below_99: int | None
    first_below_90: int | None
    chance: float
    majority: float


def score(points: list[Point], scored: Container[int]) -> Score:
    """Mean and minimum over those of the lengths `scored` that were tested, and where it first fails.

    >>> points = [Point(41, 1.0, 512, (0.5, 0.5)), Point(42, 0.95, 512, (0.5, 0.5))]
    >>> score(points, range(41, 501))
    Score(score=97.5, min_accuracy=95.0, first_below_99=42, first_below_90=None, chance=50.0, majority=50.0)
    """
    inside = [p for p in points if p.length in scored]
    shares = np.array([p.label_shares for p in inside])  # (lengths, n_outputs)
    accuracies = [p.accuracy for p in inside]
    return Score(
        score=100 * float(np.mean(accuracies)),
        min_accuracy=100 * min(accuracies),
        first_below_99=first_below(points, 0.99),
        first_below_90=first_below(points, 0.90),
        chance=100 / shares.shape[1],
        majority=100 * float(shares.mean(0).max()),
    )


def first_below(points: list[Point], accuracy: float) -> int | None:
    """The smallest tested length with less than this accuracy."""
    return min((p.length for p in points if p.accuracy < accuracy), default=None)
