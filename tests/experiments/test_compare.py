"""Cells against hand-made runs: numbers, failures, what is missing, and what is no cell at all."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import languages
from experiments.ablations import PARTS
from experiments.ablations import runs as ablation_runs
from experiments.cells import Compared, Comparison, ShortcutScores, compare, standing, values_of
from experiments.cells import cell as shown_cell
from experiments.experiment import Experiment, Scale
from experiments.page.record import Table, Values
from experiments.registry import EXPERIMENTS, experiment
from experiments.reproduction import comparison
from experiments.score_page import reading, standings
from experiments.shortcuts import with_shortcuts
from experiments.table_6_1 import EVEN
from regulargpt import data
from regulargpt.config.schema import RunConfig
from regulargpt.options import Options
from regulargpt.results.rows import rows
from regulargpt.runs.sweep.names import name_of
from regulargpt.storage.folder import RunFolder
from regulargpt.text.experiments.table import TextTable
from tests.experiments.folders import filled
from tests.regulargpt.results.made import believe

TABLE = experiment("table-6.1")
COLUMNS = [column.name for column in TABLE.columns]


def values(found: Compared) -> Values:
    """The cell as its page has it."""
    return values_of(found, ("max", "mean")[-len(found.ours) :])


def lines(found: Compared) -> list[str]:
    """What the cell says."""
    return [line.text for line in shown_cell(values(found)).lines]


def cell(found: Comparison, row: str, column: str) -> Compared:
    """The cell in this row and column."""
    return next(c for c in found.all if (c.row, c.column.name) == (row, column))


def made(place: Path, name: str, scale: Scale = "smoke", row: str = "parity", **more: Any) -> Comparison:
    """What is shown of a sweep of one row."""
    found = experiment(name)
    return comparison(found, scale, filled(place / "r", found, scale, [row], **more))


def notes_of(found: Comparison, cell: Compared) -> set[str]:
    return {found.notes[n - 1] for n in cell.notes}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory) -> Comparison:
    """Parity at the scale cpu: three seeds, of which the RNN's last failed and the Transformer's first is missing."""

    def result(config: RunConfig) -> float | str | None:
        if config.model.name == "rnn":
            return (100.0, 98.0, "the loss is no longer a number")[config.seed]
        if config.model.name == "transformer":
            return (None, 50.0, 52.0)[config.seed]
        return 99.9995 if config.model.chunk_size == 2 else (90.0, 80.0, 70.0)[config.seed]

    folder = filled(tmp_path_factory.mktemp("cells") / "r", TABLE, "cpu", ["parity"], result)
    return comparison(TABLE, "cpu", folder)


CELLS = {
    "regulargpt-C3": ["100.0 / 88.7", "90.00 / 80.00", "−10.0 / −8.7"],
    # Nothing is rounded up to 100, and what prints the same does not differ.
    "regulargpt-C2": ["100.0 / 100.0", "99.99 / 99.99", "±0.0 / ±0.0"],
    "rnn": ["100.0 / 98.9", "100 / 99.00", "±0.0 / +0.1", "1 of 3 failed"],
    "transformer": ["52.3 / 50.1", "52.00 / 51.00", "−0.3 / +0.9", "1 of 3 missing"],
    "words-hard-C3": ["90.00 / 80.00"],
}


def test_a_cell_has_what_was_published_ours_their_difference_and_what_is_not_there(mixed):
    assert {column: lines(cell(mixed, "parity", column)) for column in CELLS} == CELLS
    found = cell(mixed, "parity", "regulargpt-C3")
    assert (found.published, found.ours) == ((100.0, 88.7), (90.0, 80.0))
    assert found.differences == pytest.approx((-10.0, -8.7))
    assert (found.done, found.seconds, found.steps) == (3, 7.5, (1400, 1400))
    assert list(mixed.failures.values()) == ["the loss is no longer a number"]
    assert mixed.missing == [name_of(TABLE.configs("parity", "transformer", "cpu")[0])]
    # The other protocol and the single length have their own tests.
    hard = cell(mixed, "parity", "words-hard-C3")
    assert {(test.tested, test.length) for test in hard.rows} == {("hard-2", 10_000)}
    assert hard.published == (None, None)
    # Rows that were not asked for are left out.
    assert [cells[0].row for cells in mixed.cells] == ["parity"]
    assert mixed.left_out == tuple(row for row in TABLE.rows if row != "parity")


def test_where_the_published_mean_lies(mixed):
    verdicts = {c.column.name: standing(values(c), float(c.published[1] or 0)) for c in mixed.all if c.notes}
    assert set(verdicts.values()) == {"within"}
    transformer = cell(mixed, "parity", "transformer")
    bounds = [49.94, 49.96, 52.04, 52.06]
    assert [standing(values(transformer), bound) for bound in bounds] == ["above", "within", "within", "below"]
    assert standing(values(replace(transformer, group=None)), 50.0) == "not there"
    _, table = standings([values(one) for one in mixed.all], mixed.statistics)
    assert isinstance(table, Table)
    assert table.rows[0] == ("RNN", "0", "1", "0", "0")


def test_what_was_not_published_has_no_notes(mixed):
    assert {c.column.name for c in mixed.all if c.notes} == set(COLUMNS[:6])
    assert len(mixed.notes) == max(n for c in mixed.all for n in c.notes)


@pytest.mark.parametrize(("first", "everywhere"), [((2, 3), (2, 3)), ((3,), (3,)), ((), ())])
def test_a_note_holds_everywhere_if_every_published_cell_has_it(mixed, first: tuple[int, ...], everywhere):
    found = mixed
    published = [cell for cell in found.all if cell.published != (None, None)]
    assert len(published) > 1

    def with_notes(cell: Compared) -> Compared:
        notes = first if cell is published[0] else (1, 2, 3)
        return replace(cell, notes=notes if cell in published else ())

    cells = tuple(tuple(map(with_notes, row)) for row in found.cells)
    assert replace(found, cells=cells).everywhere == everywhere


def test_notes_are_those_of_the_cell(mixed):
    assert notes_of(mixed, cell(mixed, "parity", "transformer")) == {
        "every 20th length tested, not every one",
        "64 test words a length, not 512",
        "at most 2,000 training steps, not 100,000",
        "learning rate 0.0003 only, of 0.0001, 0.0003 and 0.0005",
        "training ends early when its loss is low, not after all steps",
    }


def test_a_damaged_run_is_a_failed_one(tmp_path: Path):
    folder = filled(tmp_path / "r", TABLE, "smoke", ["parity"])
    name = name_of(TABLE.configs("parity", "rnn", "smoke")[0])
    path = folder.run_path(name) / "summary.json"
    path.write_text(path.read_text().replace("99.0", "99.5", 1))
    found = cell(comparison(TABLE, "smoke", folder), "parity", "rnn")
    assert found.ours == (None, None)
    assert lines(found) == ["100.0 / 98.9", "1 of 1 failed"]
    assert "summary.json" in found.failed[0].reason


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
    assert lines(cell(made(tmp_path, "answers", proven=proven), "parity", "proven-gated-C2")) == [text]


def test_a_length_that_was_not_tested_is_said(tmp_path: Path):
    found = made(tmp_path, "table-6.1", extra_protocols={})
    assert lines(cell(found, "parity", "words-hard-C2")) == ["not tested at 10,000 symbols"]


def test_both_settings_of_table_6_2_are_of_the_same_runs(tmp_path: Path):
    table = experiment("table-6.2")
    folder = filled(tmp_path / "r", table)
    (name, *_) = (name_of(config) for config in table.all_configs("smoke") if config.model.name == "transformer")
    summary = RunFolder.open(folder.run_path(name)).load_summary()
    assert summary["measures"]["accuracy"]["values"]["40"] == 99.0
    found = comparison(table, "smoke", folder)
    same, beyond = cell(found, "same-length/transformer", "0.9"), cell(found, "extrapolation/transformer", "0.9")
    assert same.names == beyond.names
    assert {test.length for test in same.rows} == {40}
    assert same.published == (77.2,)
    assert beyond.published == (50.0,)
    assert same.differences == pytest.approx((21.8,))
    assert cell(found, "same-length/words", "0.9").published == (None,)


RESULTS = {"done": 99.0, "missing": None, "failed": "no"}


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if not isinstance(experiment(name), TextTable)])
def test_no_cell_of_any_experiment_is_blank(tmp_path: Path, name: str):
    found: Experiment = experiment(name)
    for kind, result in RESULTS.items():
        folder = filled(tmp_path / kind, found, "smoke", found.rows[:2], lambda config, result=result: result)
        comparison = compare(found, "smoke", rows(folder.path) if folder.names else [], frozenset(folder.names))
        assert comparison.cells
        for one in comparison.all:
            shown = shown_cell(values(one)).lines
            assert shown, one
            assert all(line.text.strip() for line in shown), one
            assert one.ours != (None,) * len(one.ours) or any(line.kind in ("state", "ours") for line in shown)


def test_encodings_on_languages_say_where_they_first_fail(tmp_path: Path):
    found = experiment("encodings-languages")
    folder = filled(
        tmp_path / "r", found, "cpu", ["alibi", "regulargpt"], lambda c: 100.0 if c.data.name == "parity" else 98
    )
    shown = comparison(found, "cpu", folder)
    assert lines(cell(shown, "alibi", "parity")) == ["100", "never below 99 %"]
    assert lines(cell(shown, "regulargpt", "dyck-2")) == ["98.00", "below 99 % at 41"]
    assert {one.configs[0].scored[0] for one in shown.all} == {41}
    assert "Maximum" not in reading([values_of(one, ("mean",)) for one in shown.all], ("mean",), False)


def test_a_variant_that_a_recipe_does_not_have_is_said(tmp_path: Path):
    found = made(tmp_path, "ablations", row="parity/paper")
    assert lines(cell(found, "parity/paper", "no-state-norm")) == ["does not apply"]


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
    texts = [lines(cell(found, f"parity/paper/{what}", "8"))[0] for what in ("accuracy", "seconds", "depth")]
    assert texts == ["99.00 / 99.00", "2.5 s", "3 levels at T = 500"]


def test_where_no_table_was_published_the_conditions_are_those_of_another(tmp_path: Path):
    found = made(tmp_path, "section-6.4.3", row="parity/words/accuracy")
    accuracy, depth = (cell(found, f"parity/words/{what}", "8") for what in ("accuracy", "depth"))
    assert notes_of(found, accuracy) >= {"at most 20 training steps, not 100,000", "1 seed, not 3"}
    assert depth.notes == ()
    assert set(found.everywhere) <= set(accuracy.notes)
    assert found.everywhere


def test_the_part_that_is_missing_is_said():
    """Of each ablation, its switch and no other one is among what differs from the whole."""
    ablations = experiment("ablations")
    found = compare(ablations, "full", [], frozenset(name_of(c) for c in ablations.all_configs("full")))

    def recipe_note(row: str, column: str) -> str:
        return next(note for note in notes_of(found, cell(found, row, column)) if note.startswith("recipe "))

    assert "levels 6, not 0" in recipe_note("parity/paper", "fixed-depth")
    assert "pad masked, not learned" in recipe_note("tomita-5/words", "masked-pad")
    assert "attention full, not dilated" in recipe_note("parity/words", "no-dilation")
    assert "distinct_levels 6, not 1" in recipe_note("even-pairs/paper", "no-sharing")
    for switch in ("levels", "pad", "attention"):
        assert f"{switch} " not in recipe_note("parity/words", "whole")
    assert "state_norm" not in recipe_note("parity/words", "no-state-norm")
    assert "state_noise" not in recipe_note("parity/words", "no-state-noise")


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
    found = with_shortcuts(comparison(TABLE, "cpu", folder), folder.path)
    assert sorted(computed) == [
        ("dyck-2", "thesis-1", 0.0, 128),
        ("dyck-2", "thesis-1", 0.5, 128),
        ("dyck-2:depth=every", "hard-2", 0.5, 128),
    ]
    plain, some, hard = (cell(found, "dyck-2", name).shortcuts for name in ("rnn", "transformer", "words-hard-C2"))
    assert plain == ShortcutScores("thesis-1", {"majority": 75.0, "n-grams": 81.6})
    assert some == ShortcutScores("thesis-1, every 7th length", {"majority": 75.0, "n-grams": 90.0})
    assert hard is not None
    assert (hard.words, hard.scores["n-grams"]) == ("hard-2 at 10,000 symbols, 50 % near misses in training", 98.6)
    assert lines(cell(found, "dyck-2", "rnn"))[-1] == "n-grams 81.60"


@pytest.mark.parametrize(
    ("name", "noted"),
    [
        # What trees are shown, and the words of D_12, are not those of the recurrent networks beside them.
        ("ldru-2026", {("dyck-12", "ldru"): 2, ("dyck-12", "rnn"): 0, ("parity", "ldru"): 1, ("parity", "lstm"): 0}),
        ("encodings-languages", {("regulargpt", "modular-arithmetic"): 1, ("lstm", "modular-arithmetic"): 0}),
        ("answers", {("modular-arithmetic", "gated-C2"): 0, ("modular-arithmetic", "regulargpt-C2"): 0}),
    ],
)
def test_cells_of_our_own_say_where_words_or_supervision_differ(name: str, noted: dict[tuple[str, str], int]):
    found = experiment(name)
    compared = compare(found, "cpu", [], {name_of(config) for config in found.all_configs("cpu")})
    by_place = {(one.row, one.column.name): one for one in compared.all}
    assert {place: len(by_place[place].notes) for place in noted} == noted
    alike = [one for one in compared.all if not one.notes and one.configs and one.shows.what == "accuracy"]
    # Options that decide nothing may differ: words are what counts.
    shown = {(one.configs[0].objective.name, one.configs[0].data) for one in alike}
    each = {(options.name, objective, drawn(options)) for objective, options in shown}
    assert len(each) == len({options.name for _, options in shown})


def drawn(options: Options) -> str:
    """Some words."""
    words = data.of_words(options)
    training, test = words.batch(0, "train", 0, words.lengths(12), 8), words.test(0, words.lengths(50)[-1], 8)
    return f"{training.tolist()} {test.tolist()}"
