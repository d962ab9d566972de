"""What a student draws, against `languages`: minimal machine, monoid, expressions, files, and what is refused."""

from __future__ import annotations

import dataclasses
import json
import random
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import languages
from languages.automata import Dfa, MooreMachine
from languages.automata.monoid import TransitionMonoid
from languages.automata.pushdown import PushdownTransducer
from languages.automata.visibly import VisiblyPushdown
from languages.convert.json_text import read_json, to_json
from languages.convert.machines import read_json as read_any
from languages.convert.subsets import determinised
from languages.errors import UserError
from regulargpt.certificate.checker.claims import claim
from regulargpt.findings.markup import by_element
from tests.languages.refusing import outcome
from tests.languages.test_regex import REFUSED, expressions
from tests.regulargpt.browser import Browser, needs_browser
from tests.regulargpt.workbench.scripts import opened, results

pytestmark = needs_browser
ANSWERS = ("reject", "accept")
SCRIPTS = ("machine", "expression", "machine_json", "saving", "starters")


@pytest.fixture(scope="module")
def page(tab: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    yield opened(tab, tmp_path_factory.mktemp("machine"), *SCRIPTS)
    tab.assert_silent()


def drawn(alphabet: str, outputs: list[str], answers: list[int | None], moves: list[tuple[int, int, int]]) -> Any:
    """A drawing of moves (from, symbol, to); the first state is the start."""
    states = [{"name": f"s{q}", "x": 0, "y": 0, "output": output} for q, output in enumerate(answers)]
    arrows = [{"from": p, "to": q, "symbols": [a]} for p, a, q in moves]
    return {"alphabet": list(alphabet), "outputs": outputs, "states": states, "initial": 0, "arrows": arrows}


def language(machine: MooreMachine) -> dict[str, Any] | None:
    """What the page says of it, but for the names of states; None for too many elements, or too few answers."""
    least = machine.minimise()
    if len({least.outputs[q] for row in least.table for q in row} - {-1}) < 2 or not is_endless(least):
        return None
    monoid = TransitionMonoid.from_machine(least)
    if monoid.size > 60:
        return None
    return {
        "alphabet": list(machine.alphabet),
        "initial": 0,
        "delta": least.table.tolist(),
        "outputs": list(least.named_outputs.values()),
        "output_names": [name for i, name in enumerate(machine.output_names) if i in least.outputs],
        "elements": {"words": list(monoid.words), "right": monoid.right.tolist()},
        "table": monoid.table.tolist(),
        "letter": monoid.generators.tolist(),
        "colours": list(map(list, by_element([[i] for i in range(monoid.size)]))),
        "kind": "accepts" if machine.output_names == ANSWERS else "answers",
        "nesting": None,
    }


def is_endless(least: MooreMachine) -> bool:
    """Whether some word of at least as many symbols as there are states has an answer."""
    ends, lengths = {least.initial_index}, 2 * len(least.states)
    answered = list[bool]()
    for _ in range(lengths):
        answered.append(any(least.outputs[q] >= 0 for q in ends))
        ends = {int(q) for p in ends for q in least.table[p]}
    return any(answered[lengths // 2 :])


def random_case(seed: int) -> tuple[dict[str, Any], MooreMachine]:
    """A drawing with missing arrows or several with one symbol, and what `languages` makes of it."""
    rng = random.Random(seed)
    n, alphabet, density = rng.randint(1, 5), "abc"[: rng.randint(1, 3)], rng.choice([0.3, 0.5])
    kind = rng.choice(["partial", "nondeterministic", "answers"])
    moves = list[tuple[int, int, int]]()
    for p in range(n):
        for a in range(len(alphabet)):
            if kind == "nondeterministic":
                moves += [(p, a, q) for q in range(n) if rng.random() < density]
            elif rng.random() < 0.8:
                moves.append((p, a, rng.randrange(n)))
    moves = moves or [(0, 0, 0)]
    if kind == "answers":
        names, answers = ["x", "y", "z"], [rng.choice([0, 1, 2, None]) for _ in range(n)]
        table = np.full((n + 1, len(alphabet)), n)
        for p, a, q in moves:
            table[p, a] = q
        numbers = [*(-1 if answer is None else answer for answer in answers), -1]
        states = tuple(map(str, range(n + 1)))
        return drawn(alphabet, names, answers, moves), MooreMachine(
            states, tuple(alphabet), table, "0", tuple(numbers), tuple(names)
        )
    accepts = [rng.randrange(2) for _ in range(n)]
    arrows = [(f"s{p}", f"s{q}", alphabet[a]) for p, a, q in moves]
    final = {f"s{q}" for q in range(n) if accepts[q]}
    dfa = determinised(["s0"], arrows, final, alphabet)
    return drawn(alphabet, [*ANSWERS], [*accepts], moves), dfa.as_moore(ANSWERS)


def test_the_language_of_a_drawing_is_that_of_python(page: Browser):
    """Sets of states, missing arrows, states that one does not tell apart, products, least words, colours."""
    cases = [random_case(seed) for seed in range(400)]
    shown = "(drawing) => languageOf(drawing)"
    found = results(page, "machine", shown, (case for case, _ in cases))
    expected = [language(machine) for _, machine in cases]
    assert sum(case is not None for case in expected) > 100
    assert max(len(case["table"]) for case in expected if case) > 30
    for ours, theirs, (case, _) in zip(found, expected, cases, strict=True):
        assert (ours["language"] is None) == (theirs is None) == bool(ours["problem"]), case
        if theirs is not None:
            names = ours["language"].pop("states")
            assert len(names) == len(set(names)) == len(theirs["delta"])
            assert ours["language"] == theirs


def test_all_answers_and_elements_of_words(page: Browser):
    cases = [(case, machine) for case, machine in map(random_case, range(80)) if language(machine)]
    shown = """({ drawing, words }) => {
      const { language, classes } = languageOf(drawing);
      const ends = elementsOfStates(language);
      return words.map((text) => {
        const word = numbersOf(language.alphabet, text);
        const least = numbersOf(language.alphabet, language.elements.words[elementOf(language, word)]);
        const end = numbersOf(language.alphabet, language.elements.words[ends[stateOf(language, word)]]);
        const isHere = classes[drawing.initial] === null || classes[drawing.initial] === language.initial;
        const state = stateOf(language, word);
        const isSame = stateOf(language, least) === state && stateOf(language, end) === state;
        return isHere && isSame && asText(language.alphabet, word) === text ? answerOf(language, word) : "wrong";
      });
    }"""
    rng = random.Random(5)
    words = [["".join(rng.choices(m.alphabet, k=k)) for k in (0, 1, 2, 3, 5, 8, 13)] for _, m in cases]
    given = [{"drawing": case, "words": each} for (case, _), each in zip(cases, words, strict=True)]
    found = results(page, "machine symbols", shown, given)
    for ours, mine, (_, machine) in zip(found, words, cases, strict=True):
        names = [*machine.output_names, None]
        assert ours == [names[int(machine.answers(word))] for word in mine]


def parity(**changes: Any) -> dict[str, Any]:
    return drawn("ab", [*ANSWERS], [1, 0], [(0, 0, 1), (0, 1, 0), (1, 0, 0), (1, 1, 1)]) | changes


ARROW = {"from": 0, "to": 0, "symbols": [0]}
FINITE = "Only finitely many words have an answer. Give one to a state that words of any length lead to."
HALF = "A symbol or an answer has half a character in its name. Rename it."
PROBLEMS = [
    (parity(states=[]), "There is no state yet. Add one."),
    (parity(alphabet=[]), "There is no symbol yet. Add one to the alphabet."),
    (parity(alphabet=["a", ""]), "A symbol has no name. Name it, or take it away."),
    (parity(alphabet=["a", "a"]), "The symbol a is there twice. Take one away."),
    (parity(alphabet=["a", "b c"]), 'The symbol "b c" has a blank, and blanks part the symbols of a word. Rename it.'),
    (parity(alphabet=list(map(str, range(65)))), "There are 65 symbols. Take at most 64."),
    (parity(outputs=["x", ""]), "An answer has no name. Name it, or take it away."),
    (parity(outputs=["x", "\ud800"]), HALF),
    (parity(alphabet=["a", "\udc00b"]), HALF),
    (parity(outputs=["x", "x"]), "The answer x is there twice. Take one away."),
    (parity(initial=None), "No state is the start. Mark one."),
    (parity(arrows=[]), "There is no arrow yet. Draw one from a state to a state."),
    (parity(arrows=[ARROW | {"symbols": []}]), "There is no arrow yet. Draw one from a state to a state."),
    (
        parity(arrows=[ARROW]),  # nothing leads to the state that rejects: a word with b does, the sink
        "",
    ),
    (
        drawn("a", [*ANSWERS], [1], [(0, 0, 0)]),
        "Every word is answered with accept, so there is nothing to learn. "
        "Double-click a state that an arrow leads to: its answer changes.",
    ),
    (
        drawn("a", [*ANSWERS], [0, 1], [(0, 0, 1), (1, 0, 1)]),  # only the empty word, which no network reads, differs
        "Every word is answered with accept, so there is nothing to learn. "
        "Double-click a state that an arrow leads to: its answer changes.",
    ),
    (
        drawn("a", ["x", "y"], [0, 1], [(0, 0, 1)]),  # what follows has no answer
        "Every word is answered with y, so there is nothing to learn. "
        "Double-click a state that an arrow leads to: its answer changes.",
    ),
    (
        drawn("a", ["x", "y"], [0, None], [(0, 0, 1)]),
        "No word has an answer. Give an answer to a state that an arrow leads to.",
    ),
    (drawn("a", ["x", "y"], [None, 0, 1], [(0, 0, 1), (1, 0, 2)]), FINITE),
    (drawn("a", ["x", "y"], [None, 0, 1, 0], [(0, 0, 1), (1, 0, 2), (3, 0, 3)]), FINITE),  # nothing leads to the loop
    (
        parity(outputs=["x", "y"], arrows=[ARROW, ARROW | {"to": 1}]),
        "State s0 has two arrows with a, and a word has one answer. Take one away.",
    ),
    (
        drawn("ab", [*ANSWERS], [0, 0, 0, 1], [(0, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 2), (1, 1, 2), (2, 1, 3)]),
        "",
    ),
    (
        drawn("ab", [*ANSWERS], [1, 0, 0, 0, 0], [*((q, 0, (q + 1) % 5) for q in range(5)), (0, 1, 1), (1, 1, 0)]),
        "This machine has more than 60 elements, too many for this page. Draw one with fewer states.",
    ),
]


def test_what_is_missing_or_too_large_is_said_in_a_line(page: Browser):
    found = results(page, "machine", "(drawing) => languageOf(drawing).problem", (case for case, _ in PROBLEMS))
    assert found == [problem for _, problem in PROBLEMS]


def test_what_the_page_writes_it_reads(page: Browser):
    """Whatever a state is named."""
    cases = [
        parity(states=[{"name": name, "x": 0, "y": 0, "output": q} for q, name in enumerate(names)]) for names in NAMES
    ]
    texts = "[toJson(drawing).text, languageJson(languageOf(drawing).language)]"
    shown = f"(drawing) => {texts}.map((text) => fromJson(text).problem)"
    assert results(page, "machine machine_json", shown, cases) == [["", ""]] * len(NAMES)


NAMES = [("\ud800", "q"), ("", "q"), ("q", "q"), ("😀", "\x7f")]


def test_the_claim_is_the_checkers_whatever_the_symbols(page: Browser):
    """As Python writes JSON of ASCII characters alone."""
    alphabet = ["\x00", "\x1f", '"', "\\", "/", "~", "\x7f", "\x80", "é", "\u2028", "\uffff", "😀"]
    case = drawn("", [*ANSWERS], [1, 0], [(0, 0, 1), (1, 0, 0)]) | {"alphabet": alphabet}
    (found,) = results(page, "machine saving", "(drawing) => claimOf(languageOf(drawing).language, 3)", [case])
    assert found == claim(tuple(alphabet), 2, 3, total=True)


def test_nothing_takes_long(page: Browser):
    """A chain of 100,000 states, sets of states without end, and long expressions: each is refused before a page could
    have counted to a few billion."""
    shown = """(text) => {
      const counting = performance.now();
      let number = 0;
      for (let i = 0; i < 3e8; i++) number = (number + i) & 1023;
      const counted = performance.now() - counting;
      const chain = (n, first) => ({
        alphabet: ["a", "b"],
        outputs: ["reject", "accept"],
        states: Array.from({ length: n }, (_, q) => ({ name: `${q}`, x: 0, y: 0, output: Number(q === n - 1) })),
        initial: 0,
        arrows: [...first, ...Array.from({ length: n - 1 }, (_, q) => ({ from: q, to: q + 1, symbols: [0] }))],
      });
      const all = (n) => Array.from({ length: n }, (_, q) => ({ from: q, to: q + 1, symbols: [1] }));
      const cases = [
        () => languageOf(chain(1e5, [])),
        () => languageOf(chain(3e5, [])),
        () => languageOf(chain(100, [{ from: 0, to: 0, symbols: [0, 1] }, ...all(99).slice(1)])),
        () => fromExpression("a".repeat(2e5)),
        () => fromExpression("a?".repeat(3e4)),
        () => fromExpression("(a|b)*a" + "(a|b)".repeat(9e3)),
        () => fromExpression("(a{90}^b{90})^c{90}"),
      ];
      return cases.map((run) => {
        const begin = performance.now();
        return [run().problem, (performance.now() - begin) / counted];
      });
    }"""
    (found,) = results(page, "machine expression", shown, [""])
    for problem, times in found:
        assert "too many for" in problem or "too large for" in problem or "at most" in problem or "more than" in problem
        assert times < 15


def patterns() -> list[str]:
    """Expressions of all operations, those that the tests of the parser draw."""
    from hypothesis import Phase, given, settings

    found = list[str]()

    @settings(max_examples=150, phases=[Phase.generate], database=None, derandomize=True)
    @given(expressions())
    def draw(pair: tuple[str, set[str]]) -> None:
        found.append(pair[0])

    draw()
    return [
        *dict.fromkeys(found),
        "a[^b]*c.",
        "[a-c-]+|b?",
        "[ab]*a[ab]{2}",
        "a{,2}b{2,}|",
        ".a|ñ",
        "(a|)(|b)&.?",
        "(a+)b",
        "a+b+",
    ]


def test_expressions_are_those_of_the_project(page: Browser):
    cases = patterns()
    shown = "(pattern) => fromExpression(pattern)"
    found = results(page, "expression", shown, cases)
    files = [made["drawn"] for made in found if made["drawn"]]
    texts, read = iter(results(page, "machine_json", "(drawn) => toJson(drawn).text", files)), 0
    for pattern, made in zip(cases, found, strict=True):
        if made["drawn"] is None:
            assert made["problem"].split(";")[0] == outcome(Dfa.from_regex, pattern).split(";")[0]
            continue
        text, places = next(texts), [complex(state["x"], state["y"]) for state in made["drawn"]["states"]]
        assert min((abs(p - q) for p in places for q in places if p != q), default=99) > 60
        if text is not None:  # a state without an arrow is drawn, but is no machine yet
            ours = read_json(text)
            assert isinstance(ours, Dfa)
            assert ours.minimise() == Dfa.from_regex(pattern), pattern
            read += 1
    assert read > 80


def test_expressions_are_refused_as_the_project_refuses_them(page: Browser):
    """Word by word, with the place."""
    found = results(page, "expression", "(text) => fromExpression(text).problem", (pattern for pattern, _ in REFUSED))
    for ours, (pattern, message) in zip(found, REFUSED, strict=True):
        if "LANGUAGES_BUDGET" in message or "alphabet too, as" in message:
            assert ours.split(";")[0] == message.split(";")[0]
        else:
            assert ours == message, pattern
    wrong = ["".join(random.Random(seed).choices("ab*|()?&+.^{}[]2,- ", k=8)) for seed in range(400)]
    wrong += ["".join(random.Random(seed).choices("ab*()+", k=6)) for seed in range(400)]
    wrong += ["(a+b)*", "a|epsilon", "😀lambda", "😀a+b"]
    found = results(page, "expression", "(text) => fromExpression(text).problem", wrong)
    for ours, pattern in zip(found, wrong, strict=True):
        theirs = re.split("; give the alphabet too|, or list them behind", outcome(Dfa.from_regex, pattern))[0]
        assert ours.removesuffix("; give the alphabet too") == ("" if theirs.startswith("Dfa(") else theirs)


def test_what_textbooks_write_is_answered_with_what_to_write_here(page: Browser):
    marks = {"a∪b": "|", "Σ": ".", "a∗": "*", "ε": "()", "a·b": "ab", "∅": "a&b"}
    found = results(page, "expression", "(text) => fromExpression(text).problem", marks)
    for problem, (pattern, ours) in zip(found, marks.items(), strict=True):
        mark = next(c for c in pattern if c not in "ab")
        assert problem == f"'{pattern}', position {pattern.index(mark) + 1}: '{mark}' is no symbol here; write {ours}"


def machines() -> list[Dfa | MooreMachine]:
    names = ["parity", "cycle-navigation", "tomita-3", "modular-arithmetic", "dihedral-3", "flip-flop", "dyck-2"]
    hard = MooreMachine(("10", "2"), ("ab", 'c"'), ((0, 1), (1, 0)), "2", (1, -1), ("ÿ\u2028", "\\"))
    made = [languages.get(name).machine for name in names]
    return [*made, hard, *(random_case(seed)[1] for seed in range(40)), Dfa.from_regex("(ab)*"), Dfa.from_regex("a*b")]


def test_files_go_both_ways_through_the_projects_reader(page: Browser):
    cases = machines()
    shown = """(text) => {
      const { drawn, problem } = fromJson(text);
      const { language } = languageOf(drawn, 500);
      return { problem, again: toJson(drawn).text, language: language && languageJson(language) };
    }"""
    found = results(page, "machine machine_json", shown, map(to_json, cases))
    for made, machine in zip(found, cases, strict=True):
        assert made["problem"] == ""
        again = read_json(made["again"])
        moore = machine.as_moore(ANSWERS) if isinstance(machine, Dfa) else machine
        theirs = again.as_moore(ANSWERS) if isinstance(again, Dfa) else again
        assert moore.counterexample(theirs) is None
        if made["language"] is not None:
            least = read_json(made["language"])
            assert isinstance(least, MooreMachine)
            assert to_json(least) == made["language"]  # byte for byte
            assert least == dataclasses.replace(least.minimise(), states=least.states, initial=least.initial)
            assert least.counterexample(moore) is None


BASE = json.loads(to_json(Dfa.from_regex("a*b")))
WRONG_FILES = [
    ("", "The text is no JSON"),
    ('{"states": [}', "The text is no JSON"),
    ("[1]", "There is no machine. It is an object with states, "),
    ('{"initial": "a", "initial": "b"}', "The key initial is there twice. Give it once."),
    ("[" * 10**5 + "]" * 10**5, "The text is nested too deeply"),
    *(
        (json.dumps({key: value for key, value in (BASE | change).items() if value != 0}), start)
        for change, start in [
            ({"states": 0}, "The key states is missing"),
            ({"colour": "red"}, "The key colour is unknown"),
            ({"alphabet": "ab"}, "What stands behind alphabet must be a list of names"),
            ({"accepting": 0}, "A machine has either accepting"),
            ({"outputs": {}}, "A machine has either accepting"),
            ({"accepting": 0, "outputs": {}, "sink": "s"}, "A machine with outputs has no sink"),
            ({"accepting": 0, "outputs": {}}, "State q0 has no output"),
            ({"accepting": 0, "outputs": {"q0": 1}}, "The output of q0 must be a name"),
            ({"accepting": ["q9"]}, "An accepting state is q9, which is no state. The states are q0, q1, q2."),
            ({"initial": "q9"}, "The start is q9, which is no state."),
            ({"states": ["q0", "q0", "q1", "q2"]}, "The state q0 is there twice"),
            ({"states": []}, "There is no state"),
            ({"states": ["q0", "q1", "q2", ""]}, "A state has an empty name"),
            ({"states": ["q0", "q1", "q2", "\ud800"]}, "A state has half a character in its name"),
            ({"states": ["q0", "q1", "q2", "q3"]}, "State q3 has no arrow with a. Add one, or name a sink."),
            ({"transitions": {"q0": []}}, "The arrows of q0 must be an object"),
            ({"transitions": {"q0": {"c": "q0"}}}, "State q0 has an arrow with c, which is not in the alphabet"),
            ({"transitions": {"q0": {"a": 0}}}, "State q0 has an arrow with a to something without a name"),
            ({"transitions": {"q0": {"a": "q7"}}}, "An arrow of q0 leads to q7, which is no state"),
            ({"transitions": {"q7": {"a": "q0"}}}, "An arrow starts in q7, which is no state"),
            ({"transitions": {}, "sink": "q0"}, "The sink q0 is a state already"),
        ]
    ),
]


def test_files_are_refused_where_the_project_refuses_them(page: Browser):
    found = results(page, "machine_json", "(text) => fromJson(text).problem", (text for text, _ in WRONG_FILES))
    for problem, (text, start) in zip(found, WRONG_FILES, strict=True):
        assert problem.startswith(start)
        assert problem.endswith(".")
        assert "\n" not in problem
        with pytest.raises(UserError):
            read_json(text)


def test_each_machine_to_start_from_is_the_language_that_it_names(page: Browser):
    starters = page.evaluate('modules["regulargpt/classroom/workbench/starters.js"].STARTERS')
    texts = results(page, "machine_json", "(starter) => toJson(starter.drawn).text", starters)
    assert len(starters) == 12
    for starter, text in zip(starters, texts, strict=True):
        named, made = languages.find(starter["language"]).machine, read_any(text)
        if isinstance(made, PushdownTransducer) and isinstance(named, PushdownTransducer):
            assert VisiblyPushdown.from_machine(made).counterexample(VisiblyPushdown.from_machine(named)) is None
        else:
            moore = made.as_moore(ANSWERS) if isinstance(made, Dfa) else made
            assert isinstance(moore, MooreMachine)
            assert isinstance(named, MooreMachine)
            ours = dataclasses.replace(moore, alphabet=named.alphabet)  # brackets are 0 and 1 in the project
            assert moore.alphabet in (named.alphabet, ("(", ")"))
            assert (ours.counterexample(named), ours.output_names) == (None, named.output_names)
        places = [complex(state["x"], state["y"]) for state in starter["drawn"]["states"]]
        assert min(abs(p - q) for p in places for q in places if p != q) >= 140
