"""Retrieval in the tables: what is found by depth, the gain in the middle, and the temperatures that are used."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import reproduction
from experiments.claims import falls
from experiments.experiment import Scale
from regulargpt import data
from regulargpt.config.recipes import resolve
from regulargpt.evaluation.interval import Interval
from regulargpt.evaluation.temperature import write
from regulargpt.measurements.measuring import measured
from regulargpt.runs.run import run
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.runs.sweep.names import name_of
from regulargpt.storage.folder import RunFolder
from regulargpt.text.experiments import retrieval
from regulargpt.text.experiments.retrieval import (
    EXACT,
    NeedleHits,
    exact_match,
    found_at,
    gain_by_third,
    middle_gain,
    retriever,
)
from regulargpt.text.experiments.table import TextTable, text_table, trained
from regulargpt.text.measurements.alignment.setting import find, setting_of
from tests.experiments.folders import cells_of, finished_text, pictures_of

SMALL = {
    **{"device": "cpu", "model.d_model": 16, "model.n_heads": 2, "model.d_ff": 32, "training.steps": 30},
    **{"training.batch_size": 16, "training.warmup": 1, "data.train_len": 24, "evaluation.samples": 16},
    **{"evaluation.test_len": 48},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    path = tmp_path_factory.mktemp("retrieval") / "run"
    task = "retrieval:line:keys=4,values=3,questions=4"
    run(resolve("retrieval", "transformer", task).replaced(SMALL), path)
    return RunFolder.open(path)


def gains(draw: st.DrawFn) -> tuple[NeedleHits, NeedleHits]:
    size = draw(st.integers(6, 40))
    # Every third has at least two needles.
    depth = np.array([0.1, 0.9, 0.4, 0.6, *draw(st.lists(st.floats(0, 0.999), min_size=size, max_size=size))])
    before, after = (np.array(draw(st.lists(st.booleans(), min_size=size + 4, max_size=size + 4))) for _ in range(2))
    return NeedleHits(before, depth), NeedleHits(after, depth)


@given(st.composite(gains)())
def test_the_gain_in_the_middle_is_counted_by_hand(pair: tuple[NeedleHits, NeedleHits]):
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
    report = measured("needles", folder.path, tmp_path, lengths="24,48", words=retrieval.WORDS).report
    for length in (24, 48):
        found = found_at(folder, length, "")
        assert len(found.right) == len(found.depth) == report["by_length"][str(length)]["all"]["needles"]
        assert found.right.sum() == report["by_length"][str(length)]["all"]["found"]


@pytest.mark.parametrize("strategy", ["p_max", "entropy", "log"])
def test_a_strategy_is_tested_with_the_temperature_that_it_finds(folder: RunFolder, strategy: str, tmp_path: Path):
    temperature = find(setting_of(folder, 48), strategy)
    assert temperature is not None
    write(tmp_path / "tau.json", temperature)
    options = {"lengths": "48", "words": retrieval.WORDS, "temperature": tmp_path / "tau.json"}
    report = measured("needles", folder.path, tmp_path, **options).report
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
        assert config.replaced({}) == resolve("retrieval", "transformer", f"retrieval:{task}")


# What has not been learned.


def share(folder: RunFolder, strategy: str) -> dict[int, Interval]:
    values = folder.load_summary()["measures"]["exact_match"]["values"]
    return {int(T): Interval.exactly(value) for T, value in values.items()}


def table_of(rows: tuple[str, ...]) -> TextTable:
    return text_table(
        "made-up",
        "Made up",
        {row: retriever(row) for row in rows},
        [],
        {"nowhere": {"Less is found in longer documents.": falls(EXACT, *rows)}},
        sharpening={EXACT: share},
        drawn=EXACT,
        shown=EXACT,
    )


def page_of(path: Path, table: TextTable, at_first: dict[str, list[float]], scale: Scale = "cpu") -> dict[str, Any]:
    """The page of runs that find so much at their training length, each a seed, and half of it beyond."""
    folder, configs = SweepFolder.create(path), {name_of(one): one for one in table.all_configs(scale)}
    folder.add(configs)
    for name, config in configs.items():
        first, *further = config.tested
        value = at_first[config.data.name.partition(":")[2]][config.seed]
        values = {first: value, **dict.fromkeys(further, value / 2)}
        finished_text(folder.run_path(name), config, "exact_match", values)
    return reproduction.write_page(folder.path, table, scale)


def test_a_run_that_learned_too_little_is_named_and_counts_in_no_figure(tmp_path: Path):
    result = page_of(tmp_path / "r", table_of(("line",)), {"line": [100.0, 30.0, 90.0]})
    (claim,) = result["claims"]
    assert (claim["answer"], claim["figure"].split(" = ")[1]) == ("holds", "-47.50 [-50.00, -45.00]")
    assert [(one["run"].split("seed")[1][0], one["value"]) for one in result["facts"]["unlearned"]] == [("1", 30.0)]
    (row,) = (cell for cell in cells_of(result) if "tokens" in cell)
    assert (row["done"], row["runs"], row["unlearned"]) == (3, 3, 1)
    page = Path(result["page"]).read_text()
    assert "3 of 3, 1 learned too little" in page
    assert "## Runs that learned too little to count" in page
    assert "30 % at the training length" in page


def test_where_no_run_learned_the_task_nothing_is_decided(tmp_path: Path):
    result = page_of(tmp_path / "r", table_of(("line", "topic")), {"line": [1.0, 2.0, 3.0], "topic": [100.0] * 3})
    (claim,) = result["claims"]
    assert claim["answer"] == "not decidable here"
    rows = {row["row"]: row["problem"] for row in cells_of(result) if "tokens" in row}
    assert rows == {"line": "no run learned the task", "topic": ""}
    assert all(cell["measure"] is None for cell in cells_of(result) if cell["row"] == "line" and "measure" in cell)


def test_after_a_few_steps_nothing_has_to_be_learned(tmp_path: Path):
    result = page_of(tmp_path / "r", table_of(("line",)), {"line": [1.0]}, "smoke")
    assert result["facts"]["unlearned"] == []
    assert "learned too little" not in Path(result["page"]).read_text()


def test_many_rows_have_a_picture_a_task_whose_file_has_a_plain_name(tmp_path: Path):
    rows = {f"{task}/{name}": retriever(task, name) for task in ("line", "topic") for name in ("t5", "none", "alibi")}
    rows |= {f"line/{i}": retriever("line", "rotary") for i in range(7)}
    table = replace(table_of(("line",)), subjects=rows, rows=tuple(rows), claims=())
    table = replace(table, configs=lambda row, runs, scale: trained(rows[row], scale))
    result = page_of(tmp_path / "r", table, {"line": [100.0] * 3, "topic": [90.0] * 3})
    files = pictures_of(result)
    assert files == ["curves/line-exact-match-in-percent.svg", "curves/topic-exact-match-in-percent.svg"]
    place = Path(result["page"]).parent
    assert all((place / file).stat().st_size > 1000 for file in files)
    assert all(f"({file})" in (place / "page.md").read_text() for file in files)
    few = page_of(tmp_path / "few", table_of(("line",)), {"line": [100.0] * 3})
    assert pictures_of(few) == ["curves/exact-match-in-percent.svg"]
