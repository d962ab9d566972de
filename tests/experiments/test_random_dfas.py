"""The experiment on random automata: its table, failures included, and that it goes on where it was."""

import csv
from pathlib import Path

import pytest

from experiments import random_dfas
from experiments.page.record import PagePicture, PageTable
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.storage.folder import RunFolder


def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((path / "out" / "random-dfas.csv").read_text().splitlines()))


@pytest.mark.slow
def test_every_automaton_has_a_row_also_one_that_failed(tmp_path: Path, monkeypatch, capsys):
    for name, value in {"COUNT": 2, "STEPS": 3, "THREADS": 1}.items():  # other tests have the other core
        monkeypatch.setattr(random_dfas, name, value)
    monkeypatch.chdir(tmp_path)
    assert random_dfas.main([]) == 2
    assert "give a folder" in capsys.readouterr().err
    assert random_dfas.main(["out"]) == 0
    found = table(tmp_path)
    assert [(row["number"], row["proven"]) for row in found] == [("0", "False"), ("1", "False")]
    assert (found[0]["states"], found[0]["monoid"]) == ("3", "3")
    assert all(row["reason"] for row in found)
    assert capsys.readouterr().out.count("done ") == 2
    # A second time nothing is left to run.
    before = (tmp_path / "out" / "random-dfas.csv").read_bytes()
    assert random_dfas.main(["out"]) == 0
    assert capsys.readouterr().out == ""
    assert (tmp_path / "out" / "random-dfas.csv").read_bytes() == before
    folder = SweepFolder(Path("out/sweep"))
    (name,) = (name for name in folder.names if "random-1" in name)
    assert RunFolder.open(folder.run_path(name)).is_done
    folder.record_failure(name, "the loss is nan at step 2", "diverged")
    assert random_dfas.main(["out"]) == 1
    last = table(tmp_path)[1]
    assert (last["number"], last["proven"], last["reason"]) == ("1", "False", "the loss is nan at step 2")


def test_the_page_counts_what_was_proven_by_the_number_of_elements():
    timed = {"train_seconds": 30.0, "certify_seconds": 12.0, "score": 100.0}
    rows = [
        {"number": 0, "monoid": 3, "proven": True, "equal": True, "slack": 1e-3, **timed},
        {"number": 1, "monoid": 30, "proven": True, "equal": True, "slack": None, **timed},
        {"number": 2, "monoid": 9, "proven": False, **timed},
        {"number": 3, "monoid": 7, "proven": True, "equal": False, "slack": 1e-3, **timed},  # of another language
        {"number": 4, "monoid": 9, "proven": False, "reason": "diverged"},
    ]
    found = random_dfas.page(rows)
    (section,) = found.sections
    table, curve = section.blocks
    assert isinstance(table, PageTable)
    assert [row[:5] for row in table.rows] == [
        ("2 to 4", "1", "1", "1", "1"),
        ("5 to 9", "2", "1", "0", "0"),
        ("30 to 50", "1", "1", "1", "0"),
    ]
    assert found.lead[1].startswith("2 of 5 are proven, and 4 have 100 %")
    assert isinstance(curve, PagePicture)
    assert list(curve.lines[0].values) == [42.0] * 3
    assert [failure["reason"] for failure in found.failed] == ["diverged"]
