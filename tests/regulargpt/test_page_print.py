"""On paper a page is light, has nothing to click, and no figure is cut off."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest

from tests.regulargpt.browser import Browser, needs_browser
from tests.regulargpt.pixels import settle
from tests.regulargpt.test_alignment_page import place as alignments
from tests.regulargpt.test_page_export import pages
from tests.regulargpt.test_report import LUMINANCE
from tests.regulargpt.test_text_report import CONTRAST, place
from tests.regulargpt.test_text_report import page as on_texts

__all__ = ["alignments", "on_texts", "pages", "place"]  # pages that other files make, too
pytestmark = needs_browser
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


def on_paper(browser: Browser, is_dark: bool = True) -> None:
    scheme = [{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}]
    browser.call("Emulation.setEmulatedMedia", media="print", features=scheme)
    browser.evaluate("dispatchEvent(new Event('beforeprint'))")
    settle(browser)


@pytest.mark.parametrize("kind", ["table", "large", "pixels", "texts", "alignment"])
@pytest.mark.parametrize("width", [390, 1280])
def test_no_figure_is_cut_and_all_is_light(browser: Browser, pages: dict[str, tuple[Path, str]], kind: str, width: int):
    page, address = pages[kind]
    browser.look(width, dark=True)
    browser.open(page, address)
    browser.evaluate("window.printings = 0; addEventListener('beforeprint', () => { window.printings += 1; })")
    seen = browser.evaluate("document.querySelectorAll('main svg, main canvas, main .boxes').length")
    printed = base64.b64decode(browser.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)["data"])
    assert printed.startswith(b"%PDF")
    assert len(re.findall(rb"/Type */Page\b", printed)) < 20
    assert browser.evaluate("window.printings") == 1
    # After that the page is as it was.
    assert browser.evaluate("document.querySelectorAll('.printed, .too-wide').length") == 0
    assert browser.evaluate("document.documentElement.dataset.theme ?? 'system'") == "system"
    # The same, to be measured: the sheet is the window.
    browser.look(SHEET, 1060, dark=True)
    on_paper(browser)
    assert browser.evaluate(CUT) == []
    assert browser.evaluate("document.documentElement.scrollWidth") == SHEET
    assert browser.evaluate(CONTROLS) == []
    assert browser.evaluate(f"({LUMINANCE})(document.body)") == 1
    # A number on a prototype or beside it lies on the prototype's colour, not on the paper.
    assert [
        found for found in browser.evaluate(f"({CONTRAST})()") if not found[0].startswith(("text.count", "text.number"))
    ] == []
    assert browser.evaluate("document.querySelectorAll('main svg, main canvas, main .boxes').length") == seen
    assert browser.evaluate("document.querySelectorAll('.printed').length") == (kind == "large") + 4 * (kind == "texts")
    if kind == "large":
        picture = "document.querySelector('.printed').shadowRoot.querySelector('svg')"
        assert browser.evaluate(f"{picture}.querySelectorAll('text').length") == 60 * 60 + 2 * 60
        # It is the light one, and its letters are where they were drawn, whatever the page says of an SVG's letters.
        assert browser.evaluate(f"{picture}.querySelector('rect').getAttribute('fill')") == "rgb(255, 255, 255)"
        assert browser.evaluate(f"getComputedStyle({picture}.querySelector('text')).textAnchor") == "start"
    browser.evaluate("dispatchEvent(new Event('afterprint'))")
    browser.call("Emulation.setEmulatedMedia", media="", features=[])
    assert browser.problems == []
