"""list, show and sample: what they print is what the packages hold, as text and as one JSON object."""

import json
import re
from dataclasses import asdict
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import languages
from experiments.registry import EXPERIMENTS
from languages import MooreMachine, TransitionMonoid
from languages.automata import monoid
from languages.convert.dot import from_dot
from languages.convert.files import save
from languages.registry import ABOVE, FAMILIES, names
from regulargpt.cli.commands.list import KINDS
from regulargpt.config.phases import PHASES
from regulargpt.config.protocols import PROTOCOLS
from regulargpt.config.recipes import RECIPES
from regulargpt.encodings import ENCODINGS
from regulargpt.models import MODELS
from regulargpt.objectives import OBJECTIVES
from regulargpt.options import describe
from regulargpt.text.evaluation.methods import METHODS
from regulargpt.training.observers import OBSERVERS
from tests.cli.conftest import Cli
from tests.languages.cases import CASES
from tests.languages.test_budget import random_dfa

REGISTRIES = {"models": MODELS, "encodings": ENCODINGS, "objectives": OBJECTIVES, "phases": PHASES}
REGISTRIES |= {"observers": OBSERVERS}
LISTED = {
    "languages": [family.pattern for family in (*FAMILIES, *ABOVE)],
    "texts": ["text:code", "text:code-large", "text:recurrent", "text:PATH", "hf:NAME"],
    "retrieval": [f"retrieval:{name}" for name in ["line", "needles", "passkey", "documents", "code-key", "topic"]],
    **{kind: list(registry) for kind, registry in REGISTRIES.items()},
    **{
        "recipes": list(RECIPES),
        "protocols": list(PROTOCOLS),
        "methods": list(METHODS),
        "experiments": list(EXPERIMENTS),
    },
}


def test_help_and_the_refusal_name_every_kind(cli: Cli):
    for said in (cli("list", "--help").out.split("Kinds: ")[1].split(".")[0], cli("list").err.split("from: ")[1]):
        assert said.replace(",", " ").replace(".", " ").split() == list(KINDS)


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


NAMED = [(kind, name) for kind, registry in REGISTRIES.items() for name in registry]


@pytest.mark.parametrize(("kind", "name"), NAMED)
def test_list_of_a_part_has_a_row_an_option(cli: Cli, kind: str, name: str):
    row = REGISTRIES[kind][name]
    code, out, err = cli("list", kind, name)
    assert (code, err) == (0, "")
    heading, _, *lines = out.splitlines()
    assert heading.startswith(f"{name}: {row.summary}")
    described = describe(row.options)
    shown = json.loads(cli("list", kind, name, "--json").out)
    assert (shown["name"], shown["summary"], shown["source"]) == (name, row.summary, row.source)
    assert shown["options"] == [asdict(option) for option in described]
    if not described:
        assert lines == ["no options"]
        return
    assert lines[0].split() == ["option", "default", "accepts", "help"]
    for option, line in zip(described, lines[1:], strict=False):
        assert all(text in line for text in asdict(option).values())
        assert option.help.endswith(".")
    assert lines[-1].startswith(f"set as in --set {shown['section']}.{described[0].name}=")
    # And so it can be set.
    chosen = {
        "models": ["--model", name],
        "encodings": ["--model", "transformer", "--encoding", name, "--set", "model.causal=true"],
        "objectives": ["--supervision", name],
        "phases": ["--model", "gru"] if name == "chain_fine_tuning" else [],
    }
    setting = lines[-1].removeprefix("set as in ").split()
    if name == "learned":  # it has no position behind training
        setting += ["--set", "model.encoding.beyond=clamp"]
    language = "reverse-string" if name == "stack_proof" else "dyck-2"
    answer = cli("sweep", language, *chosen.get(kind, ()), *setting, "--dry-run")
    assert (answer.code, answer.err) == (0, "")


OUTSIDE = """
from dataclasses import dataclass
from regulargpt.options import option
from regulargpt.encodings.base import Encoding
from regulargpt.encodings.options import EncodingOptions


@dataclass(frozen=True)
class TiltOptions(EncodingOptions):
    slope: float = option(0.5, "How steep it is.")


class Tilt(Encoding):
    \"\"\"An encoding from outside.\"\"\"

    Options = TiltOptions
"""


def test_a_part_outside_is_listed_like_any_other(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "tilted_outside.py").write_text(OUTSIDE)
    monkeypatch.syspath_prepend(tmp_path)
    answer = cli("list", "encodings", "tilted_outside:Tilt")
    assert answer.err == ""
    lines = answer.out.splitlines()
    assert lines[0] == "tilted_outside:Tilt: An encoding from outside. (tilted_outside)"
    assert lines[3].split() == ["slope", "0.5", "a", "number", "How", "steep", "it", "is."]
    assert lines[-1] == "set as in --set model.encoding.slope=0.5"
    # A class without a docstring has no summary.
    (tmp_path / "bare_outside.py").write_text(OUTSIDE.replace('    """An encoding from outside."""\n', ""))
    assert cli("list", "encodings", "bare_outside:Tilt").out.startswith("bare_outside:Tilt (bare_outside)\n")


@pytest.mark.parametrize(
    "name", [*names(), "regex:(ab)*", "cyclic-12:letters=elements", "modular-arithmetic:plus=true"]
)
def test_show_tells_the_truth_about_every_language(cli: Cli, name: str):
    task = languages.get(name)
    shown = json.loads(cli("show", name, "--json").out)
    assert shown == shown | {"language": task.name, "states": task.machine.n_states, "alphabet": list(task.alphabet)}
    assert shown["monoid"]["size"] == TransitionMonoid.from_machine(task.machine.minimise()).size
    assert shown["minimal_states"] <= shown["states"]
    for pair in shown["examples"] + shown["samples"]:
        word = task.machine.encode(pair["word"])
        assert task.output_names[int(task.labels(word))] == pair["label"]
    assert len(shown["samples"]) == 6 or task.name.startswith("modular-arithmetic")
    text = cli("show", name).out
    assert text.startswith(f"{task.name}: ")
    assert f"{task.machine.n_states} (" in text
    assert all(line == line.rstrip() for line in text.splitlines())
    # The automaton that is drawn reads back as the same machine.
    back = from_dot(cli("show", name, "--dot").out)
    back = back if isinstance(back, MooreMachine) else back.as_moore()
    assert back.counterexample(task.machine) is None


LARGE = ["dyck-100", "modular-arithmetic:modulus=32", "dfa:random.json"]


@pytest.mark.parametrize("name", LARGE)
def test_a_language_whose_monoid_is_not_enumerated_is_shown_and_sampled(cli: Cli, tmp_path: Path, name: str):
    save(random_dfa(12, seed=1), tmp_path / "random.json")
    task = languages.get(name)
    shown = json.loads(cli("show", name, "--json").out)
    unknown = dict.fromkeys(("size", "idempotents", "d_classes", "is_aperiodic"))
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


def test_many_symbols_and_answers_are_counted_and_not_all_printed(cli: Cli):
    out = cli("show", "symmetric-7").out
    assert "\nanswers     5040: 1234567 2134567 2345671 " in out
    assert max(map(len, out.splitlines())) < 100


def test_samples_of_another_seed_are_others_and_a_missing_class_is_said_on_stderr(cli: Cli):
    assert len({cli("sample", "parity", "--length", 30, "--seed", seed).out for seed in range(5)}) == 5
    code, out, err = cli("sample", "dyck-2", "--length", "7")
    assert (code, out.count("\n")) == (0, 10)
    assert err == "length 7: dyck-2 has no members, so every word is a non-member\n"


def test_a_group_that_is_not_enumerated_is_known_to_be_one(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LANGUAGES_BUDGET", "0.02")
    for most, expected in ((20_000, {"size": 20}), (500, {"size": None, "more_than": 10, "is_aperiodic": False})):
        monkeypatch.setattr(monoid, "MAX_SIZE", most)
        shown = json.loads(cli("show", "cyclic-20", "--json").out)["monoid"]
        assert shown == shown | expected | {"is_group": True}


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
    command = ("sample", name, "--length", length, "--count", 7, "--seed", 3)
    code, out, _ = cli(*command)
    pairs = [json.loads(line) for line in out.splitlines()]
    assert (code, len(pairs)) == (0, 7)
    for pair in pairs:
        assert list(pair) == ["word", "label"]
        word = task.machine.encode(pair["word"])
        assert len(word) == length
        assert task.output_names[int(task.labels(word))] == pair["label"]
    assert cli(*command, "--text").out == "".join(f"{pair['word']} {pair['label']}\n" for pair in pairs)
    found = json.loads(cli(*command, "--json").out)
    assert found == found | {"words": pairs, "language": task.name, "length": length, "seed": 3}


def test_what_a_terminal_obeys_is_spelled_out(cli: Cli, tmp_path: Path):
    """Marks that turn text around, and escape sequences, in a user's symbols and in files of others."""
    language = "regex:(a|\u202e)(b|\x1b)"
    for arguments in (["show", language], ["sample", language, "--length", "2"], ["show", language, "--json"]):
        out = cli(*arguments).out
        assert out.replace("\n", "").isprintable()
        assert "\\u202e" in out
    assert json.loads(cli("show", language, "--json").out)["language"] == language
    (tmp_path / "turned.dot").write_text(
        'digraph { i [shape=point]; i -> "q\u202e0" -> "q\u202e0" [label=a]; "q\u202e0" [peripheries=2] }'
    )
    code, out, err = cli("show", f"dfa:{tmp_path}/turned.dot")
    assert (code, out) == (2, "")
    refusal = "the state 'q\\u202e0' has a character that cannot be shown; rename it"
    assert err.strip() == f"error: {tmp_path}/turned.dot: {refusal}"


def test_samples_go_to_a_file_that_is_not_overwritten(cli: Cli, tmp_path: Path):
    command, file = ("sample", "parity", "--length", "5", "--out", "words.jsonl"), tmp_path / "words.jsonl"
    assert cli(*command) == (0, "10 words of length 5 written to words.jsonl\n", "")
    printed = file.read_text()
    assert printed == cli("sample", "parity", "--length", "5").out
    assert cli(*command) == (2, "", "error: words.jsonl exists; choose another --out\n")
    assert file.read_text() == printed
    found = json.loads(cli("sample", "parity", "--length", "5", "--out", "more.jsonl", "--json").out)
    assert found == {"language": "parity", "length": 5, "seed": 0, "count": 10, "out": "more.jsonl"}


def test_near_misses_are_one_edit_from_a_member(cli: Cli):
    task = languages.get("tomita-2")
    out = cli("sample", "tomita-2", "--length", "8", "--count", "40", "--near-misses", "1.0").out
    for pair in map(json.loads, out.splitlines()):
        if pair["label"] == "reject":
            word = task.machine.encode(pair["word"])
            edited = [[*word[:i], 1 - word[i], *word[i + 1 :]] for i in range(8)]
            assert any(task.labels(edited) == 1)


def test_help_and_version(cli: Cli):
    for option in ("--help", "-h"):
        assert cli(option).out.startswith("Usage: regulargpt ")
    assert re.fullmatch(r"regulargpt, version \d+\.\d+\.\d+\n", cli("--version").out)


NOTICES = [
    ("regex:(a|b)*", "every word of one symbol or more has the answer accept: there is nothing to learn"),
    ("regex:a{0}", "no word of one symbol or more is a member: there is nothing to learn"),
    ("parity", ""),
    ("tomita-1", ""),
    ("modular-arithmetic", ""),
]


@pytest.mark.parametrize(("language", "notice"), NOTICES)
def test_a_language_with_one_answer_only_is_noticed(cli: Cli, language: str, notice: str):
    task = languages.get(language)
    lengths = [T for T in range(1, 7) if task.has_length(T)]
    words = [np.array(list(product(range(task.n_symbols), repeat=T))) for T in lengths if task.n_symbols**T < 5000]
    asked = [w if task.domain is None else w[task.domain.accepts(w)] for w in words]
    answers = {int(answer) for w in asked if len(w) for answer in task.labels(w)}
    assert bool(notice) == (len(answers) < 2)
    assert json.loads(cli("show", language, "--json").out)["notice"] == notice
    assert f"notice: {notice}\n" in cli("show", language).out or not notice
    assert "notice" not in cli("show", language).out or notice
