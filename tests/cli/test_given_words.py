"""Words and answers of a user's on the command line, and the words of a test with a network's answers."""

import csv
import json
from itertools import product
from pathlib import Path

import pytest

import languages
from tests.cli.conftest import Cli

EVERY = ["".join(word) for n in range(1, 8) for word in product("ab", repeat=n)]
WORDS = {word: ("even", "odd")[word.count("b") % 2] for word in EVERY}
SMALL = ("--model", "gru", "--set", "model.d_model=4", "--steps", 3, "--train-len", 5, "--test-len", 7)
SHORT = ("--extra-lengths", 7)


@pytest.fixture
def run(cli: Cli) -> Cli:
    """A run in this folder on words of 1 to 7 symbols, trained to 5."""
    Path("mine.csv").write_text("word,answer\n" + "".join(f"{word},{answer}\n" for word, answer in WORDS.items()))
    assert cli("run", "words:mine.csv", *SMALL, *SHORT, "--out", "run").code == 0
    return cli


def table(path: str) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_verb_says_what_it_can(run: Cli):
    shown = run("show", "words:mine.csv").out
    assert "level     unknown" in shown
    assert "answers   even odd; one, at the last symbol" in shown
    tested = json.loads(run("evaluate", "run", "--json").out)["samples"]
    # Of the training lengths about a tenth, of the others all, each word once.
    assert (tested["6"], tested["7"]) == (64, 128)
    assert sum(n for length, n in tested.items() if int(length) < 6) < 15
    found = json.loads(run("falsify", "run", "--json").out)
    assert "of the file" in found["tried"]
    assert found["wrong"]
    for wrong in found["wrong"]:
        assert WORDS[wrong["word"]] == wrong["expected"] != wrong["answered"]
    assert "words of at most 4 symbols" in run("extract", "run", "--longest", 4).out
    assert "of words:mine.csv only words and their answers are known" in run("verify", "run").err


REFUSED = [
    ("run words:mine.csv --supervision prefixes", "objective.name = 'prefixes': words:mine.csv has one answer to a"),
    ("run words:mine.csv --certify", "--certify: of words:mine.csv only words and their answers are known"),
    ("run words:mine.csv --protocol hard", "words:mine.csv has words of its own, and a protocol says"),
    ("evaluate run --lengths 9", "length 9: words:mine.csv has no words; it has words of 1, 2, 3, 4, 5, 6, 7 symbols"),
    ("show words:mine.csv --dot", "of words:mine.csv only words and their answers are known, no automaton"),
    ("evaluate run --words-out mine.csv", "mine.csv exists; choose another --words-out"),
    ("evaluate run --words-out x.txt", "--words-out x.txt: words are written as CSV; give a name that ends in .csv"),
    ("evaluate run --words-out no/x.csv", "--words-out no/x.csv: the folder no does not exist; make it first"),
]


def test_refusals(run: Cli):
    for arguments, message in REFUSED:
        answer = run(*arguments.split())
        assert (answer.code, answer.err[: len(message) + 7]) == (2, f"error: {message}"), arguments
        assert answer.err.count("\n") == 1


FEW = [
    ({"a": "1", "ba": "1", "aab": "1"}, "leave those of 3 symbols for the test with --train-len 2, or raise"),
    ({"ab": "1", "ba": "1"}, "raise"),
]


@pytest.mark.parametrize(("words", "remedy"), FEW)
def test_few_words_leave_some_for_the_test_where_training_is_shorter(cli: Cli, words: dict[str, str], remedy: str):
    """The refusal says a length, and with that it runs."""
    Path("few.csv").write_text("word,answer\n" + "".join(f"{word},{answer}\n" for word, answer in words.items()))
    for more, length in (((), 500), (("--test-len", 3), 3)):
        answer = cli("run", "words:few.csv", *more)
        begin = f"error: evaluation.test_len = {length}: all words of words:few.csv are trained on; "
        assert (answer.code, answer.err) == (2, f"{begin}{remedy} data.held_out\n")
    if "--train-len" in remedy:
        given = ("--train-len", 2, *SMALL[:-4], "--set", "evaluation.falsify=0", "--out", "run")
        assert cli("run", "words:few.csv", *given).code == 0
        assert json.loads(cli("evaluate", "run", "--json").out)["samples"] == {"3": 1}


KINDS = [
    ("cyclic-2*symmetric-3", "prefixes"),
    ("tomita-3", "next"),
    ("reverse-string", "transduction"),
    ("flip-flop", "last"),
]


@pytest.mark.parametrize(("language", "supervision"), KINDS)
def test_words_with_answers_are_those_of_the_test(cli: Cli, language: str, supervision: str):
    """Of every kind of answer: as many are right as the test says, and the right ones are the language's."""
    fewer = ("--supervision", supervision, "--set", "evaluation.falsify=0", "--out", "run")
    assert cli("run", language, *SMALL, *SHORT, *fewer).code == 0
    result = cli("evaluate", "run", "--lengths", "6,7", "--samples", 50, "--words-out", "out.csv", "--json")
    scores, rows = json.loads(result.out), table("out.csv")
    for length in ("6", "7"):
        right = [row["right"] == "true" for row in rows if row["length"] == length]
        assert len(right) == scores["samples"][length] == 50
        if supervision != "next":  # there words count whose every set is right
            assert 2 * sum(right) == round(scores["measures"][scores["measure"]]["values"][length], 6)
    assert all((row["answer"] == row["network"]) == (row["right"] == "true") for row in rows)
    if supervision in ("last", "prefixes"):
        for task in (languages.find(language), languages.find("words:out.csv")):
            answers = [task.output_names[task.machine.answers(row["word"]).item()] for row in rows]
            assert answers == [row["answer"] for row in rows]


def test_a_text_has_no_such_words(at_home: Cli):
    answer = at_home("evaluate", "text", "--words-out", "out.csv")
    assert answer.err.startswith("error: --words-out is about words with answers, and text:")
