"""Groups against the same numbers computed another way, and the laws they obey."""

import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from languages.errors import UserError
from regulargpt.results.row import OWN, RunRow
from regulargpt.results.statistics import groups, median_interval

SHARES = st.floats(0, 100)


def row(name: str, status: str = "done", accuracy: float | None = None, **known: Any) -> RunRow:
    """A row; what it has not of its own is of its config."""
    own = {key: known.pop(key) for key in list(known) if key in OWN}
    measures = {} if accuracy is None else {"accuracy": accuracy}
    return RunRow(name, status, config=known, measure="accuracy", measures=measures, **own)


def run_of(name: str, accuracies: list[float], longer: float | None = None, **known: Any) -> list[RunRow]:
    """A run scored at 41, 42, ... and tested once at 1000."""
    found = [row(name, length=41 + at, accuracy=a, in_score=True, **known) for at, a in enumerate(accuracies)]
    if longer is not None:
        found.append(row(name, length=1000, accuracy=longer, in_score=False, **known))
    return found


@given(st.lists(st.lists(SHARES, min_size=1, max_size=5), min_size=1, max_size=9))
def test_the_statistics_of_one_group_are_those_of_numpy(runs: list[list[float]]):
    rows = [row for name, accuracies in enumerate(runs) for row in run_of(str(name), accuracies, 0.0)]
    (group,) = groups(rows, [])
    scores = np.array([np.mean(accuracies) for accuracies in runs])
    assert group.scores == pytest.approx(np.sort(scores))
    assert group.max == pytest.approx(scores.max())
    assert group.mean == pytest.approx(scores.mean())
    assert group.sd == (None if len(runs) == 1 else pytest.approx(scores.std(ddof=1), abs=1e-9))
    assert group.min == pytest.approx(scores.min())
    assert (group.low is None) == (group.high is None) == (len(runs) < 6)
    if group.low is not None:
        assert group.min <= group.low <= group.high <= group.max  # type: ignore[operator]  # none is None
    assert group.mean <= group.max  # type: ignore[operator]
    below = [41 + at for of_run in runs for at, a in enumerate(of_run) if a < 99]
    assert (group.n_runs, group.n_failed, group.first_below_99) == (len(runs), 0, min([1000, *below]))


@pytest.mark.parametrize("n", [6, 7, 8, 9, 10, 17, 30, 200])
def test_the_interval_is_that_of_scipy(n: int):
    scores = np.random.default_rng(n).uniform(80, 100, n)
    theirs = stats.quantile_test(scores, q=90, p=0.5).confidence_interval(0.95)
    assert median_interval(scores.tolist()) == (theirs.low, theirs.high)


DRAWN = {
    "normal": lambda rng, shape: rng.normal(90, 5, shape),
    "skewed": lambda rng, shape: 100 - rng.exponential(5, shape),
    "mostly solved": lambda rng, shape: np.where(rng.random(shape) < 0.7, 100.0, 50.0),
}
MEDIANS = {"normal": 90.0, "skewed": 100 - 5 * math.log(2), "mostly solved": 100.0}


@pytest.mark.parametrize("n", [6, 7, 10, 20])
@pytest.mark.parametrize("name", DRAWN)
def test_the_interval_holds_the_median_as_often_as_it_says(name: str, n: int):
    drawn = DRAWN[name](np.random.default_rng(n), (4000, n))
    found = np.array([median_interval(scores) for scores in drawn.tolist()])
    holds = (found[:, 0] <= MEDIANS[name]) & (MEDIANS[name] <= found[:, 1])
    assert holds.mean() > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 4000)


@pytest.mark.parametrize(("n", "share"), [(2, 0.5), (3, 0.75), (4, 0.875), (5, 0.9375)])
def test_of_fewer_than_six_runs_even_the_range_holds_the_median_too_seldom(n: int, share: float):
    drawn = DRAWN["skewed"](np.random.default_rng(n), (40_000, n))
    holds = (drawn.min(1) <= MEDIANS["skewed"]) & (MEDIANS["skewed"] <= drawn.max(1))
    assert holds.mean() == pytest.approx(share, abs=0.01)
    assert share < 0.95
    assert median_interval(drawn[0].tolist()) is None


def test_equal_runs_have_exactly_their_score_and_one_run_has_no_spread():
    scores = (99.99972980484189,) * 7
    (group,) = groups([row for at, score in enumerate(scores) for row in run_of(str(at), [score])], [])
    assert (group.max, group.mean, group.sd, group.low, group.high) == (*scores[:2], 0.0, *scores[:2])
    (group,) = groups(run_of("a", [90.0, 91.0]), [])
    assert (group.max, group.min, group.mean, group.sd, group.low, group.high) == (90.5, 90.5, 90.5, None, None, None)


KNOWN = st.fixed_dictionaries(
    {
        "language": st.sampled_from(["parity", "dyck-2", "dyck-12"]),
        "model": st.sampled_from(["rnn", "regulargpt"]),
        "chunk_size": st.sampled_from([None, 2, 3]),
        "proven": st.sampled_from([None, False, True]),
    }
)
RUNS = st.lists(st.tuples(KNOWN, st.lists(SHARES, max_size=3)), min_size=1, max_size=12)
BY = st.lists(st.sampled_from(["language", "model", "chunk_size"]), unique=True)


def table(runs) -> list[RunRow]:
    """Runs; those without accuracies failed."""
    found = []
    for at, (known, accuracies) in enumerate(runs):
        failed = row(f"run-{at}", "failed", **{**known, "proven": None})
        found += run_of(f"run-{at}", accuracies, **known) or [failed]
    return found


@given(runs=RUNS, by=BY, order=st.randoms(use_true_random=False))
def test_every_run_is_in_one_group_and_the_order_of_rows_does_not_matter(runs, by, order: random.Random):
    rows = table(runs)
    found = groups(rows, by)
    assert sum(group.n_runs for group in found) == len(runs)
    assert sum(group.n_failed for group in found) == sum(not accuracies for _, accuracies in runs)
    assert sum(group.n_asked for group in found) == sum(known["proven"] is not None for known, a in runs if a)
    assert all(group.n_proven <= group.n_asked <= group.n_runs for group in found)
    assert len({group.key for group in found}) == len(found)
    order.shuffle(rows)
    assert groups(rows, by) == found


@given(runs=RUNS, by=BY)
def test_a_coarser_grouping_has_the_extremes_of_its_parts(runs, by):
    rows = table(runs)
    for whole in groups(rows, by[:1]):
        parts = [group for group in groups(rows, by) if group.key[: len(by[:1])] == whole.key]
        assert whole.max == max((part.max for part in parts if part.max is not None), default=None)
        below = [part.first_below_99 for part in parts if part.first_below_99]
        assert whole.first_below_99 == min(below, default=None)


def test_a_group_of_failures_has_no_numbers_and_a_run_without_lengths_is_counted():
    (group,) = groups([RunRow("a", "failed"), RunRow("b", "damaged")], [])
    assert (group.n_runs, group.n_failed, group.n_asked) == (2, 2, 0)
    assert {group.max, group.min, group.mean, group.sd, group.low, group.high, group.first_below_99} == {None}
    (group,) = groups([RunRow("a", "done", proven=True)], [])
    assert (group.n_runs, group.n_failed, group.n_proven, group.max, group.mean) == (1, 0, 1, None, None)


def test_groups_are_in_the_order_of_their_keys_numbers_in_names_by_size_and_blanks_last():
    keys = [("dyck-12", 2), ("dyck-2", None), ("dyck-2", 10), ("dyck-2", 9)]
    rows = [row(str(at), "failed", language=name, chunk_size=size) for at, (name, size) in enumerate(keys)]
    assert [group.key for group in groups(rows, ["language", "chunk_size"])] == [keys[at] for at in (3, 2, 1, 0)]


def test_a_failed_run_is_in_every_test_that_it_would_have_had():
    rows = [
        *run_of("a", [100.0], language="parity", protocol="thesis-1", tested="thesis-1"),
        *run_of("a", [50.0], language="parity", protocol="thesis-1", tested="hard-1"),
        row("b", "failed", language="parity", protocol="thesis-1", tested="thesis-1"),
        row("c", "failed", language="dyck-2", protocol="thesis-1", tested="thesis-1"),
    ]
    found = {group.key: (group.n_runs, group.n_failed, group.mean) for group in groups(rows, ["language", "tested"])}
    assert found == {
        ("parity", "thesis-1"): (2, 1, 100.0),
        ("parity", "hard-1"): (2, 1, 50.0),
        ("dyck-2", "thesis-1"): (1, 1, None),
    }


def test_two_tests_of_one_run_are_not_mixed():
    rows = run_of("a", [100.0], tested="thesis-1") + run_of("a", [50.0], tested="hard-1")
    with pytest.raises(UserError) as refused:
        groups(rows, ["language"])
    assert str(refused.value) == "run a was tested under thesis-1 and hard-1: name one, or group by tested"


def test_lengths_beyond_count_where_only_they_are_asked_for():
    rows = run_of("a", [100.0, 99.0], 10.0) + run_of("b", [98.0, 97.0], 20.0)
    by_length = [(*group.key, group.mean) for group in groups(rows, ["length"])]
    assert by_length == [(41, 99.0), (42, 98.0), (1000, 15.0)]
    (beyond,), (whole,) = groups([row for row in rows if row.length == 1000], []), groups(rows, [])
    assert (beyond.mean, whole.mean) == (15.0, pytest.approx(98.5))
