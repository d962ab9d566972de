"""`regulargpt verify` and `regulargpt receptive-field`: what they write and say, and what they refuse."""

import csv
import json
from pathlib import Path

import pytest

from regulargpt.config.schema import RunConfig
from regulargpt.measurements.sample import words_of
from regulargpt.runs import run as running
from regulargpt.runs.opened import open_run
from regulargpt.storage.folder import RunFolder
from tests.cli.conftest import Cli
from tests.cli.test_refusals import assert_refused, everything, unfinished
from tests.regulargpt.small import ATTENTION, COMMON, config

FILES = {
    "verify": ["clusters.csv", "clusters.json", "pca.png", "states-pca.csv"],
    "receptive-field": ["receptive-field.csv", "receptive-field.json", "receptive-field.png"],
}
VERBS = list(FILES)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    running.run(RunConfig().replaced({**COMMON, **ATTENTION, "training.steps": 3}), folder)
    return folder


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.mark.parametrize("verb", VERBS)
def test_files_are_written_beside_the_run_and_again_the_same(cli: Cli, finished: Path, tmp_path: Path, verb: str):
    before = everything(finished)
    answer = cli(verb, finished, "--length", 21, "--words", 6, "--json")
    assert (answer.code, answer.err) == (0, "")
    folder = finished / verb
    assert sorted(path.name for path in folder.iterdir()) == FILES[verb]
    report = json.loads(answer.out)
    report.pop("certificate", None)  # of `verify`: it has a file of its own where it holds
    (name,) = (name for name in FILES[verb] if name.endswith(".json"))
    assert json.loads((folder / name).read_text()) == report
    first = everything(folder)
    assert cli(verb, finished, "--length", 21, "--words", 6).code == 0
    assert everything(folder) == first
    assert cli(verb, finished, "--length", 21, "--words", 6, "--out", tmp_path / "here").code == 0
    assert {Path(p).name: data for p, data in everything(tmp_path / "here").items()} == {
        Path(p).name: data for p, data in first.items()
    }
    assert {path: data for path, data in everything(finished).items() if path in before} == before
    assert cli("evaluate", finished, "--lengths", "9").code == 0


def test_the_tables_of_clusters(cli: Cli, finished: Path, tmp_path: Path):
    answer = cli("verify", finished, "--length", 21, "--words", 6, "--out", tmp_path / "v")
    assert answer.out.splitlines()[0] == "parity, regulargpt: states on 6 words of length 21"
    assert " found for 2 of 2 monoid elements: they do not match; purity " in answer.out
    assert "no certificate: the quantised network errs on a word" in answer.out
    table, states = rows(tmp_path / "v" / "clusters.csv"), rows(tmp_path / "v" / "states-pca.csv")
    assert [row["depth"] for row in table] == ["all", "1", "2", "3", "4", "5"]
    assert int(table[0]["rows"]) == len(states) == sum(int(row["rows"]) for row in table[1:])
    assert {(row["element"], row["least_word"]) for row in states} == {("0", "ε"), ("1", "1")}
    # The run knows nothing yet: no cluster is an element.
    pairs = {(row["element"], row["cluster"]) for row in states}
    assert len(pairs) > max(2, int(table[0]["clusters"]))


def test_the_table_of_the_receptive_field(cli: Cli, finished: Path, tmp_path: Path):
    answer = cli("receptive-field", finished, "--length", 21, "--words", 6, "--out", tmp_path / "r")
    assert answer.out.startswith("parity, regulargpt: gradients on 6 words\n")
    assert "99 % of the gradient lies on " in answer.out
    c = [float(row["c"]) for row in rows(tmp_path / "r" / "receptive-field.csv")]
    assert len(c) == 21
    assert c[-1] == 1.0


@pytest.mark.parametrize("family", ["rnn", "transformer", "gru", "linear-rnn", "regulargpt"])
@pytest.mark.parametrize("verb", VERBS)
def test_every_kind_of_run_is_looked_at(cli: Cli, tmp_path: Path, family: str, verb: str):
    running.run(config(family, training__steps=2, evaluation__samples=2), tmp_path / "run")
    answer = cli(verb, "run", "--length", 24, "--words", 4, "--json")
    assert (answer.code, answer.err) == (0, "")
    assert json.loads(answer.out)["length"] == 24


def test_a_run_that_answers_everywhere_has_all_positions(cli: Cli, tmp_path: Path):
    settings = {**COMMON, **ATTENTION, "objective.name": "prefixes", "training.steps": 2}
    running.run(RunConfig().replaced(settings), tmp_path / "run")
    assert cli("verify", "run", "--length", 16, "--words", 3).code == 0
    ends = {int(row["end"]) for row in rows(tmp_path / "run" / "verify" / "states-pca.csv") if row["depth"] == "4"}
    assert ends == set(range(1, 17))


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ("--length 8", "--length 8: the run was trained on words of up to 8; choose a longer one"),
        ("--length 999999999", "at most 1,048,576 symbols; choose fewer --words"),
        ("--out a-file", "a-file is a file; choose another --out"),
        ("--seed -1", "--seed"),
        ("--words 0", "--words"),
    ],
)
def test_what_says_nothing_is_refused(cli: Cli, finished: Path, tmp_path: Path, verb: str, arguments: str, part: str):
    (tmp_path / "a-file").write_text("precious")
    before = everything(finished), everything(tmp_path)
    assert_refused(cli(verb, finished, *arguments.split()), part)
    assert (everything(finished), everything(tmp_path)) == before


@pytest.mark.parametrize("verb", VERBS)
def test_unfinished_runs_and_lengths_without_words_are_refused(cli: Cli, tmp_path: Path, verb: str):
    unfinished(tmp_path / "half")
    settings = config("linear-rnn", data__name="modular-arithmetic", training__steps=2, evaluation__test_len=13)
    running.run(settings, tmp_path / "odd")
    before = everything(tmp_path)
    assert_refused(cli(verb, "half"), "the run in half is not finished; `regulargpt resume half` first")
    assert_refused(cli(verb, "odd", "--length", "12"), "length 12: modular-arithmetic has no words; the nearest")
    assert everything(tmp_path) == before


def test_without_a_length_the_longest_up_to_500_with_words_is_taken(finished: Path, tmp_path: Path):
    settings = config("linear-rnn", data__name="modular-arithmetic", training__steps=1, evaluation__test_len=13)
    running.run(settings, tmp_path / "odd")
    for folder, length in ((tmp_path / "odd", 499), (finished, 500)):
        assert words_of(open_run(RunFolder.open(folder)), None, 1, None).length == length
