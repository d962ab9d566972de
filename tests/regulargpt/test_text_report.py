"""The page of runs on texts, in a real browser: what it says is what the run says, whatever the text holds."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from languages.printable import characters
from regulargpt.classroom.data import gather
from regulargpt.classroom.page import render, write
from regulargpt.classroom.text import TextRun
from regulargpt.classroom.text_page import LEVELS, level
from regulargpt.evaluation import segments
from regulargpt.runs import run as running
from regulargpt.storage.folder import RunFolder
from tests.regulargpt.browser import Browser, needs_browser
from tests.regulargpt.certified import folder as of_words
from tests.regulargpt.small import config

EVIL = b"</script><!-- \xff\x00\x1b[2J \xe2\x80\xae\xc3\xa9 <b>&amp;\t'\"\n"
ENCODINGS = ("alibi", "rotary", "t5", "kerple_log")


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A run for each encoding, of a text with all that a page could trip over; one of a window."""
    path = tmp_path_factory.mktemp("texts")
    random = np.random.default_rng(0)
    words = [b"alpha ", b"beta ", b"gamma\n", EVIL]
    (path / "evil.txt").write_bytes(b"".join(words[i] for i in random.integers(4, size=3000)))
    for encoding in ENCODINGS:
        begin(path, encoding, encoding)
    begin(path, "window", "alibi", evaluation__attention="sliding:4")
    return path


def begin(path: Path, name: str, encoding: str, **changes) -> None:
    kept = {"evaluation__attention": "full", "model__encoding__name": encoding, "model__dropout": 0.0}
    kept |= {"data__name": f"text:{path / 'evil.txt'}", "evaluation__test_len": 64, "training__steps": 20}
    running.run(config("text", **kept | changes), path / name)


@pytest.fixture(scope="module")
def page(place: Path) -> Path:
    write([gather(place / name) for name in ("alibi", "rotary", "t5")], place / "page.html")
    write([gather(place / "alibi")], place / "alone.html")
    return place / "page.html"


def on(path: Path) -> TextRun:
    found = gather(path)
    assert isinstance(found, TextRun)
    return found


@pytest.mark.parametrize("name", [*ENCODINGS, "window"])
def test_what_the_page_says_is_what_the_run_says(place: Path, name: str):
    run, text = on(place / name), render([gather(place / name)])
    summary = run.summary
    assert run.behaviour is not None
    for T, value in summary["measures"]["bits_per_byte"]["values"].items():
        assert f"<td>{value:.3f}</td>" in text
        assert f'<th scope="row">{int(T):,}</th>' in text or f" {int(T):,}</th>" in text
    # The sentence is never without what it rests on.
    (badge,) = re.findall(r'<p class="badge [a-z]+">.*?</p>', text)
    seen = ", attention sliding:4" if name == "window" else ""
    grounds = (
        f"Protocol last_k: the last 8 symbols of each segment{seen}; {summary['symbols_trained']:,} symbols trained"
    )
    assert summary["extrapolation"]["sentence"] in badge
    assert "does not compute" not in text
    assert grounds in badge
    assert f"{100 * run.behaviour.share:.1f} % of the gradient inside the training length" in badge
    # 16 segments of 8 times the training length, on the share of the last 8.
    c = run.behaviour.field.values["c"]
    assert len(c) == 64
    assert run.behaviour.share == pytest.approx(c[7])
    if name == "window":
        assert c[2 * 3] == pytest.approx(1.0)  # two layers of four keys see 7 symbols
    has_bias = name != "rotary"
    assert ("The bias of each head" in text) == has_bias == (run.kernels is not None)
    if name in ("alibi", "window"):
        assert run.kernels is not None
        heads = np.array(run.kernels.values["layers"][0]["bias"]["after"])
        np.testing.assert_allclose(heads, -np.arange(65) * np.array([[2.0**-4], [2.0**-8]]), rtol=1e-5)


def test_the_surprise_of_the_passage_is_the_loss_of_the_model(place: Path):
    run = on(place / "alibi")
    assert run.behaviour is not None
    passage = run.behaviour.passage
    assert passage[0].bits is None
    bits = [found.bits for found in passage if found.bits is not None]
    assert math.isclose(sum(found.at for found in passage[:2]), passage[1].at)
    # An independent sum: the mean of single segments is what segments.csv holds of the same segment at full length.
    whole = segments.read(RunFolder.open(place / "alibi"))[64][0] / math.log(2)
    assert sum(bits[-1:]) > 0
    symbols = len(b"".join(raw(found.text) for found in passage))
    assert symbols == 65
    last = [found.bits for found in passage if found.bits is not None and found.at >= 65 - 32]
    assert sum(last) / 32 == pytest.approx(whole, rel=0.2)  # a character may begin before the 32 last symbols


def raw(text: str) -> bytes:
    """The bytes of a character that is shown."""
    found = re.fullmatch(r"\\x([0-9a-f]{2})|\\u([0-9a-f]{4})", text)
    if found is None:
        return {"\\r": b"\r"}.get(text, text.encode())
    return bytes.fromhex(found[1]) if found[1] else chr(int(found[2], 16)).encode()


@pytest.mark.parametrize("data", [EVIL * 3, b"\xe2\x80", b"", "日本é\U0001f600".encode(), bytes(range(256))])
def test_characters_are_the_bytes_in_order(data: bytes):
    found = list(characters(data))
    assert sum(count for _, count in found) == len(data)
    assert b"".join(raw(text) for text, _ in found) == data
    assert all(text.isprintable() or text in "\n\t" for text, _ in found)


def test_continuations_begin_with_test_segments_and_are_as_long_as_what_follows(place: Path):
    run = on(place / "alibi")
    assert run.behaviour is not None
    assert run.behaviour.continuations == on(place / "alibi").behaviour.continuations  # type: ignore[union-attr]
    whole = "".join(text for text, _ in characters((place / "evil.txt").read_bytes()))
    for one in run.behaviour.continuations:
        # Half of the shorter of 264 and the segment: half characters at the cuts are shown as they are.
        begun = one.prompt.replace("\N{REPLACEMENT CHARACTER}", "")
        assert begun[5:-5] in whole.replace("\\xff", "") or "\N{REPLACEMENT CHARACTER}" in one.prompt
        assert one.network != one.text


def test_the_levels_rise_with_the_bits():
    assert [level(bits) for bits in (0.0, *LEVELS, 99.0)] == [0, 1, 2, 3, 4, 5, 5]


def test_several_runs_are_compared_and_it_is_said_what_differs(place: Path):
    begin(place, "longer", "alibi", data__train_len=16, training__steps=10, seed=1)
    text = render([gather(place / name) for name in ("alibi", "rotary")])
    assert "<h2>All runs</h2>" in text
    assert "Compare with care" not in text
    for name in ("alibi", "rotary"):
        assert f"transformer, {name} ({name})</th>" in text
    text = render([gather(place / name) for name in ("alibi", "longer", "window")])
    different = "protocols, test segments (another seed), training lengths"
    assert f"Compare with care: these runs have different {different}." in text


def test_a_text_that_changed_or_has_gone_is_said_and_the_rest_is_shown(place: Path, tmp_path: Path):
    (tmp_path / "own.txt").write_text("alpha beta gamma delta " * 100)
    begin(tmp_path, "run", "alibi", data__name=f"text:{tmp_path / 'own.txt'}")
    (tmp_path / "own.txt").write_text("gamma delta alpha beta " * 100)
    changed = render([gather(tmp_path / "run")])
    (tmp_path / "own.txt").unlink()
    gone = render([gather(tmp_path / "run")])
    assert "is not what" in changed
    assert "is no built-in text, file or folder" in gone
    for text in (changed, gone):
        assert "Where it is surprised" not in text
        assert "the share of the gradient inside the training length is not known" in text
        for heading in ("Bits per byte by length", "The bias of each head", "What was run"):
            assert heading in text


def test_the_page_is_one_file_without_addresses_and_can_be_made_again(place: Path, page: Path):
    text = page.read_text()
    assert re.findall(r"https?://[^\"'\s)]+", text) == ["http://www.w3.org/2000/svg"]  # a name, never asked for
    assert not re.findall(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"(?!data:,)", text)
    assert text.count("</script>") == 3
    assert render([gather(place / name) for name in ("alibi", "rotary", "t5")]) == text


CONTRAST = """() => {
  const channel = (c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const parts = (colour) => colour.match(/[0-9.]+/g).map(Number);
  const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const found = parts(getComputedStyle(e).backgroundColor);
      if (found.length < 4 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  const worst = {};
  for (const e of document.querySelectorAll("main *, header *")) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) || e.closest("[hidden]")) continue;
    const svg = e instanceof SVGElement;
    if (svg && e.tagName !== "text") continue;
    const style = getComputedStyle(e);
    const pair = [luminance(parts(svg ? style.fill : style.color)), luminance(ground(e))].sort((a, b) => b - a);
    const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
    const key = `${e.tagName}.${e.getAttribute("class")}`;
    worst[key] = Math.min(worst[key] ?? 99, ratio);
  }
  return Object.entries(worst).filter(([, ratio]) => ratio < 4.5);
}"""


@needs_browser
@pytest.mark.parametrize("width", [800, 1200])
@pytest.mark.parametrize(("name", "tables"), [("page.html", 4), ("alone.html", 1)])
def test_every_ratio_is_on_the_screen(browser: Browser, page: Path, width: int, name: str, tables: int):
    browser.look(width)
    browser.open(page.parent / name)
    # Of each table the right edge of its column of ratios, and of what is seen of it without scrolling.
    edges = browser.evaluate("""[...document.querySelectorAll(".lengths table, .compare table")].map((table) => {
      const right = (made) => made.getBoundingClientRect().right;
      const column = [...table.querySelectorAll("th")].findIndex((head) => /perplexity.* to /.test(head.textContent));
      return [Math.max(...[...table.rows].map((row) => right(row.cells[column]))), right(table.parentNode)];
    })""")
    assert len(edges) == tables
    assert all(column <= seen <= width for column, seen in edges)
    browser.look(1280)


@needs_browser
def test_the_passage_reads_as_the_text_and_tells_its_bits(browser: Browser, place: Path, page: Path):
    browser.look(1280)
    browser.open(page.parent / "alone.html")
    run = on(place / "alibi")
    assert run.behaviour is not None
    shown = browser.evaluate(
        "[...document.querySelectorAll('pre.surprise > span:not(.border)')].map((e) => e.textContent)"
    )
    bits = browser.evaluate("[...document.querySelectorAll('pre.surprise > span:not(.border)')].map((e) => e.title)")
    predicted = [found for found in run.behaviour.passage if found.bits is not None]
    assert shown == ["⏎\n" if found.text == "\n" else found.text for found in predicted]
    assert bits == [f"{found.bits:.2f} bits" for found in predicted]
    assert browser.evaluate("document.querySelectorAll('.continuation').length") == 3
    assert browser.evaluate("document.querySelectorAll('#word').length") == 0
    browser.evaluate("document.querySelector('#theme').click()")
    assert browser.evaluate("document.documentElement.dataset.theme") == "dark"


@needs_browser
def test_a_run_on_a_text_stands_beside_one_on_a_language(browser: Browser, place: Path, tmp_path: Path):
    of_words(tmp_path / "rnn", "parity", model="rnn")
    write([gather(place / "alibi"), gather(tmp_path / "rnn")], tmp_path / "both.html")
    browser.open(tmp_path / "both.html", "#word=0110")
    answers = browser.evaluate("[...document.querySelectorAll('.run > .answer')].map((e) => e.textContent)")
    assert answers[1].startswith("Automaton: even. Network: ")
    assert browser.evaluate("document.querySelectorAll('.run').length") == 2
    assert browser.problems == []


@needs_browser
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["compare", "lengths", "field", "bias"])
def test_one_figure_alone_and_where_an_address_leads(browser: Browser, page: Path, width: int, name: str):
    browser.look(width)
    browser.open(page, f"?embed={name}#run={2 * (name != 'compare')}")
    seen = "[...document.querySelectorAll('h1:not(.heard), h2, p, table, pre, svg')].filter((e) => e.checkVisibility())"
    assert browser.evaluate(f"{seen}.map((e) => e.localName)") == ["svg"]
    assert browser.evaluate(f"{seen}[0].closest('[data-run]')?.dataset.run ?? ''") == ("" if name == "compare" else "2")
    assert browser.evaluate("document.documentElement.scrollWidth") == width
    browser.open(page, f"#run=2&view={name}")
    browser.evaluate("new Promise((done) => setTimeout(() => requestAnimationFrame(done), 50))")
    section = "section.compare" if name == "compare" else f"[data-run='2'] section.{name}"
    assert -1 < browser.evaluate(f'document.querySelector("{section}").getBoundingClientRect().top') < 200
    assert browser.problems == []
