"""The experiment on random automata: its table, failures included, and that it goes on where it was."""

import csv
import json
from pathlib import Path

import pytest

from experiments import random_dfas
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.storage.folder import RunFolder


def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((path / "out" / "random-dfas.csv").read_text().splitlines()))


@pytest.mark.slow
def test_every_automaton_has_a_row_also_one_that_failed(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setattr(random_dfas, "COUNT", 2)
    monkeypatch.setattr(random_dfas, "STEPS", 3)
    monkeypatch.setattr(random_dfas, "THREADS", 1)  # other tests have the other core
    monkeypatch.chdir(tmp_path)
    assert random_dfas.main(["out"]) == 0
    found = table(tmp_path)
    assert [(row["number"], row["states"], row["monoid"], row["proven"]) for row in found] == [
        ("0", "3", "3", "False"),
        ("1", found[1]["states"], found[1]["monoid"], "False"),
    ]
    assert all(row["reason"] for row in found)
    assert capsys.readouterr().out.count("done ") == 2
    # A second time nothing is left to run.
    before = (tmp_path / "out" / "random-dfas.csv").read_bytes()
    assert random_dfas.main(["out"]) == 0
    assert capsys.readouterr().out == ""
    assert (tmp_path / "out" / "random-dfas.csv").read_bytes() == before
    folder = SweepFolder(Path("out/sweep"))
    (name,) = [n for n in json.loads(Path("out/sweep/sweep.json").read_text())["names"] if "random-1" in n]
    assert RunFolder.open(folder.run_path(name)).is_done
    folder.record_failure(name, "the loss is nan at step 2", "diverged")
    assert random_dfas.main(["out"]) == 1
    last = table(tmp_path)[1]
    assert (last["number"], last["proven"], last["reason"]) == ("1", "False", "the loss is nan at step 2")


def test_the_picture_has_a_dot_for_each_automaton_by_what_was_proven_of_it():
    timed = {"train_seconds": 30.0, "certify_seconds": 12.0}
    rows = [
        {"monoid": 3, "proven": True, "equal": True, "slack": 1e-3, **timed},
        {"monoid": 30, "proven": True, "equal": True, "slack": None, **timed},
        {"monoid": 9, "proven": False, **timed},
        {"monoid": 7, "proven": True, "equal": False, "slack": 1e-3, **timed},  # of another language
        {"monoid": 9, "proven": False, "reason": "diverged"},
    ]
    axes = random_dfas.picture(rows).axes[0]
    assert [dots.get_offsets().tolist() for dots in axes.collections] == [
        [[3, 42]],
        [[30, 42]],
        [[9, 42], [7, 42]],
    ]
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["proven as it is (1)", "proven, states replaced (1)", "not proven (2)", "40 s"]


def test_without_a_folder_it_is_refused(capsys):
    assert random_dfas.main([]) == 2
    assert "give a folder" in capsys.readouterr().err
