"""Every figure as a file: the SVG needs nothing beside itself, and drawn alone both look as on the page."""

from __future__ import annotations

import re
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from tests.regulargpt.browser import Browser
from tests.regulargpt.pixels import decoded, difference, shot

SVG = "{http://www.w3.org/2000/svg}"
FIGURES = ("automaton", "tree", "prototypes", "cayley", "map", "accuracy")
SIZE = (96, 64)  # to which pictures are brought before they are compared: letters are a shade then
ALIKE = 0.25  # of what is drawn


def downloaded(browser: Browser, folder: Path, index: int, choice: int) -> Path:
    """The file that a figure's menu saves."""
    folder = folder / f"{index} {choice}"
    folder.mkdir(parents=True)
    browser.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    time.sleep(0.12)  # Chromium drops without a word what a page saves after ten files in a second
    browser.evaluate(f"document.querySelectorAll('.take > div')[{index}].children[{choice}].click()")
    found: list[Path] = []
    while not found:
        browser.pause(20)
        found = [path for path in folder.iterdir() if path.suffix in (".svg", ".png")]
    return found[0]


# Pictures are compared with the whole of what is drawn: nothing of it scrolled away.
UNFOLD = """document.querySelectorAll(".scroll").forEach((e) => {
  Object.assign(e.style, { maxHeight: "none", overflow: "visible" });
})"""


@pytest.mark.parametrize(
    ("kind", "count", "width"), [("table", 6, 1280), ("pixels", 6, 390), ("texts", 11, 390), ("alignment", 2, 1280)]
)
def test_every_figure_is_saved_as_it_is_seen(
    browser: Browser, page_of, tmp_path: Path, kind: str, count: int, width: int
):
    browser.open(*page_of(kind), width=width, dark=width == 390)
    browser.evaluate(UNFOLD)
    browser.pause()
    assert browser.evaluate("figures.all.length") == count
    seen, files, images = [], [], []
    for i in range(count):
        seen.append(shot(browser, f"figures.all[{i}].drawing", SIZE))
        files.append(downloaded(browser, tmp_path, i, 0))
        images.append(downloaded(browser, tmp_path, i, 1))
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
        browser.assert_silent()


def assert_alone(file: Path) -> ElementTree.Element:
    """The SVG in a file, which parses and refers to nothing else."""
    text = file.read_text()
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= SHAPES | {"svg", "g", "title", "text", "tspan"}
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


SHAPES = {"rect", "circle", "ellipse", "line", "polyline", "polygon", "path", "image"}


def test_a_table_that_is_scrolled_is_saved_whole(browser: Browser, page_of, tmp_path: Path):
    browser.open(*page_of("large"), width=700)
    index = FIGURES.index("cayley")
    browser.one(".cayley .picture", "void e.scrollTo(200, 300)")
    browser.pause()
    root = assert_alone(downloaded(browser, tmp_path, index, 0))
    assert browser.one(".cayley .picture", "e.scrollTop") == 300
    cells = [text for text in browser.all("table.products :is(td, th)") if text]
    assert len(cells) == 60 * 60 + 2 * 60
    assert sorted(text.text or "" for text in root.iter(f"{SVG}text")) == sorted(cells)
    # What sticks to the edges is where it belongs: nothing lies on a cell.
    heads = [text for text in root.iter(f"{SVG}text") if "rotate" in text.get("transform", "")]
    assert len(heads) == 60
    assert all(float(re.findall(r" ([\d.]+)\)", head.attrib["transform"])[0]) < 60 for head in heads)


@pytest.mark.parametrize(("word", "name"), [("", ""), ("<b>", "-b"), ("0110", "-0110"), ("0" * 25, "")])
def test_a_file_is_named_for_run_figure_and_word(browser: Browser, page_of, tmp_path: Path, word: str, name: str):
    browser.open(page_of("table")[0], f"#word={word}")
    file = downloaded(browser, tmp_path, 0, 0)
    assert file.name == f"cycle-navigation-automaton{name}.svg"
    assert_alone(file)
