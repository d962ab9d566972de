"""list, show and sample: what they print is what the packages hold, as text and as one JSON object."""

import json
import re
from pathlib import Path

import pytest

import languages
from experiments.registry import EXPERIMENTS
from languages import MooreMachine, TransitionMonoid, monoid
from languages.convert.dot import from_dot
from languages.convert.files import save
from languages.registry import FAMILIES, names
from regulargpt.cli.list_ import KINDS
from regulargpt.encodings import ENCODINGS
from regulargpt.models import MODELS
from regulargpt.protocols import PROTOCOLS
from regulargpt.recipes import RECIPES
from tests.cli.conftest import Cli
from tests.languages.cases import CASES
from tests.languages.test_budget import random_dfa

LISTED = {
    "languages": [family.pattern for family in FAMILIES],
    "models": list(MODELS),
    "encodings": list(ENCODINGS),
    "recipes": list(RECIPES),
    "protocols": list(PROTOCOLS),
    "experiments": list(EXPERIMENTS),
}


@pytest.mark.parametrize("kind", KINDS)
def test_list_names_every_row_once_and_in_order(cli: Cli, kind: str):
    code, out, err = cli("list", kind)
    assert (code, err) == (0, "")
    header, *lines = out.splitlines()
    assert header.startswith("name")
    assert [line.split()[0] for line in lines] == LISTED[kind]
    shown = json.loads(cli("list", kind, "--json").out)
    assert list(shown) == [kind]
    assert [row["name"] for row in shown[kind]] == LISTED[kind]
    for row, line in zip(shown[kind], lines, strict=True):
        assert all(value in line for value in row.values())


@pytest.mark.parametrize(
    "name", [*names(), "regex:(ab)*", "cyclic-12:letters=elements", "modular-arithmetic:plus=true"]
)
def test_show_tells_the_truth_about_every_language(cli: Cli, name: str):
    task = languages.get(name)
    shown = json.loads(cli("show", name, "--json").out)
    assert (shown["language"], shown["states"]) == (task.name, task.machine.n_states)
    assert shown["alphabet"] == list(task.alphabet)
    assert shown["monoid"]["size"] == TransitionMonoid.of(task.machine).size
    assert shown["minimal_states"] <= shown["states"]
    for pair in shown["examples"] + shown["samples"]:
        word = task.machine.encode(pair["word"])
        assert task.output_names[int(task.labels(word))] == pair["label"]
    if not task.name.startswith("modular-arithmetic"):
        assert len(shown["samples"]) == 6
    text = cli("show", name)
    assert text.code == 0
    assert text.out.startswith(f"{task.name}: ")
    assert f"{task.machine.n_states} (" in text.out
    assert all(line == line.rstrip() for line in text.out.splitlines())


LARGE = ["dyck-100", "modular-arithmetic:modulus=32", "dfa:random.json"]


@pytest.mark.parametrize("name", LARGE)
def test_a_language_whose_monoid_is_not_enumerated_is_shown_and_sampled(cli: Cli, tmp_path: Path, name: str):
    save(random_dfa(12, seed=1), tmp_path / "random.json")
    task = languages.get(name)
    shown = json.loads(cli("show", name, "--json").out)
    unknown = dict.fromkeys(("size", "idempotents", "d_classes", "is_group_free"))
    assert shown["monoid"] == {**unknown, "is_group": False, "more_than": 20000}
    assert shown["states"] == task.machine.n_states
    assert shown["minimal_states"] == task.machine.minimise().n_states
    text = cli("show", name)
    assert text.code == 0
    assert "\nmonoid      more than 20,000 elements, not enumerated\n" in text.out
    assert "\ngroup-free  not known\n" in text.out
    assert max(map(len, text.out.splitlines()[:10])) <= 80
    assert cli("show", name, "--dot").code == 0
    assert len(cli("sample", name, "--length", "41").out.splitlines()) == 10


def test_a_group_that_is_not_enumerated_is_known_to_be_one(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LANGUAGES_BUDGET", "0.02")
    shown = json.loads(cli("show", "cyclic-20", "--json").out)["monoid"]
    assert (shown["size"], shown["is_group"]) == (20, True)
    monkeypatch.setattr(monoid, "MAX_SIZE", 500)
    shown = json.loads(cli("show", "cyclic-20", "--json").out)["monoid"]
    assert (shown["size"], shown["more_than"], shown["is_group"], shown["is_group_free"]) == (None, 10, True, False)


def test_many_symbols_and_answers_are_counted_and_not_all_printed(cli: Cli):
    out = cli("show", "symmetric-7").out
    assert "\nanswers     5040: 1234567 2134567 2345671 " in out
    assert max(map(len, out.splitlines())) < 100


@pytest.mark.parametrize("name", names())
def test_the_drawn_automaton_reads_back_as_the_same_machine(cli: Cli, name: str):
    code, out, err = cli("show", name, "--dot")
    assert (code, err) == (0, "")
    machine = languages.get(name).machine
    back = from_dot(out)
    back = back if isinstance(back, MooreMachine) else back.as_moore()
    assert back.difference(machine) is None


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.language} {case.word}")
def test_the_states_shown_lead_to_the_answers_of_the_table_of_cases(cli: Cli, case):
    shown = json.loads(cli("show", case.language, "--json").out)["machine"]
    state = shown["initial"]
    word = case.word.split() if " " in case.word else list(case.word)
    for symbol, expected in zip(word, case.trace, strict=True):
        state = shown["transitions"][state][symbol]
        assert state == expected
    assert shown["outputs"][state] == case.label


@pytest.mark.parametrize("name", names())
def test_samples_are_labelled_words_of_the_length(cli: Cli, name: str):
    task = languages.get(name)
    length = task.lengths(6, 9)[0]
    code, out, _ = cli("sample", name, "--length", length, "--count", 7, "--seed", 3)
    pairs = [json.loads(line) for line in out.splitlines()]
    assert (code, len(pairs)) == (0, 7)
    for pair in pairs:
        assert list(pair) == ["word", "label"]
        word = task.machine.encode(pair["word"])
        assert len(word) == length
        assert task.output_names[int(task.labels(word))] == pair["label"]
    assert cli("sample", name, "--length", length, "--count", 7, "--seed", 3).out == out
    text = cli("sample", name, "--length", length, "--count", 7, "--seed", 3, "--text").out
    assert text == "".join(f"{pair['word']} {pair['label']}\n" for pair in pairs)
    found = json.loads(cli("sample", name, "--length", length, "--count", 7, "--seed", 3, "--json").out)
    assert found["words"] == pairs
    assert (found["language"], found["length"], found["seed"]) == (task.name, length, 3)


def test_samples_of_another_seed_are_others(cli: Cli):
    assert len({cli("sample", "parity", "--length", 30, "--seed", seed).out for seed in range(5)}) == 5


def test_samples_go_to_a_file_that_is_not_overwritten(cli: Cli, tmp_path: Path):
    printed = cli("sample", "parity", "--length", "5").out
    told = cli("sample", "parity", "--length", "5", "--out", "words.jsonl")
    assert told == (0, "10 words of length 5 written to words.jsonl\n", "")
    assert (tmp_path / "words.jsonl").read_text() == printed
    again = cli("sample", "parity", "--length", "6", "--out", "words.jsonl")
    assert again == (2, "", "error: words.jsonl exists; choose another --out\n")
    assert (tmp_path / "words.jsonl").read_text() == printed
    found = json.loads(cli("sample", "parity", "--length", "5", "--out", "more.jsonl", "--json").out)
    assert found == {"language": "parity", "length": 5, "seed": 0, "count": 10, "out": "more.jsonl"}


def test_a_missing_class_is_said_on_stderr(cli: Cli):
    code, out, err = cli("sample", "dyck-2", "--length", "7")
    assert (code, len(out.splitlines())) == (0, 10)
    assert err == "length 7: dyck-2 has no members, so every word is a non-member\n"


def test_near_misses_are_one_edit_from_a_member(cli: Cli):
    task = languages.get("tomita-2")
    out = cli("sample", "tomita-2", "--length", "8", "--count", "40", "--near-misses", "1.0").out
    for pair in map(json.loads, out.splitlines()):
        if pair["label"] == "reject":
            word = task.machine.encode(pair["word"])
            edited = [[*word[:i], 1 - word[i], *word[i + 1 :]] for i in range(8)]
            assert any(task.labels(edited) == 1)


@pytest.mark.parametrize(
    "arguments", [["--help"], ["-h"], *([verb, "--help"] for verb in ("list", "show", "sample", "run"))]
)
def test_help(cli: Cli, arguments: list[str]):
    code, out, err = cli(*arguments)
    assert (code, err) == (0, "")
    assert out.startswith("Usage: regulargpt ")


def test_version(cli: Cli):
    code, out, _ = cli("--version")
    assert code == 0
    assert re.fullmatch(r"regulargpt, version \d+\.\d+\.\d+\n", out)
