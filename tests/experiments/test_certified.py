"""The table of certified runs: what stands in a row, and which runs make one."""

import json
from pathlib import Path
from typing import Any

import pytest

from experiments import certified
from regulargpt.certificate import verdict
from regulargpt.config.recipes import CERTIFY
from regulargpt.config.schema import RunConfig
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.runs.sweep.names import name_of
from regulargpt.storage.folder import CERTIFICATE, UNCERTIFIED
from tests.experiments.folders import finished
from tests.regulargpt.results.made import believe

ASKED = RunConfig().replaced(
    {**CERTIFY, "data.name": "regex:(a|b)*c", "evaluation.test_len": 42, "evaluation.extra_lengths": (99,)}
)


def sweep_of(path: Path, configs: list[RunConfig]) -> SweepFolder:
    folder = SweepFolder.create(path)
    folder.add({name_of(config): config for config in configs})
    return folder


def add(folder: SweepFolder, config: RunConfig, slack: float | None, **more: object) -> None:
    proven = slack is not None
    phases = {"table_fine_tuning": {"began_at": 200, "certified_at": 300}} if proven else {}
    known = {"proven": proven, "phases": phases, "worst": 98.5}
    run = finished(folder.run_path(name_of(config)), config, 99.9995, **{**known, **more})
    if proven:
        balls = {"slack": slack} if slack else None
        (run.path / CERTIFICATE).write_text(json.dumps({"prototypes": [[0.0]] * 5, "unquantised": balls}))
    else:
        (run.path / UNCERTIFIED).write_text("{}")


def test_a_row_is_a_language_a_chunk_size_and_a_budget(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch):
    believe(monkeypatch)
    monkeypatch.setattr(certified, "verdict", verdict.verdict)
    plain = {"phases.table_fine_tuning.every": 0, "phases.table_fine_tuning.steps": 0}
    runs: list[tuple[dict[str, Any], float | None, dict[str, Any]]] = [
        ({"seed": 1}, 0.0299, {}),
        ({"seed": 0}, 0.0, {}),
        ({"seed": 2}, None, {"worst": 50.0, "train_seconds": 7.4}),
        ({"model.chunk_size": 3}, 0.1, {}),
        ({"training.steps": 900}, None, {}),
        (plain, None, {}),
        ({"model.d_model": 128}, None, {"proven": None}),
    ]
    configs = [ASKED.replaced(changes) for changes, _, _ in runs]
    folder = sweep_of(tmp_path / "s", [*configs, ASKED.replaced({"seed": 3})])  # of one there is no run
    for config, (_, slack, more) in zip(configs, runs, strict=True):
        add(folder, config, slack, **more)
    assert certified.main([str(folder.path)]) == 0
    head, rule, *rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()]
    assert (tuple(head), len(rule)) == (certified.COLUMNS, len(certified.COLUMNS))
    worst, steps, name = "98.50, 98.50, 50.00", f"answers | {ASKED.training.steps:,}", r"regex:(a\|b)\*c"
    assert [" | ".join(row) for row in rows] == [
        f"{name} | {steps} | 2 of 3 | 300, 300, - | 2, 2, 7 | 5 | no, 0.03, no | 99.99 | {worst} | 99.99 at 99",
        f"{name}, C = 3 | {steps} | 1 of 1 | 300 | 2 | 5 | 0.1 | 99.99 | 98.50 | 99.99 at 99",
        f"{name} | answers | 900 | 0 of 1 | - | 2 | - | no | 99.99 | 98.50 | 99.99 at 99",
        f"{name} | {steps} | not asked | - | 2 | - | no | 99.99 | 98.50 | 99.99 at 99",
    ]


def test_the_longest_length_is_the_worst_of_the_tests_there():
    def test(values: dict[str, float]) -> dict[str, Any]:
        return {"measures": {"accuracy": {"values": values}}}

    others = {"hard-2": test({"99": 60.0, "50": 10.0}), "x": test({"98": 0.0})}
    summary = {**test({"42": 70.0, "99": 80.0}), "extra_protocols": others}
    assert certified.CertifiedRun(ASKED, summary, {}).longest == (99, 60.0)
    summary["extra_protocols"] = {"hard-2": test({"500": 90.0})}
    assert certified.CertifiedRun(ASKED, summary, {}).longest == (500, 90.0)


def test_what_is_refused(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    sweep_of(Path("empty"), [ASKED])
    for arguments, message in (
        ([], "give a sweep, as in python -m experiments.certified sweeps/mine"),
        (["missing"], "missing is not a sweep folder: sweep.json missing; give one that `regulargpt sweep` made"),
        (["empty"], "empty has no finished run with --certify; see regulargpt sweep --help"),
    ):
        assert certified.main(arguments) == 2
        assert capsys.readouterr().err == f"error: {message}\n"
