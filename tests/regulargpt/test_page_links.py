"""What an address of a page keeps, what is copied from a page, and one figure alone for slides, in a real browser."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import numpy as np
import pytest

from regulargpt.classroom.page import write
from tests.regulargpt.browser import Browser, needs_browser
from tests.regulargpt.certified import believed, folder
from tests.regulargpt.pixels import settle, shot
from tests.regulargpt.test_report import assert_silent, made

pytestmark = needs_browser
WIDTHS = pytest.mark.parametrize("width", [390, 1280])
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


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A page of one run, and one of three."""
    path = tmp_path_factory.mktemp("runs")
    made(path / "one", "tomita-3", 2, False)
    made(path / "two", "cycle-navigation", 2, False)
    folder(path / "rnn", "parity", model="rnn")
    write([believed(path / name) for name in ("one", "rnn", "two")], path / "several.html")
    return path


def one(place: Path) -> Path:
    return place / "one" / "report.html"


def press(browser: Browser, selector: str) -> None:
    browser.evaluate(f"document.querySelector({json.dumps(selector)}).click()")


def has_focus(browser: Browser, selector: str) -> bool:
    return browser.evaluate(f"document.activeElement.matches({json.dumps(selector)})")


@WIDTHS
def test_an_address_opens_what_was_shown(browser: Browser, place: Path, width: int):
    browser.look(width)
    browser.open(one(place), "#word=0110100")
    browser.evaluate("byId('step').focus()")
    for _ in range(4):
        browser.key("ArrowLeft")
    assert browser.evaluate("location.hash") == "#word=0110100&step=3"
    browser.evaluate("document.querySelector('.tree .node').focus()")
    for key in ("ArrowDown", "ArrowRight"):
        browser.key(key)
    address, shown = browser.evaluate("location.hash"), browser.evaluate(STATE)
    assert address == "#view=tree&word=0110100&step=3&node=2.1"
    assert (shown["path"], shown["read"]) == ("3", "3 of 7 symbols")
    assert (shown["nodes"][0]["level"], shown["nodes"][0]["index"]) == ("2", "1")
    browser.open(one(place), address)
    settle(browser)
    assert browser.evaluate(STATE) == shown
    assert browser.evaluate("location.hash") == address
    top = browser.evaluate("document.querySelector('section.tree').getBoundingClientRect().top")
    assert -1 < top < 200
    # The focus stays where a reader begins.
    assert has_focus(browser, "body")
    assert_silent(browser, one(place))


def test_an_address_names_a_folded_node_and_one_of_several_runs(browser: Browser, place: Path):
    browser.look(390)
    browser.open(place / "several.html", "#run=2&view=tree&word=" + "01" * 60 + "&node=1.44")
    settle(browser)
    (node,) = browser.evaluate(STATE)["nodes"]
    assert (node["level"], node["index"]) == ("1", "44")
    assert browser.evaluate("document.querySelector('.node.chosen').closest('[data-run]').dataset.run") == "2"
    assert -1 < browser.evaluate("document.querySelector('[data-run=\"2\"] .tree').getBoundingClientRect().top") < 200
    browser.evaluate("document.querySelector('[data-run=\"2\"] .node.chosen').focus()")
    browser.key("ArrowUp")
    assert re.fullmatch("#run=2&view=tree&word=(01)+&node=2.22", browser.evaluate("location.hash"))
    # It is still chosen when the window has another width.
    browser.look(700)
    settle(browser)
    assert [(found["level"], found["index"]) for found in browser.evaluate(STATE)["nodes"]] == [("2", "22")]
    assert_silent(browser, place / "several.html")


@pytest.mark.parametrize(
    "address",
    ["#word=%E0%A4%A&step=x", "#word=01&step=99&node=9.9&view=none&run=7", "#word==&node=..", "#view", "#&&="],
)
def test_a_wrong_address_is_no_error(browser: Browser, place: Path, address: str):
    browser.open(one(place), address)
    settle(browser)
    assert browser.evaluate("document.querySelectorAll('section.tree').length") == 1
    assert_silent(browser, one(place))


@WIDTHS
def test_back_and_forward_lead_through_the_words(browser: Browser, place: Path, width: int):
    browser.look(width)
    browser.open(one(place), "#word=1")
    began = browser.evaluate("history.length")
    press(browser, '[data-repeat="0"]')
    browser.evaluate("byId('word').focus()")
    for symbol in "101":
        browser.write(symbol)
    press(browser, "#clear")
    press(browser, ".wrong-words button")
    wrong = browser.evaluate("byId('word').value")
    words = ["1", "0" * 12, "0" * 12 + "101", "", wrong]
    assert browser.evaluate("history.length") == began + 4
    for expected in [*words[-2::-1], *words[1:]]:
        goes_on = expected == wrong or browser.evaluate("window.turned ?? false")
        browser.evaluate(f"history.{'forward' if goes_on else 'back'}()")
        settle(browser)
        assert browser.evaluate("byId('word').value") == expected
        if expected == "1":
            browser.evaluate("window.turned = true")
    assert_silent(browser, one(place))


@WIDTHS
def test_the_link_is_copied(browser: Browser, place: Path, width: int):
    browser.look(width)
    browser.open(one(place), "#word=0110&step=2")
    allow_copying(browser)
    press(browser, "#link")
    settle(browser)
    assert browser.evaluate("navigator.clipboard.readText()") == one(place).as_uri() + "#word=0110&step=2"
    assert browser.evaluate("byId('done').textContent") == "Copied"
    # Where copying is refused, the link is shown to be copied by hand.
    browser.evaluate("navigator.clipboard.writeText = () => Promise.reject()")
    browser.evaluate("window.prompt = (words, text) => { window.asked = text; }")
    browser.evaluate("byId('link').disabled = false")
    press(browser, "#link")
    settle(browser)
    assert browser.evaluate("window.asked") == one(place).as_uri() + "#word=0110&step=2"
    assert_silent(browser, one(place))


def allow_copying(browser: Browser) -> None:
    browser.call("Page.bringToFront")
    rights = ["clipboardReadWrite", "clipboardSanitizedWrite"]
    browser.call("Browser.grantPermissions", permissions=rights)


@WIDTHS
def test_a_figure_has_a_menu_for_the_keyboard_and_the_pointer(browser: Browser, place: Path, width: int):
    browser.look(width)
    browser.open(one(place), "#word=0110")
    signs = "[...document.querySelectorAll('.take > button')]"
    names = browser.evaluate(f"{signs}.map((e) => e.getAttribute('aria-label'))")
    titles = (
        "The automaton",
        "The network's tree",
        "The prototypes",
        "The Cayley table of the network",
        "The map of states",
    )
    assert names == [f"Take along: {title}" for title in (*titles, "Accuracy by length")]
    open_menus = "document.querySelectorAll('.take > div:not([hidden])').length"
    browser.evaluate("document.querySelector('.tree .take button').focus()")
    assert browser.evaluate("getComputedStyle(document.activeElement).opacity") == "1"
    browser.key("Enter")
    assert browser.evaluate(open_menus) == 1
    browser.key("Tab")
    assert has_focus(browser, ".tree .take div button")
    browser.key("Escape")
    assert browser.evaluate(open_menus) == 0
    assert has_focus(browser, '.tree .take > button[aria-expanded="false"]')
    # With the pointer: it opens, stays in the window, and closes when something else is pressed.
    browser.evaluate("document.querySelector('.automaton .take').scrollIntoView({ block: 'center' })")
    where = browser.evaluate(f"(({{ x, y }}) => [x, y])({signs}[0].getBoundingClientRect())")
    click(browser, where[0] + 9, where[1] + 9)
    assert browser.evaluate(open_menus) == 1
    assert browser.evaluate("document.documentElement.scrollWidth") == width
    left = browser.evaluate("document.querySelector('.take > div:not([hidden])').getBoundingClientRect().left")
    assert left >= 0
    click(browser, 5, where[1] + 9)
    assert browser.evaluate(open_menus) == 0
    assert_silent(browser, one(place))


def click(browser: Browser, x: float, y: float) -> None:
    for kind in ("mousePressed", "mouseReleased"):
        browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


FIGURES = ["automaton", "tree", "prototypes", "cayley", "map", "accuracy"]


@WIDTHS
@pytest.mark.parametrize("name", [*FIGURES, ""])
def test_one_figure_alone(browser: Browser, place: Path, width: int, name: str):
    browser.look(width, 500)
    browser.open(one(place), f"?embed{'=' if name else ''}{name}#word=0110100&step=2&node=2.1")
    settle(browser)
    assert set(browser.evaluate(SEEN)) == {"table" if name == "cayley" else "svg"}
    assert browser.evaluate(f"document.querySelector('section.{name or 'tree'}').checkVisibility()")
    assert browser.evaluate("document.documentElement.scrollWidth") == width
    if name != "cayley":
        assert browser.evaluate("document.documentElement.scrollHeight") == 500
    # It lives: the word of the address is shown, and another one.
    assert browser.evaluate("document.querySelector('.node.chosen').dataset.index") == "1"
    browser.evaluate("location.hash = '#word=01'")
    settle(browser)
    assert browser.evaluate("document.querySelectorAll('.tree .node').length") == 1
    assert_silent_in(browser, one(place))


def assert_silent_in(browser: Browser, path: Path) -> None:
    assert browser.problems == []
    assert {re.split(r"[?#]", request)[0] for request in browser.requests} <= {path.as_uri(), "data:,"}


def test_a_figure_that_is_not_there_is_named(browser: Browser, place: Path):
    browser.open(one(place), "?embed=clusters")
    said = browser.evaluate("document.querySelector('[role=alert].no-figure').textContent")
    assert said == f"There is no figure “clusters” on this page. There are: {', '.join(FIGURES)}."
    assert browser.evaluate("document.querySelector('h1').checkVisibility({ visibilityProperty: true })")


def test_a_frame_is_copied_and_shows_the_figure_in_slides(browser: Browser, place: Path):
    browser.look(1280)
    browser.open(place / "several.html", "#word=0110100&step=3")
    allow_copying(browser)
    browser.evaluate("document.querySelector('[data-run=\"2\"] .tree .take div button:nth-child(4)').click()")
    settle(browser)
    frame = browser.evaluate("navigator.clipboard.readText()")
    source = (place / "several.html").as_uri() + "?embed=tree#run=2&word=0110100&step=3"
    assert html.unescape(re.findall('src="([^"]*)"', frame)[0]) == source
    width, height = (int(re.findall(f'{side}="([0-9]+)"', frame)[0]) for side in ("width", "height"))
    slides = place / "slides.html"
    style = "<style>body { margin: 0 } iframe { border: 0 }</style>"
    slides.write_text(f"<!doctype html><title>Slides</title>{style}{frame}")
    browser.look(width, height)
    browser.open(slides)
    within = shot(browser)
    browser.open(place / "several.html", "?embed=tree#run=2&word=0110100&step=3")
    alone = shot(browser)
    assert alone.shape == within.shape
    assert alone.std() > 10
    assert np.abs(alone - within).mean() < 1
    assert browser.problems == []
