"""Two networks on one word: the first node and the first prefix at which they differ, against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from languages.randomness import rng
from regulargpt.classroom.data import PageRun
from regulargpt.classroom.page import render, write
from regulargpt.models.tree.base import Tree
from regulargpt.models.tree.levels import tree_levels
from regulargpt.runs.load import load_reader
from regulargpt.storage.folder import RunFolder
from tests.regulargpt.browser import Browser, needs_browser
from tests.regulargpt.certified import believed, certify, folder
from tests.regulargpt.test_live_page import answers
from tests.regulargpt.test_state_map import TYPE, shown

SAID = "document.querySelector('[data-compare=said]').textContent"
CHOOSE = """(side, i) => {
  const select = document.querySelector(`[data-compare=${side}]`);
  select.value = i;
  select.dispatchEvent(new Event("change"));
}"""
COMPARE = '<h2 id="compare-title">'
CELLS = "[...document.querySelectorAll('.side-by-side tbody tr')].map((e) => [...e.cells].map((c) => c.textContent))"


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> list[PageRun]:
    """A certified tree, one without a certificate, one of another shape, a network without a tree, another alphabet."""
    path = tmp_path_factory.mktemp("compared")
    certify(folder(path / "certified", "parity", 2), "parity", 2)
    others = [
        folder(path / "other", "parity", 2, seed=1),
        folder(path / "wide", "parity", 3),
        folder(path / "lstm", "parity", model="lstm"),
        folder(path / "cycle", "cycle-navigation", 2),
    ]
    found = [believed(path / "certified"), *(shown(other.path) for other in others)]
    write(found, path / "report.html")
    return found


@torch.no_grad()
def nodes(run: PageRun, word: list[int]) -> list[list[set[int]]]:
    """The elements that each node's nearest prototype stands for, level by level."""
    model, prototypes = load_reader(RunFolder.open(run.path)).double(), run.live.prototypes
    assert isinstance(model, Tree)
    assert prototypes is not None
    points = torch.from_numpy(np.asarray(prototypes.points, dtype=np.float32)).double()
    _, *levels = tree_levels(model, torch.tensor([word]), share=False)
    near = [torch.cdist(level.states[level.node[0]], points).argmin(1).tolist() for level in levels]
    return [[set(prototypes.elements[found]) for found in level] for level in near]


def first_node(a: PageRun, b: PageRun, word: list[int]) -> tuple[int, int] | None:
    """Level and number of the first node at which two trees have no element in common."""
    for level, (left, right) in enumerate(zip(nodes(a, word), nodes(b, word), strict=True), 1):
        for i, (ours, theirs) in enumerate(zip(left, right, strict=True)):
            if not ours & theirs:
                return level, i
    return None


def prefix_answers(run: PageRun, word: list[int]) -> list[str]:
    return [answers(run, np.array([word[:n]]))[0] for n in range(1, len(word) + 1)]


@needs_browser
@pytest.mark.parametrize("width", [390, 1280])
def test_the_first_node_and_the_first_prefix_that_differ_are_named(browser: Browser, runs: list[PageRun], width: int):
    browser.look(width, dark=width == 390)
    browser.open(runs[0].path.parent / "report.html")
    certified, other, _, lstm, _ = runs
    random, seen = rng(0, "compared"), set()
    for length in (1, 2, 3, 5, 8, 13, 21):
        word = random.integers(0, 2, length).tolist()
        browser.evaluate(f"({TYPE})('{''.join(map(str, word))}')")
        for right, b in ((1, other), (3, lstm)):
            browser.evaluate(f"({CHOOSE})('right', {right})")
            left_says, right_says = (prefix_answers(run, word) for run in (certified, b))
            said, cells = browser.evaluate(SAID), browser.evaluate(CELLS)
            assert cells[0][1].split()[1].rstrip(",") == left_says[-1]
            assert cells[0][2].split()[1].rstrip(",") == right_says[-1]
            differ = [i for i, pair in enumerate(zip(left_says, right_says, strict=True), 1) if len(set(pair)) > 1]
            if differ:
                assert f"Their answers differ first after {differ[0]} symbol" in said
            else:
                assert f"After each of the {length} prefixes they answer alike." in said
            if b is lstm:
                assert "They have no two trees to compare." in said
                continue
            place = first_node(certified, other, word)
            seen.add(place)
            if place is None:
                assert "No node of their trees differs." in said
                continue
            assert f"Their trees differ first at level {place[0]}, symbol" in said
            browser.evaluate("document.querySelector('.compare button').click()")
            focused = browser.evaluate("[document.activeElement.dataset.level, document.activeElement.dataset.index]")
            assert focused == [str(number) for number in place]
            browser.evaluate("document.querySelector('.compare details').open = true")
            browser.evaluate("new Promise((done) => setTimeout(done, 30))")
            marks = browser.evaluate(
                "[...document.querySelectorAll('.compare [data-differ]')].map((e) => e.dataset.differ)"
            )
            expected = [
                str(not ours & theirs).lower()
                for left, right_level in zip(nodes(certified, word), nodes(other, word), strict=True)
                for ours, theirs in zip(left, right_level, strict=True)
            ]
            assert marks == expected
        assert browser.evaluate("document.documentElement.scrollWidth") == width
    assert len(seen) > 1
    assert browser.problems == []
    browser.look(1280)


@needs_browser
def test_certified_and_uncertified_stand_side_by_side(browser: Browser, runs: list[PageRun]):
    browser.open(runs[0].path.parent / "report.html", "#word=0110")
    assert browser.evaluate(CELLS)[3][1].startswith(
        "◐ Proven for every length, in real arithmetic, for the quantised network"
    )
    assert browser.evaluate(CELLS)[3][2].startswith("○ Nothing is proven")
    # A changed tree is compared as it was, and that is said.
    before = browser.evaluate(SAID)
    browser.evaluate("document.querySelector('.run .tree .node').focus()")
    browser.evaluate(
        "((s) => { s.value = 1; s.dispatchEvent(new Event('change')); })(document.querySelector('[data-patch=state]'))"
    )
    browser.evaluate(f"({CHOOSE})('left', 0)")
    assert browser.evaluate(SAID) == f"{before} Your changes are not in this comparison."
    # Trees of another shape, and other symbols.
    browser.evaluate(f"({CHOOSE})('right', 2)")
    assert "Their trees cannot be compared node by node" in browser.evaluate(SAID)
    browser.evaluate(f"({CHOOSE})('right', 4)")
    assert browser.evaluate(SAID) == "They read other symbols: each has its own word of what is typed."
    # The same network twice is the same everywhere, and the keyboard chooses.
    browser.evaluate("document.querySelector('[data-compare=right]').focus()")
    for _ in range(4):
        browser.key("ArrowUp")
    assert browser.evaluate("document.querySelector('[data-compare=right]').value") == "0"
    assert "No node of their trees differs." in browser.evaluate(SAID)
    assert browser.problems == []


def test_one_network_has_nothing_to_be_compared_with(runs: list[PageRun]):
    assert COMPARE not in render(runs[:1])
    assert COMPARE in render(runs[:2])
