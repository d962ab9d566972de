"""The page's players: symbol by symbol, and the levels of the tree; and letters that are wrong."""

import pytest

from tests.regulargpt.browser import Browser
from tests.regulargpt.conftest import Runs

STEP = "Number(document.querySelector('#step').value)"


@pytest.mark.parametrize(("model", "width"), [("lstm", 390), ("transformer", 1280)])
def test_the_symbols_play_one_after_the_other(browser: Browser, runs: Runs, model: str, width: int):
    browser.open(runs.page(runs.plain("parity", model=model)), "#word=011010", width=width)
    browser.one("#speed", "{ e.value = '4'; }")
    # What is read is counted, not timed: the steps that the slider took until it stopped.
    browser.evaluate("seen = []")
    browser.one("#step", "void e.addEventListener('input', (e) => seen.push(+e.target.value))")
    browser.key("Enter", "#play")
    assert browser.one("#play", "[e.textContent, e.getAttribute('aria-label')]") == ["Pause", "Pause the symbols"]
    browser.wait("seen.at(-1) === 6")
    assert browser.evaluate("seen") == [0, 1, 2, 3, 4, 5, 6]
    browser.wait("document.querySelector('#play').textContent === 'Play'")
    # Paused it stays where it is, and the points ahead are faded.
    browser.evaluate("readTo(2)")
    browser.key("Enter")
    browser.key("Enter")
    at = browser.evaluate(STEP)
    browser.pause(400)
    assert browser.evaluate(STEP) == at
    dots = browser.evaluate("runs[0].map.dots.map(({ items }) => Math.min(...items))")
    assert browser.count(".map .ahead") == sum(first > at for first in dots)
    # A new word ends it.
    browser.key("Enter")
    browser.type("0110101")
    assert browser.one("#play") == "Play"
    browser.assert_fits()


@pytest.mark.parametrize(("certified", "width"), [(False, 390), (True, 1280)])
def test_the_tree_is_built_level_by_level(browser: Browser, runs: Runs, certified: bool, width: int):
    run = runs.certified("parity") if certified else runs.plain("parity")
    browser.open(runs.page(run), "#word=0110100", width=width, dark=certified)
    browser.one("#speed", "{ e.value = '4'; }")
    said, slider = "[data-build=output]", "[data-build=range]"
    assert browser.one(said) == "Level 3 of 3: 1 of 2 states"
    assert browser.count(".tree .ahead") == 0
    browser.focus(slider)
    for level, words in ((2, "2 of 4 states"), (1, "4 of 7 symbols"), (0, "the symbols alone")):
        browser.key("ArrowLeft")
        assert browser.one(said) == f"Level {level} of 3: {words}"
        faded = browser.all(".tree .node.ahead", "+e.dataset.level")
        assert sorted(set(faded)) == list(range(level + 1, 4))
        assert all(at <= level for at in browser.all(".tree .node:not(.ahead)", "+e.dataset.level"))
    assert browser.count(".map .ahead") == browser.evaluate("runs[0].map.dots.length")
    browser.key("Enter", "[data-build=up]")
    assert browser.one(said) == "Level 1 of 3: 4 of 7 symbols"
    browser.key("Enter", "[data-build=play]")
    browser.wait("document.querySelector('[data-build=range]').value === '3'")
    browser.wait("document.querySelector('[data-build=play]').textContent === 'Play'")
    assert browser.count(".tree .ahead") == browser.count(".map .ahead") == 0
    # Unfolding another path keeps the level.
    browser.type("0110" * 60)
    browser.key("ArrowLeft", slider)
    browser.one(".tree .node[data-level='5']", "void e.dispatchEvent(new MouseEvent('click'))")
    assert browser.count(".tree .node.ahead") == 1
    browser.assert_fits()


def test_circles_and_text_number_alike(browser: Browser, runs: Runs):
    browser.open(runs.page(runs.certified("cycle-navigation")), "#word=01201")
    places = browser.all(".scatter .prototype", "+e.dataset.prototype")
    assert places == list(map(int, browser.all(".scatter .prototype .number")))
    counts = dict(zip(places, browser.all(".scatter .prototype .count"), strict=True))
    states = browser.evaluate("runs[0].levels.flat().map(({ state }) => state)")
    assert {number: count for number, count in counts.items() if count} == {n: f"×{states.count(n)}" for n in states}
    rings, rows = browser.all(".map .anchor title"), browser.all(".prototypes th[scope=row]")
    assert [ring.split()[0] for ring in rings] == [row.removeprefix("#") for row in rows]
