"""The folder of a reproduction: what the page is written from, what is kept, and what figures look at."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments import reproduction, shortcuts
from experiments.experiment import Analysis
from experiments.figure import saved_report
from experiments.page import files
from experiments.registry import experiment
from languages.errors import UserError
from regulargpt.config.schema import RunConfig
from regulargpt.runs.sweep.names import name_of
from regulargpt.storage.folder import RunFolder
from tests.experiments.folders import cells_of, filled

TABLE = experiment("table-6.1")


@pytest.fixture(autouse=True)
def rules(monkeypatch) -> None:
    """No logistic regression here."""
    monkeypatch.setattr(shortcuts, "rule_scores", lambda trained, tested, path: None)


def test_pages_are_written_beside_the_runs_and_again_alike(tmp_path: Path):
    folder = filled(tmp_path / "r", TABLE, rows=["parity"])
    result = reproduction.write_page(folder.path, TABLE, "smoke")
    place = folder.path / "table-6.1-smoke"
    assert result["page"] == str(place / "page.md")
    assert files.plain(place) | {"page": result["page"]} == result
    written = {path.relative_to(place): path.read_bytes() for path in place.rglob("*") if path.is_file()}
    assert sorted(map(str, written)) == ["curves/parity.svg", "page.json", "page.md"]
    reproduction.write_page(folder.path, TABLE, "smoke")
    assert {path.relative_to(place): path.read_bytes() for path in place.rglob("*") if path.is_file()} == written


def test_a_page_is_made_of_its_record_alone(tmp_path: Path):
    folder = filled(tmp_path / "r", TABLE, rows=["parity"])
    reproduction.write_page(folder.path, TABLE, "smoke")
    place = folder.path / "table-6.1-smoke"
    before = {name: (place / name).read_bytes() for name in ("page.md",)}
    for name in before:
        (place / name).unlink()
    shutil.rmtree(folder.path / "runs")
    subprocess.run([sys.executable, "-m", "experiments.page", str(place)], check=True)
    assert {name: (place / name).read_bytes() for name in before} == before
    former = '{"sections":[{"title":"","blocks":[{"rows":[[{"lines":[["100","ours"]]}]]}]}]}'
    squeezed = '{"layout":"texts","facts":{},"parts":{"curves":[{"file":"a.svg","lines":"a"}]}}'
    for text in ("{}", former, squeezed):
        (place / "page.json").write_text(text)
        with pytest.raises(UserError, match=r"page\.json is no record of a page: .*; make it anew"):
            files.read(place)


def test_sessions_are_remembered(tmp_path: Path):
    folder = filled(tmp_path / "r", TABLE, rows=["parity"])
    for seconds in (61.04, 10.0):
        reproduction.add_session(folder.path, TABLE, "smoke", seconds)
    assert reproduction.write_page(folder.path, TABLE, "smoke")["session_seconds"] == [61.0, 10.0]
    text = (folder.path / "table-6.1-smoke" / "page.md").read_text()
    assert "Time: 1 min 11 s in 2 sessions" in text
    assert f"    regulargpt reproduce table-6.1 --scale smoke --only parity --out {folder.path}\n" in text


@pytest.mark.parametrize("seconds", ['["x"]', '"x"', "{}", "null"])
def test_sessions_that_are_none_are_refused(tmp_path: Path, seconds: str):
    folder = filled(tmp_path / "r", TABLE, rows=["parity"])
    reproduction.add_session(folder.path, TABLE, "smoke", 1.0)
    (folder.path / "table-6.1-smoke" / "sessions.json").write_text(f'{{"seconds": {seconds}}}')
    with pytest.raises(UserError, match=r"sessions.json has no list of seconds"):
        reproduction.write_page(folder.path, TABLE, "smoke")


def test_a_folder_is_shared_by_experiments_and_scales(tmp_path: Path):
    filled(tmp_path / "r", TABLE, rows=["parity"])
    folder = filled(tmp_path / "r", experiment("table-6.2"), result=lambda config: None)
    assert {cell["row"] for cell in cells_of(reproduction.write_page(folder.path, TABLE, "smoke"))} == {"parity"}
    assert len(reproduction.write_page(folder.path, experiment("table-6.2"), "smoke")["missing"]) == 20


def test_what_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(UserError, match=r"is not a sweep folder: sweep\.json missing"):
        reproduction.write_page(tmp_path / "r", TABLE, "smoke")
    folder = filled(tmp_path / "r", TABLE, rows=["parity"])
    with pytest.raises(
        UserError, match=r"no run of table-6\.1 at scale cpu was asked for in .*; leave --page-only out"
    ):
        reproduction.write_page(folder.path, TABLE, "cpu")


def test_environments_are_counted_and_damaged_ones_left_out(tmp_path: Path):
    folder = filled(tmp_path / "r", TABLE, rows=["parity"])
    first, second, *_ = folder.names
    path = folder.run_path(first) / "environment.json"
    path.write_text(path.read_text().replace("c0ffee", "badc0de"))
    (folder.run_path(second) / "environment.json").write_text("{")
    found = reproduction.environments(folder, folder.names)
    assert [(known["commit"], count) for known, count in found] == [("c0ffee", 4), ("badc0de", 1)]


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
    statistic = result["facts"]["statistics"][0]
    for cell in cells_of(result):
        assert (cell["ours"][statistic], cell["difference"][statistic]) == SEEN[name]
        assert REPORTS[name][2]["summary"] in cell["found"]
    place = folder.path / f"{name}-smoke"
    assert (place / "pictures" / "parity-paper.png").read_bytes() == b"\x89PNG"
    assert "](pictures/parity-paper.png)" in (place / "page.md").read_text()


def test_an_analysis_that_is_refused_is_said(tmp_path: Path):
    figure = experiment("figure-6.3")

    def refuse(folder: RunFolder) -> Analysis:
        raise UserError("these words cannot be drawn")

    folder = filled(tmp_path / "r", figure, rows=["parity"])
    result = reproduction.write_page(folder.path, replace(figure, analyse=refuse), "smoke")
    assert {tuple(cell["ours"].values()) for cell in cells_of(result)} == {("not analysed",)}
    assert all(cell["found"] == ["these words cannot be drawn"] for cell in cells_of(result))


LOOKS: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"length": 400}, False),
    ({"words": 8}, False),
    ({"seed": 1}, False),
]


@pytest.mark.parametrize(("changes", "same"), LOOKS, ids=str)
def test_only_the_same_look_is_kept(tmp_path: Path, changes: dict[str, Any], same: bool):
    path = tmp_path / "report.json"
    assert saved_report(path, RunConfig()) is None
    path.write_text(json.dumps({"length": 500, "words": 32, "seed": 0, **changes}))
    assert (saved_report(path, RunConfig()) is not None) == same


def test_a_report_without_what_a_figure_reads_is_made_again(tmp_path: Path):
    path = tmp_path / "report.json"
    for text in ("", "[]", '{"length": 500}', '{"length": 500, "words": 32, "seed": 0}'):
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
    (config,) = TABLE.configs("parity", "regulargpt-C2", "smoke")
    other = config.replaced({"model.d_model": 32, "training.steps": 7, "evaluation.extra_protocols": ("hard-2",)})
    expected = {"majority": {"score": 51.0, "accuracy": {"41": 50.0}}}
    rule_scores: Callable[..., Any] = shortcuts.rule_scores
    assert rule_scores(config, config, tmp_path) == rule_scores(other, other, tmp_path) == expected
    assert len(calls) == 1
    again = config.replaced({"evaluation.samples": 9})
    assert rule_scores(again, again, tmp_path) == expected
    assert len(calls) == 2
    # What are no rules is computed again.
    for at, rules in enumerate(({}, {"majority": 3}, [], {"majority": {"score": 1.0}})):
        for file in (tmp_path / "shortcuts").iterdir():
            file.write_text(json.dumps({"format": 1, "rules": rules}))
        assert rule_scores(config, config, tmp_path) == expected
        assert len(calls) == 3 + at


def test_no_rules_for_a_large_language(tmp_path: Path, monkeypatch):
    monkeypatch.undo()

    monkeypatch.setattr("regulargpt.evaluation.shortcuts.features.is_small", lambda task: False)
    (config,) = TABLE.configs("parity", "regulargpt-C2", "smoke")
    assert shortcuts.rule_scores(config, config, tmp_path) is None
