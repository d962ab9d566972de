"""The gallery: each page is what its command makes today, from what is committed, and asks nothing of the network."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.gallery import GALLERY, INDEX, commands, index, make
from tests.regulargpt.browser import Browser, chromium, needs_browser

ROOT = GALLERY.parents[1]
INDEX_PAGE = GALLERY / f"{INDEX}.html"
PAGES = sorted(set(GALLERY.glob("*.html")) - {INDEX_PAGE})
AT_ONCE = ("parity", "symmetric-3")
MOST_BYTES = 3_000_000
DATA = re.compile(r'<script id="data" type="application/json">(.*?)</script>', re.DOTALL)
NUMBERS = ("numbers", "points")  # float32 in base64; they may differ from machine to machine in their last digits


def parts(text: str) -> tuple[str, Any]:
    """A page without its data, and its data."""
    found = DATA.search(text)
    assert found
    return text.replace(found[1], ""), json.loads(found[1])


def decoded(value: Any) -> tuple[Any, list[np.ndarray]]:
    """Data without its weights and points, and these as numbers."""
    numbers: list[np.ndarray] = []

    def of(value: Any) -> Any:
        if isinstance(value, list):
            if value and all(isinstance(one, float) for one in value):
                numbers.append(np.array(value))
                return len(value)
            return [of(one) for one in value]
        if not isinstance(value, dict):
            return value
        dense = [key for key in NUMBERS if isinstance(value.get(key), str)]
        numbers.extend(np.frombuffer(base64.b64decode(value[key]), "<f4") for key in dense)
        return {key: of(one) for key, one in value.items() if key not in dense}

    return of(value), numbers


def test_there_are_eight_pages_each_in_the_index_and_small_together():
    assert {path.stem for path in PAGES} == set(commands())
    assert len(PAGES) == 8
    assert sum(path.stat().st_size for path in [*PAGES, INDEX_PAGE]) < MOST_BYTES


def test_the_index_is_made_of_the_guides_and_leads_to_each_page():
    text = INDEX_PAGE.read_text("utf-8")
    assert text == index(), f"make it again with `python -m experiments.gallery {INDEX}`"
    assert re.findall(r'<a href="([^#"]+)"', text) == [f"{name}.html" for name in commands()]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in AT_ONCE else pytest.mark.slow) for name in commands()]
)
def test_a_page_can_be_made_again(name: str, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(ROOT)
    (text, data), (again, its_data) = (
        parts(path.read_text("utf-8")) for path in (GALLERY / f"{name}.html", make(name, tmp_path))
    )
    assert text == again, f"make it again with `python -m experiments.gallery {name}`"
    (data, numbers), (its_data, its_numbers) = decoded(data), decoded(its_data)
    assert data == its_data
    for ours, its in zip(numbers, its_numbers, strict=True):
        np.testing.assert_allclose(ours, its, rtol=0, atol=1e-4)


@pytest.mark.parametrize("path", [*PAGES, INDEX_PAGE], ids=lambda path: path.stem)
def test_a_page_names_no_address_and_no_folder(path: Path):
    text = path.read_text("utf-8")
    assert set(re.findall(r"https?://[^\"'\s)]+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.findall(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"(?!data:,)", text)
    assert not re.findall(r"@import|url\(|/tmp/|/home/", text)


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@needs_browser
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
@pytest.mark.parametrize("width", [1280, 390])
def test_a_page_opens_and_its_proof_comes_to_its_end(browser: Browser, path: Path, width: int):
    browser.look(width)
    browser.open(path)
    browser.evaluate(
        "[...document.querySelectorAll('#proof button')].find((b) => b.textContent === 'All cases').click()"
    )
    while not browser.evaluate("((e) => e.value === e.max)(document.querySelector('#proof progress'))"):
        browser.evaluate("new Promise((done) => setTimeout(done, 50))")
    count = browser.evaluate("document.querySelector('#proof .count').textContent")
    assert count.endswith("calculated without rounding, the network is right on every word.")
    assert browser.evaluate("document.documentElement.scrollWidth") == width
    assert browser.problems == []
    assert {request.split("#")[0] for request in browser.requests} <= {path.as_uri(), "data:,"}


@needs_browser
def test_the_index_opens_and_a_lesson_opens_from_it(browser: Browser):
    browser.look(390)
    browser.open(INDEX_PAGE)
    assert browser.evaluate("document.documentElement.scrollWidth") == 390
    assert browser.evaluate("document.querySelector('#lessons a').href") == (GALLERY / "parity.html").as_uri()
    assert browser.problems == []
