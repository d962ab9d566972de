"""How far back a trained run looks, how sharply, and what is kept of its tests."""

from pathlib import Path

import numpy as np
import pytest

from experiments.experiment import Scale
from experiments.text import tested
from experiments.text.measures import attention_resolution, share_of_gradient
from experiments.text.table import sized
from regulargpt.runs.run import run
from regulargpt.storage.folder import RunFolder

SMOKE: Scale = "smoke"


@pytest.fixture(scope="module")
def windowed(tmp_path_factory) -> RunFolder:
    """A run whose two layers of windows of 8 reach 15 symbols, of a training length of 16."""
    fields = {"model.encoding": "window:width=8", "model.n_layers": 2, "data.train_len": 16}
    path = tmp_path_factory.mktemp("measures") / "run"
    run(sized("transformer", SMOKE, {}).replaced(fields), path)
    return RunFolder.open(path)


@pytest.mark.slow
def test_a_window_holds_all_of_its_gradient(windowed: RunFolder):
    (interval,) = share_of_gradient(windowed, "full").values()
    assert (interval.low, interval.value, interval.high) == pytest.approx((1, 1, 1), abs=1e-12)


@pytest.mark.slow
def test_the_share_is_that_under_the_attention_that_is_asked_for(tmp_path: Path):
    run(sized("transformer", SMOKE, {}).replaced({"model.encoding": "none", "data.train_len": 16}), tmp_path / "run")
    folder = RunFolder.open(tmp_path / "run")
    (full,), (narrow,) = (share_of_gradient(folder, attention).values() for attention in ("full", "sliding:4"))
    assert full.high < 1
    assert narrow.value == pytest.approx(1, abs=1e-12)


@pytest.mark.slow
def test_resolutions_lie_between_0_and_1_at_two_lengths(windowed: RunFolder):
    for attention in ("full", "bca"):
        found = attention_resolution(windowed, attention)
        assert list(found) == [16, 32]
        assert all(-0.1 < one.low <= one.value <= one.high <= 1 for one in found.values())


@pytest.mark.slow
def test_a_test_is_made_once_and_kept(windowed: RunFolder, tmp_path: Path):
    told: list[str] = []
    own = tested.losses(windowed, "last_k", "full", told.append)
    side_by_side = tested.losses(windowed, "nonoverlapping", "full", told.append)
    narrow = tested.losses(windowed, "last_k", "sliding:4", told.append)
    assert told == ["run: nonoverlapping, full attention", "run: last_k, sliding:4 attention"]
    assert set(own) == set(side_by_side) == set(narrow) == {16, 32, 64, 128, 256}
    assert not np.array_equal(own[16], narrow[16])
    again = tested.losses(windowed, "nonoverlapping", "full", told.append)
    assert len(told) == 2
    assert all(np.array_equal(again[length], side_by_side[length]) for length in again)
    # The segments of all lengths are the same text.
    assert {len(values) * length for length, values in side_by_side.items()} == {1024}
