"""Machines with calls and returns, against `languages`: tables, elements, answers, files, and what is refused."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import languages
from languages.automata.pushdown import Move, PushdownTransducer
from languages.automata.visibly import VisiblyPushdown
from languages.context_free.brackets import brackets
from languages.convert.machines import read_json, to_json
from languages.errors import UserError
from regulargpt.certificate.checker.pushdown import PushdownMachine
from regulargpt.classroom import nested
from regulargpt.findings.markup import by_element
from tests.regulargpt.browser import Browser, needs_browser
from tests.regulargpt.workbench.scripts import opened, results

pytestmark = needs_browser
MACHINES = Path(languages.__file__).parents[1] / "experiments/nested/machines"
FILES = ["counted", "document", "kleene", *(f"random-{seed}" for seed in (0, 1, 15, 20, 29, 31, 39))]
NAMES = ["brackets-1", "brackets-2", "brackets-2:bound=2", "xml-2", "reversal-2", "json", "formula"]
READ = """({ text, words }) => {
  const { drawn } = fromJson(text);
  const { language, classes, problem } = languageOf(drawn, 100);
  const again = toJson(drawn).text;
  if (!language) return { problem, language };
  const answers = words.map((word) => answerOf(language, word));
  const elements = words.map((word) => elementOf(language, word));
  const states = elementsOfStates(language);
  return { problem, language, classes, answers, elements, states, again, file: languageJson(language) };
}"""


@pytest.fixture(scope="module")
def page(tab: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    yield opened(tab, tmp_path_factory.mktemp("nested"), "machine", "machine_json", "machine_link")
    tab.assert_silent()


def random_machine(seed: int) -> PushdownTransducer:
    """Two states or three, one kind of brackets and an internal symbol; a move in four lacks, a state may be silent."""
    rng = random.Random(seed)
    states, stack = [f"s{q}" for q in range(rng.randint(2, 3))], ["g", "h"][: rng.randint(1, 2)]
    moves = [Move(states[0], "(", states[-1], push=symbol) for symbol in stack[:1]]
    for state in states:
        moves += [Move(state, "x", rng.choice(states))] if rng.random() < 0.75 else []
        if state != states[0]:
            moves.append(Move(state, "(", rng.choice(states), push=stack[-1]))
        for top in [None, *stack]:
            moves += [Move(state, ")", rng.choice(states), (top,), pop=top is not None)] if rng.random() < 0.75 else []
    names = rng.choice([("reject", "accept"), ("a", "b", "c")])
    outputs = {state: rng.choice([*names, None]) for state in states}
    return PushdownTransducer.from_outputs("(x)", states[0], moves, outputs, names)


def machines() -> list[PushdownTransducer]:
    read = [read_json((MACHINES / f"{name}.json").read_text()) for name in FILES]
    named = [languages.find(name).machine for name in NAMES]
    return [machine for machine in (*read, *named) if isinstance(machine, PushdownTransducer)]


def read(page: Browser, cases: list[PushdownTransducer]) -> list[tuple[Any, PushdownTransducer, list[list[int]]]]:
    """What the page makes of each machine's file, and words that it answered."""
    rng = np.random.default_rng(0)
    words = [[rng.integers(0, machine.n_symbols, i % 12).tolist() for i in range(60)] for machine in cases]
    texts = map(to_json, cases)
    given = [{"text": text, "words": each} for text, each in zip(texts, words, strict=True)]
    return list(zip(results(page, "machine machine_json", READ, given), cases, words, strict=True))


def check(found: Any, machine: PushdownTransducer, words: list[list[int]]) -> None:
    names = [*machine.output_names, None]
    assert found["answers"] == [names[int(machine.answers(np.array([word]).astype(int))[0])] for word in words]
    visibly = VisiblyPushdown.from_machine(machine)
    for text in (found["again"], found["file"]):
        other = read_json(text)
        assert isinstance(other, PushdownTransducer)
        assert visibly.counterexample(VisiblyPushdown.from_machine(other)) is None
    elements = nested.Elements.from_machine(machine)
    assert elements is not None
    assert found["elements"] == [elements.algebra.of_word(np.array(word, dtype=int)) for word in words]
    for element, least in zip(found["states"], range(len(found["states"])), strict=True):
        assert element is None or int(machine.run(elements.words[element])) in (least, -1)


def test_a_language_with_brackets_is_that_of_python(page: Browser):
    """Tables, stack, elements, products, open nodes: what the lesson has, of files and languages of the project."""
    cases = read(page, machines())
    assert len(cases) == 17
    for found, machine, words in cases:
        assert found["problem"] == ""
        elements = nested.Elements.from_machine(machine)
        assert elements is not None
        expected = json.loads(json.dumps(nested.machine_data(machine, None, elements)))
        for key, value in expected.items():
            assert found["language"][key] == value, key
        assert found["language"]["table"] == elements.algebra.product.tolist()
        assert found["language"]["letter"] == elements.algebra.letter.tolist()
        assert found["language"]["colours"] == list(map(list, by_element([[i] for i in range(len(elements.words))])))
        assert found["classes"] == list(range(machine.n_states))
        check(found, machine, words)


def test_machines_without_some_moves_or_answers(page: Browser):
    cases = read(page, [random_machine(seed) for seed in range(80)])
    shown = [case for case in cases if case[0]["language"]]
    assert len(shown) > 25
    assert sum(None in found["language"]["outputs"] for found, _, _ in shown) > 15
    for found, machine, words in shown:
        check(found, machine, words)
    words = [np.array(list(np.ndindex(*[3] * length))) for length in range(1, 7)]
    for found, machine, _ in cases:
        answers = {int(answer) for each in words for answer in machine.answers(each)}
        if "too many" in found["problem"]:
            elements = nested.Elements.from_machine(machine)
            assert elements is None or elements.size > 100
        else:  # where all words are alike a network has nothing to learn
            endless = PushdownMachine(json.loads(to_json(machine)), "it").answers_without_end
            assert (found["language"] is None) == (len(answers - {-1}) < 2 or not endless)


BRACKETS = brackets(1).machine


def drawn(**changes: Any) -> dict[str, Any]:
    """Balanced brackets."""
    arrows = [
        {"from": 0, "to": 1, "symbols": [0], "push": "first"},
        {"from": 1, "to": 1, "symbols": [0], "push": "other"},
        {"from": 1, "to": 1, "symbols": [1], "pop": ["other"]},
        {"from": 1, "to": 0, "symbols": [1], "pop": ["first"]},
    ]
    states = [{"name": name, "x": 0, "y": 0, "output": output} for name, output in (("balanced", 1), ("open", 0))]
    changed = changes.pop("arrows", [])
    base = {"alphabet": ["(", ")"], "outputs": ["reject", "accept"], "states": states, "initial": 0}
    return base | {"arrows": arrows + changed} | changes


ONCE = {"from": 0, "to": 1, "symbols": [0], "push": "g"}
PROBLEMS = [
    (drawn(), ""),
    (drawn(initial=None), "No state is the start. Mark one."),
    (
        drawn(arrows=[{"from": 0, "to": 0, "symbols": [1]}]),
        "The symbol ) does not do the same to the stack on all arrows. "
        "Let it push, pop or do neither on all its arrows.",
    ),
    (
        drawn(arrows=[{"from": 0, "to": 0, "symbols": [0], "push": "\ud800"}]),
        "A symbol or an answer has half a character in its name. Rename it.",
    ),
    (
        drawn(arrows=[{"from": 0, "to": 0, "symbols": [0], "push": "first"}]),
        "State balanced has two arrows with (. Take one away.",
    ),
    (
        drawn(arrows=[{"from": 0, "to": 1, "symbols": [0], "push": "other"}]),
        "State balanced has two arrows with (. Take one away.",
    ),
    (
        drawn(arrows=[{"from": 1, "to": 1, "symbols": [1], "pop": ["first"]}]),
        "State open has two arrows with ) that pop first. Take one away.",
    ),
    (
        drawn(arrows=[{"from": 0, "to": q, "symbols": [1], "pop": [None]} for q in (0, 1)]),
        "State balanced has two arrows with ) on the empty stack. Take one away.",
    ),
    (
        drawn(arrows=[{"from": 0, "to": 0, "symbols": [1], "pop": ["third"]}]),
        "An arrow pops third, and no arrow pushes it. Draw one that does.",
    ),
    (
        drawn(  # two words have an answer: one bracket, and a pair
            outputs=["x", "y"],
            states=[
                {"name": name, "x": 0, "y": 0, "output": output}
                for name, output in zip("abc", (None, 0, 1), strict=True)
            ],
        )
        | {"arrows": [ONCE, {"from": 1, "to": 2, "symbols": [1], "pop": ["g"]}]},
        "Only finitely many words have an answer. Give one to a state that words of any length lead to.",
    ),
    (
        drawn(states=[{"name": name, "x": 0, "y": 0, "output": 0} for name in "ab"]),
        "Every word is answered with reject, so there is nothing to learn. "
        "Double-click a state that an arrow leads to: its answer changes.",
    ),
]


def test_what_a_drawing_with_a_stack_lacks(page: Browser):
    found = results(page, "machine", "(drawing) => languageOf(drawing).problem", (case for case, _ in PROBLEMS))
    assert found == [problem for _, problem in PROBLEMS]
    # A file without the moves to a sink is the same machine.
    text = results(page, "machine_json", "(drawing) => toJson(drawing).text", [drawn()])[0]
    machine = read_json(text)
    assert isinstance(machine, PushdownTransducer)
    assert VisiblyPushdown.from_machine(BRACKETS).counterexample(VisiblyPushdown.from_machine(machine)) is None


BASE = json.loads(to_json(BRACKETS))
STATE = BASE["initial"]
MOVE = {"from": STATE, "read": "(", "to": STATE, "push": "g"}
WRONG = [
    ({"alphabet": 0}, "The key alphabet is missing. A machine with a stack has alphabet, initial, moves."),
    ({"states": []}, "The key states is unknown"),
    ({"moves": {}}, "What stands behind moves must be a list"),
    ({"moves": [1]}, "There is no move. It is an object with from, read, to."),
    ({"moves": [MOVE | {"pop": 1}]}, "What stands behind pop must be true or false"),
    ({"moves": [MOVE | {"from": "nowhere"}]}, "A move starts in nowhere, which is no state"),
    ({"moves": [MOVE | {"read": "x"}]}, f"The move from {STATE} with x reads what is not in the alphabet"),
    ({"moves": [MOVE | {"tops": ["h"]}]}, f"The move from {STATE} with ( needs h on the stack"),
    ({"moves": [MOVE | {"pop": True}]}, f"The move from {STATE} with ( pops and pushes"),
    ({"moves": [MOVE | {"tops": [None]}]}, "The move with ( depends on the top of the stack"),
    ({"outputs": 0}, "A machine has either accepting"),
    ({"outputs": BASE["outputs"] | {STATE: 1}}, f"The output of {STATE} must be a name"),
    ({"initial": "nowhere"}, "The start is nowhere, which is no state"),
]  # fmt: skip


def test_files_are_refused_where_the_project_refuses_them(page: Browser):
    texts = [json.dumps({key: value for key, value in (BASE | change).items() if value != 0}) for change, _ in WRONG]
    found = results(page, "machine_json", "(text) => fromJson(text).problem", texts)
    for problem, (_, start), text in zip(found, WRONG, texts, strict=True):
        assert problem.startswith(start)
        assert problem.endswith(".")
        with pytest.raises(UserError):
            VisiblyPushdown.from_machine(read_json(text))  # pyright: ignore[reportArgumentType]


def test_a_link_keeps_what_an_arrow_does_to_the_stack(page: Browser):
    cases = [drawn(), drawn(arrows=[{"from": 0, "to": 0, "symbols": [1], "pop": [None, "first"]}])]
    assert results(page, "machine_link", "(drawing) => fromText(asText(drawing))", cases) == cases
    (text,) = results(page, "machine_link", "asText", cases[1:])
    wrong = [text.replace('"first"', "1"), text.replace("null", "{}"), text]
    found = results(page, "machine_link", "(text) => fromText(text)", wrong)
    assert found == [None, None, cases[1]]


def test_a_file_that_accepts_has_a_sink(page: Browser):
    """The form with "accepting", in which moves may lack."""
    moves = [
        {"from": "balanced", "read": "(", "to": "open", "push": "first"},
        {"from": "open", "read": "(", "to": "open", "push": "other"},
        {"from": "open", "read": ")", "to": "open", "tops": ["other"], "pop": True},
        {"from": "open", "read": ")", "to": "balanced", "tops": ["first"], "pop": True},
    ]
    text = json.dumps({"alphabet": ["(", ")"], "initial": "balanced", "accepting": ["balanced"], "moves": moves})
    machine = read_json(text)
    assert isinstance(machine, PushdownTransducer)
    words = [[0, 1], [0], [1], [0, 1, 1, 0]]
    (found,) = results(page, "machine machine_json", READ, [{"text": text, "words": words}])
    check(found, machine, words)
    assert found["language"]["states"] == ["balanced", "open", "sink"]
