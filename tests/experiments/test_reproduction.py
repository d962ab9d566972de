"""The folder of a reproduction: what the page is written from, what is kept, and what figures look at."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments import reproduction, shortcuts
from experiments.cells import differences_of
from experiments.experiment import Analysis
from experiments.figure import saved_report
from experiments.page import files
from experiments.recorded import read
from experiments.registry import experiment
from languages.errors import UserError
from regulargpt.config.schema import RunConfig
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.runs.sweep.names import name_of
from regulargpt.storage.folder import RunFolder
from tests.experiments.folders import filled
from tests.languages.refusing import refusal

TABLE = experiment("table-6.1")


@pytest.fixture(autouse=True)
def rules(monkeypatch) -> None:
    """No logistic regression here."""
    monkeypatch.setattr(shortcuts, "rule_scores", lambda trained, tested, path: None)


@pytest.fixture
def folder(tmp_path: Path) -> SweepFolder:
    """The runs of one row, all at an end."""
    return filled(tmp_path / "r", TABLE, rows=["parity"])


def contents(place: Path) -> dict[str, bytes]:
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def test_pages_are_written_beside_the_runs_and_again_alike(folder: SweepFolder):
    result = reproduction.write_page(folder.path, TABLE, "smoke")
    place = folder.path / "table-6.1-smoke"
    assert result["page"] == str(place / "page.md")
    assert len(result["cells"]) == len(TABLE.columns)
    written = contents(place)
    assert sorted(written) == ["curves/parity.svg", "page.md", "runs.csv"]
    reproduction.write_page(folder.path, TABLE, "smoke")
    assert contents(place) == written
    # A page is made of its table alone.
    (place / "page.md").unlink()
    shutil.rmtree(folder.path / "runs")
    subprocess.run([sys.executable, "-m", "experiments.page", str(place)], check=True)
    assert contents(place) == written
    (place / "runs.csv").write_text("rows,state,n\nparity,done,x\n")
    assert re.search(r"runs\.csv is no table of runs: .*; make it anew", refusal(files.read, place))
    (place / "runs.csv").unlink()
    for text in ("{}", '{"sections":[{"title":"","blocks":[{"rows":[[{"lines":[["100","ours"]]}]]}]}]}'):
        (place / "page.json").write_text(text)
        assert re.search(r"page\.json is no record of a page: .*; make it anew", refusal(files.read, place))


def test_a_run_has_its_line_with_where_it_was_made(folder: SweepFolder):
    first, second, *_ = folder.names
    (folder.run_path(second) / "environment.json").write_text("{")
    reproduction.write_page(folder.path, TABLE, "smoke")
    runs = {run.names[0]: run for run in read(folder.path / "table-6.1-smoke" / "runs.csv")}
    assert set(runs) == set(folder.names)
    one = runs[first]
    assert (one.state, one.n, one.seed, one.steps, one.train_seconds) == ("done", 1, "0", (1400, 1400), 2.5)
    assert (one.commit, one.torch, one.device) == ("c0ffee", "2.13.0", "x86_64 (cpu), 2 cores")
    assert one.tests[""].scores == (99.0,)
    assert {value for of in one.by_length.values() for value in of} == {99.0}
    assert (runs[second].state, runs[second].commit) == ("done", "")  # where is not known


def test_a_folder_is_shared_by_experiments_and_scales(folder: SweepFolder):
    filled(folder.path, experiment("table-6.2"), result=lambda config: None)
    assert {cell["row"] for cell in reproduction.write_page(folder.path, TABLE, "smoke")["cells"]} == {"parity"}
    assert len(reproduction.write_page(folder.path, experiment("table-6.2"), "smoke")["missing"]) == 20


def test_what_is_not_there_is_refused(tmp_path: Path, folder: SweepFolder):
    with pytest.raises(UserError, match=r"is not a sweep folder: sweep\.json missing"):
        reproduction.write_page(tmp_path / "x", TABLE, "smoke")
    with pytest.raises(
        UserError, match=r"no run of table-6\.1 at scale cpu was asked for in .*; leave --page-only out"
    ):
        reproduction.write_page(folder.path, TABLE, "cpu")


REPORTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "figure-6.3": (
        "verify/clusters.json",
        "verify/pca.png",
        {
            "summary": "2 clusters found for 2 of 2 monoid elements, one for each",
            "overall": {"clusters": 2, "ari": 1.0, "purity": 1.0, "explained_variance": [0.9, 0.05]},
        },
    ),
    "figure-6.4a": (
        "receptive-field/receptive-field.json",
        "receptive-field/receptive-field.png",
        {"summary": "99 % of the gradient ...", "erf": 462, "deviation_from_line": 0.268},
    ),
}
SEEN = {"figure-6.3": (2, 0.0), "figure-6.4a": ("reaches 462 of 500 symbols back, 0.268 off a straight line", None)}


def looked(folder: RunFolder, name: str) -> None:
    """Leave what the analysis of a figure would."""
    file, picture, report = REPORTS[name]
    (folder.path / file).parent.mkdir(exist_ok=True)
    (folder.path / file).write_text(json.dumps({"length": 500, "words": 32, "seed": 0, **report}))
    (folder.path / picture).write_bytes(b"\x89PNG")


@pytest.mark.parametrize("name", SEEN)
def test_a_figure_shows_what_was_found_beside_what_was_published(tmp_path: Path, name: str):
    figure = experiment(name)
    folder = filled(tmp_path / "r", figure, rows=["parity"])
    for run in folder.names:
        looked(RunFolder.open(folder.run_path(run)), name)
    result = reproduction.write_page(folder.path, figure, "smoke")
    for cell in result["cells"]:
        assert (*cell["ours"].values(), *differences_of(cell)) == SEEN[name]
        assert REPORTS[name][2]["summary"] in cell["found"]
    place = folder.path / f"{name}-smoke"
    assert (place / "pictures" / "parity-paper.png").read_bytes() == b"\x89PNG"
    assert "](pictures/parity-paper.png)" in (place / "page.md").read_text()

    def refuse(run: RunFolder) -> Analysis:
        raise UserError("these words cannot be drawn")

    result = reproduction.write_page(folder.path, replace(figure, analyse=refuse), "smoke")
    assert {tuple(cell["ours"].values()) for cell in result["cells"]} == {("not analysed",)}
    assert all(cell["found"] == ["these words cannot be drawn"] for cell in result["cells"])


def test_only_the_same_look_is_kept(tmp_path: Path):
    path, same = tmp_path / "report.json", {"length": 500, "words": 32, "seed": 0}
    assert saved_report(path, RunConfig()) is None
    for changes in ({}, {"length": 400}, {"words": 8}, {"seed": 1}):
        path.write_text(json.dumps(same | changes))
        assert (saved_report(path, RunConfig()) is not None) == (not changes)
    # A report without what a figure reads is made again.
    for text in ("", "[]", '{"length": 500}', json.dumps(same)):
        path.write_text(text)
        assert saved_report(path, RunConfig(), "overall") is None


def test_figures_look_at_runs_of_the_table():
    for name in ("figure-6.3", "figure-6.4a"):
        figure = experiment(name)
        for scale in ("smoke", "cpu", "full"):
            runs = {name_of(config) for config in TABLE.all_configs(scale, figure.rows)}
            assert {name_of(config) for config in figure.all_configs(scale)} <= runs


def test_rules_are_computed_once(tmp_path: Path, monkeypatch):
    monkeypatch.undo()
    calls: list[str] = []

    class Rule:
        score, accuracy = 51.0, {41: 50.0}

    def compute(task: Any, config: RunConfig, seed: int, training_task: Any) -> dict[str, Rule]:
        calls.append(config.render())
        return {"majority": Rule()}

    monkeypatch.setattr("regulargpt.evaluation.shortcuts.scores.shortcut_scores", compute)
    expected = {"majority": {"score": 51.0, "accuracy": {"41": 50.0}}}

    def is_found(config: RunConfig, times: int) -> bool:
        found: Any = shortcuts.rule_scores(config, config, tmp_path)
        return (found, len(calls)) == (expected, times)

    (config,) = TABLE.configs("parity", "regulargpt-C2", "smoke")
    other = config.replaced({"model.d_model": 32, "training.steps": 7, "evaluation.extra_protocols": ("hard-2",)})
    assert is_found(config, 1)
    assert is_found(other, 1)
    assert is_found(config.replaced({"evaluation.samples": 9}), 2)
    # What are no rules is computed again.
    for at, rules in enumerate(({}, {"majority": 3}, [], {"majority": {"score": 1.0}})):
        for file in (tmp_path / "shortcuts").iterdir():
            file.write_text(json.dumps({"format": 1, "rules": rules}))
        assert is_found(config, 3 + at)
    # A large language has none.
    monkeypatch.setattr("regulargpt.evaluation.shortcuts.features.is_small", lambda task: False)
    assert shortcuts.rule_scores(config, config, tmp_path / "large") is None
