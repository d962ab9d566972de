"""What a run was given beside its batches: the same mark in every table, and how many below it."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from regulargpt.cli import call
from regulargpt.config.recipes import resolve
from regulargpt.config.schema import flat
from regulargpt.models import MODELS
from regulargpt.results.rows import from_csv, rows, write
from regulargpt.runs.sweep.grid import Grid
from regulargpt.training.given import KINDS, Given, footnotes, given, marks
from tests.regulargpt.results import made

ASKS = {"phases__chain_fine_tuning__every": 100, "phases__chain_fine_tuning__automaton": "learned"}
KNOWS = {"phases__table_fine_tuning__every": 100, "phases__table_fine_tuning__automaton": "known"}
PROVES = {"phases__stack_proof__every": 100, "phases__stack_proof__words": 64}
TEST = {5: 100.0, 6: 100.0}
FOOTNOTES = (
    "‡: was also given 5,122 to 8,330 answers beside the batches (chain_fine_tuning).",
    "§: was also given the language's automaton (table_fine_tuning).",
    "¶: was also given 12 words that a proof with the language's machine shows to be wrong (stack_proof).",
)
MEANS = {"lstm": "100 ‡", "regulargpt": "100 §", "stack-rnn": "100 ¶", "transformer": "100"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two LSTMs that were given answers, one network of each other kind, and a Transformer that was given nothing."""
    runs = {
        "lstm-0": ("lstm", ASKS, {"chain_fine_tuning": {"labels_used": 5122}}),
        "lstm-1": ("lstm", {**ASKS, "seed": 1}, {"chain_fine_tuning": {"labels_used": 8330}}),
        "tree": ("regulargpt", KNOWS, {"table_fine_tuning": {}}),
        "stack": ("stack-rnn", PROVES, {"stack_proof": {"wrong_words": 12}}),
        "transformer": ("transformer", {}, {}),
        "transformer-1": ("transformer", {"seed": 1}, {}),
    }
    for name, (model, changes, phases) in runs.items():
        made.done(tmp_path / "runs" / name, TEST, made.config_text(model__name=model, **changes), phases=phases)
    return tmp_path / "runs"


@pytest.fixture
def shown(folder: Path, capsys) -> Callable[..., str]:
    """What `results` prints of them."""

    def table(*arguments: str) -> str:
        assert call(["results", str(folder), *arguments]) == 0
        return capsys.readouterr().out

    return table


@pytest.mark.parametrize("form", ["text", "markdown", "latex"])
@pytest.mark.parametrize("asked", [("--group-by", "model"), ("--pivot", "language,model")])
def test_every_table_has_the_marks_and_says_how_many(shown: Callable[..., str], form: str, asked: tuple[str, str]):
    out = shown(*asked, "--format", form)
    plain = out
    for sign, name in ((r"\ddag{}", "‡"), (r"\S{}", "§"), (r"\P{}", "¶"), (r"\_", "_"), (r"\textquotesingle{}", "'")):
        plain = plain.replace(sign, name)
    for note in FOOTNOTES:
        assert note in " ".join(plain.split())
    figures = [line for line in plain.splitlines() if ": was also" not in line]
    assert [sum(line.count(kind.mark) for line in figures) for kind in KINDS.values()] == [1, 1, 1]
    if form == "latex":
        assert not {kind.mark for kind in KINDS.values()} & set(out)


def test_each_row_has_its_own_mark(shown: Callable[..., str]):
    lines = [line.split("  ") for line in shown("--group-by", "model", "--format", "text").splitlines()]
    found = {line[0]: [cell.strip() for cell in line if "100" in cell][1] for line in lines if line[0] in MEANS}
    assert {name: cell.split(" [")[0] for name, cell in found.items()} == MEANS


def test_in_csv_and_json_it_is_a_column(folder: Path, shown: Callable[..., str]):
    of_model = {"lstm": ("answers (chain_fine_tuning)", 5122, 8330), "transformer": ("", None, None)}
    table = {
        line["model"]: line for line in csv.DictReader(io.StringIO(shown("--group-by", "model", "--format", "csv")))
    }
    groups = {group["model"]: group for group in json.loads(shown("--group-by", "model", "--json"))["groups"]}
    for model, (kind, least, most) in of_model.items():
        assert [table[model][key] for key in ("given", "given_least", "given_most")] == [
            kind,
            *("" if count is None else str(count) for count in (least, most)),
        ]
        assert [groups[model][key] for key in ("given", "given_least", "given_most")] == [kind, least, most]
    assert {row.run: row.n_given for row in rows(folder)}["lstm-1"] == 8330


def test_the_table_of_a_sweep_keeps_it(folder: Path):
    written = write(folder)
    assert [row.beside_batches for row in from_csv(folder / "results.csv")] == [row.beside_batches for row in written]
    assert {row.given for row in written} >= {None, "automaton (table_fine_tuning)", "wrong words (stack_proof)"}


def test_runs_that_were_given_different_things_do_not_compete(shown: Callable[..., str]):
    assert "100*" not in shown("--pivot", "language,model", "--format", "text")
    assert "[a]: also given answers" in shown("--group-by", "model", "--format", "text")


def test_where_nothing_was_given_there_is_no_mark(tmp_path: Path, shown: Callable[..., str]):
    out = shown("--where", "model=transformer", "--group-by", "model", "--format", "text")
    assert not {kind.mark for kind in KINDS.values()} & set(out)
    unused = {"phases.stack_proof.every": 100, "phases.stack_proof.words": 64}
    assert given(unused, {"stack_proof": {"wrong_words": 0}}) is None
    off = {"phases.chain_fine_tuning.every": 0, "phases.chain_fine_tuning.automaton": "learned"}
    assert given(off, {"chain_fine_tuning": {"labels_used": 7}}) is None


COUNTS = st.none() | st.integers(1, 10**7)
GIVEN = st.builds(Given, st.sampled_from(list(KINDS)), st.sampled_from(["chain_fine_tuning", "stack_proof"]), COUNTS)


@drawn(st.lists(st.none() | GIVEN))
def test_marks_and_footnotes_are_of_the_same_kinds(found: list[Given | None]):
    assert marks(found).split() == [note.partition(":")[0] for note in footnotes(found)]
    for of in found:
        if of is not None:
            assert Given.read(str(of), of.count) == of


@pytest.mark.parametrize("model", MODELS)
def test_a_phase_that_asks_is_a_phase_that_is_marked(model: str):
    """All phases that the recipes switch on, and no other run."""
    for language in ("parity", "brackets-2", "reverse-string"):
        for recipe in (None, "words"):
            config = resolve(recipe, model, language)
            assert (given(flat(config)) is not None) == bool(config.phases)


def test_a_sweep_says_before_it_starts_that_not_all_are_shown_the_same():
    (line,) = Grid(("parity",), ("lstm", "mamba", "transformer")).notices()
    said = (
        "lstm on parity, signed-mamba-no-conv on parity are also given answers beside the batches (chain_fine_tuning)"
    )
    assert line == f"not all is shown to all: {said}; --recipe words gives none of it"
    assert Grid(("parity",), ("lstm", "mamba")).notices() == []
    assert Grid(("parity",), ("lstm", "transformer"), ("words",)).notices() == []
    off = {"phases.chain_fine_tuning.every": (0,)}
    assert Grid(("parity",), ("lstm", "transformer"), values=off).notices() == []
