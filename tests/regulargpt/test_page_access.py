"""A page of each kind fits a phone and a screen, asks for nothing, and breaks no rule of axe-core's, light or dark."""

from __future__ import annotations

from pathlib import Path

import pytest

from regulargpt.classroom.page import write
from tests.regulargpt.axe import violations
from tests.regulargpt.browser import Browser, needs_browser
from tests.regulargpt.certified import believed, folder
from tests.regulargpt.first_paint import painted
from tests.regulargpt.pixels import settle
from tests.regulargpt.test_alignment_page import place as alignments
from tests.regulargpt.test_lesson_page import lesson, written
from tests.regulargpt.test_page_export import pages
from tests.regulargpt.test_report import made
from tests.regulargpt.test_text_report import page as on_texts
from tests.regulargpt.test_text_report import place

__all__ = ["alignments", "lesson", "on_texts", "pages", "place", "written"]  # pages that other files make, too
pytestmark = needs_browser
KINDS = ("table", "spoilt", "several", "pixels", "texts", "text", "alignment", "strange", "embedded", "lesson")
# Names that two elements have.
TWICE = "[...document.querySelectorAll('[id]')].map((e) => e.id).filter((id, i, all) => all.indexOf(id) !== i)"


@pytest.fixture(scope="module")
def every(
    tmp_path_factory, pages: dict[str, tuple[Path, str]], alignments: Path, written: Path
) -> dict[str, tuple[Path, str]]:
    """A page of each kind, with its address."""
    path = tmp_path_factory.mktemp("every")
    made(path / "spoilt", "tomita-3", 2, True)
    folder(path / "rnn", "parity", model="rnn")
    folder(path / "tree", "parity", 3)
    write([believed(path / name) for name in ("rnn", "tree", "spoilt")], path / "several.html")
    texts, _ = pages["texts"]
    return pages | {
        "spoilt": (path / "spoilt" / "report.html", "#word=0110100&view=tree&node=2.1"),
        "several": (path / "several.html", "#word=" + "0110" * 30),
        "text": (texts.parent / "alone.html", ""),
        "strange": (alignments / "strange" / "align" / "align.html", ""),
        "lesson": (written, ""),
        "embedded": (path / "spoilt" / "report.html", "?embed=tree#word=0110100"),
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("width", "dark"), [(390, False), (390, True), (1280, False), (1280, True)])
def test_no_rule_is_broken(browser: Browser, every: dict[str, tuple[Path, str]], kind: str, width: int, dark: bool):
    page, address = every[kind]
    browser.look(width, dark=dark)
    browser.open(page, address)
    assert browser.evaluate("document.documentElement.scrollWidth") == width
    assert browser.evaluate(TWICE) == []
    assert {request.split("#")[0].split("?")[0] for request in browser.requests} <= {page.as_uri(), "data:,"}
    browser.evaluate("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    browser.evaluate("document.querySelector('.take > button')?.click()")
    settle(browser)
    assert violations(browser) == []
    assert browser.problems == []


def test_a_broken_rule_would_be_found(browser: Browser, every: dict[str, tuple[Path, str]]):
    page, address = every["table"]
    browser.look(1280)
    browser.open(page, address)
    browser.evaluate("document.querySelector('#random').textContent = ''")
    browser.evaluate("document.querySelector('.identity').style.color = '#cccccc'")
    assert {rule for rule, _, _ in violations(browser)} == {"button-name", "color-contrast"}


def test_the_first_paint_of_a_page_is_measured(browser: Browser, every: dict[str, tuple[Path, str]]):
    page, _ = every["table"]
    first, ready = painted(browser, page)
    assert first > 0
    assert ready > 0
    assert browser.problems == []
