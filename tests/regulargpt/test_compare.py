"""Two networks on one word: the first node and the first prefix at which they differ, against torch."""

from itertools import chain

import numpy as np
import pytest

from languages.randomness import rng
from regulargpt.classroom.data import PageRun
from regulargpt.classroom.page import render
from tests.regulargpt.browser import Browser
from tests.regulargpt.conftest import Runs
from tests.regulargpt.test_live_page import answers, nodes

SAID, RIGHT = "[data-compare=said]", "[data-compare=right]"
COMPARE = '<h2 id="compare-title">'


@pytest.fixture(scope="module")
def compared(runs: Runs) -> list[PageRun]:
    """A certified tree, one without a certificate, one of another shape, a network without a tree, another alphabet."""
    others = [runs.plain("parity", seed=1), runs.plain("parity", 3), runs.plain("parity", model="lstm")]
    return [runs.certified("parity"), *others, runs.plain("cycle-navigation")]


def cells(browser: Browser) -> list[list[str]]:
    return browser.all(".side-by-side tbody tr", "[...e.cells].map((c) => c.textContent)")


def differing(a: PageRun, b: PageRun, word: list[int]) -> dict[tuple[int, int], bool]:
    """Of each node, by its level and number, whether two trees have no element in common there."""
    return {
        (level, i): not ours & theirs
        for level, (left, right) in enumerate(zip(nodes(a, word), nodes(b, word), strict=True), 1)
        for i, (ours, theirs) in enumerate(zip(left, right, strict=True))
    }


def prefix_answers(run: PageRun, word: list[int]) -> list[str]:
    return list(chain(*(answers(run, np.array([word[:n]])) for n in range(1, len(word) + 1))))


def test_the_first_node_and_the_first_prefix_that_differ_are_named(
    browser: Browser, runs: Runs, compared: list[PageRun]
):
    browser.open(runs.page(*compared), width=390, dark=True)
    certified, other, _, lstm, _ = compared
    random, seen = rng(0, "compared"), set()
    for length in (1, 2, 3, 5, 8, 13, 21):
        word = random.integers(0, 2, length).tolist()
        browser.type("".join(map(str, word)))
        for right, b in ((1, other), (3, lstm)):
            browser.choose(RIGHT, right, "change")
            left_says, right_says = (prefix_answers(run, word) for run in (certified, b))
            said = browser.one(SAID)
            shown = [cell.split()[1].rstrip(",") for cell in cells(browser)[0][1:]]
            assert shown == [left_says[-1], right_says[-1]]
            differ = [i for i, pair in enumerate(zip(left_says, right_says, strict=True), 1) if len(set(pair)) > 1]
            if differ:
                assert f"Their answers differ first after {differ[0]} symbol" in said
            else:
                assert f"After each of the {length} prefixes they answer alike." in said
            if b is lstm:
                assert "They have no two trees to compare." in said
                continue
            marks = differing(certified, other, word)
            place = next((place for place, differs in marks.items() if differs), None)
            seen.add(place)
            if place is None:
                assert "No node of their trees differs." in said
                continue
            assert f"Their trees differ first at level {place[0]}, symbol" in said
            browser.click(".compare button")
            focused = browser.evaluate("[document.activeElement.dataset.level, document.activeElement.dataset.index]")
            assert focused == [str(number) for number in place]
            browser.one(".compare details", "{ e.open = true; }")
            browser.pause()
            found = browser.all(".compare [data-differ]", "e.dataset.differ")
            assert found == [str(differs).lower() for differs in marks.values()]
        browser.assert_fits()
    assert len(seen) > 1


def test_certified_and_uncertified_stand_side_by_side(browser: Browser, runs: Runs, compared: list[PageRun]):
    browser.open(runs.page(*compared), "#word=0110")
    left, right = cells(browser)[3][1:]
    assert left.startswith("◐ Proven for every length, in real arithmetic, for the quantised network")
    assert right.startswith("○ Nothing is proven")
    # A changed tree is compared as it was, and that is said, on the left and on the right, until the change is undone.
    before = browser.one(SAID)
    for run in (0, 1):
        browser.focus(f"[data-run='{run}'] .tree .node")
        browser.choose(f"[data-run='{run}'] [data-patch=state]", 1, "change")
        browser.choose("[data-compare=left]", 0, "change")
        assert browser.one(SAID) == f"{before} Your changes are not in this comparison."
        browser.click(f"[data-run='{run}'] [data-patch=undo]")
        assert browser.one(SAID) == before
    # Trees of another shape, and other symbols.
    for other, said in ((2, "Their trees cannot be compared node by node"), (4, "They read other symbols: each has")):
        browser.choose(RIGHT, other, "change")
        assert said in browser.one(SAID)
    # The same network twice is the same everywhere, and the keyboard chooses.
    browser.focus(RIGHT)
    for _ in range(4):
        browser.key("ArrowUp")
    assert browser.one(RIGHT, "e.value") == "0"
    assert "No node of their trees differs." in browser.one(SAID)


def test_one_network_has_nothing_to_be_compared_with(compared: list[PageRun]):
    assert COMPARE not in render(compared[:1])
    assert COMPARE in render(compared[:2])
