"""Subset construction and the merging of states, step by step: against `languages`, and as a person presses through."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest

from languages.automata import Dfa, MooreMachine
from languages.convert.subsets import determinised
from tests.regulargpt.axe import violations
from tests.regulargpt.browser import Browser, needs_browser
from tests.regulargpt.workbench.editor_page import written
from tests.regulargpt.workbench.scripts import opened, results
from tests.regulargpt.workbench.test_machine import ANSWERS, drawn, language, random_case

pytestmark = needs_browser
SUBSETS = "Make it deterministic, step by step"
SMALLEST = "Make it the smallest, step by step"
# Of a drawing: the steps, and the machine with which they end.
STEPS = """(drawing) => {
  const steps = [...%s(drawing)];
  const { drawn } = steps.at(-1);
  const { language, problem } = languageOf(drawn);
  const { delta, outputs } = deterministic(drawn);
  return { steps: steps.map(({ says, notes, table }) => ({ says, notes, rows: table.rows })), drawn, language, problem, delta, outputs };
}"""  # noqa: E501


@pytest.fixture(scope="module")
def scripts(tab: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    yield opened(tab, tmp_path_factory.mktemp("steps"), "steps", "machine")
    tab.assert_silent()


@pytest.fixture
def editor(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser.open(written(tmp_path_factory.mktemp("editor") / "editor.html"), width=1280)
    yield browser
    browser.assert_fits()
    browser.assert_silent()


def with_empty_moves(seed: int) -> tuple[Any, Dfa]:
    """A drawing of which some arrows read nothing, and what `languages` makes of it."""
    rng = random.Random(seed)
    n = rng.randint(2, 5)
    accepts = [rng.randrange(2) for _ in range(n)]
    share = rng.choice([0.15, 0.3])
    moves = [(0, 0, 0), *(move for move in product(range(n), range(3), range(n)) if rng.random() < share)]
    arrows = [(f"s{p}", f"s{to}", (None, "a", "b")[a]) for p, a, to in moves]
    final = {f"s{q}" for q in range(n) if accepts[q]}
    return drawn("εab", [*ANSWERS], [*accepts], moves), determinised(["s0"], arrows, final, "ab")


def is_nondeterministic(drawing: Any) -> bool:
    moves = {(arrow["from"], a, arrow["to"]) for arrow in drawing["arrows"] for a in arrow["symbols"]}
    return len({move[:2] for move in moves}) < len(moves)


def with_copies(case: tuple[Any, MooreMachine], seed: int) -> tuple[Any, MooreMachine]:
    """The same machine with copies of some states: an arrow leads to any of them."""
    (drawing, machine), rng = case, random.Random(seed)
    n = len(drawing["states"])
    copies = [*range(n), *(q for q in range(n) if rng.random() < 0.5)]
    where = [[i for i, q in enumerate(copies) if q == original] for original in range(n)]
    moves = [
        (i, arrow["symbols"][0], rng.choice(where[arrow["to"]]))
        for arrow in drawing["arrows"]
        for i in where[arrow["from"]]
    ]
    answers = [drawing["states"][q]["output"] for q in copies]
    return drawn("".join(drawing["alphabet"]), drawing["outputs"], answers, moves), machine


def reachable_sets(drawing: Any) -> int:
    """How many sets of states words lead to."""
    start = frozenset([0])
    found, queue = {start}, [start]
    for states in queue:
        for a in range(len(drawing["alphabet"])):
            after = frozenset(one["to"] for one in drawing["arrows"] if one["from"] in states and a in one["symbols"])
            if after not in found:
                found.add(after)
                queue.append(after)
    return len(found)


def test_the_machine_of_sets_has_the_language_of_python_a_state_and_a_step_for_each_set(scripts: Browser):
    pairs = [(case, machine) for case, machine in map(random_case, range(500)) if is_nondeterministic(case)]
    cases = [(case, machine) for case, machine in pairs if language(machine) and case["outputs"] == [*ANSWERS]]
    assert len(cases) > 40
    found = results(scripts, "steps machine", STEPS % "subsetSteps", (case for case, _ in cases))
    for one, (case, machine) in zip(found, cases, strict=True):
        ours, theirs = one["language"], language(machine)
        assert theirs is not None
        assert [ours["delta"], ours["outputs"]] == [theirs["delta"], theirs["outputs"]]
        assert not is_nondeterministic(one["drawn"])
        assert len(one["delta"]) == len(one["drawn"]["states"]) == reachable_sets(case)
        assert len(one["steps"]) == len(one["delta"]) + 2  # the start, a step for each set, the end
        # A row of the table is filled by each step.
        filled = [sum(all(row) for row in step["rows"]) for step in one["steps"][:-1]]
        assert filled == list(range(len(one["delta"]) + 1))


def test_an_arrow_that_reads_nothing_is_followed_before_and_behind_each_symbol(scripts: Browser):
    cases = [with_empty_moves(seed) for seed in range(150)]
    shown = "(drawing) => languageOf(drawing)"
    languages = results(scripts, "machine", shown, (case for case, _ in cases))
    expected = [language(machine.as_moore(ANSWERS)) for _, machine in cases]
    assert sum(one is not None for one in expected) > 40
    for ours, theirs in zip(languages, expected, strict=True):
        assert (ours["language"] is None) == (theirs is None) == bool(ours["problem"])
        if theirs is not None:
            del ours["language"]["states"]
            assert ours["language"] == theirs
    known = [(case, theirs) for (case, _), theirs in zip(cases, expected, strict=True) if theirs]
    found = results(scripts, "steps machine", STEPS % "subsetSteps", (case for case, _ in known))
    for one, (_, theirs) in zip(found, known, strict=True):
        assert one["drawn"]["alphabet"] == ["a", "b"]
        assert one["language"]["delta"] == theirs["delta"]
        assert len(one["steps"]) == len(one["delta"]) + 2


def told_apart(delta: list[list[int]], outputs: list[int]) -> dict[tuple[int, int], int]:
    """By pair of states, the length of the shortest word to which they give other answers."""
    pairs = list(combinations(range(len(delta)), 2))
    found = {(p, q): 0 for p, q in pairs if outputs[p] != outputs[q]}
    for length in range(1, len(delta) + 1):
        after = {(p, q): {tuple(sorted(ends)) for ends in zip(delta[p], delta[q], strict=True)} for p, q in pairs}
        new = {pair for pair in pairs if pair not in found and any(end in found for end in after[pair])}
        found |= dict.fromkeys(new, length)
    return found


def test_a_pair_is_marked_in_the_round_of_its_shortest_word_and_the_rest_is_the_smallest_machine(scripts: Browser):
    pairs = [(seed, random_case(seed)) for seed in range(300)]
    known = [(seed, case) for seed, case in pairs if language(case[1]) and not is_nondeterministic(case[0])]
    cases = [with_copies(case, seed) for seed, case in known]
    assert len(cases) > 60
    found = results(scripts, "steps machine", STEPS % "mergeSteps", (case for case, _ in cases))
    tables = results(scripts, "machine", "(drawing) => deterministic(drawing)", (case for case, _ in cases))
    merged = 0
    for one, table, (_, machine) in zip(found, tables, cases, strict=True):
        theirs = language(machine)
        assert theirs is not None
        delta, outputs, names = table["delta"], table["outputs"], table["names"]
        assert one["language"]["delta"] == theirs["delta"] == one["delta"]
        assert len(one["drawn"]["states"]) == len(theirs["delta"])
        lengths = told_apart(delta, outputs)
        rows = one["steps"][-1]["rows"]
        marks = {(p, q): rows[q - 1][1 + p] for p, q in combinations(range(len(names)), 2)}
        assert {pair: int(mark.split()[0]) for pair, mark in marks.items() if mark != "·"} == lengths
        # Why a pair is marked: its symbol leads to one that is marked before.
        for (p, q), mark in marks.items():
            if " " in mark:
                a = one["drawn"]["alphabet"].index(mark.split()[1])
                assert lengths[min(delta[p][a], delta[q][a]), max(delta[p][a], delta[q][a])] < lengths[p, q]
        rounds = max(lengths.values()) + 2
        assert [step["says"].startswith("Round ") for step in one["steps"]].count(True) == rounds
        merges = len(names) - len(theirs["delta"])
        assert len(one["steps"]) - rounds - merges in (1, 2)  # the end; what goes and what is missing
        merged += merges
    assert merged > 20


def test_what_is_too_large_to_be_gone_through_says_so(scripts: Browser):
    many = drawn("ab", [*ANSWERS], [0] * 8 + [1], [(0, a, 0) for a in (0, 1)] + [(0, 0, 1)])
    many["arrows"] += [{"from": q, "to": q + 1, "symbols": [0, 1]} for q in range(1, 8)]
    cycle = drawn("a", [*ANSWERS], [q % 2 for q in range(24)], [(q, 0, (q + 1) % 24) for q in range(24)])
    tried = "(drawing) => { try { return [...%s(drawing)].length; } catch ({ message }) { return message; } }"
    (large,) = results(scripts, "steps", tried % "subsetSteps", [many])
    assert large.startswith("It has 256 sets of states, too many to be drawn one by one. Take away arrows")
    (wide,) = results(scripts, "steps", tried % "mergeSteps", [cycle])
    assert wide.endswith("Draw at most 20.")


# An a, then anything, or along ε a b: words that end in ab.
EMPTY = {
    "alphabet": ["a", "b", "ε"],
    "outputs": [*ANSWERS],
    "states": [{"name": f"q{q}", "x": 100 + 130 * q, "y": 120, "output": int(q == 3)} for q in range(4)],
    "initial": 0,
    "arrows": [
        *({"from": 0, "to": 0, "symbols": [0, 1]}, {"from": 0, "to": 1, "symbols": [2]}),
        *({"from": 1, "to": 2, "symbols": [0]}, {"from": 2, "to": 3, "symbols": [1]}),
    ],
}


def said(editor: Browser) -> str:
    return editor.one(".steps [role=status] p")


def press(editor: Browser) -> str:
    """The next step, by the key of who has the focus there."""
    assert editor.evaluate("document.activeElement.textContent") == "Next step"
    editor.key("Enter")
    return said(editor)


def test_a_drawing_with_arrows_that_read_nothing_is_made_deterministic_and_the_smallest_by_keys(editor: Browser):
    editor.evaluate(f"bench.set.language({json.dumps(EMPTY)})")
    before = editor.evaluate("JSON.stringify(editor.drawn)")
    assert "nondeterministic" in editor.one(".notes")
    assert editor.all(".steps button") == [SUBSETS]
    editor.key("Enter", at=".steps button")
    assert (
        said(editor) == "The start is S0 = {q0,q1}: before the first symbol one is in q0, or where ε leads from there."
    )
    assert editor.all(".plane .state.read", "e.dataset.key") == ["0", "1"]
    assert editor.count(".stepped .state") == 1
    first = "From S0 = {q0,q1}: a leads to S1 = {q0,q1,q2}, a new state; b leads to S0 = {q0,q1}."
    assert press(editor) == first
    assert editor.count(".stepped .state") == 2
    assert violations(editor) == []
    assert editor.evaluate("JSON.stringify(editor.drawn)") == before  # nothing is edited yet
    while editor.evaluate("document.activeElement.textContent") == "Next step":
        last = press(editor)
    assert last == "No set is left: the machine is deterministic, with 3 states. ↶ brings the old one back."
    assert editor.count(".plane .state") == 3
    assert editor.all(".steps button") == ["Close"]  # it is the smallest, too
    editor.key("Enter")
    assert editor.all(".steps button") == []
    assert editor.evaluate("document.activeElement === editor.canvas.svg")
    editor.click("[aria-label=Undo]")
    assert editor.evaluate("JSON.stringify(editor.drawn)") == before
    assert editor.all(".steps button") == [SUBSETS]


# Two states that are one, one that no word leads to, and arrows that are missing.
TWICE = drawn(
    "ab", [*ANSWERS], [1, 0, 1, 0], [(0, 0, 1), (0, 1, 2), (1, 0, 2), (1, 1, 1), (2, 0, 1), (2, 1, 0), (3, 0, 0)]
)


def test_states_are_merged_on_the_plane_and_one_press_brings_them_back(editor: Browser):
    editor.evaluate(f"bench.set.language({json.dumps(TWICE)})")
    before = editor.evaluate("JSON.stringify(editor.drawn)")
    editor.key("Enter", at=".steps button")
    steps = [said(editor)]
    counts = [editor.count(".plane .state")]
    while editor.evaluate("document.activeElement.textContent") == "Next step":
        steps.append(press(editor))
        counts.append(editor.count(".plane .state"))
    assert steps == [
        "No word leads to s3: away with it.",
        "Round 0: 2 pairs marked: the answers differ.",
        "Round 1: no pair is marked any more. The two states of a pair that is left are one state.",
        "s0 and s2 are one state: what led to s2 leads to s0 now.",
        "This is the smallest machine, with 2 states. ↶ brings the old one back.",
    ]
    assert counts == [3, 3, 3, 2, 2]
    assert violations(editor) == []
    assert editor.one(".counts").startswith("A language: 2 states, ")
    editor.click("[aria-label=Undo]")
    assert editor.evaluate("JSON.stringify(editor.drawn)") == before
    # An edit ends what was begun, and so does who stops.
    for end in ("editor.canvas.focus('0'), 0", "document.querySelectorAll('.steps button')[2].click()"):
        editor.click(".steps button")
        assert editor.count(".stepped table") == 1
        editor.evaluate(end)
        if end.endswith("0"):
            editor.key("n", at=".plane")
            editor.click("[aria-label=Undo]")
        assert editor.count(".stepped table") == 0
        assert editor.all(".steps button") == [SMALLEST]


def test_an_arrow_is_written_that_reads_nothing(editor: Browser):
    editor.evaluate(f"bench.set.language({json.dumps(EMPTY)})")
    for text, symbols in (("\\e", ["ε"]), ("b ε", ["b", "ε"])):
        editor.key("Enter", at=".plane [data-key='2-3']")
        editor.write(text)
        editor.key("Enter")
        arrow = "editor.drawn.arrows.find(({ from }) => from === 2)"
        assert editor.evaluate(f"{arrow}.symbols.map((a) => editor.drawn.alphabet[a])") == symbols
    # A new arrow is not proposed to read nothing, and a stack and ε do not go together.
    assert editor.evaluate("modules['regulargpt/classroom/workbench/edits.js'].likely(editor.drawn, 0).names") == ["c"]
    editor.key("Enter", at=".plane [data-key='2-3']")
    editor.write("b / push x")
    editor.key("Enter")
    assert editor.one(".said .problem") == "Where there is a stack, each arrow reads a symbol. Take ε away."


def test_nothing_is_offered_where_there_is_nothing_to_do(editor: Browser, tmp_path: Path):
    even = drawn("a", [*ANSWERS], [1, 0], [(0, 0, 1), (1, 0, 0)])
    stack = {**EMPTY, "alphabet": ["(", ")"], "arrows": [{"from": 0, "to": 0, "symbols": [0], "push": "x"}]}
    for machine in (even, stack, {**EMPTY, "initial": None}):
        editor.evaluate(f"bench.set.language({json.dumps(machine)})")
        assert editor.all(".steps button") == []
