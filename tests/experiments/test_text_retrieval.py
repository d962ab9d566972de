"""Retrieval in the tables: what is found by depth, the gain in the middle, and the temperatures that are used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.experiment import Scale
from experiments.text import retrieval
from experiments.text.retrieval import Found, exact_match, found_at, gain_by_third, middle_gain, retriever
from regulargpt import data
from regulargpt.analysis.alignment.setting import find, setting_of
from regulargpt.analysis.needles_report import needles_report
from regulargpt.config.recipes import resolve
from regulargpt.runs.run import run
from regulargpt.storage.folder import RunFolder

SMALL = {
    **{"device": "cpu", "model.d_model": 16, "model.n_heads": 2, "model.d_ff": 32, "training.steps": 30},
    **{"training.batch_size": 16, "training.warmup": 1, "data.train_len": 24, "evaluation.samples": 16},
    **{"evaluation.test_len": 48},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    path = tmp_path_factory.mktemp("retrieval") / "run"
    task = "retrieval:line:keys=4,values=3,questions=4"
    run(resolve("retrieval", "transformer", task, "retrieval").replaced(SMALL), path)
    return RunFolder.open(path)


def gains(draw: st.DrawFn) -> tuple[Found, Found]:
    size = draw(st.integers(6, 40))
    # Every third has at least two needles.
    depth = np.array([0.1, 0.9, 0.4, 0.6, *draw(st.lists(st.floats(0, 0.999), min_size=size, max_size=size))])
    before, after = (np.array(draw(st.lists(st.booleans(), min_size=size + 4, max_size=size + 4))) for _ in range(2))
    return Found(before, depth), Found(after, depth)


@given(st.composite(gains)())
def test_the_gain_in_the_middle_is_counted_by_hand(pair: tuple[Found, Found]):
    before, after = pair
    middle, outer = [], []
    for had, has, depth in zip(before.right, after.right, before.depth, strict=True):
        (middle if 1 / 3 <= depth < 2 / 3 else outer).append(100 * (int(has) - int(had)))
    found = gain_by_third(before, after)
    assert found.value == pytest.approx(sum(middle) / len(middle) - sum(outer) / len(outer))
    assert found.low <= found.value <= found.high
    back = gain_by_third(after, before)
    assert (back.low, back.high) == pytest.approx((-found.high, -found.low))


def test_what_is_found_is_what_the_verb_says(folder: RunFolder, tmp_path: Path):
    report = needles_report(folder, lengths=[24, 48], words=retrieval.WORDS, out=tmp_path)
    for length in (24, 48):
        found = found_at(folder, length, "")
        assert len(found.right) == len(found.depth) == report["by_length"][str(length)]["all"]["needles"]
        assert found.right.sum() == report["by_length"][str(length)]["all"]["found"]


@pytest.mark.parametrize("strategy", ["p_max", "entropy", "log"])
def test_a_strategy_is_tested_with_the_temperature_that_it_finds(folder: RunFolder, strategy: str, tmp_path: Path):
    temperature = find(setting_of(folder, 48), strategy)
    report = needles_report(folder, lengths=[48], words=retrieval.WORDS, temperature=temperature, out=tmp_path)
    assert found_at(folder, 48, strategy).right.sum() == report["by_length"]["48"]["all"]["found"]
    assert set(middle_gain(folder, strategy)) == {48}


def test_the_share_in_a_table_is_that_of_the_test(folder: RunFolder):
    found = exact_match(folder, "")
    summary = folder.load_summary()["measures"]["exact_match"]["values"]
    assert {length: pytest.approx(one.value) for length, one in found.items()} == {
        int(length): value for length, value in summary.items()
    }


@pytest.mark.parametrize("scale", ["smoke", "cpu", "full"])
@pytest.mark.parametrize("task", ["line", "documents", "topic"])
def test_a_row_is_the_recipe_for_its_task(task: str, scale: Scale):
    subject = retriever(task)
    assert subject.base is not None
    config = subject.base(scale)
    assert config.data.name == f"retrieval:{task}"
    source = data.build(config.data)
    assert source.lengths(config.data.train_len)
    if scale == "cpu":
        assert config.replaced({}) == resolve("retrieval", "transformer", f"retrieval:{task}", "retrieval")
