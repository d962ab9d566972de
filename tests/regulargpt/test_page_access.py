"""A page of each kind fits a phone and a screen, asks for nothing, and breaks no rule of axe-core's, light or dark."""

import pytest

from tests.regulargpt.axe import violations
from tests.regulargpt.browser import Browser
from tests.regulargpt.first_paint import painted

KINDS = (
    "table",
    "spoilt",
    "several",
    "pixels",
    "texts",
    "alignment",
    "strange",
    "embedded",
    "lesson",
    "brackets",
    "brackets' lesson",
)


@pytest.mark.parametrize("kind", KINDS)
def test_no_rule_is_broken(browser: Browser, page_of, kind: str):
    page, address = page_of(kind)
    for width, dark in ((390, kind in KINDS[::2]), (1280, kind not in KINDS[::2])):
        browser.open(page, address, width=width, dark=dark)
        browser.assert_fits()
        assert len(ids := browser.all("[id]", "e.id")) == len(set(ids))
        browser.all("details", "{ e.open = true; }")
        browser.evaluate("document.querySelector('.take > button')?.click()")
        browser.pause()
        assert violations(browser) == []
        browser.assert_silent()


def test_a_broken_rule_would_be_found(browser: Browser, page_of):
    browser.open(*page_of("table"))
    browser.one("#random", "{ e.textContent = ''; }")
    browser.one(".identity", "{ e.style.color = '#cccccc'; }")
    assert {rule for rule, _, _ in violations(browser)} == {"button-name", "color-contrast"}


def test_the_first_paint_of_a_page_is_measured(browser: Browser, page_of):
    page, _ = page_of("table")
    assert min(painted(browser, page)) > 0
