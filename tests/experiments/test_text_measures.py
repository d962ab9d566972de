"""How far back a trained run looks, how sharply, and what is kept of its tests."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from experiments.experiment import Scale
from regulargpt.evaluation.interval import Interval, student
from regulargpt.measurements.measuring import measured
from regulargpt.runs.opened import open_run
from regulargpt.runs.run import run
from regulargpt.storage.folder import RunFolder
from regulargpt.text.experiments import testing
from regulargpt.text.experiments.table import sized
from regulargpt.text.measurements import variance_by_position
from regulargpt.text.measurements.quantities import (
    FIELD,
    FLATTEST,
    GRADIENT,
    HEADS,
    HIGHER,
    JUMP,
    KERNEL,
    RESOLUTION,
    SHARE,
    SLOPE,
    VARIANCE,
)
from regulargpt.text.measurements.variance_by_position import PARTS, left_out

SMOKE: Scale = "smoke"


def of(name: str, folder: RunFolder, attention: str = "full") -> Mapping[int, Interval]:
    """A quantity of a run."""
    return testing.quantities(name)[name](folder, attention)


@pytest.fixture(scope="module")
def windowed(tmp_path_factory) -> RunFolder:
    """A run whose two layers of windows of 8 reach 15 symbols, of a training length of 16."""
    fields = {"model.encoding": "window:width=8", "model.n_layers": 2, "data.train_len": 16}
    path = tmp_path_factory.mktemp("measures") / "run"
    run(sized("transformer", SMOKE, {}).replaced(fields), path)
    return RunFolder.open(path)


@pytest.mark.slow
def test_a_window_holds_all_of_its_gradient(windowed: RunFolder):
    (interval,) = of(SHARE, windowed).values()
    assert (interval.low, interval.value, interval.high) == pytest.approx((1, 1, 1), abs=1e-12)


@pytest.mark.slow
def test_the_share_is_that_under_the_attention_that_is_asked_for(tmp_path: Path):
    run(sized("transformer", SMOKE, {}).replaced({"model.encoding": "none", "data.train_len": 16}), tmp_path / "run")
    folder = RunFolder.open(tmp_path / "run")
    (full,), (narrow,) = (of(SHARE, folder, attention).values() for attention in ("full", "sliding:4"))
    assert full.high < 1
    assert narrow.value == pytest.approx(1, abs=1e-12)


@pytest.mark.slow
def test_resolutions_lie_between_0_and_1_at_two_lengths(windowed: RunFolder):
    for attention in ("full", "bca"):
        found = of(RESOLUTION, windowed, attention)
        assert list(found) == [16, 32]
        assert all(-0.1 < one.low <= one.value <= one.high <= 1 for one in found.values())


@pytest.mark.slow
def test_a_test_is_made_once_and_kept(windowed: RunFolder, tmp_path: Path):
    told: list[str] = []
    own = testing.Test("last_k").losses(windowed, "full", notice=told.append)
    side_by_side = testing.Test("nonoverlapping").losses(windowed, "full", notice=told.append)
    narrow = testing.Test("last_k").losses(windowed, "sliding:4", notice=told.append)
    assert told == ["run: nonoverlapping, full attention", "run: last_k, sliding:4 attention"]
    assert set(own) == set(side_by_side) == set(narrow) == {16, 32, 64, 128, 256}
    assert not np.array_equal(own[16], narrow[16])
    again = testing.Test("nonoverlapping").losses(windowed, "full", notice=told.append)
    assert len(told) == 2
    assert all(np.array_equal(again[length], side_by_side[length]) for length in again)
    # The segments of all lengths are the same text.
    assert {len(values) * length for length, values in side_by_side.items()} == {1024}


@pytest.mark.slow
def test_the_gradient_adds_up_over_recent_symbols(windowed: RunFolder):
    curve = of(GRADIENT, windowed)
    assert list(curve) == list(range(1, 65))
    values = [one.value for one in curve.values()]
    assert values == sorted(values)
    assert values[0] > 0
    # Two windows of 8 reach 15 symbols: all of the gradient lies there.
    assert values[14] == pytest.approx(1, abs=1e-12)


@pytest.mark.slow
def test_the_field_is_where_the_curve_passes_99_percent(windowed: RunFolder):
    curve = of(GRADIENT, windowed)
    (field,) = of(FIELD, windowed).values()
    expected = next(m for m, one in curve.items() if one.value > 0.99) / 16
    assert field.low <= field.value == expected <= field.high <= 15 / 16


@pytest.mark.slow
def test_the_jump_counts_positions_from_the_first(windowed: RunFolder):
    # A window at the end of 64 symbols sees nothing of the positions 12 to 20.
    assert [one.value for one in of(JUMP, windowed).values()] == [0]


def test_heads_and_kernels_of_alibi_are_known(tmp_path: Path):
    run(sized("transformer", SMOKE, {}).replaced({"model.encoding": "alibi", "model.n_heads": 2}), tmp_path / "run")
    folder = RunFolder.open(tmp_path / "run")
    slopes, train_len = np.array([2.0**-4, 2.0**-8]), 16
    within, mean, flattest = (of(name, folder) for name in (HEADS, KERNEL, FLATTEST))
    assert list(within) == list(range(1, 16 * train_len + 1))
    for x in (1, 32, 33, 256):
        assert within[x].value == (x > 2 / slopes).sum()
        assert mean[x].value == pytest.approx(-slopes.mean() * x)
        assert flattest[x].value == pytest.approx(-slopes[1] * x)


def test_the_variance_is_that_of_the_run_and_its_interval_the_jackknife(tmp_path: Path):
    run(sized("transformer", SMOKE, {}).replaced({"model.encoding": "none", "model.n_layers": 2}), tmp_path / "run")
    folder = RunFolder.open(tmp_path / "run")
    curve = of(VARIANCE, folder)
    assert (list(curve), curve[1].low, curve[1].high) == (list(range(1, 17)), 1, 1)
    (slope,), (higher,) = (of(name, folder).values() for name in (SLOPE, HIGHER))
    x, y = np.log(np.arange(1, 17)), np.log([one.value for one in curve.values()])
    assert slope.value == pytest.approx(np.polyfit(x, y, 1)[0], abs=1e-9)
    assert slope.low < slope.value < slope.high
    assert higher.low < higher.value < higher.high


def test_the_jackknife_of_a_mean_is_its_standard_error(tmp_path: Path, monkeypatch):
    run(sized("transformer", SMOKE, {}).replaced({"model.encoding": "none"}), tmp_path / "run")
    monkeypatch.setattr(variance_by_position, "output_variance", lambda model, words: words[:, :1].mean(0)[None])
    folder, numbers = RunFolder.open(tmp_path / "run"), []

    def kept(variance: np.ndarray) -> np.ndarray:
        numbers.append(variance[0])
        return variance[0]

    (found,) = left_out(open_run(folder), kept)
    # The mean of equal parts: its standard error is theirs.
    parts = PARTS * numbers[0] - (PARTS - 1) * np.array(numbers[1:])
    assert found.high - found.value == pytest.approx(student(PARTS - 1) * parts.std(ddof=1) / np.sqrt(PARTS))


@pytest.mark.parametrize(("seen", "said"), [("sliding:4", "run: share, sliding:4"), ("", "run: share")])
def test_a_measure_is_announced_with_what_is_seen_if_that_is_said(tmp_path: Path, seen: str, said: str):
    told: list[str] = []
    once = testing.measured(
        RunFolder(tmp_path / "run"), "share", seen, lambda folder, seen: {8: Interval(0.2, 0.1, 0.3)}, told.append
    )
    assert once == {8: Interval(0.2, 0.1, 0.3)}
    assert told == [said]


def test_losses_by_position_are_those_of_the_segments(windowed: RunFolder):
    told: list[str] = []
    by_position = testing.ByPosition()
    found = by_position.losses(windowed, "full", longest=64, notice=told.append)
    assert by_position.losses(windowed, "full", longest=64, notice=told.append).keys() == found.keys()
    assert told == ["run: positions 1 to 64, full attention"]
    report = measured("positions", windowed.path, length=64, words=testing.SEGMENTS).report
    assert [found[part["last"]].mean() for part in report["bins"]] == pytest.approx(
        [part["nll"] for part in report["bins"]], abs=1e-4
    )
    # What lies within the window is the same in a narrower view only where that is seen.
    narrow = by_position.losses(windowed, "sliding:4", longest=64)
    assert np.allclose(narrow[4], found[4])
    assert not np.allclose(narrow[64], found[64])


@pytest.mark.slow
def test_a_longer_test_is_made_where_a_table_asks_for_one(windowed: RunFolder):
    told: list[str] = []
    own = testing.Test("last_k").losses(windowed, "full", notice=told.append, longest=256)
    assert told == []
    farther = testing.Test("last_k").losses(windowed, "full", notice=told.append, longest=512)
    assert told == ["run: last_k, full attention"]
    assert list(farther) == [*own, 512]
