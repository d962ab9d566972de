"""Retrieval tasks on the command line: what is shown and drawn, a run, and what every verb does with that run."""

import csv
import json
import re
from pathlib import Path

import pytest

from languages.randomness import rng
from languages.text.retrieval import retrieval
from regulargpt.classroom import data as report_data
from regulargpt.cli import call
from tests.cli.conftest import Cli
from tests.cli.test_refusals import assert_refused, everything
from tests.languages.test_retrieval import NAMES, by_hand

TINY = ("--steps", "3", "--batch-size", "4", "--d-model", "8", "--test-len", "128", "--samples", "8")


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """A folder with runs on `retrieval:line`: a Transformer and a recurrent network."""
    folder = tmp_path_factory.mktemp("home")
    for model in ("transformer", "gru"):
        assert call(["run", "retrieval:line", "--model", model, *TINY, "--out", str(folder / model)]) == 0
    return folder


@pytest.fixture
def at_home(home: Path, cli: Cli, monkeypatch) -> Cli:
    """The command line beside these runs."""
    monkeypatch.chdir(home)
    return cli


def lines(answer) -> list[str]:
    assert (answer.code, answer.err) == (0, "")
    return [" ".join(line.split()) for line in answer.out.splitlines()]


# What there is.


def test_the_list_says_what_each_task_is_and_takes(cli: Cli):
    rows = json.loads(cli("list", "retrieval", "--json").out)["retrieval"]
    assert [row["name"] for row in rows] == NAMES
    for row in rows:
        task = retrieval(f"{row['name']}:{row['parameters'].replace(' ', '')}")
        assert (task.questions, task.keys) == (retrieval(row["name"]).questions, retrieval(row["name"]).keys)


@pytest.mark.parametrize("name", NAMES)
def test_samples_are_documents_with_questions_and_their_answers(cli: Cli, name: str):
    task = retrieval(name)
    options = ("sample", name, "--length", 60, "--count", 3, "--seed", 5)
    records = [json.loads(line) for line in cli(*options).out.splitlines()]
    drawn = [task.decode(word) for word in task.sample(rng(5, "sample"), 60, 3)]
    assert [" ".join([one["document"], *one["questions"]]) for one in records] == drawn
    for record, word in zip(records, drawn, strict=True):
        places, answers, _, _ = by_hand(task, word)
        assert record["places"] == places
        assert [int(answer[1:]) for answer in record["answers"]] == answers
    found = json.loads(cli(*options, "--json").out)
    assert found == {"task": name, "length": 60, "seed": 5, "documents": records}
    text = cli(*options, "--text").out
    blocks = text.removesuffix("\n\n").split("\n\n")
    assert [block.splitlines()[0] for block in blocks] == [record["document"] for record in records]
    asked = zip(records[0]["questions"], records[0]["answers"], records[0]["places"], strict=True)
    assert blocks[0].splitlines()[1:] == [f"{question}  {answer}, at {place}" for question, answer, place in asked]


def test_samples_go_to_a_file(cli: Cli, tmp_path: Path):
    told = cli("sample", "retrieval:topic", "--length", 30, "--count", 2, "--out", "d.jsonl")
    assert told == (0, "2 documents of length 30 written to d.jsonl\n", "")
    assert (tmp_path / "d.jsonl").read_text() == cli("sample", "retrieval:topic", "--length", 30, "--count", 2).out


@pytest.mark.parametrize("name", [*NAMES, "retrieval:needles:keys=2,values=300"])
def test_show_says_what_a_task_is(cli: Cli, name: str):
    task = retrieval(name)
    found = json.loads(cli("show", name, "--json").out)
    assert (found["task"], found["questions"], found["shortest"]) == (name, task.questions, task.shortest)
    assert (found["symbols"], found["answers"]) == (list(task.symbols), list(task.answers))
    assert found["chance"] == pytest.approx(100 * task.chance)
    text = cli("show", name)
    assert (text.code, text.err) == (0, "")
    assert text.out.startswith(f"{name}: {task.summary}\n\nquestions  {task.questions} behind each document")
    assert (", of which" in text.out) == (task.together > 1)
    assert f"\nanswers    {len(task.answers)}: {task.answers[0]}" in text.out
    assert f"\n{found['sample']['document']}\n{found['sample']['questions'][0]}  " in text.out
    assert cli("show", name, "--seed", 1).out != text.out


WRONG = [
    ("show retrieval:lien", "unknown task 'retrieval:lien'; did you mean 'retrieval:line'?"),
    ("show retrieval:line --dot", "'retrieval:line' is a retrieval task, which has no automaton; name a language"),
    ("sample retrieval:line --length 34", "length 34: retrieval:line has words of 35 symbols and more; choose a long"),
    ("sample retrieval:line --length 99 --near-misses 0.5", "--near-misses: retrieval:line is a retrieval task, whi"),
    ("sample retrieval:line --length 9999999", "at most 10,000,000 symbols at once; draw fewer"),
    ("run retrieval:line:keys=0", "keys is 0; it is a whole number, 1 to 4096"),
    ("run retrieval:line --supervision last", "it asks about words, and retrieval:line is retrieval; choose 'retriev"),
    ("run retrieval:line --supervision language_model", "it asks about text, and retrieval:line is retrieval; choose"),
    ("run parity --supervision retrieve", "it asks about retrieval, and parity is words; choose 'last'"),
    ("run text:code --supervision retrieve", "it asks about retrieval, and text:code is text; choose 'language_mod"),
    ("run retrieval:line --protocol hard", "retrieval:line is a retrieval task, and a protocol is about words of a"),
    ("run retrieval:line --certify", "--certify: "),
    ("run retrieval:line --model regulargpt --certify", "a retrieval task has no automaton, so nothing can be proven"),
    ("run retrieval:line --recipe words", "recipe 'words' is for words, retrieval:line is not; leave --recipe out"),
    ("run retrieval:line --train-len 20", "length 20: retrieval:line has words of 35 symbols and more; choose a lon"),
    ("run retrieval:line --near-misses 0.5", "unknown key 'data.near_misses'"),
    ("construct retrieval:line --out never", "'retrieval:line' is a retrieval task, which has no automaton; name a l"),
    ("shortcuts retrieval:line", "retrieval:line is a retrieval task, which has no automaton; choose a language, or a"),
    ("sweep retrieval:line retrieval:lien --dry-run", "unknown task 'retrieval:lien'; did you mean 'retrieval:line'?"),
    # Of a run.
    ("evaluate transformer --lengths 20", "length 20: retrieval:line has words of 35 symbols and more; choose a longe"),
    ("evaluate transformer --protocol thesis", "retrieval:line is a retrieval task, and a protocol is about words"),
    (
        "evaluate transformer --set data.name=retrieval:topic",
        "has other symbols or answers than the run in transformer",
    ),
    (
        "verify transformer",
        "retrieval:line is a retrieval task, which has no automaton; choose a language, or a run on",
    ),
    ("extract transformer", "retrieval:line is a retrieval task, which has no automaton; choose a language, or a run"),
    ("receptive-field transformer", "retrieval:line is a retrieval task, which has no automaton; choose a language"),
    ("check transformer", "transformer has no certificate yet; try `regulargpt verify transformer`"),
    ("generate transformer", "transformer is a run on the retrieval task retrieval:line; choose a run on a text, su"),
    ("positions transformer", "transformer is a run on the retrieval task retrieval:line; choose a run on a text, suc"),
    ("resolution transformer", "transformer is a run on the retrieval task retrieval:line; choose a run on a text, su"),
    ("position-variance transformer", "is a run on the retrieval task retrieval:line; choose a run on a text, such"),
    ("kernels gru", "gru is a run of gru, not of a transformer; choose a transformer's"),
    ("align gru", "gru is a run of gru: it has no softmax over positions; choose a transformer's"),
    ("needles transformer --lengths 20,99", "length 20: retrieval:line has words of 35 symbols and more; choose a lo"),
    ("needles transformer --lengths 5-3", "'5-3' is not a length or an increasing range"),
    ("needles transformer --bins 0", "--bins"),
    ("needles transformer --temperature none.json", "none.json: no such file; `regulargpt align RUN` writes one"),
    ("needles transformer --out transformer/DONE", "transformer/DONE is a file; choose another --out"),
    ("needles missing", "run folder missing does not exist"),
]


@pytest.mark.parametrize(("command", "part"), WRONG, ids=[command for command, _ in WRONG])
def test_what_cannot_be_done_is_refused_in_one_line(at_home: Cli, home: Path, command: str, part: str):
    before = everything(home)
    assert_refused(at_home(*command.split()), part)
    assert everything(home) == before


# A run, and what looks at it.


def test_a_run_trains_tests_and_says_what_guessing_scores(home: Path):
    assert sorted(path.name for path in (home / "transformer").glob("*.png")) == ["exact_match.png"]
    header, *rows = (home / "transformer" / "measures.csv").read_text().splitlines()
    assert (
        header == "length,samples,exact_match,exact_match_low,exact_match_high,exact_match_chance,exact_match_majority"
    )
    assert [row.split(",")[:2] for row in rows] == [["64", "8"], ["128", "8"]]


def test_its_summary_again(at_home: Cli):
    found = lines(at_home("resume", "transformer"))
    assert [line for line in found if line.startswith("always one answer")] == [
        "always one answer 6.25 % (chance 6.25 %)"
    ]
    assert any(line.startswith("exact_match 64..128 ") for line in found)


def test_it_is_tested_again_at_the_lengths_of_its_test(at_home: Cli, home: Path):
    found = json.loads(at_home("evaluate", "transformer", "--json").out)
    summary = json.loads((home / "transformer" / "summary.json").read_text())
    assert found["measures"] == summary["measures"]
    shown = lines(at_home("evaluate", "transformer", "--lengths", 40, "--samples", 4))
    assert shown[0] == "length exact_match 95 % interval words"


def test_results_have_its_measure(at_home: Cli):
    found = lines(at_home("results", "transformer", "gru", "--measure", "exact_match"))
    assert found[0] == "exact match (%)"


@pytest.mark.parametrize("by", ["model", "layer", "head"])
def test_its_attention_is_sharpened(at_home: Cli, tmp_path: Path, by: str):
    out = tmp_path / "align"
    found = lines(at_home("align", "transformer", "--length", 80, "--words", 2, "--by", by, "--out", out))
    assert found[0] == f"retrieval:line, transformer: one temperature a {by}, on all"
    assert " restores it: " in found[-1] or " restores it: " in found[-2]
    sharpened = lines(
        at_home("needles", "transformer", "--lengths", 80, "--temperature", out / "temperature-log.json", "--out", out)
    )
    assert sharpened[0].endswith(", 128 documents a length, temperature 0.949")
    other = at_home("needles", "gru", "--temperature", out / "temperature-log.json")
    assert_refused(other, "was found for another network; run `regulargpt align` on this one")


def test_the_kernels_of_its_encoding(at_home: Cli, tmp_path: Path):
    found = lines(at_home("kernels", "transformer", "--length", 9, "--out", tmp_path))
    assert found[0] == "t5: the bias of 4 heads in 2 layers, one bias for all layers"


@pytest.mark.parametrize("model", ["transformer", "gru"])
def test_what_it_finds_at_each_depth(at_home: Cli, tmp_path: Path, model: str):
    out, options = tmp_path / "n", ("--lengths", "64,100", "--bins", 4, "--words", 8)
    found = lines(at_home("needles", model, *options, "--out", out))
    assert found[0] == f"retrieval:line, {model}: exact match (%) by depth (%), 8 documents a length"
    assert found[1] == "length all 95 % interval 0-25 25-50 50-75 75-100"
    assert [line.split()[0] for line in found[2:4]] == ["64", "100"]
    assert re.fullmatch(r"exact match .* % at length 64, .* % at 100( \(least from .* %\))?; chance 6.25 %", found[4])
    report = json.loads(at_home("needles", model, *options, "--out", out, "--json").out)
    assert report == json.loads((out / "needles.json").read_text())
    assert len(list(csv.DictReader((out / "needles.csv").read_text().splitlines()))) == 8
    assert (out / "needles.png").read_bytes().startswith(b"\x89PNG")


def test_a_depth_without_a_needle_is_a_dash(at_home: Cli, tmp_path: Path):
    found = lines(at_home("needles", "gru", "--lengths", 35, "--bins", 4, "--words", 1, "--out", tmp_path))
    assert found[2].split().count("-") >= 2


def test_its_page_says_that_nothing_is_proven_and_asks_for_no_word(at_home: Cli, tmp_path: Path):
    answer = at_home("report", "transformer", "gru", "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert answer == (0, f"{tmp_path / 'page.html'}: {len(page.encode()):,} bytes\n", "")
    words = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    said = "Nothing is proven: exact match was observed on samples. A retrieval task has no automaton."
    assert words.count(said) == 4  # under each heading, and in its last section
    assert "Exact match by length" in words
    assert "does not compute the network" not in words
    assert "reads a text" not in words
    typed = "No word can be typed for this network: it reads documents with questions, not words of a language."
    assert words.count(typed) == 2
    assert "<input" not in page
    assert not report_data.gather(Path("gru")).is_on_language  # type: ignore[union-attr]  # it is no run on a text


def test_a_page_beside_a_run_on_a_language_asks_for_words(at_home: Cli, tmp_path: Path):
    certified = Path(__file__).parents[2] / "docs" / "certified" / "parity"
    answer = at_home("report", certified, "gru", "--out", tmp_path / "page.html")
    assert answer.out.endswith(" bytes, 1 of 1 certified\n")
    assert "<input" in (tmp_path / "page.html").read_text()


def test_a_sweep_goes_over_tasks(cli: Cli):
    found = lines(cli("sweep", "retrieval:line", "retrieval:topic", "--encoding", "t5,alibi", "--dry-run"))
    assert len(found) == 6
    assert "retrieval-topic" in found[-2]
