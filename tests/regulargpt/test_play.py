"""The page's players: symbol by symbol, and the levels of the tree; and letters that are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.regulargpt.browser import Browser, needs_browser
from tests.regulargpt.certified import believed, certify, folder
from tests.regulargpt.test_state_map import TYPE, opened, shown

WAIT = "new Promise((done) => setTimeout(done, {}))"
STEP = "Number(document.querySelector('#step').value)"
AHEAD = "[...document.querySelectorAll('.{} .ahead')].length"
PRESS = "document.querySelector('{}').focus()"


@needs_browser
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("model", ["lstm", "transformer"])
def test_the_symbols_play_one_after_the_other(browser: Browser, tmp_path: Path, model: str, width: int):
    browser.look(width)
    opened(browser, shown(folder(tmp_path / "run", "parity", model=model).path))
    browser.evaluate(f"({TYPE})('011010')")
    browser.evaluate("document.querySelector('#speed').value = '4'")
    # What is read is counted, not timed: the steps that the slider took until it stopped.
    browser.evaluate(
        "seen = []; document.querySelector('#step').addEventListener('input', (e) => seen.push(+e.target.value))"
    )
    browser.evaluate(PRESS.format("#play"))
    browser.key("Enter")
    assert browser.evaluate("document.querySelector('#play').textContent") == "Pause"
    assert browser.evaluate("document.querySelector('#play').getAttribute('aria-label')") == "Pause the symbols"
    browser.evaluate(
        "new Promise((done) => { const look = () => seen.at(-1) === 6 ? done() : setTimeout(look, 20); look(); })"
    )
    assert browser.evaluate("seen") == [0, 1, 2, 3, 4, 5, 6]
    assert browser.evaluate("document.querySelector('#play').textContent") == "Play"
    # Paused it stays where it is, and the points ahead are faded.
    browser.evaluate("readTo(2)")
    browser.key("Enter")
    browser.key("Enter")
    at = browser.evaluate(STEP)
    browser.evaluate(WAIT.format(400))
    assert browser.evaluate(STEP) == at
    dots = browser.evaluate("runs[0].map.dots.map(({ items }) => Math.min(...items))")
    assert browser.evaluate(AHEAD.format("map")) == sum(first > at for first in dots)
    # A new word ends it.
    browser.key("Enter")
    browser.evaluate(f"({TYPE})('0110101')")
    assert browser.evaluate("document.querySelector('#play').textContent") == "Play"
    assert browser.evaluate("document.documentElement.scrollWidth") == width
    assert browser.problems == []
    browser.look(1280)


@needs_browser
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("certified", [False, True])
def test_the_tree_is_built_level_by_level(browser: Browser, tmp_path: Path, width: int, certified: bool):
    browser.look(width, dark=certified)
    made = folder(tmp_path / "run", "parity", 2)
    if certified:
        certify(made, "parity", 2)
    opened(browser, believed(made.path) if certified else shown(made.path))
    browser.evaluate(f"({TYPE})('0110100')")
    browser.evaluate("document.querySelector('#speed').value = '4'")
    said = "document.querySelector('[data-build=output]').textContent"
    assert browser.evaluate(said) == "Level 3 of 3: 1 of 2 states"
    assert browser.evaluate(AHEAD.format("tree")) == 0
    browser.evaluate("document.querySelector('[data-build=range]').focus()")
    for level, words in ((2, "2 of 4 states"), (1, "4 of 7 symbols"), (0, "the symbols alone")):
        browser.key("ArrowLeft")
        assert browser.evaluate(said) == f"Level {level} of 3: {words}"
        faded = browser.evaluate("[...document.querySelectorAll('.tree .node.ahead')].map((e) => +e.dataset.level)")
        assert sorted(set(faded)) == list(range(level + 1, 4))
        clear = browser.evaluate(
            "[...document.querySelectorAll('.tree .node:not(.ahead)')].map((e) => +e.dataset.level)"
        )
        assert all(at <= level for at in clear)
    assert browser.evaluate(AHEAD.format("map")) == browser.evaluate("runs[0].map.dots.length")
    browser.evaluate(PRESS.format("[data-build=up]"))
    browser.key("Enter")
    assert browser.evaluate(said) == "Level 1 of 3: 4 of 7 symbols"
    browser.evaluate(PRESS.format("[data-build=play]"))
    browser.key("Enter")
    browser.evaluate(
        "new Promise((done) => { const look = () => document.querySelector('[data-build=range]').value === '3'"
        " ? done() : setTimeout(look, 20); look(); })"
    )
    assert browser.evaluate("document.querySelector('[data-build=play]').textContent") == "Play"
    assert browser.evaluate(AHEAD.format("tree")) == browser.evaluate(AHEAD.format("map")) == 0
    # Unfolding another path keeps the level.
    browser.evaluate(f"({TYPE})('{'0110' * 60}')")
    browser.evaluate("document.querySelector('[data-build=range]').focus()")
    browser.key("ArrowLeft")
    browser.evaluate("document.querySelector('.tree .node[data-level=\"5\"]').dispatchEvent(new MouseEvent('click'))")
    assert browser.evaluate("document.querySelectorAll('.tree .node.ahead').length") == 1
    assert browser.evaluate("document.documentElement.scrollWidth") == width
    assert browser.problems == []
    browser.look(1280)


@needs_browser
@pytest.mark.parametrize("width", [390, 1280])
def test_a_wrong_letter_is_marked_and_the_rest_is_read(browser: Browser, tmp_path: Path, width: int):
    browser.look(width)
    run = shown(folder(tmp_path / "run", "parity", 2).path)
    opened(browser, run)
    browser.evaluate(f"({TYPE})('0110')")
    right = browser.evaluate("document.querySelector('.answer').textContent")
    for typed, marks, left in (("01x10", ["x"], "It is"), ("z01x1z0", ["z", "x", "z"], "They are")):
        browser.evaluate(f"({TYPE})('{typed}')")
        assert browser.evaluate("document.querySelector('.typed-word').textContent") == typed
        found = browser.evaluate("[...document.querySelectorAll('.typed-word mark')].map((e) => e.textContent)")
        assert found == marks
        answer = browser.evaluate("document.querySelector('.answer').textContent")
        assert answer.endswith(f"{left} left out. {right}")
        assert browser.evaluate("document.querySelectorAll('.tree .node').length") == 3
    # Of a long word, the part about the first mark.
    browser.evaluate(f"({TYPE})('{'01' * 200}x{'01' * 200}')")
    word = browser.evaluate("document.querySelector('.typed-word').textContent")
    assert word == "…" + "01" * 10 + "x" + ("01" * 20)[:39] + "…"
    assert browser.evaluate("document.documentElement.scrollWidth") == width
    assert browser.problems == []
    browser.look(1280)


@needs_browser
def test_circles_and_text_number_alike(browser: Browser, tmp_path: Path):
    made = folder(tmp_path / "run", "cycle-navigation", 2)
    certify(made, "cycle-navigation", 2)
    opened(browser, believed(made.path))
    browser.evaluate(f"({TYPE})('01201')")
    circles = browser.evaluate(
        "[...document.querySelectorAll('.scatter .prototype')].map((e) => [+e.dataset.prototype,"
        " +e.querySelector('.number').textContent, e.querySelector('.count').textContent])"
    )
    assert all(number == place for number, place, _ in circles)
    states = browser.evaluate("runs[0].levels.flat().map(({ state }) => state)")
    assert {number: count for number, _, count in circles if count} == {n: f"×{states.count(n)}" for n in states}
    rings = browser.evaluate(
        "[...document.querySelectorAll('.map .anchor')].map((e) => e.querySelector('title').textContent)"
    )
    rows = browser.evaluate("[...document.querySelectorAll('.prototypes th[scope=row]')].map((e) => e.textContent)")
    assert [ring.split()[0] for ring in rings] == [row.removeprefix("#") for row in rows]
    assert browser.problems == []
