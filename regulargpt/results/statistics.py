"""What groups of runs came to: maximum, minimum, mean, spread and interval over the runs' scores."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from languages.errors import UserError
from regulargpt.objectives.measures import Measure
from regulargpt.objectives.measures import measure as measure_of
from regulargpt.results.row import OF_A_TEST, Key, RunRow, sortable

FAILS_BELOW = 99.0
# How often an interval may miss the median on either side.
TAIL = 0.025
Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class RunGroup:
    """Runs that agree in the columns requested.

    `scores` are those of the runs that were done, ascending; the score of a run is the mean of its measure over the
    scored lengths. `sd` is the standard deviation over runs (n - 1), None of a single run; `low` to `high` the 95 %
    interval of the median, None of fewer than six runs. `first_below_99` is the smallest length at which one of the
    runs is below 99 %, None of a measure that is no share. Of `n_runs`, `n_failed` failed or are damaged; of `n_asked`
    that were asked for a proof, `n_proven` gave it, `n_as_it_is` of these without replacing a state. `first_wrong` is
    the length of the shortest wrong word of them all.
    """

    key: Key
    n_runs: int
    n_failed: int
    scores: tuple[float, ...]
    max: float | None
    mean: float | None
    sd: float | None
    min: float | None
    low: float | None
    high: float | None
    first_below_99: int | None
    n_proven: int
    n_asked: int
    first_wrong: int | None = None
    n_as_it_is: int = 0


def groups(rows: Sequence[RunRow], by: Sequence[str], measure: Measure | None = None) -> list[RunGroup]:
    """The rows in groups that agree in the columns `by` (keys, as `RunRow.get` takes them), sorted by them.

    `measure` is what scores are made of, that of each run if there is none. A run that failed has no test and no
    length: it belongs to every group that it agrees with in the other columns. In a group without scored lengths, as
    when only longer ones are requested, all its lengths make the score.
    Raises UserError if a group mixes tests under different protocols, or scores of different measures.

    >>> tests = (("a", 100.0), ("b", 90.0))
    >>> rows = [RunRow(name, "done", length=41, in_score=True, measure="accuracy", measures={"accuracy": a}) for name, a in tests]
    >>> (group,) = groups([*rows, RunRow("c", "failed")], ["model.chunk_size"])
    >>> group.key, group.n_runs, group.n_failed, group.max, group.mean, group.first_below_99
    ((None,), 3, 1, 100.0, 95.0, 41)
    """  # noqa: E501
    done: dict[Key, list[RunRow]] = defaultdict(list)
    failed: dict[Key, list[RunRow]] = defaultdict(list)
    for row in rows:
        if row.is_done:
            done[key_of(row, by)].append(row)
    for row in rows:
        if not row.is_done:
            for key in agreeing(row, by, done) or [key_of(row, by)]:
                failed[key].append(row)
    keys = sorted(done.keys() | failed.keys(), key=lambda key: [sortable(value) for value in key])
    return [group_of(key, done.get(key, []), len(failed.get(key, [])), measure) for key in keys]


def key_of(row: RunRow, by: Sequence[str]) -> Key:
    """What the row has in these columns."""
    return tuple(row.get(key) for key in by)


def agreeing(row: RunRow, by: Sequence[str], keys: dict[Key, list[RunRow]]) -> list[Key]:
    """The groups in which a failed run would have been."""
    own = key_of(row, by)
    known = [at for at, column in enumerate(by) if column not in OF_A_TEST]
    return [key for key in keys if all(key[at] == own[at] for at in known)]


def value_of(row: RunRow, measure: Measure | None) -> float | None:
    """What was measured in this row."""
    return row.value(measure.name if measure else row.measure)


def group_of(key: Key, done: Sequence[RunRow], n_failed: int, measure: Measure | None) -> RunGroup:
    """The statistics of a group."""
    proven = {row.run: row.proven for row in done}
    return RunGroup(
        key=key,
        n_runs=len(proven) + n_failed,
        n_failed=n_failed,
        **spread(run_scores(done, measure)),
        first_below_99=least(failing(row, measure) for row in done),
        n_proven=sum(value is True for value in proven.values()),
        n_asked=sum(value is not None for value in proven.values()),
        n_as_it_is=len({row.run for row in done if row.as_it_is}),
        first_wrong=least(row.first_wrong for row in done),
    )


def joined(first: RunGroup, other: RunGroup) -> RunGroup:
    """The statistics of the runs of both groups, which have the same key and no run in common.

    >>> tests = [RunRow(run, "done", length=41, measures={"accuracy": a}) for run, a in [("a", 100.0), ("b", 90.0)]]
    >>> (one,), (other,), (both,) = (groups(rows, [], measure_of("accuracy")) for rows in (tests[:1], tests[1:], tests))
    >>> joined(one, other) == both
    True
    """
    return RunGroup(
        key=first.key,
        n_runs=first.n_runs + other.n_runs,
        n_failed=first.n_failed + other.n_failed,
        **spread(tuple(sorted(first.scores + other.scores))),
        first_below_99=least([first.first_below_99, other.first_below_99]),
        n_proven=first.n_proven + other.n_proven,
        n_asked=first.n_asked + other.n_asked,
        n_as_it_is=first.n_as_it_is + other.n_as_it_is,
        first_wrong=least([first.first_wrong, other.first_wrong]),
    )


def spread(scores: tuple[float, ...]) -> dict[str, Any]:
    """The statistics of scores in ascending order, as a group has them."""
    low, high = median_interval(scores) or (None, None)
    return {
        "scores": scores,
        "max": scores[-1] if scores else None,
        "mean": statistics.mean(scores) if scores else None,
        "sd": statistics.stdev(scores) if len(scores) > 1 else None,
        "min": scores[0] if scores else None,
        "low": low,
        "high": high,
    }


def least(values: Iterable[Number | None]) -> Number | None:
    """The least of the values that are known."""
    return min((value for value in values if value is not None), default=None)


def failing(row: RunRow, measure: Measure | None) -> int | None:
    """The row's length, if a share of right answers is below 99 % there."""
    is_share = (measure or measure_of(row.measure)).unit == "%"
    value = value_of(row, measure)
    return row.length if is_share and value is not None and value < FAILS_BELOW else None


def run_scores(rows: Sequence[RunRow], measure: Measure | None) -> tuple[float, ...]:
    """The score of each run, ascending."""
    refuse_mixed(rows, measure)
    scores: dict[str, list[float]] = defaultdict(list)
    scored = [row for row in rows if row.in_score]
    if scored and (without := sorted({row.run for row in rows} - {row.run for row in scored})):
        raise UserError(f"run {without[0]} has no length in its scored range, {scored[0].run} has: group them apart")
    for row in scored or rows:
        if (value := value_of(row, measure)) is not None:
            scores[row.run].append(value)
    return tuple(sorted(statistics.fmean(of_run) for of_run in scores.values()))


def refuse_mixed(rows: Sequence[RunRow], measure: Measure | None) -> None:
    """Raise UserError if tests under different protocols, or scores of different measures, would be one number."""
    tested, measures = {}, {}
    for row in rows:
        tested.setdefault(row.tested, row.run)
        measures.setdefault(row.measure, row.run)
    if len(tested) > 1:
        (first, run), (other, another) = list(tested.items())[:2]
        runs = f"run {run} was" if run == another else f"runs {run} and {another} were"
        named = f"{first or 'no protocol'} and {other or 'no protocol'}"
        raise UserError(f"{runs} tested under {named}: name one, or group by tested")
    if measure is None and len(measures) > 1:
        (first, run), (other, another) = list(measures.items())[:2]
        raise UserError(f"the score of run {run} is of {first}, that of run {another} of {other}: name a measure")


def median_interval(scores: Sequence[float]) -> tuple[float, float] | None:
    """An interval that holds the median of what the runs are drawn from in 95 of 100 cases or more, whatever it is.

    From the k-th worst to the k-th best, with the largest k for which k of n runs or more lie on either side of the
    median so surely. Of fewer than six runs there is none: even from the worst to the best it is 94 % of five runs and
    75 % of three.

    >>> median_interval([90.0, 100.0, 95.0]), median_interval([1.0, 6.0, 2.0, 5.0, 3.0, 4.0])
    (None, (1.0, 6.0))

    Source: Conover 1999, Practical Nonparametric Statistics, section 3.2.
    """
    n, ordered = len(scores), sorted(scores)
    k = missed = 0
    while n and (missed := missed + math.comb(n, k) / 2**n) <= TAIL:
        k += 1
    return (ordered[k - 1], ordered[n - k]) if k else None
