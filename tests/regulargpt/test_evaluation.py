"""Accuracy by length against models whose answers are known, and every number of the score by hand."""

import math
from collections.abc import Mapping
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from regulargpt import data, models
from regulargpt.config.schema import EvaluationOptions, RunConfig
from regulargpt.data import read_data
from regulargpt.evaluation import by_length as evaluation
from regulargpt.evaluation.by_length import (
    Point,
    RangeScore,
    first_below,
    lengths_of,
    measures_by_length,
    point_at,
    points_at,
    samples_at,
    score,
    words_at_once,
)
from regulargpt.evaluation.interval import Interval, student
from regulargpt.objectives import answers
from regulargpt.objectives.answers import Last, Next, Objective, Prefixes
from regulargpt.objectives.measures import Guess
from regulargpt.runs.run import lengths_of_test

CPU = torch.device("cpu")


class Knows(nn.Module):
    """The right parity, but for words of more than `limit` ones, where it says "even"."""

    def __init__(self, limit: int = 10**9):
        super().__init__()
        self.limit, self.sizes, self.modes = limit, [], []

    def forward(self, words: torch.Tensor, readout: str = "last") -> torch.Tensor:
        self.sizes.append(len(words))
        self.modes.append(self.training or torch.is_grad_enabled())
        ones = words.cumsum(1)
        answer = torch.where(ones > self.limit, 0, ones % 2)
        logits = nn.functional.one_hot(answer, 2).float()
        return logits[:, -1] if readout == "last" else logits


PARITY = read_data("parity")


def measured(
    model: nn.Module, lengths: list[int], goal: Objective | None = None, seed: int = 0, **options
) -> list[Point]:
    config = EvaluationOptions(**{"samples": 100} | options)
    return measures_by_length(model, PARITY, goal or Last(PARITY), lengths, config=config, seed=seed, device=CPU)


def test_a_model_that_knows_parity_is_always_right_and_one_that_guesses_is_not():
    assert [p.main for p in measured(Knows(), [1, 2, 41, 500])] == [100.0] * 4
    for point in measured(Knows(limit=-1), [5, 41]):
        guess = point.guesses["accuracy"]
        assert point.main == 100 * guess.shares[0]
        assert (sum(guess.shares), guess.chance) == (1.0, 0.5)
        assert 30 < point.main < 70


def test_errors_are_counted_word_by_word_and_with_every_answer_asked_for():
    for length in (9, 20):
        ones = PARITY.test(0, length, 100).sum(1)
        wrong = (ones > 5) & (ones % 2 == 1)
        assert measured(Knows(5), [length])[0].main == 100 * (~wrong).mean()
        point = measured(Knows(5), [length], Prefixes(PARITY))[0]
        assert point.main == point.measures["accuracy"].value == 100 * (~wrong).mean()
        assert point.measures["words"].value == 100 * (ones <= 6).mean()


@pytest.mark.parametrize("name", ["parity", "modular-arithmetic", "cycle-navigation", "tomita-3"])
def test_each_measure_and_each_guess_is_that_of_a_model_that_always_gives_one_answer(name: str):
    """An oracle: chance and the rule of one answer, measured as any network is."""
    words = read_data(name)
    goal, config = Prefixes(words), EvaluationOptions(samples=40)
    for answer in range(goal.n_outputs):
        model = Always(torch.eye(goal.n_outputs)[answer])
        for p in measures_by_length(model, words, goal, range(3, 10), config=config, seed=0, device=CPU):
            assert list(p.measures) == list(p.guesses) == ["accuracy", "accuracy_by_position", "words"]
            for measure, guess in p.guesses.items():
                assert p.measures[measure].value == pytest.approx(100 * guess.shares[answer])
            labels = words.task.labels(words.test(0, p.length, 40), every=True)
            fair = np.mean([(1 / goal.n_outputs) ** (row >= 0).sum() for row in labels])
            assert p.guesses["words"].chance == pytest.approx(fair)
            assert p.guesses["accuracy"].chance == p.guesses["accuracy_by_position"].chance == 1 / goal.n_outputs


class Always(nn.Module):
    """The same logits at every position."""

    def __init__(self, logits: torch.Tensor):
        super().__init__()
        self.logits = logits

    def forward(self, words: torch.Tensor, readout: str = "last") -> torch.Tensor:
        return self.logits.expand(*words.shape, -1)


def test_the_guesses_of_next_are_those_of_models_that_always_give_one_set():
    words = read_data("dyck-2")
    goal, config = Next(words), EvaluationOptions(samples=40)
    sets = list(product((-1.0, 1.0), repeat=goal.n_outputs))
    best = dict.fromkeys(("next_sets", "next_sets_by_position", "accuracy", "accuracy_by_position", "words"), 0.0)
    for chosen in sets:
        (p,) = measures_by_length(Always(torch.tensor(chosen)), words, goal, [6], config=config, seed=0, device=CPU)
        best = {name: max(value, p.measures[name].value) for name, value in best.items()}
    assert list(p.measures) == list(best)
    assert best == pytest.approx({name: 100 * max(guess.shares) for name, guess in p.guesses.items()})
    assert p.guesses["next_sets_by_position"].chance == 1 / len(sets)
    assert p.guesses["next_sets"].chance == pytest.approx(len(sets) ** -6)


class Surprise(Last):
    """A measure that is a number of each word: how many ones it has. Named second, as what a text model adds."""

    def measure(self, model: nn.Module, words: np.ndarray, device: torch.device) -> Mapping[str, Tensor]:
        return {**super().measure(model, words, device), "ones": torch.from_numpy(words.astype(np.float32)).sum(1)}


def test_every_measure_of_an_objective_is_kept_by_its_name():
    point = measured(Knows(), [20], Surprise(PARITY))[0]
    ones = PARITY.test(0, 20, 100).sum(1)
    found = point.measures["ones"]
    half = student(99) * ones.std(ddof=1) / 10
    assert (found.value, found.low, found.high) == pytest.approx((ones.mean(), ones.mean() - half, ones.mean() + half))
    assert list(lengths_of([point])["measures"]) == ["accuracy", "ones"]
    assert lengths_of([point])["measures"]["ones"]["intervals"] == {"20": [found.low, found.high]}
    assert point.main == 100.0


@pytest.mark.parametrize("at_once", [1, 7, 99, 100, 1000])
def test_the_result_does_not_depend_on_how_many_words_go_through_at_once(at_once: int, monkeypatch):
    expected = measured(Knows(3), [9])
    monkeypatch.setattr(evaluation, "words_at_once", lambda model, length, n_outputs: at_once)
    model = Knows(3)
    assert measured(model, [9]) == expected
    assert sum(model.sizes) == 100
    assert max(model.sizes) <= at_once


@pytest.mark.parametrize("goal", [Last, partial(Last, output_token=True), Prefixes, Next])
@pytest.mark.parametrize("written", ["regulargpt:gates=true", "regulargpt:chunk_size=4", "ldru", "gru"])
def test_a_tree_reads_words_of_many_lengths_at_once_and_has_the_points_of_each_length(
    goal: Any, written: str, monkeypatch
):
    words, samples, alone = read_data("tomita-3"), {5: 20, 7: 16, 8: 10, 20: 30, 9: 8}, []

    def slowly(*arguments: Any) -> Point:
        alone.append(arguments[3])
        return point_at(*arguments)

    goal = goal(words)
    model = build(f"{written}{',' if ':' in written else ':'}d_model=8", goal.n_inputs, goal.n_outputs).double().eval()
    expected = [point_at(model, words, goal, length, count, 0, CPU) for length, count in samples.items()]
    monkeypatch.setattr(answers, "symbols_at_once", lambda model: 300)
    monkeypatch.setattr(evaluation, "point_at", slowly)
    with torch.no_grad():
        points = list(points_at(model, words, goal, samples, 0, CPU))
    assert points == expected
    assert [p.wrong is None or p.wrong.tolist() for p in points] == [
        p.wrong is None or p.wrong.tolist() for p in expected
    ]
    # 20 has more symbols than go through at once.
    assert alone == ([20] if type(goal) is Last and written != "gru" else list(samples))


def test_words_depend_on_seed_and_length_only():
    separate = [p for T in (5, 9, 7) for p in measured(Knows(2), [T])]
    assert measured(Knows(2), [5, 9, 7]) == separate
    assert measured(Knows(2), [9], seed=1) != measured(Knows(2), [9], seed=0)


def test_testing_is_in_evaluation_mode_and_keeps_no_gradients():
    model = Knows().train()
    measured(model, [3])
    assert model.modes == [False]


def test_lengths_without_words_are_left_out_and_each_point_is_told():
    words, told = read_data("modular-arithmetic"), []
    model = build("gru:d_model=4", words.task.n_symbols, words.task.n_outputs)
    fixed = {"config": EvaluationOptions(samples=10), "seed": 0, "device": CPU, "on_point": told.append}
    points = measures_by_length(model, words, Last(words), range(1, 8), **fixed)
    assert [p.length for p in points] == [1, 3, 5, 7]
    assert told == points


def build(written: str, n_symbols: int = 2, n_outputs: int = 2) -> nn.Module:
    return models.build(models.MODELS.options(written, "model"), n_symbols, n_outputs, torch.Generator())


ATTENTIVE = ("transformer", "decoder-only", "encoder-decoder", "looped")


@pytest.mark.parametrize(
    ("written", "at_once"),
    [
        *((name, 2 if name in ATTENTIVE else 1048) for name in models.MODELS),
        ("regulargpt:attention=full", 2),
    ],
)
def test_a_model_that_attends_to_every_pair_gets_fewer_words_at_once(written: str, at_once: int):
    model = build(written)
    assert models.MODELS.options(written, "model").quadratic == getattr(model, "quadratic", False) == (at_once == 2)
    assert words_at_once(model, 500) == at_once
    assert words_at_once(model, 10**7) == 1
    assert words_at_once(model, 500, 4096) == min(at_once, 32)  # so many outputs are 256 MiB


@pytest.mark.parametrize(
    ("is_proven", "options", "expected"),
    [
        (True, {}, [*range(41, 501, 51), 1000]),
        (True, {"data.name": "modular-arithmetic", "evaluation.test_len": 60}, [*range(41, 61, 2), 1000]),
        (True, {"evaluation.stride": 1}, [*range(41, 501), 1000]),
        (True, {"evaluation.factor": 3}, [41, 123, 369, 1000]),
        (True, {"protocol": "hard-2"}, [*range(41, 501), 1000]),
        (False, {}, [*range(41, 501), 1000]),
    ],
)
def test_few_lengths_are_enough_where_a_network_is_proven(is_proven: bool, options: dict[str, Any], expected):
    config = RunConfig().replaced({"evaluation.extra_lengths": (1000,), **options})
    assert lengths_of_test(config, data.build(config.data), is_proven) == expected


@given(st.integers(1, 10**7), st.integers(1, 5000), st.integers(1, 10**9))
def test_how_many_words_are_drawn(length: int, samples: int, symbols: int):
    n = samples_at(length, EvaluationOptions(samples=samples, symbols=symbols))
    assert n == samples or (n < samples and n in (4, symbols // length) and n >= 4)
    assert n <= 4 or n * length <= symbols or n == samples


@given(st.integers(1, 5000), st.data())
def test_wilsons_bounds_are_where_the_score_test_is_just_not_significant(n: int, data: st.DataObject):
    right = data.draw(st.integers(0, n))
    found = Interval.of_right(right, n)
    assert 0.0 <= found.low <= found.value == 100 * (right / n) <= found.high <= 100.0
    for bound in (found.low / 100, found.high / 100):
        if 1e-9 < bound < 1 - 1e-9:
            z = abs(right / n - bound) / math.sqrt(bound * (1 - bound) / n)
            assert z == pytest.approx(1.959963984540054, rel=1e-6)


def points_of(
    values: dict[int, float], shares: tuple[float, ...] = (0.25, 0.75), measure: str = "accuracy"
) -> list[Point]:
    guesses = {measure: Guess(1 / len(shares), shares)} if shares else {}
    return [Point(T, 100, {measure: Interval(value, value, value)}, guesses) for T, value in values.items()]


def test_the_score_is_the_mean_of_the_range_and_failures_are_looked_for_everywhere():
    found = score(points_of({41: 100.0, 42: 98.0, 500: 90.0, 10_000: 50.0}), range(41, 501))
    parts = {"score": pytest.approx(96.0), "worst": 90.0, "chance": 50.0, "majority": 75.0}
    assert found == RangeScore(measure="accuracy", **parts, first_below_99=42, first_below_90=10_000)


def test_of_a_measure_that_is_no_share_nothing_is_guessed():
    found = score(points_of({41: 0.5, 42: 2.0}, (), "bits_per_byte"), range(41, 43))
    assert (found.measure, found.score, found.worst) == ("bits_per_byte", 1.25, 2.0)
    assert (found.first_below_99, found.first_below_90, found.chance, found.majority) == (None,) * 4


def test_the_majority_rule_gives_one_answer_at_all_lengths():
    points = [*points_of({41: 100.0}, (0.9, 0.1, 0.0)), *points_of({42: 100.0}, (0.0, 0.7, 0.3))]
    found = score(points, range(41, 43))
    assert (found.majority, found.chance) == (pytest.approx(45.0), pytest.approx(100 / 3))


@given(st.dictionaries(st.integers(1, 50), st.floats(0, 100), min_size=1), st.floats(0, 100))
def test_first_below(values: dict[int, float], limit: float):
    below = [T for T, value in values.items() if value < limit]
    assert first_below(points_of(values), limit, "accuracy") == (min(below) if below else None)
