"""Runs of an earlier table: they count as they would if their folders were still there, and are not run again."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from experiments import recorded, reproduction, shortcuts
from experiments.page import files
from experiments.registry import experiment
from languages.errors import UserError
from regulargpt.config.schema import RunConfig
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.runs.sweep.names import name_of
from tests.experiments.folders import Result, filled

TABLE, ROWS = experiment("rivals"), ("mlstm", "signed-delta-2-one-layer")


@pytest.fixture(autouse=True)
def rules(monkeypatch) -> None:
    """No logistic regression and no drawing here."""
    monkeypatch.setattr(shortcuts, "rule_scores", lambda trained, tested, path: None)
    monkeypatch.setattr(files, "draw", lambda picture, place: None)


def score(config: RunConfig) -> float:
    """A score that is another one for each run."""
    return crc32(name_of(config).encode()) % 12800 / 128


def some(chosen: Callable[[RunConfig], bool]) -> Callable[[RunConfig], Result]:
    return lambda config: score(config) if chosen(config) else None


def page_of(
    path: Path, chosen: Callable[[RunConfig], bool], earlier: Path | None = None, rows: tuple[str, ...] = ROWS
) -> dict[str, Any]:
    folder = filled(path, TABLE, "cpu", rows, some(chosen), first_wrong=41)
    return reproduction.write_page(folder.path, TABLE, "cpu", earlier=earlier)


def alike(one: Any, other: Any) -> bool:
    """Equal up to the rounding of a mean."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return one == (pytest.approx(other, rel=1e-12) if isinstance(other, float) else other)


@pytest.mark.parametrize(
    "is_earlier",
    [
        lambda config: config.seed == 0,
        lambda config: config.data.name in ("parity", "flip-flop"),
        lambda config: crc32(name_of(config).encode()) % 3 == 0,
        lambda config: True,
    ],
    ids=["a seed", "tasks", "here and there", "all"],
)
def test_runs_of_an_earlier_page_count_like_those_of_the_folder(tmp_path: Path, is_earlier):
    is_done: Callable[[RunConfig], bool] = lambda config: (config.seed, config.data.name) != (1, "symmetric-5")  # noqa: E731
    expected = page_of(tmp_path / "all", is_done)
    page_of(tmp_path / "first", lambda config: is_earlier(config) and is_done(config))
    place = tmp_path / "first/rivals-cpu"
    found = page_of(tmp_path / "second", lambda config: is_done(config) and not is_earlier(config), place)
    assert alike(without_page(found), without_page(expected))
    # The new table can be an earlier one in its turn.
    third = page_of(tmp_path / "third", lambda config: False, tmp_path / "second/rivals-cpu")
    assert alike(without_page(third), without_page(expected))


def without_page(result: dict[str, Any]) -> dict[str, Any]:
    """What a page says, wherever it is."""
    return {**result, "page": "", "missing": sorted(result["missing"])}


def test_rows_of_which_only_the_earlier_page_has_runs_are_shown(tmp_path: Path):
    page_of(tmp_path / "first", lambda config: True, rows=ROWS[:1])
    found = page_of(tmp_path / "second", lambda config: True, tmp_path / "first/rivals-cpu", ROWS[1:])
    assert {cell["row"] for cell in found["cells"]} == set(ROWS)
    assert not found["missing"]


def test_failures_of_the_earlier_page_are_missing_here(tmp_path: Path):
    result: Callable[[RunConfig], Result] = lambda config: "diverged" if config.seed else 99.0  # noqa: E731
    first = filled(tmp_path / "first", TABLE, "cpu", ROWS[1:], result)
    assert len(reproduction.write_page(first.path, TABLE, "cpu")["failed"]) == 2
    found = page_of(tmp_path / "second", lambda config: False, tmp_path / "first/rivals-cpu", ROWS[1:])
    assert (len(found["missing"]), found["failed"]) == (2, [])
    (cell,) = (c for c in found["cells"] if c["column"] == "symmetric-3")
    assert (cell["done"], cell["missing"], cell["group"]["n_runs"], cell["group"]["n_failed"]) == (1, 2, 1, 0)


def refused(folder: SweepFolder, place: Path) -> str:
    with pytest.raises(UserError) as caught:
        reproduction.write_page(folder.path, TABLE, "cpu", earlier=place)
    return str(caught.value)


def test_tables_that_are_of_something_else_are_refused(tmp_path: Path):
    page_of(tmp_path / "first", lambda config: config.seed == 0)
    folder = filled(tmp_path / "second", TABLE, "cpu", ROWS, some(lambda config: config.seed == 1))
    place, table = tmp_path / "first/rivals-cpu", tmp_path / "first/rivals-cpu/runs.csv"
    assert "runs.csv: no such file or folder" in refused(folder, tmp_path)
    other = filled(tmp_path / "other", TABLE, "smoke", ROWS)
    reproduction.write_page(other.path, TABLE, "smoke")
    said = "is of runs that are none of rivals at scale cpu (mlstm, parity); leave --earlier out"
    assert said in refused(folder, other.path / "rivals-smoke")
    runs = [replace(run, names=()) if run.runs == "parity" else run for run in recorded.read(table)]
    recorded.write(table, runs)
    assert said in refused(folder, place)  # nobody can say which runs these are
    figure = experiment("figure-6.3")
    with pytest.raises(UserError, match=r"--earlier is for tables of scores, and figure-6\.3 is none"):
        recorded.earlier(place, figure, "cpu")


def test_a_run_that_is_in_both_is_refused(tmp_path: Path):
    page_of(tmp_path / "first", lambda config: config.seed == 0)
    folder = filled(tmp_path / "second", TABLE, "cpu", ROWS, some(lambda config: config.data.name == "parity"))
    said = refused(folder, tmp_path / "first/rivals-cpu")
    assert said.startswith("parity-mlstm-words-seed0-")
    assert "is in this folder and in the earlier record; leave --earlier out, or use another --out" in said
