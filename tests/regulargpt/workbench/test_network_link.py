"""A link that carries a trained network: it gives the same answers, and is proven by the page that opens it, or not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regulargpt.classroom.workbench import page
from tests.regulargpt.browser import Browser

BUTTON = ".panel.wall .claim button"
NOTE = ".found .said .note"
PROVEN = ".panel.wall .proof"
BENCH = "globalThis.bench = modules.start.bench; 0"
ANSWERS = """[...Array(64).keys()].map((i) => {
  const word = [...i.toString(2).slice(1)].map(Number);
  return word.length ? [...bench.network.logits(word)] : null;
})"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("links") / "workbench.html"
    page.write(path)
    return path


@pytest.fixture(scope="module")
def trained(tab: Browser, written: Path) -> tuple[str, list[list[float] | None]]:
    """The end of the link that a page copies whose network is proven, and the network's logits."""
    tab.fresh()
    tab.open(written, "#step=5")
    tab.evaluate(BENCH)
    tab.evaluate("copy = (text) => { globalThis.copied = text; }; bench.set.training('going')")
    tab.wait(f"document.querySelector({BUTTON!r}) !== null")
    tab.evaluate("bench.set.training('paused')")
    tab.click(BUTTON)
    return tab.evaluate("copied").partition(".html")[2], tab.evaluate(ANSWERS)


def opened(browser: Browser, written: Path, link: str) -> None:
    browser.open(written, link)
    browser.evaluate(BENCH)


def test_a_link_brings_the_network_which_is_tried_anew(browser: Browser, written: Path, trained):
    link, answers = trained
    assert len(link) < 20_000
    opened(browser, written, link)
    browser.wait(f"document.querySelector({PROVEN!r}).textContent !== ''")
    assert browser.one(PROVEN).startswith("✓ Proven: right on every word, the network as it is")
    assert browser.evaluate(ANSWERS) == answers
    assert browser.one(".lane .stands") == "It came with a link: trained elsewhere, and tried here."
    assert browser.one(".panel.lanes .said") == "RegularGPT is proven: the wall says of what."
    # The address says it no more, and the network can be trained, struck and sent on.
    assert browser.evaluate("location.hash") == "#step=5"
    browser.wait(f"document.querySelector({BUTTON!r}) !== null")
    browser.evaluate("bench.set.hits([{ kind: 'case', part: 'leaves', window: [1, 0], image: 2 }])")
    assert browser.one(PROVEN) == ""


def test_it_is_not_proven_before_its_cases_are_tried(browser: Browser, written: Path, trained):
    """What the worker says first is the network alone."""
    link, _ = trained
    opened(browser, written, "#step=5")
    browser.evaluate("""(() => {
      globalThis.told = [];
      for (const kind of ["snapshot", "proven"]) bench.on(kind, () => told.push([kind, bench.proven !== null]));
    })()""")
    browser.evaluate(f"location.hash = {json.dumps(link)}")
    browser.wait("bench.proven !== null")
    told = browser.evaluate("told")
    assert told[0] == ["snapshot", False]
    assert [one for one in told if one[1]] == [["proven", True]]


@pytest.mark.parametrize("at", [0, 1, 5, 9000, -1])
def test_a_changed_letter_is_refused_and_nothing_is_lost(browser: Browser, written: Path, trained, at: int):
    head, _, net = trained[0].partition("net=")
    place = at % len(net)
    letter = "A" if net[place] != "A" else "B"
    opened(browser, written, "#step=5")
    browser.evaluate("bench.set.one()")
    browser.wait("bench.snapshots.lstm?.step === 1 && bench.snapshots.regulargpt?.step === 1")
    browser.evaluate(f"location.hash = {json.dumps(f'{head}net={net[:place]}{letter}{net[place + 1 :]}')}")
    # The last letter may have bits that say nothing.
    browser.wait(f"document.querySelector({NOTE!r}) !== null || bench.proven !== null")
    if at != -1 or browser.count(NOTE):
        assert browser.one(NOTE) == "The link is cut or damaged: its network cannot be read."
        assert browser.evaluate("bench.lanes.map((lane) => bench.snapshots[lane].step)") == [1, 1, 1]


@pytest.mark.parametrize("net", ["", "p", "n", "nAAAA", "x%", "p" + "A" * 70_000])
def test_what_is_no_network_is_refused(browser: Browser, written: Path, net: str):
    opened(browser, written, f"#net={net}")
    browser.wait(f"document.querySelector({NOTE!r}) !== null")
    assert browser.one(NOTE).startswith("The link is cut or damaged:")
    assert browser.evaluate("[bench.network, bench.proven]") == [None, None]


def test_a_network_of_another_machine_is_never_proven(browser: Browser, written: Path, trained):
    """Of as many symbols and answers, it is there and wrong; of more, it does not fit."""
    net = trained[0].partition("net=")[2]
    opened(browser, written, f"#machine=contains-abb&net={net}")
    browser.wait("bench.failed !== ''")
    assert browser.one(".panel.lanes .said").endswith("Not all cases are right: nothing is proven.")
    assert browser.evaluate("[bench.proven, bench.network === null]") == [None, False]
    opened(browser, written, f"#machine=multiples-of-3&net={net}")
    opened(browser, written, f"#machine=cycle-navigation&net={net}")
    browser.wait(f"document.querySelector({NOTE!r}) !== null")
    assert browser.one(NOTE) == "The link is cut or damaged: its network is none for this machine."
    assert browser.evaluate("bench.network") is None


def test_a_browser_that_packs_nothing_writes_and_reads_all_the_same(browser: Browser, written: Path, trained):
    opened(browser, written, trained[0])
    browser.wait("bench.proven !== null")
    plain = browser.evaluate("""(async () => {
      delete globalThis.CompressionStream;
      const { networkAsText, networkFromText } = modules.network_link;
      const text = await networkAsText(bench.proven.snapshot.weights);
      const numbers = Object.values(bench.proven.snapshot.weights).flatMap(({ data }) => [...data]);
      return [text[0], text.length < 60000, String(await networkFromText(text)) === String(numbers)];
    })()""")
    assert plain == ["n", True, True]


def test_a_made_network_of_a_level_is_not_sent(browser: Browser, written: Path):
    browser.open(written, "#level=1&step=6")
    browser.wait(f"document.querySelector('{PROVEN} button') !== null")
    browser.pause(200)
    assert browser.count(BUTTON) == 0
