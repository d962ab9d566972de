"""Measures by length, and what they are worth beside chance and the rule that always gives the same answer."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from languages.drawn import DrawnTask
from languages.errors import UserError
from regulargpt.config.schema import EvaluationOptions, RunConfig
from regulargpt.data.base import Data, Words
from regulargpt.data.language import LanguageData
from regulargpt.evaluation.interval import Interval
from regulargpt.models.base import Model, device_of
from regulargpt.objectives.answers import AtOnce, Objective, RowObjective
from regulargpt.objectives.measures import Guess, measure

FEWEST_WORDS = 4
# Symbols in one forward pass: enough to keep a device busy, few enough for the caches and for memory. A model that
# attends from every position to every other counts each pair.
SYMBOLS_AT_ONCE = 1 << 19
CPU_PAIRS_AT_ONCE, GPU_PAIRS_AT_ONCE = 1 << 19, 1 << 22
LOGITS_AT_ONCE = 1 << 26  # 256 MiB: the word pieces of a tokenizer are many
# Longer words are not written into a summary.
MOST_WRITTEN = 1000
# Shares of each word's positions, whose interval stays between 0 and 100 %.
BY_POSITION = ("accuracy_by_position", "next_sets_by_position")


@dataclass(frozen=True)
class Point:
    """The result at one length: every measure by name, of how many words, and what guessing has of it.

    `of_words` has each word's own number where a measure is a mean of numbers: differences are taken word by word.
    `files` is the file of the text that each segment lies in, None of words that are drawn one by one. `wrong` is the
    first word that the first measure calls wrong, if it calls each right or wrong and there is any.
    """

    length: int
    samples: int
    measures: Mapping[str, Interval]
    guesses: Mapping[str, Guess] = field(default_factory=dict)
    of_words: Mapping[str, np.ndarray] = field(default_factory=dict, compare=False)
    files: np.ndarray | None = field(default=None, compare=False)
    wrong: np.ndarray | None = field(default=None, compare=False)

    @property
    def main(self) -> float:
        """The first measure, which makes the score."""
        return next(iter(self.measures.values())).value


def samples_at(length: int, config: EvaluationOptions) -> int:
    """How many words are drawn at a length: fewer at very long ones.

    >>> [samples_at(T, EvaluationOptions()) for T in (500, 10_000, 1_000_000)]
    [64, 64, 4]
    """
    return min(config.samples, max(FEWEST_WORDS, config.symbols // length))


@torch.no_grad()
def measures_by_length(
    model: nn.Module,
    data: Data,
    objective: Objective,
    lengths: Iterable[int],
    *,
    config: EvaluationOptions,
    seed: int,
    device: torch.device,
    train_len: int = 0,
    on_test: Callable[[Mapping[int, int]], None] = lambda words: None,
    on_point: Callable[[Point], None] = lambda point: None,
    on_words: Callable[[int, int], None] = lambda length, count: None,
) -> list[Point]:
    """Test at each of the lengths with test words, on fresh words that depend on the seed and the length only.

    `on_test` is told at first how many words there are of each length, `on_point` each result, `on_words` how many
    words of a length have been read, where they are read piece by piece. `train_len` is what a view such as `bca` is
    made from.
    """
    model.eval()
    words, points = {T: samples_at(T, config) for T in lengths if data.is_tested(T)}, []
    with seen_through(model, config.attention, train_len):
        on_test(words)
        for point in points_at(model, data, objective, words, seed, device, on_words):
            points.append(point)
            on_point(point)
    return points


@contextmanager
def seen_through(model: nn.Module, attention: str, train_len: int) -> Iterator[None]:
    if attention == "full":
        yield
        return
    assert isinstance(model, Model), "validation refuses what has no views"
    model.set_attention(attention, train_len)
    try:
        yield
    finally:
        model.set_attention("full", train_len)


def points_at(
    model: nn.Module,
    data: Data,
    objective: Objective,
    samples: Mapping[int, int],
    seed: int,
    device: torch.device,
    on_words: Callable[[int, int], None] = lambda length, count: None,
) -> Iterator[Point]:
    """The measures of a model, as it is, at each length on so many test words.

    Words of many lengths go through at once where objective and model let them. `point_at` does the same slowly.
    """
    at_once = objective.symbols_at_once(model) if isinstance(objective, AtOnce) else 0
    for lengths in together(samples, at_once):
        if not isinstance(objective, AtOnce) or sum(T * samples[T] for T in lengths) > at_once:
            yield from (point_at(model, data, objective, T, samples[T], seed, device, on_words) for T in lengths)
            continue
        words = [data.test(seed, T, samples[T]) for T in lengths]
        for T, alike, numbers in zip(lengths, words, objective.measure_at_once(model, words, device), strict=True):
            yield point_of(T, alike, numbers, objective, data.files(seed, T, samples[T]))


def together(samples: Mapping[int, int], at_once: int) -> Iterator[list[int]]:
    """The lengths in groups, in their order: as many as have so many symbols together, or one that has more.

    >>> list(together({3: 2, 4: 2, 5: 2, 90: 2}, at_once=20))
    [[3, 4], [5], [90]]
    """
    group, symbols = [], 0
    for length, count in samples.items():
        if group and symbols + length * count > at_once:
            yield group
            group, symbols = [], 0
        group, symbols = [*group, length], symbols + length * count
    if group:
        yield group


def point_at(
    model: nn.Module,
    data: Data,
    objective: Objective,
    length: int,
    samples: int,
    seed: int,
    device: torch.device,
    on_words: Callable[[int, int], None] = lambda length, count: None,
) -> Point:
    """The measures of a model, as it is, on so many test words of equal length."""
    words = data.test(seed, length, samples)
    # All words of a length are drawn at once and tested in pieces: the pieces change no word.
    symbols = words.shape[1] if data.has_rows else length  # with those that ask for answers
    at_once = words_at_once(model, symbols, objective.n_outputs)
    parts = []
    for at in range(0, len(words), at_once):
        parts.append(objective.measure(model, words[at : at + at_once], device))
        on_words(length, min(at + at_once, len(words)))
    numbers = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
    return point_of(length, words, numbers, objective, data.files(seed, length, samples))


def point_of(
    length: int, words: Words, measured: Mapping[str, Tensor], objective: Objective, files: np.ndarray | None
) -> Point:
    """The result at a length, from what was measured of each of its words."""
    on_cpu = {name: of_words.cpu() for name, of_words in measured.items()}
    if not all(bool(of_words.isfinite().all()) for of_words in on_cpu.values()):
        raise UserError(f"the network's numbers overflow at length {length:,}; test it at shorter lengths")
    measures, guesses, numbers = measured_of(on_cpu, files, objective.guesses(words))
    main = next(iter(on_cpu.values()))
    wrong = words[~main.numpy()][:1] if main.dtype == torch.bool else words[:0]  # (1 or 0, length)
    return Point(length, len(words), measures, guesses, numbers, files, wrong[0] if len(wrong) else None)


def measured_of(
    by_measure: Mapping[str, Tensor], files: np.ndarray | None, guesses: Mapping[str, Guess] = {}
) -> tuple[dict[str, Interval], Mapping[str, Guess], dict[str, np.ndarray]]:
    """Of a point the measures, the guesses, and each word's number, from what was measured of each word."""
    measures = {name: _value(name, of_words, files) for name, of_words in by_measure.items()}
    numbers = {name: of_words.double().numpy() for name, of_words in by_measure.items() if of_words.dtype != torch.bool}
    return measures, guesses, numbers


def _value(name: str, of_words: Tensor, files: np.ndarray | None) -> Interval:
    if of_words.dtype == torch.bool:
        return Interval.of_right(int(of_words.sum()), len(of_words))
    if name in BY_POSITION:
        return Interval.of_right(float(of_words.mean()) / 100 * len(of_words), len(of_words))
    return Interval.of_mean(of_words.double().numpy(), files).through(measure(name).of_mean)


def words_at_once(model: nn.Module, length: int, n_outputs: int = 1) -> int:
    """How many words of a length go through the model together, if it gives so many outputs at each symbol."""
    most = min(SYMBOLS_AT_ONCE, LOGITS_AT_ONCE // n_outputs) // length
    if getattr(model, "quadratic", False):
        on_cpu = device_of(model).type == "cpu"
        most = min(most, (CPU_PAIRS_AT_ONCE if on_cpu else GPU_PAIRS_AT_ONCE) // length**2)
    return max(1, most)


@dataclass(frozen=True)
class RangeScore:
    """The test range in a line, by one measure: its mean, its worst, where it first falls below.

    `majority` is the same measure of the best rule that always gives the same answer, `chance` that of guessing; None
    where there is nothing to guess.
    """

    measure: str
    score: float
    worst: float
    first_below_99: int | None
    first_below_90: int | None
    chance: float | None
    majority: float | None


def score(points: list[Point], scored: Container[int], name: str = "") -> RangeScore:
    """Mean and worst over those of the lengths `scored` that were tested, and where it first fails.

    Of the measure of this name, else of the first.

    >>> fair = {"accuracy": Guess(0.5, (0.5, 0.5))}
    >>> points = [Point(41, 512, {"accuracy": Interval(100.0, 99.0, 100.0)}, fair),
    ...           Point(42, 512, {"accuracy": Interval(95.0, 93.0, 97.0)}, fair)]
    >>> score(points, range(41, 501))
    RangeScore(measure='accuracy', score=97.5, worst=95.0, first_below_99=42, first_below_90=None, chance=50.0, ...)
    """
    inside = [p for p in points if p.length in scored]
    name = name or next(iter(points[0].measures))
    known = measure(name)
    values = [p.measures[name].value for p in inside]
    guessed = [p.guesses[name] for p in inside if name in p.guesses]
    is_share = known.unit == "%"
    return RangeScore(
        measure=name,
        score=float(np.mean(values)),
        worst=known.worst(values),
        first_below_99=first_below(points, 99.0, name) if is_share else None,
        first_below_90=first_below(points, 90.0, name) if is_share else None,
        chance=100 * float(np.mean([guess.chance for guess in guessed])) if guessed else None,
        majority=100 * best_answer(guessed) if guessed else None,
    )


def best_answer(guessed: Sequence[Guess]) -> float:
    """The share of the answer that is best if it is given at all lengths."""
    shares = np.zeros((len(guessed), max(len(guess.shares) for guess in guessed)))  # (lengths, answers)
    for row, guess in zip(shares, guessed, strict=True):
        row[: len(guess.shares)] = guess.shares
    return float(shares.mean(0).max())


def scores(points: list[Point], scored: Container[int]) -> dict[str, Any]:
    """What is said of the range: of the first measure, and under `scores` of each by its name."""
    by_measure = {name: vars(score(points, scored, name)) for name in points[0].measures}
    apart = {name: {key: value for key, value in of.items() if key != "measure"} for name, of in by_measure.items()}
    return {**next(iter(by_measure.values())), "scores": apart}


def first_below(points: list[Point], value: float, name: str) -> int | None:
    return min((p.length for p in points if p.measures[name].value < value), default=None)


def as_result(points: list[Point], config: RunConfig) -> dict[str, Any]:
    """The results of a test as summary.json has them: where it was scored, the score, and every length."""
    return {
        "test_from": config.scored[0],
        "test_len": config.test_len,
        "stride": config.evaluation.stride or 1,
        "factor": config.evaluation.factor,
        **scores(points, config.scored),
        **lengths_of(points),
    }


def shortest_wrong(
    points: list[Point], data: Data, model: nn.Module, objective: Objective, device: torch.device
) -> dict[str, Any]:
    """The shortest tested word of a language that is wrong, None if there is none or it is very long.

    Where words are answered by rows also `wrong_answer`: its first wrong answer, what the network gives, what is right.
    """
    if not isinstance(data, LanguageData):
        return {}
    wrong = min((p.wrong for p in points if p.wrong is not None), key=len, default=np.array([], dtype=np.intp))
    if not 0 < len(wrong) <= MOST_WRITTEN:
        return {"wrong_word": None}
    task = data.task
    word = task.written(wrong)[0] if isinstance(task, DrawnTask) else task.machine.decode(wrong)
    answer = objective.first_wrong(model, wrong, device) if isinstance(objective, RowObjective) else {}
    return {"wrong_word": word, **answer}


def lengths_of(points: list[Point]) -> dict[str, Any]:
    """Every length: how many words it had, and each measure with its interval.

    Where there is something to guess, also with chance and with the answer that is the best there.
    """
    return {
        "samples": {str(p.length): p.samples for p in points},
        "measures": {
            name: {
                "values": {str(p.length): p.measures[name].value for p in points},
                "intervals": {str(p.length): [p.measures[name].low, p.measures[name].high] for p in points},
                **guessed_of(points, name),
            }
            for name in points[0].measures
        },
    }


def guessed_of(points: list[Point], name: str) -> dict[str, dict[str, float]]:
    """Chance and the best single answer at each length, in percent; nothing of a measure that nobody guesses."""
    of = {str(p.length): p.guesses[name] for p in points if name in p.guesses}
    if not of:
        return {}
    return {
        "chance": {length: 100 * guess.chance for length, guess in of.items()},
        "majority": {length: 100 * max(guess.shares) for length, guess in of.items()},
    }
