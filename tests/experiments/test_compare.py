"""Cells against hand-made runs: numbers, failures, what is missing, and what is no cell at all."""

from pathlib import Path
from typing import Any

import pytest

import languages
from experiments.ablations import PARTS
from experiments.ablations import runs as ablation_runs
from experiments.cells import cells, differences_of, standing
from experiments.cells import lines as lines_of
from experiments.experiment import Experiment, Scale
from experiments.page.record import Values
from experiments.recorded import RecordedRun, Rules, gathered, read_rules, write_rules
from experiments.registry import EXPERIMENTS, experiment
from experiments.shortcuts import rules_beside
from experiments.table_6_1 import EVEN
from regulargpt.config.schema import RunConfig
from regulargpt.runs.sweep.names import name_of
from regulargpt.storage.folder import RunFolder
from regulargpt.text.experiments.table import TextTable
from tests.experiments.folders import filled
from tests.regulargpt.results.made import believe

TABLE = experiment("table-6.1")
COLUMNS = [column.name for column in TABLE.columns]
Cells = dict[tuple[str, str], Values]


def lines(found: Values) -> list[str]:
    """What the cell says."""
    return [line.text for line in lines_of(found)]


def shown(of: Experiment, scale: Scale, runs: list[RecordedRun], rules: list[Rules] | None = None) -> Cells:
    """The cells by row and column."""
    return {(one["row"], one["column"]): one for one in cells(of, scale, runs, rules or [])}


def made(place: Path, name: str, scale: Scale = "smoke", row: str = "parity", **more: Any) -> Cells:
    """What is shown of a sweep of one row."""
    of = experiment(name)
    return shown(of, scale, gathered(of, scale, filled(place / "r", of, scale, [row], **more)))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory) -> list[RecordedRun]:
    """Parity at the scale cpu: three seeds, of which the RNN's last failed and the Transformer's first is missing."""

    def result(config: RunConfig) -> float | str | None:
        if config.model.name == "rnn":
            return (100.0, 98.0, "the loss is no longer a number")[config.seed]
        if config.model.name == "transformer":
            return (None, 50.0, 52.0)[config.seed]
        return 99.9995 if config.model.chunk_size == 2 else (90.0, 80.0, 70.0)[config.seed]

    folder = filled(tmp_path_factory.mktemp("cells") / "r", TABLE, "cpu", ["parity"], result)
    return gathered(TABLE, "cpu", folder)


CELLS = {
    "regulargpt-C3": ["100.0 / 88.7", "90.00 / 80.00", "−10.0 / −8.7"],
    # Nothing is rounded up to 100, and what prints the same does not differ.
    "regulargpt-C2": ["100.0 / 100.0", "99.99 / 99.99", "±0.0 / ±0.0"],
    "rnn": ["100.0 / 98.9", "100 / 99.00", "±0.0 / +0.1", "1 of 3 failed"],
    "transformer": ["52.3 / 50.1", "52.00 / 51.00", "−0.3 / +0.9", "1 of 3 missing"],
    "words-hard-C3": ["90.00 / 80.00"],
}


def test_a_cell_has_what_was_published_ours_their_difference_and_what_is_not_there(mixed):
    found = shown(TABLE, "cpu", mixed)
    assert {column: lines(found["parity", column]) for column in CELLS} == CELLS
    one = found["parity", "regulargpt-C3"]
    assert (*one["published"].values(), *one["ours"].values()) == (100.0, 88.7, 90.0, 80.0)
    assert [*differences_of(one)] == pytest.approx((-10.0, -8.7))
    assert (one["done"], one["train_seconds"], one["steps"]) == (3, 7.5, [1400, 1400])
    assert [run.note for run in mixed if run.state == "failed"] == ["the loss is no longer a number"]
    missing = [run.names[0] for run in mixed if run.is_open]
    assert missing == [name_of(TABLE.configs("parity", "transformer", "cpu")[0])]
    # The other protocol and the single length have their own tests.
    hard = found["parity", "words-hard-C3"]
    assert next(run for run in mixed if run.runs == "words-C3").tests.keys() == {"", "hard-2 at 10000"}
    assert hard["published"] == {"max": None, "mean": None}
    # Rows that were not asked for are left out, and columns of before without records.
    assert set(found) == {("parity", column) for column in COLUMNS}


def test_where_the_published_mean_lies(mixed):
    found = shown(TABLE, "cpu", mixed)
    said = {standing(one, one["published"]["mean"]) for one in found.values() if one["published"]["mean"]}
    assert said == {"within"}
    transformer = found["parity", "transformer"]
    bounds = [49.94, 49.96, 52.04, 52.06]
    assert [standing(transformer, bound) for bound in bounds] == ["above", "within", "within", "below"]
    assert standing({**transformer, "group": None}, 50.0) == "not there"


def test_a_line_of_several_runs_says_what_a_line_each_says(mixed):
    """As older records have them, whose runs were not kept one by one."""
    three = [run for run in mixed if run.runs == "regulargpt-C3"]
    score = type(three[0].tests[""])
    scores = tuple(sorted(run.tests[""].scores[0] for run in three))
    worst, below = min(run.tests[""].worst for run in three), min(run.tests[""].below_99 for run in three)
    one = RecordedRun(
        ("parity",), "regulargpt-C3", "done", n=3, steps=(1400, 1400), train_seconds=7.5,
        tests={"": score(scores, worst, below)},
        by_length=dict.fromkeys(three[0].by_length, (80.0, 70.0, 90.0)),
    )  # fmt: skip
    assert (
        shown(TABLE, "cpu", [one])["parity", "regulargpt-C3"] == shown(TABLE, "cpu", three)["parity", "regulargpt-C3"]
    )


def test_a_damaged_run_is_a_failed_one(tmp_path: Path):
    folder = filled(tmp_path / "r", TABLE, "smoke", ["parity"])
    path = folder.run_path(name_of(TABLE.configs("parity", "rnn", "smoke")[0])) / "summary.json"
    path.write_text(path.read_text().replace("99.0", "99.5", 1))
    runs = gathered(TABLE, "smoke", folder)
    found = shown(TABLE, "smoke", runs)["parity", "rnn"]
    assert found["ours"] == {"max": None, "mean": None}
    assert lines(found) == ["100.0 / 98.9", "1 of 1 failed"]
    assert "summary.json" in next(run.note for run in runs if run.state == "failed")


@pytest.mark.parametrize(
    ("proven", "is_believed", "text"),
    [
        (True, True, "1 of 1 proven"),
        (False, True, "0 of 1 proven"),
        (None, True, "no proof asked"),
        (True, False, "0 of 1 proven"),  # what only a summary calls proven is not counted
    ],
)
def test_proven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proven: bool | None, is_believed: bool, text: str):
    if is_believed:
        believe(monkeypatch)
    assert lines(made(tmp_path, "answers", proven=proven)["parity", "proven-gated-C2"]) == [text]


def test_a_length_that_was_not_tested_is_said(tmp_path: Path):
    found = made(tmp_path, "table-6.1", extra_protocols={})
    assert lines(found["parity", "words-hard-C2"]) == ["not tested at 10,000 symbols"]


def test_both_settings_of_table_6_2_are_of_the_same_runs(tmp_path: Path):
    table = experiment("table-6.2")
    folder = filled(tmp_path / "r", table)
    (name, *_) = (name_of(config) for config in table.all_configs("smoke") if config.model.name == "transformer")
    summary = RunFolder.open(folder.run_path(name)).load_summary()
    assert summary["measures"]["accuracy"]["values"]["40"] == 99.0
    runs = gathered(table, "smoke", folder)
    assert sorted(run.names[0] for run in runs) == sorted(folder.names)  # each has one line
    one = next(run for run in runs if run.names == (name,))
    assert one.rows == ("same-length/transformer", "extrapolation/transformer")
    assert set(one.tests) == {"at 40", ""}
    found = shown(table, "smoke", runs)
    same, beyond = found["same-length/transformer", "0.9"], found["extrapolation/transformer", "0.9"]
    assert (same["published"], beyond["published"]) == ({"mean": 77.2}, {"mean": 50.0})
    assert [*differences_of(same)] == pytest.approx([21.8])
    assert found["same-length/words", "0.9"]["published"] == {"mean": None}


RESULTS = {"done": 99.0, "missing": None, "failed": "no"}


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if not isinstance(experiment(name), TextTable)])
def test_no_cell_of_any_experiment_is_blank(tmp_path: Path, name: str):
    found: Experiment = experiment(name)
    for kind, result in RESULTS.items():
        folder = filled(tmp_path / kind, found, "smoke", found.rows[:2], lambda config, result=result: result)
        all_cells = shown(found, "smoke", gathered(found, "smoke", folder))
        assert all_cells
        for one in all_cells.values():
            said = lines_of(one)
            assert said, one
            assert all(line.text.strip() for line in said), one
            assert any(one["ours"].values()) or any(line.kind in ("state", "ours") for line in said)


def test_encodings_on_languages_say_where_they_first_fail(tmp_path: Path):
    of = experiment("encodings-languages")
    result = lambda config: 100.0 if config.data.name == "parity" else 98.0  # noqa: E731
    folder = filled(tmp_path / "r", of, "cpu", ["alibi", "regulargpt"], result)
    found = shown(of, "cpu", gathered(of, "cpu", folder))
    assert lines(found["alibi", "parity"]) == ["100", "never below 99 %"]
    assert lines(found["regulargpt", "dyck-2"]) == ["98.00", "below 99 % at 41"]


def test_a_variant_that_a_recipe_does_not_have_is_said(tmp_path: Path):
    found = made(tmp_path, "ablations", row="parity/paper")
    assert lines(found["parity/paper", "no-state-norm"]) == ["does not apply"]


def test_only_a_cell():
    table = experiment("table-6.2")
    row, runs = "same-length/rnn", [column.runs for column in table.columns]
    parts = [table.all_configs("cpu", [f"{row}/{name}"]) for name in dict.fromkeys(runs)]
    whole = table.all_configs("cpu", [row])
    assert sum(map(len, parts)) == len(whole) > len(parts) > 1
    assert {name_of(config) for part in parts for config in part} == {name_of(config) for config in whole}
    assert table.all_configs("cpu", [row, f"{row}/{runs[0]}"]) == whole


def test_time_and_depth(tmp_path: Path):
    found = made(tmp_path, "section-6.4.3", row="parity/paper/accuracy")
    texts = [lines(found[f"parity/paper/{what}", "8"])[0] for what in ("accuracy", "seconds", "depth")]
    assert texts == ["99.00 / 99.00", "2.5 s", "3 levels at T = 500"]


def test_only_the_slow_column_has_fewer_seeds_on_two_cores():
    for scale, slow in (("cpu", 1), ("full", 3)):
        seeds = {name: len({c.seed for c in ablation_runs("parity/words", name, scale)}) for name in PARTS}
        assert seeds == {name: slow if name == "no-dilation" else 3 for name in PARTS}


@pytest.mark.parametrize("name", ["table-6.1", "ablations"])
def test_languages_whose_members_have_even_lengths_are_tested_at_as_many_odd_ones(name: str):
    configs = [c for c in experiment(name).all_configs("cpu") if c.evaluation.stride > 1]
    tasks = {c.data.name: languages.get(c.data.name) for c in configs}
    one_class = {key for key, task in tasks.items() if task.is_classification and len(task.classes(51)) == 1}
    assert one_class == set(EVEN if name == "table-6.1" else ["tomita-5"])
    for config in configs:
        if config.data.name in one_class:
            assert sum(T % 2 for T in config.scored) * 2 == len(config.scored)


def test_each_score_has_the_rules_of_its_own_words(tmp_path: Path, monkeypatch):
    computed = []

    def rule_scores(trained, tested, path):
        computed.append((tested.data.name, tested.protocol, trained.data.near_misses, tested.evaluation.samples))
        # No word of an odd length is a member, so at odd lengths a constant answer is right.
        constant = {str(T): 100.0 if T % 2 else 50.0 for T in range(51, 101)}
        grams = {"10000": 98.6, **{str(T): 90.0 if T % 7 == 2 else 80.0 for T in range(51, 101)}}
        return {
            "majority": {"score": 75.0, "accuracy": {"10000": 60.0, **constant}},
            "n-grams": {"score": 81.6, "accuracy": grams},
        }

    monkeypatch.setattr("experiments.shortcuts.rule_scores", rule_scores)
    folder = filled(tmp_path / "r", TABLE, "cpu", ["dyck-2"])
    runs = gathered(TABLE, "cpu", folder)
    found = rules_beside(TABLE, "cpu", runs, folder.path)
    assert sorted(computed) == [
        ("dyck-2", "thesis-1", 0.0, 128),
        ("dyck-2", "thesis-1", 0.5, 128),
        ("dyck-2:depth=every", "hard-2", 0.5, 128),
    ]
    write_rules(tmp_path / "rules.csv", found)
    assert read_rules(tmp_path / "rules.csv") == found
    beside = shown(TABLE, "cpu", runs, found)
    plain, some, hard = (beside["dyck-2", name]["shortcuts"] for name in ("rnn", "transformer", "words-hard-C2"))
    assert plain == {"words": "thesis-1", "scores": {"majority": 75.0, "n-grams": 81.6}}
    assert some == {"words": "thesis-1, every 7th length", "scores": {"majority": 75.0, "n-grams": 90.0}}
    assert hard["words"] == "hard-2 at 10,000 symbols, 50 % near misses in training"
    assert hard["scores"]["n-grams"] == 98.6
    assert lines(beside["dyck-2", "rnn"])[-1] == "n-grams 81.60"
