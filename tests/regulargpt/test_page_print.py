"""On paper a page is light, has nothing to click, and no figure is cut off."""

import base64
import re

import pytest

from tests.regulargpt.browser import Browser
from tests.regulargpt.pixels import CONTRAST, LUMINANCE

SHEET = 717  # A4 between its margins, in pixels of 1/96 inch
# What is drawn or tabled, seen, and reaches over the sheet or is scrolled away in something.
CUT = """[...document.querySelectorAll("main :is(svg, canvas, table, pre, .boxes, .printed)")].filter((e) => {
  if (!e.checkVisibility()) return false;
  const { left, right } = e.getBoundingClientRect();
  let around = e.parentElement;
  while (around && getComputedStyle(around).overflowX === "visible") around = around.parentElement;
  const hidden = around && around !== document.documentElement && around.clientWidth + 1 < around.scrollWidth;
  return left < 0 || right > innerWidth || hidden;
}).map((e) => e.outerHTML.slice(0, 80))"""
CONTROLS = """[...document.querySelectorAll("button, select, input:not(#word), .skip")]
  .filter((e) => e.checkVisibility()).map((e) => e.outerHTML)"""


@pytest.mark.parametrize(
    ("kind", "width"), [("table", 390), ("large", 1280), ("pixels", 390), ("texts", 1280), ("alignment", 390)]
)
def test_no_figure_is_cut_and_all_is_light(browser: Browser, page_of, kind: str, width: int):
    browser.open(*page_of(kind), width=width, dark=True)
    browser.evaluate("window.printings = 0; addEventListener('beforeprint', () => { window.printings += 1; })")
    figures = "main svg, main canvas, main .boxes"
    seen = browser.count(figures)
    printed = base64.b64decode(browser.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)["data"])
    assert printed.startswith(b"%PDF")
    assert len(re.findall(rb"/Type */Page\b", printed)) < 20
    assert browser.evaluate("window.printings") == 1
    # After that the page is as it was.
    assert browser.count(".printed, .too-wide") == 0
    assert browser.evaluate("document.documentElement.dataset.theme ?? 'system'") == "system"
    # The same, to be measured: the sheet is the window.
    browser.look(SHEET, 1060)
    scheme = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.call("Emulation.setEmulatedMedia", media="print", features=scheme)
    browser.evaluate("dispatchEvent(new Event('beforeprint'))")
    browser.pause()
    assert browser.evaluate(CUT) == browser.evaluate(CONTROLS) == []
    browser.assert_fits()
    assert browser.evaluate(f"({LUMINANCE})(document.body)") == 1
    # A number on a prototype or beside it lies on the prototype's colour, not on the paper.
    pale = [kind for kind, _ in browser.evaluate(f"({CONTRAST})()")]
    assert [kind for kind in pale if not kind.startswith(("text.count", "text.number"))] == []
    assert browser.count(figures) == seen
    assert browser.count(".printed") == (kind == "large") + 4 * (kind == "texts")
    if kind == "large":
        picture = "document.querySelector('.printed').shadowRoot.querySelector('svg')"
        assert browser.evaluate(f"{picture}.querySelectorAll('text').length") == 60 * 60 + 2 * 60
        # It is the light one, and its letters are where they were drawn, whatever the page says of an SVG's letters.
        assert browser.evaluate(f"{picture}.querySelector('rect').getAttribute('fill')") == "rgb(255, 255, 255)"
        assert browser.evaluate(f"getComputedStyle({picture}.querySelector('text')).textAnchor") == "start"
