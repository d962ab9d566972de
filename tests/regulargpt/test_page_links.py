"""What an address of a page keeps, what is copied from a page, and one figure alone for slides, in a real browser."""

import html
import re
from pathlib import Path

import numpy as np
import pytest

from tests.regulargpt.browser import Browser
from tests.regulargpt.conftest import Runs
from tests.regulargpt.pixels import shot

# What a reader sees of where they are.
STATE = """(() => ({
  word: byId("word").value, read: byId("read").textContent, path: document.querySelector(".path .lit")?.dataset.step,
  nodes: [...document.querySelectorAll(".node.chosen")].map((e) => ({ ...e.dataset })),
  details: [...document.querySelectorAll("[data-part=detail]")].map((e) => e.textContent),
}))()"""
# The sections and controls that are seen.
SEEN = """[...document.querySelectorAll("h1, h2, h3, h4, p, button, input, svg, canvas, table, summary, .boxes")]
  .filter((e) => !e.matches(".heard"))
  .filter((e) => e.checkVisibility({ visibilityProperty: true }) && e.getBoundingClientRect().width)
  .map((e) => e.closest("svg") ? "svg" : e.localName)"""
WORD = "byId('word').value"


@pytest.fixture(scope="module")
def one(runs: Runs) -> Path:
    """A page of one run."""
    return runs.page(runs.certified("tomita-3"))


@pytest.fixture(scope="module")
def several(runs: Runs) -> Path:
    """And one of three."""
    return runs.page(runs.certified("tomita-3"), runs.plain("parity", model="rnn"), runs.certified("cycle-navigation"))


def top(browser: Browser, selector: str) -> float:
    return browser.one(selector, "e.getBoundingClientRect().top")


def has_focus(browser: Browser, selector: str) -> bool:
    return browser.one(selector, "e === document.activeElement")


def test_an_address_opens_what_was_shown(browser: Browser, one: Path):
    browser.open(one, "#word=0110100")
    browser.focus("#step")
    for _ in range(4):
        browser.key("ArrowLeft")
    assert browser.evaluate("location.hash") == "#word=0110100&step=3"
    browser.focus(".tree .node")
    for key in ("ArrowDown", "ArrowRight"):
        browser.key(key)
    address, shown = browser.evaluate("location.hash"), browser.evaluate(STATE)
    assert address == "#view=tree&word=0110100&step=3&node=2.1"
    assert (shown["path"], shown["read"]) == ("3", "3 of 7 symbols")
    assert (shown["nodes"][0]["level"], shown["nodes"][0]["index"]) == ("2", "1")
    browser.open(one, address)
    browser.pause()
    assert browser.evaluate(STATE) == shown
    assert browser.evaluate("location.hash") == address
    assert -1 < top(browser, "section.tree") < 200
    # The focus stays where a reader begins.
    assert has_focus(browser, "body")


def test_an_address_names_a_folded_node_and_one_of_several_runs(browser: Browser, several: Path):
    browser.open(several, "#run=2&view=tree&word=" + "01" * 60 + "&node=1.44", width=390)
    browser.pause()
    chosen = "[+e.dataset.level, +e.dataset.index]"
    assert browser.all("[data-run='2'] .node.chosen", chosen) == browser.all(".node.chosen", chosen) == [[1, 44]]
    assert -1 < top(browser, "[data-run='2'] .tree") < 200
    browser.key("ArrowUp", "[data-run='2'] .node.chosen")
    assert re.fullmatch("#run=2&view=tree&word=(01)+&node=2.22", browser.evaluate("location.hash"))
    # It is still chosen when the window has another width.
    browser.look(700)
    browser.pause()
    assert browser.all(".node.chosen", chosen) == [[2, 22]]


def test_a_wrong_address_is_no_error(browser: Browser, one: Path):
    shown = ("#word=%E0%A4%A&step=x", "#word=01&step=99&node=9.9&view=none&run=7", "#word==&node=..", "#view", "#&&=")
    for address in shown:
        browser.open(one, address)
        browser.pause()
        assert browser.count("section.tree") == 1
        browser.assert_silent()


def test_back_and_forward_lead_through_the_words(browser: Browser, one: Path):
    browser.open(one, "#word=1")
    began = browser.evaluate("history.length")
    browser.click("[data-repeat='0']")
    browser.focus("#word")
    for symbol in "101":
        browser.write(symbol)
    browser.click("#clear")
    browser.click(".wrong-words button")
    words = ["1", "0" * 12, "0" * 12 + "101", "", browser.evaluate(WORD)]
    assert browser.evaluate("history.length") == began + 4
    for way, expected in [*(("back", word) for word in words[-2::-1]), *(("forward", word) for word in words[1:])]:
        browser.evaluate(f"history.{way}()")
        browser.pause()
        assert browser.evaluate(WORD) == expected


def test_the_link_is_copied(browser: Browser, one: Path):
    browser.open(one, "#word=0110&step=2")
    allow_copying(browser)
    browser.click("#link")
    browser.pause()
    link = one.as_uri() + "#word=0110&step=2"
    assert browser.evaluate("navigator.clipboard.readText()") == link
    assert browser.one("#done") == "Copied"
    # Where copying is refused, the link is shown to be copied by hand.
    browser.evaluate("navigator.clipboard.writeText = () => Promise.reject()")
    browser.evaluate("window.prompt = (words, text) => { window.asked = text; }")
    browser.one("#link", "{ e.disabled = false; }")
    browser.click("#link")
    browser.pause()
    assert browser.evaluate("window.asked") == link


def allow_copying(browser: Browser) -> None:
    browser.call("Page.bringToFront")
    browser.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])


def test_a_figure_has_a_menu_for_the_keyboard_and_the_pointer(browser: Browser, one: Path):
    browser.open(one, "#word=0110", width=390)
    sections = ("The automaton", "The network's tree", "The prototypes", "The Cayley table of the network")
    names = browser.all(".take > button", "e.getAttribute('aria-label')")
    assert names == [f"Take along: {title}" for title in (*sections, "The map of states", "Accuracy by length")]
    menus = ".take > div:not([hidden])"
    browser.focus(".tree .take button")
    assert browser.evaluate("getComputedStyle(document.activeElement).opacity") == "1"
    browser.key("Enter")
    assert browser.count(menus) == 1
    browser.key("Tab")
    assert has_focus(browser, ".tree .take div button")
    browser.key("Escape")
    assert browser.count(menus) == 0
    assert has_focus(browser, '.tree .take > button[aria-expanded="false"]')
    # With the pointer: it opens, stays in the window, and closes when something else is pressed.
    browser.one(".automaton .take", "void e.scrollIntoView({ block: 'center' })")
    x, y = browser.one(".take > button", "[e.getBoundingClientRect().x, e.getBoundingClientRect().y]")
    browser.mouse((x + 9, y + 9))
    assert browser.count(menus) == 1
    browser.assert_fits()
    assert browser.one(menus, "e.getBoundingClientRect().left") >= 0
    browser.mouse((5, y + 9))
    assert browser.count(menus) == 0


FIGURES = ["automaton", "tree", "prototypes", "cayley", "map", "accuracy"]


@pytest.mark.parametrize("name", [*FIGURES, ""])
def test_one_figure_alone(browser: Browser, one: Path, name: str):
    browser.look(390 if FIGURES.index(name or "tree") % 2 else 1280, 500)
    browser.open(one, f"?embed{'=' if name else ''}{name}#word=0110100&step=2&node=2.1")
    browser.pause()
    assert set(browser.evaluate(SEEN)) == {"table" if name == "cayley" else "svg"}
    assert browser.one(f"section.{name or 'tree'}", "e.checkVisibility()")
    browser.assert_fits()
    if name != "cayley":
        assert browser.evaluate("document.documentElement.scrollHeight") == 500
    # It lives: the word of the address is shown, and another one.
    assert browser.one(".node.chosen", "e.dataset.index") == "1"
    browser.evaluate("location.hash = '#word=01'")
    browser.pause()
    assert browser.count(".tree .node") == 1


def test_a_figure_that_is_not_there_is_named(browser: Browser, one: Path):
    browser.open(one, "?embed=clusters")
    said = f"There is no figure “clusters” on this page. There are: {', '.join(FIGURES)}."
    assert browser.one("[role=alert].no-figure") == said
    assert browser.one("h1", "e.checkVisibility({ visibilityProperty: true })")


def test_a_frame_is_copied_and_shows_the_figure_in_slides(browser: Browser, several: Path, tmp_path: Path):
    browser.open(several, "#word=0110100&step=3")
    allow_copying(browser)
    browser.click("[data-run='2'] .tree .take div button:nth-child(4)")
    browser.pause()
    frame = browser.evaluate("navigator.clipboard.readText()")
    address = "?embed=tree#run=2&word=0110100&step=3"
    assert html.unescape(re.findall('src="([^"]*)"', frame)[0]) == several.as_uri() + address
    width, height = (int(re.findall(f'{side}="([0-9]+)"', frame)[0]) for side in ("width", "height"))
    style = "<style>body { margin: 0 } iframe { border: 0 }</style>"
    (tmp_path / "slides.html").write_text(f"<!doctype html><title>Slides</title>{style}{frame}")
    browser.look(width, height)
    browser.open(tmp_path / "slides.html")
    within = shot(browser)
    browser.open(several, address)
    alone = shot(browser)
    assert alone.shape == within.shape
    assert alone.std() > 10
    assert np.abs(alone - within).mean() < 1
