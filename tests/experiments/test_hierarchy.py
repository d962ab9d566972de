"""The tables of networks with memory: legal runs, measures, refutations, claims, and the rule by position."""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from experiments import deletang, hierarchy
from experiments.cells import cells, lines
from experiments.claims import FAILS, HOLDS, OPEN
from experiments.page.record import Values
from experiments.published import published
from experiments.recorded import DONE, RecordedRun, RecordedScore, key_of
from experiments.registry import experiment
from experiments.reproduction import write_page
from experiments.score_claims import PageScores, solved, unsolved
from experiments.score_page import verdicts
from experiments.shortcuts import scored
from languages.registry import has_brackets, has_rows
from regulargpt.config.schema import value_of
from regulargpt.config.validation import validate
from regulargpt.runs.sweep.names import name_of
from tests.experiments.folders import filled
from tests.regulargpt.results.made import believe

DELETANG, HIERARCHY, FLARE = map(experiment, ("deletang-2023", "hierarchy", "flare-2025"))
ROWS = ("bucket-sort", "parity")


def done(rows: Sequence[str], scores: Mapping[str, Sequence[float]]) -> dict[tuple[str, str], Values]:
    """The cells of runs of these networks at the scale cpu, a score a seed: of tokens, and no word is right."""
    runs = []
    for row, (name, of_seeds) in product(rows, scores.items()):
        for config, score in zip(deletang.runs(row, name, "cpu"), of_seeds, strict=True):
            tests = (
                {"": RecordedScore((0.0,)), deletang.TOKENS: RecordedScore((score,))}
                if has_rows(row)
                else {"": RecordedScore((score,))}
            )
            runs.append(RecordedRun((row,), name, DONE, names=(name_of(config),), tests=tests))
    return {(cell["row"], cell["column"]): cell for cell in cells(DELETANG, "cpu", runs)}


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


def test_tokens_and_whole_words_have_cells_of_their_own():
    found = done(["reverse-string", "parity"], {"rnn": [97.5]})
    assert found["reverse-string", "rnn"]["ours"] == {"max": 97.5, "mean": 97.5}
    assert found["reverse-string", "rnn"]["published"] == {"max": 62.0, "mean": None}
    assert found["reverse-string", "words-rnn"]["ours"] == {"max": 0.0, "mean": 0.0}
    assert found["parity", "rnn"]["ours"] == {"max": 97.5, "mean": 97.5}
    assert found["parity", "binary"]["runs"] == 0


def test_claims_by_the_worst_and_the_best_run():
    found = done(["reverse-string"], {"rnn": [50.0], "stack-rnn": [100.0, 89.0, 91.0], "tape-rnn": [91.0]})
    only = ["reverse-string"]
    cases = [
        (unsolved(only, "rnn"), HOLDS, 1), (solved(only, "rnn"), FAILS, 1), (solved(only, "tape-rnn"), HOLDS, 1),
        (solved(only, "stack-rnn"), OPEN, 3), (solved(only, "rnn", "lstm"), FAILS, 1),
    ]  # fmt: skip
    scores: Any = PageScores.from_cells(found.values())
    for bound, answer, seeds in cases:
        verdict = bound(scores)
        assert (verdict.answer, verdict.seeds) == (answer, seeds)
    missing = solved(only, "lstm")(scores)
    assert (missing.answer, missing.why) == (OPEN, "no run of reverse-string, lstm is done")
    claims = list(verdicts(DELETANG, "cpu", list(found.values())))
    # The published figures that decide: of each bound the one that is nearest to it.
    assert [claim.published for claim in claims] == ["62.3", "99.3", "95.4; 67.8"]
    assert [claim.answer for claim in claims] == [OPEN, OPEN, OPEN]


def test_a_refuted_network_has_its_wrong_word_in_the_table(tmp_path: Path, monkeypatch):
    believe(monkeypatch)
    monkeypatch.setattr("experiments.shortcuts.rule_scores", lambda trained, tested, path: None)
    wrong = {"stack_proof": {"unproven": "wrong on a word of 2 symbols: 0 POP"}}
    folder = filled(tmp_path / "r", HIERARCHY, "cpu", ["stack-manipulation"], proven=False, phases=wrong)
    text = Path(write_page(folder.path, HIERARCHY, "cpu")["page"]).read_text("utf-8")
    assert "0 of 8 proven" in text
    assert "seed 2: wrong on a word of 2 symbols: 0 POP" in text


def test_a_row_without_a_language_here_keeps_its_published_value():
    found = {(cell["row"], cell["column"]): cell for cell in cells(FLARE, "cpu", [])}
    assert {row for row, _ in found} == set(FLARE.rows) - {"parity", "dyck-2-3", "marked-reversal"}
    assert [line.text for line in lines(found["marked-copy", "rnn"])] == ["76.0", "does not apply"]


def test_rules_stand_beside_tokens_and_single_answers_only():
    runs = [
        RecordedRun((row,), "rnn", DONE, tests={"": RecordedScore((0.0,)), deletang.TOKENS: RecordedScore((97.5,))})
        for row in ROWS
    ]
    places = {(row, name, key_of(shows)) for row, name, shows, _ in scored(DELETANG, "cpu", runs)}
    assert places == {("bucket-sort", "rnn", deletang.TOKENS), ("parity", "rnn", "")}
