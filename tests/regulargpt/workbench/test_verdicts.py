"""What is said in the end, in a real browser: after a level, of a struck network, of others that still learn."""

from __future__ import annotations

from pathlib import Path

import pytest

from regulargpt.classroom.workbench import page
from tests.regulargpt.browser import Browser

LANE = ".lane[data-lane={}]"
OURS = LANE.format("regulargpt")
# A bench that has come to the end of a training: with the network of a level, said to have taken some steps.
PROVEN = """(() => {
  globalThis.bench = modules["start.js"].bench;
  const { LEVELS, made } = modules["levels.js"];
  const { set } = bench;
  const { snapshot, proven } = made(LEVELS[0]);
  for (const lane of bench.lanes) set.wager(lane, lane === "regulargpt");
  for (const lane of bench.lanes) set.snapshot({ ...snapshot, lane, step: 500 });
  set.proven({ ...proven, snapshot: { ...proven.snapshot, balls: {} } });
  for (const lane of bench.lanes) set.tested(lane, { right: lane === "lstm" ? 7 : 20, tried: 20, of: 20 });
  bench.training = "going";
  set.training("ended");
})()"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("verdicts") / "workbench.html"
    page.write(path)
    return path


def opened(browser: Browser, written: Path) -> None:
    browser.open(written, "#step=6", width=1280, still=True)
    browser.evaluate(PROVEN)
    browser.wait("document.querySelector('.wall .proof button') !== null")


def said(browser: Browser) -> list[str]:
    """The wagers, the ends of the lanes, the proof and the mark of the lane that is proven."""
    return browser.all(".wager [aria-pressed=true], .lane .end, .wall .proof, .wall .count, .lane .first-wrong.right")


@pytest.mark.parametrize("way", ["the button", "back"])
def test_a_level_gives_back_the_proof_the_wagers_and_the_end(browser: Browser, written: Path, way: str):
    """And starts no training: that would forget all of it."""
    opened(browser, written)
    before = said(browser)
    assert before.count("yes") == 1
    assert before.count("no") == 2
    for level in (2, 0):
        browser.click(".break .levels button", level)
    assert "A level's network" in browser.one(".lanes .said")
    assert browser.all(".lane .end") == [""] * 3
    if way == "back":
        browser.evaluate("history.go(-2)")
        browser.wait("!location.hash.includes('level')")
    else:
        browser.click(".break .task button")
    browser.wait("document.querySelector('.wall .proof button') !== null")
    browser.pause(300)  # a worker would have begun by now
    assert said(browser) == before
    assert browser.evaluate("bench.snapshots.regulargpt.step") == 500
    assert browser.all(".panel.lanes .main", "e.disabled") == [True]
    assert "begin again" in browser.one(".lanes .said")


def test_a_struck_network_is_not_said_to_be_proven(browser: Browser, written: Path):
    opened(browser, written)
    whole = (browser.one(".lanes .said"), browser.one(f"{OURS} .end"))
    assert whole[1] == "Words of 1,000 symbols: 20 of 20 right. You were right."
    browser.evaluate("bench.set.hits([{ kind: 'case', part: 'leaves', window: [1, 0], image: 1 }])")
    assert browser.one(".lanes .said") == "RegularGPT has been struck: it is not proven any more."
    assert browser.one(f"{OURS} .end") == "Before it was struck: 20 of 20 words of 1,000 symbols right."
    browser.evaluate("bench.set.hits([])")
    assert (browser.one(".lanes .said"), browser.one(f"{OURS} .end")) == whole


INSIDE = """(selector) => [...document.querySelectorAll(selector)].map((e) => {
  const { top, bottom, height } = e.getBoundingClientRect();
  return height > 0 && bottom <= innerHeight && top >= document.querySelector(".guide.current").offsetHeight;
})"""


def test_the_last_caption_shows_all_three_ends_and_the_file_to_save(browser: Browser, written: Path):
    """On the smallest screen for which there are columns: below the caption, above the edge of the window."""
    browser.look(1024, 768, still=True)
    browser.open(written, "#step=6")
    browser.evaluate(PROVEN)
    browser.wait("bench.lanes.every((lane) => bench.wrong[lane])")
    browser.click(".guide.current .next")
    for button, selector, count in ((None, ".lane .end", 3), (1, ".wall .proof button", 1), (0, ".lane .end", 3)):
        if button is not None:
            browser.click(".guide.current .act button", button)
        browser.pause()
        assert browser.evaluate(f"({INSIDE})({selector!r})") == [True] * count
    assert "no finite list" not in browser.one("main")


def test_the_others_are_not_said_to_be_wrong_or_beyond_proof(browser: Browser, written: Path):
    browser.open(written)
    assert browser.one(".panel.wall .caption:last-child").endswith("it has no list of cases to try. They may be right.")


# What workers would say, by hand: `hear(lane, changes)`.
WORKERS = """(() => {
  globalThis.workers = {};
  globalThis.Worker = class {
    postMessage(message) {
      if (message.do === "start") workers[message.lane] = this;
      if (message.do === "until") this.until = message.step;
    }
    terminate() {}
  };
  globalThis.bench = modules["start.js"].bench;
  const { LEVELS, made } = modules["levels.js"];
  const { snapshot, proven } = made(LEVELS[0]);
  globalThis.hear = (lane, changes, is = "snapshot") => {
    const now = { ...snapshot, lane, phase: "words", ...changes };
    workers[lane].onmessage({ data: is === "proven" ? { is, ...proven, snapshot: now } : { is, ...now } });
    return [bench.training, ...["lstm", "transformer"].map((rival) => String(workers[rival].until))];
  };
  bench.set.training("going");
})()"""


def test_the_others_learn_on_until_they_have_learned_or_had_their_time(browser: Browser, written: Path):
    def hear(lane: str, step: int, accuracy: float, phase: str = "words", what: str = "snapshot") -> list[str]:
        return browser.evaluate(f"hear({lane!r}, {{ step: {step}, accuracy: {accuracy}, phase: {phase!r} }}, {what!r})")

    def button() -> str:
        return browser.one(".panel.lanes .main")

    for is_late in (False, True):
        browser.open(written)
        browser.evaluate(WORKERS)
        hear("lstm", 300, 0.6)
        assert hear("regulargpt", 520, 1) == ["going", "520", "520"]
        assert hear("regulargpt", 525, 1, "done", "proven") == ["going", "Infinity", "Infinity"]
        assert button() == "Pause"  # the others have taken fewer steps
        hear("lstm", 525, 0.69)
        assert hear("transformer", 525, 0.5) == ["going", "Infinity", "Infinity"]
        assert button() == "Stop the others"
        assert hear("lstm", 1216, 1) == ["going", "525", "Infinity"]
        if is_late:
            browser.evaluate("performance.now = ((now) => () => now.call(performance) + 61000)(performance.now);0")
        assert hear("transformer", 4000, 0.7, "words" if is_late else "done")[0] == "ended"
        assert button() == "Let the others go on"


@pytest.mark.parametrize(
    ("accuracy", "phase", "verdict"),
    [
        (0.69, "words", "It was still learning: let it go on."),
        (0.69, "done", "You lost this wager."),
        (1, "words", "You lost this wager."),
    ],
)
def test_no_wager_is_lost_while_a_network_still_learns(
    browser: Browser, written: Path, accuracy: float, phase: str, verdict: str
):
    browser.open(written)
    browser.evaluate(WORKERS)
    browser.evaluate(f"hear('lstm', {{ step: 525, accuracy: {accuracy}, phase: {phase!r} }})")
    browser.evaluate("bench.set.wager('lstm', true);bench.set.tested('lstm', { right: 7, tried: 20, of: 20 })")
    assert browser.one(f"{LANE.format('lstm')} .end") == f"Words of 1,000 symbols: 7 of 20 right. {verdict}"
