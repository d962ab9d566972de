"""Intervals over seeds, files and segments: how often they miss when nothing is there, and how seldom when it is."""

import numpy as np
import pytest
from scipy import stats

from regulargpt.evaluation.interval import Interval, Sample, crossed, student

SEGMENTS, TRIALS = 128, 1500
# The sizes of the files that the code of networkx is tested on: a few have half of it.
SIZES = np.array([7, 1, 2, 10, 1, 14, 10, 17, 48, 10, 16, 11, 18, 73, 13, 31, 46, 3, 8, 45, 7, 23, 5, 97])


def drawn(
    random: np.random.Generator, seeds: int, *, of_seed: float, of_file: float, of_both: float, of_segment: float
) -> list[Sample]:
    """Segments of shared files by several networks, with these standard deviations around nothing."""
    a, b = random.normal(0, of_seed, seeds), random.normal(0, of_file, len(SIZES))
    both = random.normal(0, of_both, (seeds, len(SIZES)))
    samples = []
    for seed in range(seeds):
        files = random.choice(len(SIZES), SEGMENTS, p=SIZES / SIZES.sum())
        noise = random.normal(0, of_segment, SEGMENTS)
        samples.append((a[seed] + b[files] + both[seed][files] + noise, files))
    return samples


def decided(seeds: int, truth: float = 0.0, **spread: float) -> float:
    """In how many percent of trials the interval does not hold 0."""
    random, found = np.random.default_rng(seeds), 0
    for _ in range(TRIALS):
        samples = [(truth + numbers, files) for numbers, files in drawn(random, seeds, **spread)]
        interval = Interval.of_networks(samples)
        found += not interval.low <= 0 <= interval.high
    return 100 * found / TRIALS


# Networks that differ by 1 %, as encodings of small models do; files that differ as well; and by more.
SPREADS = [
    {"of_seed": 0.01, "of_file": 0.0, "of_both": 0.0, "of_segment": 0.05},
    {"of_seed": 0.01, "of_file": 0.03, "of_both": 0.01, "of_segment": 0.05},
    {"of_seed": 0.02, "of_file": 0.02, "of_both": 0.0, "of_segment": 0.02},
    {"of_seed": 0.03, "of_file": 0.03, "of_both": 0.03, "of_segment": 0.1},
]


@pytest.mark.parametrize("spread", SPREADS, ids=str)
def test_of_three_seeds_5_percent_are_decided_where_nothing_is_there(spread: dict[str, float]):
    assert 3 <= decided(3, **spread) <= 7


def test_more_seeds_decide_more_of_what_is_there_and_not_of_what_is_not():
    spread = SPREADS[0]
    power = [decided(seeds, truth=0.03, **spread) for seeds in (3, 5, 10)]
    assert power == sorted(power)
    assert power[0] > 40
    assert power[1] > 95
    assert all(3 <= decided(seeds, **spread) <= 7 for seeds in (5, 10))


def test_one_network_is_known_by_the_files_that_it_was_tested_on():
    spread = {"of_seed": 0.0, "of_file": 0.02, "of_both": 0.0, "of_segment": 0.05}
    assert 3 <= decided(1, **spread) <= 7

    def as_if_alone(random: np.random.Generator) -> bool:
        (numbers, _), *_ = drawn(random, 1, **spread)
        interval = Interval.of_mean(numbers)
        return not interval.low <= 0 <= interval.high

    random = np.random.default_rng(0)
    # As if segments were independent, a network misses far more often.
    assert sum(as_if_alone(random) for _ in range(TRIALS)) > 0.2 * TRIALS


def test_where_all_files_are_alike_the_parts_are_those_of_an_analysis_of_variance():
    seeds, files = 3, 5
    table = np.random.default_rng(1).normal(0, 1, (seeds, files)) + np.arange(files) + 3 * np.arange(seeds)[:, None]
    value, variance, freedom, count = crossed([(row, np.arange(files)) for row in table])
    of_seeds = files * table.mean(1).var(ddof=1)
    of_files = seeds * table.mean(0).var(ddof=1)
    rest = table - table.mean(1, keepdims=True) - table.mean(0) + table.mean()
    of_rest = (rest**2).sum() / ((seeds - 1) * (files - 1))
    assert (value, count) == (pytest.approx(table.mean()), files)
    together = of_seeds + of_files - of_rest
    assert variance == pytest.approx(together / (seeds * files))
    parts = of_seeds**2 / (seeds - 1), of_files**2 / (files - 1), of_rest**2 / ((seeds - 1) * (files - 1))
    assert freedom == pytest.approx(together**2 / sum(parts))


def test_with_nothing_of_seeds_only_files_count_and_with_nothing_of_files_only_seeds():
    # A column apart: all networks find one file hard.
    hard = np.array([[0, 0, 0, 9.0], [0.1, 0, 0, 9], [0, 0.1, 0, 9]])
    _, variance, freedom, _ = crossed([(row, np.arange(4)) for row in hard])
    assert (variance, freedom) == (pytest.approx(hard.mean(0).var(ddof=1) / 4), pytest.approx(3))
    _, variance, freedom, _ = crossed([(column, np.arange(3)) for column in hard.T])
    assert (variance, freedom) == (pytest.approx(hard.mean(0).var(ddof=1) / 4), pytest.approx(3))


def test_one_network_with_files_of_one_segment_or_with_one_file_is_a_t_test():
    numbers = np.random.default_rng(2).normal(1, 1, 20)
    ends = pytest.approx(stats.t.interval(0.95, 19, numbers.mean(), stats.sem(numbers)))
    by_file, one_file = (Interval.of_networks([(numbers, files)]) for files in (np.arange(20), np.zeros(20, int)))
    for found in (by_file, one_file, Interval.of_mean(numbers)):
        assert (found.low, found.high) == ends
    assert one_file.over == {"seeds": 1, "segments": 20}
    assert Interval.of_networks([(np.array([2.0]), np.array([7]))]).high == 2.0


def test_where_nearly_all_segments_lie_in_one_file_the_interval_is_wide_and_finite():
    numbers = np.random.default_rng(3).normal(0, 1, 1000)
    found = Interval.of_mean(numbers, (np.arange(1000) == 7).astype(int))
    assert np.isfinite(found.high)
    assert found.high - found.low > 12 * abs(numbers[7] - numbers.mean()) / 1000


def test_of_single_values_the_interval_over_seeds_is_students():
    for values in ((1.0, 2.0, 4.0), (1.0, 2.0, 4.0, 5.0, 9.0)):
        found = Interval.over_seeds([Interval.exactly(value) for value in values])
        t = student(len(values) - 1)
        assert found.high - found.value == pytest.approx(t * np.std(values, ddof=1) / len(values) ** 0.5)
        assert found.seeds == len(values)


def test_of_seeds_that_agree_to_the_last_word_that_of_the_words_is_left():
    one = Interval.of_right(128, 128)
    found = Interval.over_seeds([one] * 4)
    assert found.low == pytest.approx(100 - (100 - one.low) / 2)
    assert found.high == 100
