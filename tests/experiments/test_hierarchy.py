"""The tables of networks with memory: legal runs, measures, refutations, claims, and the rule by position."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from experiments import deletang, hierarchy
from experiments.cells import ShortcutScores, compare, values_of
from experiments.cells import cell as shown
from experiments.claims import FAILS, HOLDS, OPEN
from experiments.page.record import Table
from experiments.published import published
from experiments.registry import experiment
from experiments.reproduction import write_page
from experiments.score_claims import Scores, solved, unsolved
from experiments.score_page import rules, score_page
from experiments.shortcuts import is_scored
from languages.registry import has_brackets, has_rows
from regulargpt.config.schema import value_of
from regulargpt.config.validation import validate
from regulargpt.results.row import Row
from regulargpt.runs.sweep.names import name_of
from tests.experiments.folders import filled
from tests.regulargpt.results.made import believe

DELETANG, HIERARCHY, FLARE = map(experiment, ("deletang-2023", "hierarchy", "flare-2025"))
MADE = {"command": "regulargpt reproduce", "session_seconds": (), "environments": ()}


def done(rows: Iterable[str], scores: Mapping[str, Sequence[float]]) -> list[Row]:
    """A length of every run of these networks at the scale cpu, a score a seed: of tokens, and no word is right."""
    found = []
    for row, (name, of_seeds) in product(rows, scores.items()):
        for config, score in zip(deletang.runs(row, name, "cpu"), of_seeds, strict=True):
            measures = {"words": 0.0, deletang.TOKENS: score} if has_rows(row) else {"accuracy": score}
            said = {"measure": next(iter(measures)), "measures": measures, "length": 41, "in_score": True}
            tested = {"config": {"protocol": config.protocol}, "tested": config.protocol}
            found.append(Row(name_of(config), "done", **said, **tested))
    return found


def names(rows: list[Row]) -> set[str]:
    return {row.run for row in rows}


@pytest.mark.parametrize("scale", ["smoke", "cpu", "full"])
def test_runs_are_legal_and_those_of_one_network_are_shared(scale):
    for row in ("parity", "reverse-string", "arithmetic-brackets", "missing-duplicate-string", "bucket-sort"):
        for name in deletang.TITLES:
            configs = deletang.runs(row, name, scale)
            applies = has_brackets(row) if name == "nested" else row in deletang.CONTEXT_FREE or name != "binary"
            assert bool(configs) == applies
            for config in configs[:1]:
                validate(config)
                # Theirs never let brackets act, and are tested as they were trained.
                assert name != "stack-rnn" or value_of(config, "model.actions") == "learned"
                assert name != "stack-rnn" or value_of(config, "model.tests") == "superposition"
    assert {*deletang.CONTEXT_FREE} <= {*hierarchy.LANGUAGES}
    for table in (HIERARCHY, FLARE):
        for config in {config.data.name: config for config in table.all_configs(scale)}.values():
            validate(config)
    assert value_of(hierarchy.runs("arithmetic-brackets", "binary", scale)[0], "model.actions") == "visible"


def test_every_published_row_is_one_of_the_table_with_its_doubt():
    printed = published("related-deletang")
    assert {row.row for row in printed.rows} == {*DELETANG.rows}
    assert all(printed.doubt(row, column) for row in DELETANG.rows for column in deletang.PUBLISHED)
    assert {row.row for row in published("related-flare").rows} == {*FLARE.rows}


def test_tokens_and_whole_words_have_cells_of_their_own_and_doubts_are_notes():
    rows = done(["reverse-string", "parity"], {"rnn": [97.5]})
    found = compare(DELETANG, "cpu", rows, names(rows))
    cells = {(cell.row, cell.column.name): values_of(cell, found.statistics) for cell in found.all}
    assert cells["reverse-string", "rnn"]["ours"] == {"max": 97.5, "mean": 97.5}
    assert cells["reverse-string", "rnn"]["published"] == {"max": 62.0, "mean": None}
    assert cells["reverse-string", "words-rnn"]["ours"] == {"max": 0.0, "mean": 0.0}
    assert cells["parity", "rnn"]["ours"] == {"max": 97.5, "mean": 97.5}
    assert cells["parity", "binary"]["runs"] == 0
    assert any("as another paper copies the row" in note for note in found.notes)
    assert "at most 3,000 training steps, not 1,000,000" in found.notes
    assert not any("empty token" in note for note in found.notes)  # as it was published


def test_claims_by_the_worst_and_the_best_run():
    rows = done(["reverse-string"], {"rnn": [50.0], "stack-rnn": [100.0, 89.0, 91.0], "tape-rnn": [91.0]})
    found, only = compare(DELETANG, "cpu", rows, names(rows)), ["reverse-string"]
    cases = [
        (unsolved(only, "rnn"), HOLDS, 1), (solved(only, "rnn"), FAILS, 1), (solved(only, "tape-rnn"), HOLDS, 1),
        (solved(only, "stack-rnn"), OPEN, 3), (solved(only, "rnn", "lstm"), FAILS, 1),
    ]  # fmt: skip
    scores: Any = Scores.of([values_of(cell, found.statistics) for cell in found.all])
    for bound, answer, seeds in cases:
        verdict = bound(scores)
        assert (verdict.answer, verdict.seeds) == (answer, seeds)
    missing = solved(only, "lstm")(scores)
    assert (missing.answer, missing.why) == (OPEN, "no run of reverse-string, lstm is done")
    page = score_page(found, MADE)
    # The published figures that decide: of each bound the one that is nearest to it.
    assert [claim.published for claim in page.claims] == ["62.3", "99.3", "95.4; 67.8"]
    assert [claim.answer for claim in page.claims] == [OPEN, OPEN, OPEN]


def test_a_refuted_network_has_its_wrong_word_in_the_table(tmp_path: Path, monkeypatch):
    believe(monkeypatch)
    monkeypatch.setattr("experiments.shortcuts.rule_scores", lambda trained, tested, path: None)
    wrong = {"stack_proof": {"unproven": "wrong on a word of 2 symbols: 0 POP"}}
    folder = filled(tmp_path / "r", HIERARCHY, "cpu", ["stack-manipulation"], proven=False, phases=wrong)
    text = Path(write_page(folder.path, HIERARCHY, "cpu")["page"]).read_text("utf-8")
    assert "0 of 8 proven" in text
    assert "seed 2: wrong on a word of 2 symbols: 0 POP" in text


def test_a_row_without_a_language_here_keeps_its_published_value():
    found = compare(FLARE, "cpu", [], set())
    assert found.left_out == ("parity", "dyck-2-3", "marked-reversal")
    cell = next(cell for cell in found.all if (cell.row, cell.column.name) == ("marked-copy", "rnn"))
    assert (cell.published, cell.configs) == ((76.0,), ())
    config = FLARE.configs("parity", "rnn", "cpu")[0]
    tested = compare(FLARE, "cpu", [], {name_of(config)})
    # Their recipe is not that of the thesis: nothing of it is compared.
    assert all(
        note.startswith(("scored on", "trained on", "every 21st", "64 test", "1 seed", "the published"))
        for note in tested.notes
    )
    assert [line.text for line in shown(values_of(cell, found.statistics)).lines] == ["76.0", "does not apply"]


def test_rules_of_rows_and_of_single_answers_have_a_table_each_beside_tokens_only():
    rows = done(["bucket-sort", "parity"], {"rnn": [97.5]})
    found = compare(DELETANG, "cpu", rows, names(rows))
    scored = {(cell.row, cell.column.name) for cell in found.all if is_scored(cell)}
    assert scored == {("bucket-sort", "rnn"), ("parity", "rnn"), ("parity", "words-rnn")}
    fitted = {
        "bucket-sort": ShortcutScores("words", {"place": 90.0}),
        "parity": ShortcutScores("words", {"ends": 50.0}),
    }
    beside = [replace(cell, shortcuts=fitted[cell.row]) for cell in found.all if is_scored(cell)]
    tables = [of for of in rules([values_of(cell, found.statistics) for cell in beside]) if isinstance(of, Table)]
    assert {table.header: len(table.rows) for table in tables} == {("words", "ends"): 1, ("words", "place"): 1}
