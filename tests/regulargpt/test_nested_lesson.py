"""The lesson on a language with brackets, and the page of its run: the committed network, which is proven."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import languages
from languages.context_free.nested import NestedTask
from regulargpt import load
from regulargpt.classroom.nested import Elements
from regulargpt.classroom.page import write as write_page
from regulargpt.models.tree.base import as_tree
from regulargpt.models.tree.trace import trace_nested
from tests.regulargpt.browser import Browser
from tests.regulargpt.conftest import BRACKETS, Runs, shown
from tests.regulargpt.test_lesson_page import is_done, press, write

LONGEST = 5


@pytest.fixture(scope="module")
def task() -> NestedTask:
    found = languages.find("brackets-2")
    assert isinstance(found, NestedTask)
    return found


@pytest.fixture
def lesson(browser: Browser, on_brackets: Path) -> Iterator[Browser]:
    browser.open(on_brackets, width=390, still=True)
    yield browser
    browser.assert_fits()


def elements_of(task: NestedTask) -> Elements:
    found = Elements.from_machine(task.machine)
    assert found is not None
    return found


@torch.no_grad()
def test_the_page_of_a_proven_run_has_the_quantised_networks_tree(browser: Browser, runs: Runs, task: NestedTask):
    """Of all words to five symbols: each node's prototype is right, and the one that is nearest to torch's state."""
    run = shown(BRACKETS)
    assert run.certificate is not None
    assert run.is_proven
    browser.open(runs.page(run))
    words = [list(word) for n in range(1, LONGEST + 1) for word in itertools.product(range(4), repeat=n)]
    function = """(words) => words.map((word) =>
      tree(word, runs[0].run).map((level) => level.map(({ state, verdict, element }) => [state, verdict, element])))"""
    found = browser.evaluate(f"({function})({json.dumps(words)})")
    assert {verdict for levels in found for level in levels for _, verdict, _ in level} == {"right"}
    prototypes = torch.tensor(run.certificate.record["prototypes"], dtype=torch.float64)
    model, elements = load(BRACKETS, quantised=True).model.double(), elements_of(task)
    for word, levels in list(zip(words, found, strict=True))[::17]:
        trace = trace_nested(as_tree(model), torch.tensor([word]))
        for states, nodes, level in zip(trace.states[1:], trace.nodes.nodes, levels, strict=True):
            nearest = torch.cdist(states, prototypes).argmin(1) + 1
            assert [state for state, _, _ in level] == nearest.tolist()
            assert [of for _, _, of in level] == [elements.of_node(np.array(word), node) for node in nodes]
    browser.type("([]())")
    assert "Quantised network: ✓ accept" in browser.one(".answer")
    assert "Proven for every length and every depth" in browser.one(".badge")


def test_a_proof_with_more_elements_than_a_page_names_is_shown_without_their_names(
    browser: Browser, tmp_path: Path, monkeypatch
):
    monkeypatch.setattr("regulargpt.classroom.nested.MOST_ELEMENTS", 4)
    write_page([shown(BRACKETS)], tmp_path / "page.html")
    browser.open(tmp_path / "page.html")
    assert "more elements than a page names" in browser.one(".tree")
    assert browser.one(".badge").strip().startswith("✓ Proven for every length and every depth")
    browser.type("([])")
    assert "Automaton: accept. Network: ✓ accept" in browser.one(".answer")


def test_a_network_too_large_for_a_page_leaves_the_tree_of_its_table(browser: Browser, tmp_path: Path, monkeypatch):
    monkeypatch.setattr("regulargpt.classroom.live.network.MOST_MEGABYTES", 0.001)
    write_page([shown(BRACKETS)], tmp_path / "page.html")
    browser.open(tmp_path / "page.html")
    browser.type("([])[")
    assert "a page takes at most 0.001 MB" in browser.one(".not-live")
    assert browser.one(".answer") == "Automaton: reject. Quantised network: ✓ reject. 6 of 6 nodes right."
    assert browser.count(".tree .leaf.bracket") == 5


def test_automaton_the_stack_is_written_and_done_is_who_came_two_deep_and_back(lesson: Browser):
    assert lesson.one("#automaton .count") == "The stack is empty."
    for symbol, stack in [("(", "0 balanced"), ("[", "0 balanced | 1 open"), ("]", "0 balanced")]:
        lesson.click(f"#automaton [data-read='{'()[]'.index(symbol)}']")
        assert lesson.one("#automaton .count") == f"Stack, the top last: {stack}."
    assert not is_done(lesson, "automaton")
    lesson.click("#automaton [data-read='1']")
    assert lesson.one("#automaton .said") == "Read: ([]). State: balanced. Answer: accept."
    assert is_done(lesson, "automaton")


def test_monoid_words_of_one_element_do_the_same(lesson: Browser, task: NestedTask):
    elements = elements_of(task)
    assert lesson.one("#monoid .said").startswith("✗")
    assert lesson.count(".way .done") == 0
    for u, v in [("()", "[]"), ("()", "(]"), ("((", "["), (")(", ")")]:
        write(lesson, "monoid", u, 0)
        write(lesson, "monoid", v, 1)
        same = len({elements.algebra.of_word(task.machine.encode(word)) for word in (u, v)}) == 1
        assert lesson.one("#monoid .said").startswith("✓" if same else "✗")
    assert lesson.one("#monoid .elements").endswith(" of 5.")


@pytest.mark.parametrize("text", ["([]())", "(]", "())[[", "[([])]()"])
def test_tree_merges_in_any_order_come_to_the_element_of_the_word(lesson: Browser, task: NestedTask, text: str):
    word = task.machine.encode(text)
    elements = elements_of(task)
    expected = f"[{elements.words[elements.algebra.of_word(word)] or 'ε'}]"
    answer = task.output_names[int(task.labels(word))]
    begun = (
        f"(window.merging ??= new TreeStep(document.createElement('div'), lesson, () => {{}})).begin({word.tolist()})"
    )
    merged = "merging.row.querySelectorAll('.gap')"
    for which in ("0", "found.length - 1", "Math.floor(found.length / 2)"):
        lesson.evaluate(f"void ({begun})")
        while lesson.evaluate(f"{merged}.length"):
            lesson.evaluate(f"((found) => found[{which}].click())({merged})")
        said = lesson.evaluate("merging.said.textContent")
        assert f"The element of the whole word is {expected}" in said
        assert said.endswith(f"Its answer: {answer}.")
    lesson.evaluate(f"void ({begun})")
    while lesson.evaluate("merging.parts.length > 1"):
        lesson.evaluate("merging.level()")
    assert f"The element of the whole word is {expected}" in lesson.evaluate("merging.said.textContent")


def test_every_case_is_right_and_long_words_are_answered(lesson: Browser):
    press(lesson, "proof", "All cases")
    lesson.wait("document.querySelector('#proof progress').value === document.querySelector('#proof progress').max")
    assert "0 wrong. Nothing is left to try" in lesson.one("#proof .count")
    assert is_done(lesson, "proof")
    assert lesson.count("#proof .squares .right") == lesson.one("#proof progress", "e.max")
    press(lesson, "network", "Try 100 words")
    lesson.wait("document.querySelector('.way a[href=\"#network\"]').classList.contains('done')")
    right, tried = (int(lesson.one("#network [data-tried]", f"e.dataset.{name}")) for name in ("right", "tried"))
    assert right == tried > 90
    press(lesson, "clusters", "Add 20 random words")
    assert is_done(lesson, "clusters")
