"""Shortcut scores: features against slow ones, rules against scikit-learn's, scores against known ones."""

from collections import Counter
from itertools import groupby, product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import languages
from languages.randomness import rng
from regulargpt import data, objectives
from regulargpt.config.schema import RunConfig
from regulargpt.data.language import LanguageData
from regulargpt.evaluation.by_length import measures_by_length, samples_at
from regulargpt.evaluation.shortcuts import scores as module
from regulargpt.evaluation.shortcuts.features import RULES, features
from regulargpt.evaluation.shortcuts.rows import ROW_RULES, RowCounts
from regulargpt.evaluation.shortcuts.rule import fit
from regulargpt.evaluation.shortcuts.scores import Shortcut, shortcut_report, shortcut_scores


def config(language: str, **values: object) -> RunConfig:
    """42, 93, 144, ... and 1,000 symbols, 64 words each."""
    fields = {"data.name": language, "evaluation.test_from": 42, "evaluation.stride": 51}
    fields |= {"evaluation.samples": 64, "evaluation.extra_lengths": (1000,)}
    return RunConfig().replaced({**fields, **{key.replace("__", "."): value for key, value in values.items()}})


def scores(language: str, seed: int = 0, **values: object) -> dict[str, Shortcut]:
    chosen = config(language, **values)
    return shortcut_scores(data.build(chosen.data), chosen, seed)


def slow_features(word: list[int], n_symbols: int) -> dict[str, list[float]]:
    """By loops over one word."""
    T, symbols = len(word), range(n_symbols)
    counts = [word.count(a) for a in symbols]
    equal = [float(counts[a] == counts[b]) for a in symbols for b in range(a + 1, n_symbols)]
    found = [(a, len(list(run))) for a, run in groupby(word)]
    runs = [max((size for b, size in found if b == a), default=0) for a in symbols] + [len(found)]
    grams = {n: Counter(tuple(word[t : t + n]) for t in range(T - n + 1)) for n in (1, 2, 3)}
    in_order = [(n, gram) for n in (1, 2, 3) for gram in product(symbols, repeat=n)]
    return {
        "majority": [],
        "ends": [float((word[0], word[-1]) == pair) for pair in product(symbols, repeat=2)],
        "counts": [*map(float, counts), *equal],
        "count-shares": [*(count / T for count in counts), *equal],
        "runs": [*map(float, runs)],
        "run-shares": [size / T for size in runs],
        "n-grams": [float(grams[n][gram]) for n, gram in in_order],
        "n-gram-shares": [grams[n][gram] / max(1, T - n + 1) for n, gram in in_order],
    }


@settings(max_examples=60)
@given(n_symbols=st.integers(1, 5), length=st.integers(1, 40), seed=st.integers(0, 10**6))
def test_features_equal_slow_ones(n_symbols: int, length: int, seed: int):
    words = rng(seed, "features").integers(0, n_symbols, (5, length)).astype(np.uint8)
    found = features(words, n_symbols)
    assert list(found) == list(RULES)
    slow = [slow_features(word, n_symbols) for word in words.tolist()]
    for name, columns in found.items():
        assert columns.tolist() == [row[name] for row in slow], name


@pytest.mark.parametrize("n_symbols", [2, 8, 9, 22, 23, 32, 33, 120])
def test_columns_are_few_and_the_same_at_every_length(n_symbols: int):
    widths = {
        tuple(columns.shape[1] for columns in features(np.zeros((2, T), dtype=np.uint8), n_symbols).values())
        for T in (1, 2, 3, 50)
    }
    assert len(widths) == 1
    assert max(max(widths)) <= 512 + 64 + 8 + 1


@pytest.mark.parametrize("n_answers", [2, 3, 5])
def test_rules_answer_as_scikit_learn_does(n_answers: int):
    random = rng(0, "rule")
    x = random.normal(size=(400, 6))
    labels = (x[:, :n_answers] + random.normal(size=(400, n_answers))).argmax(axis=1)
    columns = x * [1, 10, 0.1, 1, 1, 0] + 5
    model = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-3)).fit(columns, labels)
    assert fit(columns, labels)(columns).tolist() == model.predict(columns).tolist()
    # Answers that do not occur are not given.
    line = np.array([[0.0], [1.0], [2.0], [3.0]])
    for answers in ([4, 4, 9, 9], [3, 3, 3, 3]):
        assert fit(line, np.array(answers))(line).tolist() == answers


def test_parity_has_no_shortcut_even_pairs_the_ends_and_tomita_6_only_that_equal_numbers_are_a_member():
    rows = scores("parity", evaluation__samples=512)
    assert all(abs(row.score - 50) < 2.5 for row in rows.values())  # 5 standard deviations of 9 * 512 answers: 3.7
    assert all(abs(row.trained - 50) < 5 for row in rows.values())
    rows = scores("even-pairs")
    assert ({*rows["ends"].accuracy.values()}, rows["ends"].trained) == ({100.0}, 100.0)
    assert all(abs(rows[name].score - 50) < 10 for name in RULES if name != "ends")
    rows = scores("tomita-6", evaluation__samples=256)
    assert all(abs(rows[name].score - 50) < 4 for name in RULES if name != "count-shares")
    assert 50 < rows["count-shares"].score < 62


@pytest.mark.parametrize("language", ["dyck-2:members=blocks", "dyck-3", "dyck-12:depth=every"])
def test_of_dyck_words_odd_lengths_are_rejected_and_equal_numbers_nearly_suffice(language: str):
    rows = scores(language)
    lengths = [T for T in rows["majority"].accuracy if T <= 500]
    assert {T % 2: a for T, a in rows["majority"].accuracy.items()} == {0: 50.0, 1: 100.0}
    assert rows["majority"].score == np.mean([50.0 if T % 2 == 0 else 100.0 for T in lengths])
    assert rows["count-shares"].score > 95
    if language != "dyck-12:depth=every":
        assert rows["n-grams"].score > 99
        assert rows["run-shares"].score > 90


def test_published_members_of_tomita_3_have_few_runs_and_uniform_ones_do_not():
    assert scores("tomita-3:members=runs")["runs"].score > 99
    rows = scores("tomita-3")
    assert rows["runs"].score < 60
    assert rows["n-gram-shares"].score > 95


@pytest.mark.parametrize("language", ["cycle-navigation", "modular-arithmetic", "aa-star", "flip-flop"])
def test_other_tasks(language: str):
    """Many answers, a domain, one symbol only, lengths without words: no warning, and shares of words."""
    rows = scores(language, evaluation__stride=91, evaluation__samples=8)
    task = languages.get(language)
    for row in rows.values():
        assert list(row.accuracy) == [T for T in (*range(42, 501, 91), 1000) if task.has_length(T)]
        assert all(value * 8 % 100 == 0 for value in row.accuracy.values())
    if language == "flip-flop":
        assert rows["ends"].score > 55  # the last symbol says it now and then


class Constant(torch.nn.Module):
    """Always the same answer."""

    logits: torch.Tensor

    def __init__(self, answer: int, n_answers: int):
        super().__init__()
        self.register_buffer("logits", torch.nn.functional.one_hot(torch.tensor(answer), n_answers).float())

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return self.logits.expand(len(words), -1)


def test_the_words_are_those_a_model_is_tested_on():
    settings = config("dyck-4", data__test__near_misses=0.5, data__test__members=0.3, evaluation__symbols=40_000)
    words = data.build(settings.data)
    rows = shortcut_scores(words, settings, seed=5)
    points = measures_by_length(
        Constant(0, 2), words, objectives.build(settings.objective, words), list(rows["majority"].accuracy),
        config=settings.evaluation, seed=5, device=torch.device("cpu"),
    )  # fmt: skip
    assert rows["majority"].accuracy == {p.length: p.main for p in points}
    drawn = words.test(5, 144, samples_at(144, settings.evaluation))
    first_and_last = (drawn[:, 0] == 0) & (drawn[:, -1] == 1)
    assert rows["ends"].accuracy[144] == 100 * (first_and_last == words.task.labels(drawn)).mean()


def test_rules_never_see_test_lengths(monkeypatch):
    drawn: list[tuple[str, int, list[int], int]] = []
    real = LanguageData.batch

    def spy(self, seed, purpose, step, lengths, count):
        drawn.append((self.task.name, seed, lengths, count))
        return real(self, seed, purpose, step, lengths, count)

    monkeypatch.setattr(LanguageData, "batch", spy)
    settings = config("dyck-2:depth=every", data__train_from=3, data__train_len=20)
    training = data.build(settings.replaced({"data.name": "dyck-2"}).data)
    shortcut_scores(data.build(settings.data), settings, 3, training)
    assert {(name, seed, *lengths) for name, seed, lengths, _ in drawn} == {("dyck-2", 3, *range(3, 21))}
    assert sum(count for *_, count in drawn) == 20_000


def test_equal_seeds_give_equal_scores_and_very_long_words_go_in_pieces(monkeypatch):
    first, again, other = (scores("tomita-4", seed, evaluation__stride=200) for seed in (1, 1, 2))
    assert first == again != other
    monkeypatch.setattr(module, "SYMBOLS_AT_ONCE", 5000)
    assert scores("tomita-4", 1, evaluation__stride=200) == first


def test_report():
    report = shortcut_report(config("even-pairs"))
    assert (report["best"], report["test_from"], report["stride"]) == ("ends", 42, 51)
    assert list(report["shortcuts"]) == list(RULES)
    assert list(report["shortcuts"]["ends"]) == ["rule", "score", "worst", "trained", "accuracy"]


def test_bucket_sort_is_answered_by_the_place_in_the_row(monkeypatch):
    """Exactly, by binomial distributions: 90.1 % over 41..500, beyond the 90 % that count as solved."""
    monkeypatch.setattr(module, "TRAINING_WORDS", 6400)
    rows = scores("bucket-sort", objective__name="transduction", evaluation__extra_lengths=())
    answers = place_rule("bucket-sort")
    assert answers.tolist() == np.repeat(np.arange(5), 8).tolist()
    exact = {n: 100 * right_at_places(answers, n) for n in range(41, 501)}
    assert np.mean([*exact.values()]) == pytest.approx(90.13, abs=0.005)
    for length, share in rows["place"].accuracy.items():
        assert share == pytest.approx(exact[length], abs=2.5)
    assert (rows["place"].words, max(rows, key=lambda name: rows[name].score)) == (0.0, "place")
    skewed = scores("bucket-sort:sampler=skewed", objective__name="transduction", evaluation__extra_lengths=())
    assert skewed["place"].score < 55


def place_rule(language: str) -> np.ndarray:
    """The answer at each part of the row."""
    settings = config(language, objective__name="transduction")
    words = data.of_words(settings.data)
    counts = RowCounts(words.task)
    for batch in module.training_words(words, settings, 0):
        counts.add(batch)
    return counts.rules()["place"].answers


def right_at_places(answers: np.ndarray, n: int) -> float:
    """At place i of the sorted word stands k if at most i symbols are below k, and more than i at most k."""
    i = np.arange(n)
    at_most = np.stack([np.ones(n), *(binom.cdf(i, n, k / 5) for k in range(1, 5)), np.zeros(n)])  # (6, n)
    given = answers[(2 * i + 1) * len(answers) // (2 * n)]
    return float((at_most[given, i] - at_most[given + 1, i]).mean())


def test_rows_of_answers_whole_words_and_rows_that_end_early(monkeypatch):
    monkeypatch.setattr(module, "TRAINING_WORDS", 3200)
    some = {"objective__name": "transduction", "evaluation__stride": 150, "evaluation__extra_lengths": ()}
    rows = scores("duplicate-string", **some)
    assert rows["copy"].score == pytest.approx(75, abs=1)
    assert all(row.words == 0 for row in rows.values())
    sums = scores("binary-addition", **some)
    # The first number stands where its sum does, and is right wherever the second has ended.
    assert max(row.score for name, row in sums.items() if name != "copy") < 60 < sums["copy"].score < 70
    # Of one answer a word is right where the answer is.
    single = scores("missing-duplicate-string", **some)
    assert all(row.words == row.score for row in single.values())
    report = shortcut_report(config("duplicate-string", **some))
    assert report["best"] == "copy"
    assert [*report["shortcuts"]] == list(ROW_RULES)
    assert [*report["shortcuts"]["copy"]] == ["rule", "score", "worst", "trained", "accuracy", "words"]
