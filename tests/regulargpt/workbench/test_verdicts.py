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
  globalThis.bench = modules.start.bench;
  const { LEVELS, made } = modules.levels;
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
    assert browser.all(".panel.lanes .main", "[e.textContent, e.disabled]") == [["Let the others go on", False]]
    assert browser.one(".lanes .said") == "RegularGPT is proven: the wall says of what."


@pytest.mark.parametrize("level", [1, 3])
def test_a_level_in_a_training_leaves_it_as_it_was(browser: Browser, written: Path, level: int):
    """Of the same machine, or another: the networks wait, what they said meanwhile is heard, and the others end."""
    browser.open(written)
    browser.evaluate(WORKERS)
    browser.evaluate("bench.set.wager('lstm', false)")
    browser.evaluate("hear('regulargpt', { step: 525, accuracy: 1, phase: 'done' }, 'proven')")
    browser.evaluate("hear('lstm', { step: 525, accuracy: 0.6 })")
    browser.click(".break .levels button", level - 1)
    assert browser.evaluate("[bench.training, workers.lstm.done]") == ["none", "pause"]
    assert "A level's network" in browser.one(".lanes .said")
    browser.evaluate("hear('lstm', { step: 530, accuracy: 1 })")
    assert browser.evaluate("bench.snapshots.lstm") is None
    browser.click(".break .task button")
    shown = "[bench.training, bench.snapshots.lstm.step, bench.wagers.lstm, workers.lstm.done]"
    assert browser.evaluate(shown) == ["going", 530, False, "go"]
    assert browser.one(".panel.lanes .main") == "Pause"
    assert browser.one(".lanes .said") == "RegularGPT is proven. The others still learn."
    assert browser.one(".wall .proof").startswith("✓ Proven")
    assert browser.evaluate("hear('transformer', { step: 600, accuracy: 1 })[0]") == "ended"
    assert browser.one(".panel.lanes .main", "[e.textContent, e.disabled]") == ["Let the others go on", False]


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
            browser.click(".guide.current .last", button)
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
      this.done = message.do;
    }
    terminate() {}
  };
  globalThis.bench = modules.start.bench;
  const { LEVELS, made } = modules.levels;
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


# A listener that comes after the panels: at each snapshot, each word that a lane shows as wrong, and what its network
# answers, as it is then. `held` counts the ones that were rightly there, `gone` the ones that were taken back.
ASKED_AGAIN = """(() => {
  const { bench } = modules.start;
  globalThis.bench = bench;
  globalThis.kept = { held: 0, gone: 0, false: [] };
  const before = {};
  bench.on("snapshot", () => setTimeout(() => {
    for (const lane of bench.lanes) {
      const [found, snapshot] = [bench.wrong[lane], bench.snapshots[lane]];
      const row = document.querySelector(`[data-lane=${lane}] .first-wrong`);
      const isShown = row.textContent.startsWith("✗");
      kept.gone += Number(Boolean(before[lane]) && !found);
      before[lane] = isShown;
      if (!isShown) continue;
      const network = modules.networks.networkOf(snapshot, bench.language);
      const said = modules.wall.nameOf(network.logits(found.word), bench.language.output_names) ?? "nothing";
      if (row.textContent.includes(`it says ${said}, not ${found.truth}`)) kept.held += 1;
      else kept.false.push([lane, snapshot.step, row.textContent, said]);
    }
  }));
})()"""


def test_what_is_said_to_be_wrong_is_asked_again_at_each_snapshot(browser: Browser, written: Path):
    """Of all three, while they learn: no word stands there as wrong that the network has come to answer rightly."""
    browser.open(written)
    browser.evaluate(ASKED_AGAIN)
    browser.evaluate("bench.set.training('going')")
    browser.wait("kept.gone >= 2 && kept.held >= 10")
    assert browser.evaluate("kept.false") == []
    # Also a search that ends after the network has learned on, and a word that is too long to ask.
    assert browser.evaluate(LATE) == [None, None, "odd"]


LATE = """(() => {
  bench.set.training("paused");
  bench.training = "going";
  const { snapshot } = modules.levels.made(modules.levels.LEVELS[0]);
  bench.set.snapshot(snapshot);
  const lane = "regulargpt";
  const said = (word, answer) => bench.set.wrong({ lane, word, answer, truth: "accept", tried: 0, length: 70 });
  const found = [];
  said([0, 0], "reject");
  found.push(bench.wrong.regulargpt);
  said(Array(70).fill(0), "reject");
  found.push(bench.wrong.regulargpt);
  bench.set.wrong({ lane: "regulargpt", word: [0, 0], answer: "reject", truth: "odd", tried: 0 });
  found.push(bench.wrong.regulargpt.truth);
  return found;
})()"""


def test_a_rival_that_learns_says_itself_whether_it_is_wrong(browser: Browser, written: Path):
    """The page computes none of them on its way: their wrong word is shown once their worker has answered it."""
    browser.open(written)
    browser.evaluate(WORKERS)
    said = 'document.querySelector("[data-lane=lstm] .first-wrong").textContent'
    browser.evaluate("hear('lstm', { step: 5, accuracy: 0.6, said: null })")
    wrong = "{ lane: 'lstm', word: [0, 1], answer: 'accept', truth: 'reject', tried: 1 }"
    browser.evaluate(f"bench.set.wrong({wrong})")
    assert browser.evaluate(said) == "The page looks for a wrong word."
    browser.evaluate("hear('lstm', { step: 10, accuracy: 0.6, said: { word: [0, 1], answer: 'accept' } })")
    assert browser.evaluate(said).startswith("✗ Wrong on ")
    browser.evaluate("hear('lstm', { step: 15, accuracy: 0.6, said: { word: [0, 1], answer: 'reject' } })")
    assert browser.evaluate(said) == "The page looks for a wrong word."
    # At rest the search was of the network as it is.
    browser.evaluate(f"bench.set.training('paused'); bench.set.wrong({wrong})")
    assert browser.evaluate(said).startswith("✗ Wrong on ")


def test_panels_of_the_first_network_rest_while_the_others_learn(browser: Browser, written: Path):
    """What the tree, the map, the wall and the hammer draw is not drawn again when an LSTM says how it is."""
    browser.open(written)
    browser.evaluate(WORKERS)
    browser.evaluate("hear('regulargpt', { step: 525, accuracy: 1, phase: 'done' }, 'proven')")
    browser.pause(300)
    browser.evaluate(
        "globalThis.changed = 0; for (const panel of document.querySelectorAll('.panel:not(.lanes)'))"
        " new MutationObserver((all) => { changed += all.length; }).observe("
        "panel, { subtree: true, childList: true, attributes: true, characterData: true });"
    )
    for step in range(530, 560, 5):
        browser.evaluate(f"hear('lstm', {{ step: {step}, accuracy: 0.9 }})")
        browser.pause()
    assert browser.evaluate("changed") == 0
    assert "555 steps" in browser.one(".lane[data-lane=lstm] .stands")
