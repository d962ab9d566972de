"""Retrieval tasks on the command line: what is shown and drawn, and what a run says and is shown as."""

import json
import re
from pathlib import Path

import pytest

from languages.randomness import rng
from regulargpt.classroom import data as report_data
from regulargpt.text.corpora.retrieval import retrieval
from tests.cli.conftest import Cli, lines_of
from tests.languages.test_retrieval import NAMES, by_hand

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


# A run, and what looks at it.


def test_a_run_is_tested_shown_and_compared_by_what_guessing_scores_too(at_home: Cli, home: Path):
    assert sorted(path.name for path in (home / "documents").glob("*.png")) == ["exact_match.png"]
    header, *rows = (home / "documents" / "measures.csv").read_text().splitlines()
    assert header.split(",")[:3] == ["length", "samples", "exact_match"]
    assert header.endswith("exact_match_low,exact_match_high,exact_match_chance,exact_match_majority")
    assert [row.split(",")[:2] for row in rows] == [["64", "8"], ["128", "8"]]
    found = lines_of(at_home("resume", "documents"))
    assert "always one answer 6.25 % (chance 6.25 %)" in found
    assert any(line.startswith("exact_match 64..128 ") for line in found)
    again = json.loads(at_home("evaluate", "documents", "--json").out)
    assert again["measures"] == json.loads((home / "documents" / "summary.json").read_text())["measures"]
    shown = lines_of(at_home("evaluate", "documents", "--lengths", 40, "--samples", 4))
    assert shown[0] == "length exact_match 95 % interval words"
    table = lines_of(at_home("results", "documents", "recurrent", "--measure", "exact_match"))
    assert table[0] == "exact match (%)"


def test_its_page_says_that_nothing_is_proven_and_asks_for_no_word(at_home: Cli, tmp_path: Path):
    answer = at_home("report", "documents", "recurrent", "--out", tmp_path / "page.html")
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
    assert not report_data.gather(Path("recurrent")).is_on_language  # type: ignore[union-attr]  # it is no run on a text


def test_a_page_beside_a_run_on_a_language_asks_for_words(at_home: Cli, tmp_path: Path):
    certified = Path(__file__).parents[2] / "docs" / "certified" / "parity"
    answer = at_home("report", certified, "recurrent", "--out", tmp_path / "page.html")
    assert answer.out.endswith(" bytes, 1 of 1 certified\n")
    assert "<input" in (tmp_path / "page.html").read_text()


def test_a_sweep_goes_over_tasks(cli: Cli):
    found = lines_of(cli("sweep", "retrieval:line", "retrieval:topic", "--encoding", "t5,alibi", "--dry-run"))
    assert len(found) == 6
    assert "retrieval-topic" in found[-2]
