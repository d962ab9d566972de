"""Every figure as a file: the SVG needs nothing beside itself, and drawn alone both look as on the page."""

from __future__ import annotations

import re
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from regulargpt.classroom.page import write
from tests.regulargpt.browser import SECONDS, Browser, needs_browser
from tests.regulargpt.certified import believed
from tests.regulargpt.pixels import decoded, difference, settle, shot
from tests.regulargpt.test_alignment_page import place as alignments
from tests.regulargpt.test_report import made
from tests.regulargpt.test_text_report import page as on_texts
from tests.regulargpt.test_text_report import place

__all__ = ["alignments", "on_texts", "place"]  # pages that other files make, too
pytestmark = needs_browser
SVG = "{http://www.w3.org/2000/svg}"
FIGURES = ("automaton", "tree", "prototypes", "cayley", "map", "accuracy")
SIZE = (96, 64)  # to which pictures are brought before they are compared: letters are a shade then
ALIKE = 0.25  # of what is drawn


@pytest.fixture(scope="module")
def pages(tmp_path_factory, on_texts: Path, alignments: Path) -> dict[str, tuple[Path, str]]:
    """A page of each kind, with its address."""
    path = tmp_path_factory.mktemp("pages")
    made(path / "small", "cycle-navigation", 2, False)
    made(path / "large", "alternating-5", 2, False)
    made(path / "pixels", "symmetric-5", 2, False)
    write([believed(path / "small"), believed(path / "large")], path / "several.html")
    return {
        "table": (path / "small" / "report.html", "#word=0110&step=2&node=2.0"),
        "large": (path / "large" / "report.html", ""),
        "pixels": (path / "pixels" / "report.html", "#word=cece"),
        "texts": (on_texts, ""),
        "alignment": (alignments / "retrieval" / "align" / "align.html", "#temperature=0.2"),
    }


def downloaded(browser: Browser, folder: Path, index: int, choice: int) -> Path:
    """The file that a figure's menu saves."""
    folder = folder / f"{index} {choice}"
    folder.mkdir(parents=True)
    browser.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    time.sleep(0.12)  # Chromium drops without a word what a page saves after ten files in a second
    browser.evaluate(f"document.querySelectorAll('.take > div')[{index}].children[{choice}].click()")
    until = time.monotonic() + SECONDS
    while not (found := [path for path in folder.iterdir() if path.suffix in (".svg", ".png")]):
        assert time.monotonic() < until, (browser.problems, list(folder.iterdir()))
        time.sleep(0.02)
    return found[0]


# Pictures are compared with the whole of what is drawn: nothing of it scrolled away.
UNFOLD = """document.querySelectorAll(".scroll").forEach((e) => {
  Object.assign(e.style, { maxHeight: "none", overflow: "visible" });
})"""


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
@pytest.mark.parametrize("kind", ["table", "pixels", "texts", "alignment"])
def test_every_figure_is_saved_as_it_is_seen(
    browser: Browser, pages: dict[str, tuple[Path, str]], tmp_path: Path, kind: str, width: int, dark: bool
):
    page, address = pages[kind]
    browser.look(width, dark=dark)
    browser.open(page, address)
    browser.evaluate(UNFOLD)
    settle(browser)
    count = browser.evaluate("figures.all.length")
    assert count == {"table": 6, "pixels": 6, "texts": 11, "alignment": 2}[kind]
    seen, files, images = [], [], []
    for i in range(count):
        seen.append(shot(browser, f"figures.all[{i}].drawing", SIZE))
        files.append(downloaded(browser, tmp_path, i, 0))
        images.append(downloaded(browser, tmp_path, i, 1))
    assert browser.problems == []
    for page_shot, file, image in zip(seen, files, images, strict=True):
        root = assert_alone(file)
        drawn_twice = decoded(image.read_bytes(), SIZE)
        assert difference(page_shot, drawn_twice) < ALIKE, file.name
        side = [round(float(root.attrib[name])) for name in ("width", "height")]
        with Image.open(image) as found:
            assert found.size == pytest.approx([2 * s for s in side], abs=2)
        browser.look(*side)
        browser.open(file)
        assert difference(page_shot, shot(browser, "document.documentElement", SIZE)) < ALIKE
        assert [request for request in browser.requests if not request.startswith("data:")] == [file.as_uri()]


def assert_alone(file: Path) -> ElementTree.Element:
    """The SVG in a file, which parses and refers to nothing else."""
    text = file.read_text()
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= DRAWN
    assert re.findall(r"https?://[^\"'\s)]+", text) == ["http://www.w3.org/2000/svg"]
    assert "url(" not in text
    assert "var(" not in text
    # Nothing of the page's styles and scripts; links are data.
    for element in root.iter():
        assert not {"class", "style", "tabindex", "role", "aria-label"} & set(element.attrib)
        assert element.get("href", "data:").startswith("data:")
    above = {child: parent for parent in root.iter() for child in parent}
    for letters in root.iter(f"{SVG}text"):
        line = letters
        while "font-family" not in line.attrib:
            line = above[line]
        assert line.get("font-family", "").endswith(("sans-serif", "monospace"))
    return root


DRAWN = {
    "svg",
    "g",
    "title",
    "rect",
    "circle",
    "ellipse",
    "line",
    "polyline",
    "polygon",
    "path",
    "text",
    "tspan",
    "image",
}


def test_a_table_that_is_scrolled_is_saved_whole(browser: Browser, pages: dict[str, tuple[Path, str]], tmp_path: Path):
    page, address = pages["large"]
    browser.look(700)
    browser.open(page, address)
    index = FIGURES.index("cayley")
    browser.evaluate("document.querySelector('.cayley .picture').scrollTo(200, 300)")
    settle(browser)
    root = assert_alone(downloaded(browser, tmp_path, index, 0))
    assert browser.evaluate("document.querySelector('.cayley .picture').scrollTop") == 300
    cells = browser.evaluate(
        "[...document.querySelectorAll('table.products :is(td, th)')].map((e) => e.textContent).filter((e) => e)"
    )
    assert len(cells) == 60 * 60 + 2 * 60
    assert sorted(text.text or "" for text in root.iter(f"{SVG}text")) == sorted(cells)
    # What sticks to the edges is where it belongs: nothing lies on a cell.
    heads = [text for text in root.iter(f"{SVG}text") if "rotate" in text.get("transform", "")]
    assert len(heads) == 60
    assert all(float(re.findall(r" ([\d.]+)\)", head.attrib["transform"])[0]) < 60 for head in heads)


@pytest.mark.parametrize("word", ["", "<b>", "0110", "0" * 25])
def test_a_file_is_named_for_run_figure_and_word(
    browser: Browser, pages: dict[str, tuple[Path, str]], tmp_path: Path, word: str
):
    page, _ = pages["table"]
    browser.open(page, f"#word={word}")
    name = {"<b>": "-b", "0110": "-0110"}.get(word, "")
    file = downloaded(browser, tmp_path, 0, 0)
    assert file.name == f"cycle-navigation-automaton{name}.svg"
    assert_alone(file)
