"""A page of each kind fits a phone and a screen, asks for nothing, and breaks no rule of axe-core's, light or dark."""

import pytest

from tests.regulargpt.axe import LOOKS, contrasts, load, violations
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


@pytest.mark.parametrize("kind", ["table", "alignment"])
def test_one_of_each_look_has_every_contrast_that_there_is(browser: Browser, page_of, kind: str):
    """Also where one element between two others of its look has another colour."""
    browser.open(*page_of(kind), width=390)
    browser.all("details", "{ e.open = true; }")
    browser.evaluate(
        "((cells) => { cells[cells.length >> 1].style.color = '#ccc'; })([...document.querySelectorAll('td')]"
        ".filter((e) => e.textContent))"
    )
    load(browser)
    every = contrasts(browser)
    browser.evaluate(LOOKS)
    some = contrasts(browser)
    assert set(some) == set(every)
    assert 20 < len(some) < len(every)
    assert any(one.startswith("#cccccc") for one in some)


def test_the_first_paint_of_a_page_is_measured(browser: Browser, page_of):
    page, _ = page_of("table")
    assert min(painted(browser, page)) > 0
