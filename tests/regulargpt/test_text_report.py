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
from regulargpt.evaluation import segments
from regulargpt.storage.folder import RunFolder
from regulargpt.text.classroom.gathering import TextRun
from regulargpt.text.classroom.text_page import LEVELS, level
from tests.regulargpt.browser import Browser
from tests.regulargpt.conftest import TEXTS, Runs
from tests.regulargpt.forging import without_kept
from tests.regulargpt.markup import EVIL_BYTES, assert_one_file

WINDOW = {"encoding": "alibi", "evaluation__attention": "sliding:4"}


def on(path: Path) -> TextRun:
    found = gather(path)
    assert isinstance(found, TextRun)
    return found


@pytest.fixture(scope="module")
def alibi(text_of) -> TextRun:
    return on(text_of("alibi"))


@pytest.mark.parametrize("name", [*TEXTS, "window"])
def test_what_the_page_says_is_what_the_run_says(text_of, name: str):
    run = on(text_of(name, **WINDOW) if name == "window" else text_of(name))
    text = render([run])
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


def test_the_surprise_of_the_passage_is_the_loss_of_the_model(alibi: TextRun):
    assert alibi.behaviour is not None
    passage = alibi.behaviour.passage
    assert passage[0].bits is None
    bits = [found.bits for found in passage if found.bits is not None]
    assert math.isclose(sum(found.at for found in passage[:2]), passage[1].at)
    # An independent sum: the mean of single segments is what segments.csv holds of the same segment at full length.
    whole = segments.read(RunFolder.open(alibi.path))[64][0] / math.log(2)
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


@pytest.mark.parametrize("data", [EVIL_BYTES * 3, b"\xe2\x80", b"", "日本é\U0001f600".encode(), bytes(range(256))])
def test_characters_are_the_bytes_in_order(data: bytes):
    found = list(characters(data))
    assert sum(count for _, count in found) == len(data)
    assert b"".join(raw(text) for text, _ in found) == data
    assert all(text.isprintable() or text in "\n\t" for text, _ in found)


def test_continuations_begin_with_test_segments_and_are_as_long_as_what_follows(alibi: TextRun):
    again = on(alibi.path).behaviour
    assert alibi.behaviour is not None
    assert again is not None
    assert alibi.behaviour.continuations == again.continuations
    whole = "".join(text for text, _ in characters((alibi.path.parent / "evil.txt").read_bytes()))
    for one in again.continuations:
        # Half of the shorter of 264 and the segment: half characters at the cuts are shown as they are.
        begun = one.prompt.replace("\N{REPLACEMENT CHARACTER}", "")
        assert begun[5:-5] in whole.replace("\\xff", "") or "\N{REPLACEMENT CHARACTER}" in one.prompt
        assert one.network != one.text


def test_the_levels_rise_with_the_bits():
    assert [level(bits) for bits in (0.0, *LEVELS, 99.0)] == [0, 1, 2, 3, 4, 5, 5]


def test_several_runs_are_compared_and_it_is_said_what_differs(text_of, alibi: TextRun):
    text = render([alibi, gather(text_of("rotary"))])
    assert "<h2>All runs</h2>" in text
    assert "Compare with care" not in text
    for name in ("alibi", "rotary"):
        assert f"transformer, {name} ({name})</th>" in text
    longer = text_of("longer", "alibi", data__train_len=16, training__steps=10, seed=1)
    text = render([alibi, gather(longer), gather(text_of("window", **WINDOW))])
    different = "protocols, test segments (another seed), training lengths"
    assert f"Compare with care: these runs have different {different}." in text


def test_a_text_that_changed_or_has_gone_is_said_and_the_rest_is_shown(text_of, tmp_path: Path):
    file = tmp_path / "own.txt"
    file.write_text("alpha beta gamma delta " * 100)
    run = text_of("own", "alibi", data__name=f"text:{file}")
    without_kept(run)
    file.write_text("gamma delta alpha beta " * 100)
    changed = render([gather(run)])
    file.unlink()
    gone = render([gather(run)])
    assert "is not what" in changed
    assert "is no built-in text, file or folder" in gone
    for text in (changed, gone):
        assert "Where it is surprised" not in text
        assert "the share of the gradient inside the training length is not known" in text
        for heading in ("Bits per byte by length", "The bias of each head", "What was run"):
            assert heading in text


def test_the_page_is_one_file_without_addresses_and_can_be_made_again(text_of, on_texts: Path):
    text = on_texts.read_text()
    assert_one_file(text)
    assert text.count("</script>") == 3
    assert render([gather(text_of(name)) for name in TEXTS[:3]]) == text


@pytest.mark.parametrize(("name", "tables", "width"), [("page.html", 4, 800), ("alone.html", 1, 1200)])
def test_every_ratio_is_on_the_screen(browser: Browser, on_texts: Path, name: str, tables: int, width: int):
    browser.open(on_texts.parent / name, width=width)
    # Of each table the right edge of its column of ratios, and of what is seen of it without scrolling.
    edges = browser.evaluate("""[...document.querySelectorAll(".lengths table, .compare table")].map((table) => {
      const right = (made) => made.getBoundingClientRect().right;
      const column = [...table.querySelectorAll("th")].findIndex((head) => /perplexity.* to /.test(head.textContent));
      return [Math.max(...[...table.rows].map((row) => right(row.cells[column]))), right(table.parentNode)];
    })""")
    assert len(edges) == tables
    assert all(column <= seen <= width for column, seen in edges)


def test_the_passage_reads_as_the_text_and_tells_its_bits(browser: Browser, alibi: TextRun, on_texts: Path):
    browser.open(on_texts.parent / "alone.html")
    assert alibi.behaviour is not None
    predicted = [found for found in alibi.behaviour.passage if found.bits is not None]
    shown = browser.all("pre.surprise > span:not(.border)", "[e.textContent, e.title]")
    assert shown == [["⏎\n" if one.text == "\n" else one.text, f"{one.bits:.2f} bits"] for one in predicted]
    assert browser.count(".continuation") == 3
    assert browser.count("#word") == 0


def test_a_run_on_a_text_stands_beside_one_on_a_language(browser: Browser, runs: Runs, alibi: TextRun, tmp_path: Path):
    write([alibi, runs.plain("parity", model="rnn")], tmp_path / "both.html")
    browser.open(tmp_path / "both.html", "#word=0110")
    _, answer = browser.all(".run > .answer")
    assert answer.startswith("Automaton: even. Network: ")
    assert browser.count(".run") == 2


@pytest.mark.parametrize(("name", "width"), [("compare", 390), ("lengths", 390), ("field", 1280), ("bias", 390)])
def test_one_figure_alone_and_where_an_address_leads(browser: Browser, on_texts: Path, name: str, width: int):
    browser.open(on_texts, f"?embed={name}#run={2 * (name != 'compare')}", width=width)
    seen = "[...document.querySelectorAll('h1:not(.heard), h2, p, table, pre, svg')].filter((e) => e.checkVisibility())"
    run = "" if name == "compare" else "2"
    found = browser.evaluate(f"{seen}.map((e) => [e.localName, e.closest('[data-run]')?.dataset.run ?? ''])")
    assert found == [["svg", run]]
    browser.assert_fits()
    browser.open(on_texts, f"#run=2&view={name}")
    browser.pause()
    section = "section.compare" if name == "compare" else f"[data-run='2'] section.{name}"
    assert -1 < browser.one(section, "e.getBoundingClientRect().top") < 200
