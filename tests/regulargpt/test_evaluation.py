"""Accuracy by length against models whose answers are known, and every number of the score by hand."""

import math
from typing import Literal

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import languages
from regulargpt import evaluation, models
from regulargpt.config import EvaluationConfig, ModelConfig, RunConfig
from regulargpt.evaluation import Point, Score, accuracy_by_length, first_below, samples_at, score, words_at_once
from regulargpt.objectives import Every, Last, Objective
from regulargpt.plots import accuracy_png

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


def measured(
    model: nn.Module, lengths: list[int], goal: Objective | None = None, seed: int = 0, **config
) -> list[Point]:
    task = languages.get("parity")
    return accuracy_by_length(
        model,
        task,
        goal or Last(task),
        lengths,
        config=EvaluationConfig(**{"samples": 100} | config),
        seed=seed,
        device=CPU,
    )


def test_a_model_that_knows_parity_is_always_right_and_one_that_guesses_is_not():
    assert [p.accuracy for p in measured(Knows(), [1, 2, 41, 500])] == [1.0] * 4
    for point in measured(Knows(limit=-1), [5, 41]):
        assert point.accuracy == point.label_shares[0]
        assert sum(point.label_shares) == 1.0
        assert 0.3 < point.accuracy < 0.7


def test_errors_are_counted_word_by_word_and_with_every_answer_asked_for():
    task = languages.get("parity")
    for length in (9, 20):
        words = task.sample(languages.rng(0, "test", length), length, 100)
        ones = words.sum(1)
        wrong = (ones > 5) & (ones % 2 == 1)
        wrong_somewhere = ones > 6
        assert measured(Knows(5), [length])[0].accuracy == (~wrong).mean()
        assert measured(Knows(5), [length], Every(task))[0].accuracy == (~wrong_somewhere).mean()


@pytest.mark.parametrize("at_once", [1, 7, 99, 100, 1000])
def test_the_result_does_not_depend_on_how_many_words_go_through_at_once(at_once: int, monkeypatch):
    expected = measured(Knows(3), [9])
    monkeypatch.setattr(evaluation, "words_at_once", lambda model, length: at_once)
    model = Knows(3)
    assert measured(model, [9]) == expected
    assert sum(model.sizes) == 100
    assert max(model.sizes) <= at_once


def test_words_depend_on_seed_and_length_only():
    separate = [p for T in (5, 9, 7) for p in measured(Knows(2), [T])]
    assert measured(Knows(2), [5, 9, 7]) == separate
    assert measured(Knows(2), [9], seed=1) != measured(Knows(2), [9], seed=0)


def test_testing_is_in_evaluation_mode_and_keeps_no_gradients():
    model = Knows().train()
    measured(model, [3])
    assert model.modes == [False]


def test_lengths_without_words_are_left_out_and_each_point_is_told():
    task, told = languages.get("modular-arithmetic"), []
    model = models.build(ModelConfig(name="gru", d_model=4), task.n_symbols, task.n_outputs, torch.Generator())
    points = accuracy_by_length(
        model,
        task,
        Last(task),
        range(1, 8),
        config=EvaluationConfig(samples=10),
        seed=0,
        device=CPU,
        on_point=told.append,
    )
    assert [p.length for p in points] == [1, 3, 5, 7]
    assert told == points


@pytest.mark.parametrize("name", models.MODELS)
def test_a_model_that_attends_to_every_pair_gets_fewer_words_at_once(name: str):
    model = models.build(ModelConfig(name=name, d_model=8), 2, 2, torch.Generator())
    assert words_at_once(model, 500) == (2 if name == "transformer" else 1048)
    assert words_at_once(model, 10**7) == 1


@pytest.mark.parametrize(("attention", "at_once"), [("dilated", 1048), ("full", 2)])
def test_of_regulargpt_it_depends_on_the_attention(attention: Literal["dilated", "full"], at_once: int):
    model = models.build(ModelConfig(d_model=8, attention=attention), 2, 2, torch.Generator())
    assert words_at_once(model, 500) == at_once


@given(st.integers(1, 10**7), st.integers(1, 5000), st.integers(1, 10**9))
def test_how_many_words_are_drawn(length: int, samples: int, symbols: int):
    n = samples_at(length, EvaluationConfig(samples=samples, symbols=symbols))
    assert n == samples or (n < samples and n in (32, symbols // length) and n >= 32)
    assert n <= 32 or n * length <= symbols or n == samples


@given(st.integers(1, 5000), st.data())
def test_wilsons_bounds_are_where_the_score_test_is_just_not_significant(n: int, data: st.DataObject):
    right = data.draw(st.integers(0, n))
    low, high = Point(1, right / n, n, ()).interval
    assert 0.0 <= low <= right / n + 1e-12
    assert right / n - 1e-12 <= high <= 1.0
    for bound in (low, high):
        if 1e-9 < bound < 1 - 1e-9:
            z = abs(right / n - bound) / math.sqrt(bound * (1 - bound) / n)
            assert z == pytest.approx(1.959963984540054, rel=1e-6)


def points_of(accuracies: dict[int, float], shares: tuple[float, ...] = (0.25, 0.75)) -> list[Point]:
    return [Point(T, a, 100, shares) for T, a in accuracies.items()]


def test_the_score_is_the_mean_of_the_range_and_failures_are_looked_for_everywhere():
    points = points_of({41: 1.0, 42: 0.98, 500: 0.9, 10_000: 0.5})
    assert score(points, range(41, 501)) == Score(
        score=pytest.approx(96.0),
        min_accuracy=90.0,
        first_below_99=42,
        first_below_90=10_000,
        chance=50.0,
        majority=75.0,
    )


def test_the_majority_rule_gives_one_answer_at_all_lengths():
    points = [Point(41, 1.0, 10, (0.9, 0.1, 0.0)), Point(42, 1.0, 10, (0.0, 0.7, 0.3))]
    found = score(points, range(41, 43))
    assert (found.majority, found.chance) == (pytest.approx(45.0), pytest.approx(100 / 3))


@given(st.dictionaries(st.integers(1, 50), st.floats(0, 1), min_size=1), st.floats(0, 1))
def test_first_below(accuracies: dict[int, float], limit: float):
    below = [T for T, a in accuracies.items() if a < limit]
    assert first_below(points_of(accuracies), limit) == (min(below) if below else None)


@pytest.mark.parametrize("language", ["parity", "regex:a*;alphabet=$a_$", r"regex:(a\$)*", "dfa:x^{_%\\"])
def test_a_picture_is_drawn_whatever_the_language_is_called(language: str, tmp_path):
    config = RunConfig().replaced({"task.language": language})
    accuracy_png(tmp_path / "a.png", points_of({41: 1.0}), config)
    accuracy_png(tmp_path / "b.png", points_of({41: 1.0, 42: 0.5, 10_000: 0.0}), config)
    for name in ("a.png", "b.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_the_same_points_draw_the_same_bytes(tmp_path):
    for name in ("a.png", "b.png"):
        accuracy_png(tmp_path / name, points_of({41: 1.0, 42: 0.9}), RunConfig())
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
