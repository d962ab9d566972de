"""The workbench in a real browser: captions, address, print, and all of it from a drawing to a proof and a break."""

from __future__ import annotations

import base64
import io
import json
import re
import zipfile
from pathlib import Path

import pytest

import languages
from languages.automata import MooreMachine
from languages.convert.json_text import read_json
from regulargpt.classroom import document
from regulargpt.classroom.lesson.wording import Sentence, captions, glossary, plain
from regulargpt.classroom.live.twins import gathered
from regulargpt.classroom.workbench import page
from regulargpt.classroom.workbench.beginning import machine_of
from regulargpt.cli import call
from tests.regulargpt.axe import violations
from tests.regulargpt.browser import Browser
from tests.regulargpt.test_lesson import terms_of
from tests.regulargpt.test_page_print import CONTROLS, CUT, SHEET

MOST_BYTES = 400_000
LANE = ".lane[data-lane={}]"
OURS = LANE.format("regulargpt")
# Parity of one's own: other names and places than the machine that is there.
OWN = '[["x","y"],["reject","accept"],[["p",100,90,1],["q",300,200,0]],0,[[0,0,[1]],[0,1,[0]],[1,0,[0]],[1,1,[1]]]]'
# What a link carries, as a reader sees it.
SHOWN = """(() => ({
  states: [...document.querySelectorAll(".plane .state title")].map((e) => e.textContent),
  word: document.querySelector(".panel.tree .field input").value,
  seed: byId("seed").value,
  caption: document.querySelector(".guide.current").id,
  lit: document.querySelector(".panel.lit").className,
}))()"""
# Labels at arrows that lie on another one or on a state.
HIDDEN = """(() => {
  const box = (e) => e.getBoundingClientRect();
  const labels = [...document.querySelectorAll(".plane .edge")].map((e) => [...e.querySelectorAll("text")].map(box));
  const states = [...document.querySelectorAll(".plane .state .rim")].map((e) => [box(e)]);
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  return labels.flatMap((of, i) => [...labels.slice(0, i), ...states].filter((other) => of.some((a) => other.some((b) => meet(a, b))))).length;
})()"""  # noqa: E501


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("workbench") / "workbench.html"
    assert page.write(path) == path.stat().st_size < MOST_BYTES
    return path


def spoken() -> list[Sentence]:
    """Everything that the captions say, in order."""
    found = captions()
    return [*found.opening, *(one for step in found.steps for one in (*step.sentences, step.do, step.take))]


def test_a_caption_assumes_only_what_an_earlier_one_gave():
    known = set(captions().known)
    for sentence in spoken():
        assert set(sentence.assumes) <= known, plain(sentence)
        known |= set(sentence.gives)


def test_no_template_stands_in_a_template():
    """What makes the scripts short would take the inner one for code, and its blanks away."""
    hole_with_template = re.compile(r"\$\{(?:[^`{}]|\{[^`{}]*\})*`")
    calculations = gathered(map(page.script, page.CALCULATIONS)) | gathered([page.script(page.START)])
    shared = [name for name in (*document.SCRIPTS, *page.SHARED) if name not in document.FIGURES]
    scripts = [*calculations.values(), *map(document.file, shared)]
    assert hole_with_template.search("`${a ? `b c` : {}}`")
    assert [found[0] for script in scripts for found in hole_with_template.finditer(script)] == []


def test_a_word_of_the_glossary_is_marked_where_it_first_stands():
    met: set[str] = set()
    for sentence in spoken():
        marked, words = terms_of(sentence)
        assert len(marked) == len(set(marked))
        assert not met & set(marked), f"marked twice: {plain(sentence)}"
        met |= set(marked)
        assert words <= met, f"not explained before: {plain(sentence)}"
        assert {given for given in sentence.gives if given in glossary()} <= set(marked)


def test_captions_are_short_and_each_lights_a_panel():
    steps = captions().steps
    assert len(steps) == 7
    assert {step.panel for step in steps} == set(page.PANELS)
    assert all(len(plain(sentence).split()) <= 25 for sentence in spoken())
    assert all(len(step.sentences) <= 5 for step in steps)


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1024, 768), (1280, 900)])
def test_it_fits_breaks_no_rule_and_asks_for_nothing(browser: Browser, written: Path, width: int, height: int):
    for dark in (False, True):
        browser.open(written, width=width, height=height, dark=dark)
        browser.assert_fits()
        assert len(ids := browser.all("[id]", "e.id")) == len(set(ids))
        # The first screen is alive: a machine, and a button that says what happens next.
        assert browser.count(".plane .state") == 2
        assert browser.count(".panel.tree .node") == 6
        assert browser.one(".panel.lanes .main") == "Train without a wager"
        browser.all("details", "{ e.open = true; }")
        browser.pause()
        browser.assert_fits()
        assert width == 1024 or violations(browser) == []


def test_a_link_carries_machine_seed_caption_and_word(browser: Browser, written: Path):
    for address in ("", "#step=5", f"#machine={OWN}&seed=7&step=3&word=xxy", "#machine=even-pairs&word=0110"):
        browser.open(written, address)
        shown, link = browser.evaluate(SHOWN), browser.evaluate("address.link()")
        browser.open(written, link.partition(".html")[2])
        assert browser.evaluate(SHOWN) == shown
        assert (browser.evaluate("address.link()"), shown["seed"]) == (link, "7" if "seed" in address else "0")
    assert shown["word"] == "0110"
    assert len(shown["states"]) == 5
    # What says nothing shows what the page begins with; what is no machine does not stop it.
    for address in ("#step=99&seed=x", "#machine=[1]&step=7", "#machine=%5B%5B%5D%5D&word=zz&step=1"):
        browser.open(written, address)
        assert browser.count(".plane .state") == 2


def test_a_link_to_no_machine_says_so_and_is_renewed(browser: Browser, written: Path):
    """An unknown name, by opening it or later; more states or arrows than the page can draw, and places far away."""
    many = [["a"], ["reject", "accept"], [[f"{q}", 0, 0, q % 2] for q in range(3000)], 0]
    few = [*many[:2], many[2][:2], 0]
    chain = [[q, q + 1, [0]] for q in range(2999)]
    far = [*many[:2], [["p", 1e300, 0, 0], ["q", 0, 0, 1]], 0, chain[:1]]
    for machine in ("nonsense", [*many, chain], [*few, chain[:1] * 60_000], far):
        browser.open(written)
        text = machine if isinstance(machine, str) else json.dumps(machine, separators=(",", ":"))
        browser.evaluate(f"location.hash = '#machine=' + encodeURIComponent({json.dumps(text)})")
        browser.wait("document.querySelector('.found .said .note') !== null && !location.hash")
        assert browser.one(".found .said .note").startswith("The address names no machine")
        assert browser.count(".plane .state") == 2
    browser.open(written, "#machine=nonsense&step=3")
    assert browser.one(".found .said .note").startswith("The address names no machine")
    assert browser.evaluate("location.hash") == "#step=3"
    browser.evaluate(f"location.hash = '#machine={OWN}'")
    browser.wait("document.querySelector('.found .said .note') === null")


def test_captions_lead_through_the_panels_and_back(browser: Browser, written: Path):
    browser.open(written, width=1280, still=True)
    for step in captions().steps:
        assert browser.all(".guide", "e.checkVisibility() ? e.id : null").count(step.name) == 1
        assert browser.count(f".panel.lit.{step.panel}") == browser.count(".panel.lit") == 1
        assert browser.one(".way [aria-current]", "e.textContent").endswith(step.label)
        if step.name != "compare":
            browser.key("Enter", at=".guide.current .next")
    assert browser.evaluate("location.hash") == "#step=7"
    browser.evaluate("history.back()")
    browser.wait("document.querySelector('.guide.current').id === 'break'")
    # In one column all of them stand, each before its panel.
    browser.look(390)
    browser.evaluate("byId('wall').scrollIntoView()")
    browser.wait("document.querySelector('.way [aria-current]').hash === '#step=5'")
    assert browser.count(".guide") == 7 == len([one for one in browser.all(".guide", "e.checkVisibility()") if one])
    panels = ".panel, .guide"
    order = [name.split()[0] for name in browser.all(panels, "e.className")]
    assert order == [
        "guide",
        "editor",
        "guide",
        "tree",
        "guide",
        "lanes",
        "guide",
        "map",
        "guide",
        "wall",
        "guide",
        "break",
        "guide",
    ]


def is_there(browser: Browser, selector: str) -> None:
    """Wait for what comes of a training or a search."""
    browser.wait(f"document.querySelector({json.dumps(selector)}) !== null")


def test_the_lanes_go_step_by_step_and_forget(browser: Browser, written: Path):
    """The same seed gives the same steps; another one, or "Begin again", forgets what was learned, and no wager."""

    def steps(count: int) -> list[str]:
        for number in range(1, count + 1):
            press("One step")
            ending = f" {number} step{'s' * (number > 1)}."
            texts = "[...document.querySelectorAll('.lane .stands')].map((e) => e.textContent)"
            browser.wait(f"{texts}.every((text) => text.endsWith({json.dumps(ending)}))")
        return browser.all(".lane .stands")

    def press(words: str) -> None:
        # At once: beside it buttons with wrong words come and go.
        button = f"(e) => e.textContent === {json.dumps(words)}"
        browser.evaluate(f"[...document.querySelectorAll('.panel.lanes .tools button')].find({button}).click()")

    browser.open(written)
    browser.click(".wager button")
    first = steps(2)
    assert browser.one(".panel.lanes .main") == "Go on"
    assert set(browser.all(".wager button", "e.disabled")) == {True}
    press("Begin again")
    assert browser.all(".lane .stands") == [""] * 3
    assert browser.all(".wager [aria-pressed=true]") == ["yes"]
    assert steps(2) == first
    browser.choose("#seed", "5", "change")
    assert browser.all(".lane .stands") == [""] * 3
    assert browser.evaluate("location.hash") == "#seed=5"
    assert steps(2) != first
    # Another machine forgets the wager, too; caption 1 is done with the machine that it speaks of, however it came.
    browser.choose(".panel.editor select", "3", "change")
    assert browser.count(".way .done") == 0
    assert (browser.all(".wager [aria-pressed=true]"), browser.all(".lane .stands")) == ([], [""] * 3)
    browser.choose(".panel.editor select", "1", "change")
    assert browser.all(".way .done", "e.hash") == ["#step=1"]


def unpacked(browser: Browser, place: Path) -> Path:
    """What "Save the file" saves, unpacked."""
    browser.evaluate(
        "save = async (blob, name) => { window.saved = [name, [...new Uint8Array(await blob.arrayBuffer())]]; }"
    )
    browser.key("Enter", at=".panel.wall .proof button")
    browser.wait("'saved' in window")
    name, data = browser.evaluate("window.saved")
    zipfile.ZipFile(io.BytesIO(bytes(data))).extractall(place)
    assert [one.name for one in place.iterdir()] == [name.removesuffix(".zip")]
    return place / name.removesuffix(".zip")


def test_from_a_drawing_to_a_proof_and_a_wrong_word_by_the_keyboard(
    browser: Browser, written: Path, tmp_path: Path, capsys
):
    browser.open(written, f"#machine={OWN}", width=1280, still=True)
    for lane, answer in (("regulargpt", "first"), ("lstm", "last"), ("transformer", "last")):
        browser.key(" ", at=f"{LANE.format(lane)} .wager button:{answer}-child")
    assert browser.one(".panel.lanes .main") == "Train"
    browser.key("Enter", at=".panel.lanes .main")
    is_there(browser, f"{OURS} .first-wrong.right")
    browser.key("Enter", at=".panel.lanes .main")
    assert browser.one(f"{OURS} .first-wrong") == "✓ Proven: right on every word, as it is."
    assert set(browser.all(".panel.wall [data-case]", "e.className")) == {"right"}
    assert browser.one(".panel.wall .proof").startswith("✓ Proven: right on every word, the network as it is")
    # The independent checker accepts it, of the language that was drawn.
    folder = unpacked(browser, tmp_path)
    machine = read_json((folder / "automaton.json").read_text("utf-8"))
    truth = languages.get("regex:(y*xy*x)*y*").machine
    words = [[int(bit) for bit in f"{i:07b}"[1:]] for i in range(64)]
    assert isinstance(machine, MooreMachine)
    names = [machine.output_names[i] for i in machine.answers(words)]
    assert names == [truth.output_names[i] for i in truth.answers(words)]
    assert call(["check", str(folder)]) == 0
    claims = browser.one(".panel.wall .proof .caption")
    assert claims in " ".join(capsys.readouterr().out.split())
    assert "The same holds of the network as it is, without replacing any state" in claims
    # Weights are struck until a square is red, and a word is wrong.
    browser.key("Enter", at=".panel.break [data-tool=weight]")
    for name in browser.all("#tensor option", "e.value"):
        browser.choose("#tensor", name, "change")
        browser.choose("#weight-by", "3")
        browser.pause(300)
        if browser.count(".panel.wall [data-case].wrong"):
            break
    is_there(browser, f"{OURS} .first-wrong.wrong")
    wrong = browser.one(f"{OURS} .word-button")
    assert not browser.count(".panel.wall .proof button")
    browser.key("Enter", at=f"{OURS} .word-button")
    assert browser.one(".panel.tree .field input", "e.value") == wrong
    assert "✗" in browser.one(".panel.tree .said")
    assert violations(browser) == []


# What is said of 20 words of 1,000 symbols: the lane, the wager, how many were right, whether it is proven as it is.
VERDICTS = [
    ("regulargpt", True, (20, 20), True, "You were right."),
    ("regulargpt", False, (20, 20), True, "You lost this wager."),
    ("regulargpt", False, (3, 20), False, "You were right."),
    ("regulargpt", True, (20, 20), False, "Another word may still be wrong: no test decides that."),
    ("lstm", False, (20, 20), True, "Another word may still be wrong: no test decides that."),
    ("lstm", False, (7, 20), True, "You were right."),
    ("lstm", True, (0, 1), False, "You lost this wager."),
    ("transformer", None, (0, 20), False, ""),
    ("transformer", True, (5, 5), False, ""),  # it goes on
]
JUDGED = """(lane, wager, [right, tried], asItIs) => {
  const bench = new modules["bench.js"].Bench();
  bench.set.language(modules["starters.js"].STARTERS[0].drawn);
  const place = html("div");
  new modules["lanes_panel.js"].LanesPanel(place, bench);
  if (wager !== null) bench.set.wager(lane, wager);
  bench.set.proven({ snapshot: { balls: asItIs ? {} : null }, sentence: "" });
  bench.set.tested(lane, { right, tried, of: 20 });
  return place.querySelector(`[data-lane=${lane}] .end`).textContent;
}"""


def test_a_wager_is_decided_by_a_wrong_word_or_by_a_proof(browser: Browser, written: Path):
    browser.open(written)
    for lane, wager, (right, tried), is_proven, verdict in VERDICTS:
        given = json.dumps([lane, wager, [right, tried], is_proven])
        said = browser.evaluate(f"({JUDGED})(...{given})")
        assert said == f"Words of 1,000 symbols: {right} of {tried} right. {verdict}".rstrip()


# The lengths of the words: of (a{30})* some have 1,020 symbols, and of the odd ones none has 1,000.
ODD = {
    "[1000, 1000]": "Words of 1,000 symbols: 3 of 20 right. You were right.",
    "[1000, 1020]": "Words of 1,000 to 1,020 symbols: 3 of 20 right. You were right.",
    "[1001, 1001]": "Words of 1,001 symbols: 3 of 20 right.",
}


def test_long_words_are_as_long_as_is_said(browser: Browser, written: Path):
    browser.open(written)
    for lengths, said in ODD.items():
        judged = JUDGED.replace("of: 20", f"of: 20, lengths: {lengths}")
        assert browser.evaluate(f"({judged})('lstm', false, [3, 20], false)") == said
    # What is asked says how long its words were.
    assert browser.evaluate(f"({ASKED})()") == [20, 20, 1001, 1003]


# Of a machine that answers odd lengths only, with a network that is made.
ASKED = """() => {
  const states = [null, 0, null, 1].map((output, q) => ({ name: `${q}`, x: 0, y: 0, output }));
  const arrows = states.map((_, q) => ({ from: q, to: (q + 1) % 4, symbols: [0] }));
  const drawn = { alphabet: ["a"], outputs: ["x", "y"], states, initial: 0, arrows };
  const { language } = modules["machine.js"].languageOf(drawn);
  const network = modules["one_hot.js"].oneHot(language, modules["cases.js"].casesOf(language));
  let last = null;
  modules["asking.js"].ask({ ...network, language, seed: 0, lane: "regulargpt" }, (found) => { last = found; });
  return [last.right, last.tried, ...last.lengths];
}"""


LONG = """[0, 1].map((seed) => modules["starters.js"].STARTERS.map(({ drawn }) => {
  const { language } = modules["machine.js"].languageOf(drawn);
  const words = modules["asking.js"].longWords(language, seed);
  const all = Array.from({ length: 20 }, (_, i) => words.word(i));
  const answers = all.map((word) => modules["machine.js"].answerOf(language, word));
  return { names: language.output_names, lengths: all.map((word) => word.length), answers, text: all.join(";") };
}))"""


def test_long_words_have_all_answers_and_are_drawn_by_the_seed(browser: Browser, written: Path):
    browser.open(written)
    first, other = browser.evaluate(LONG)
    assert browser.evaluate(LONG) == [first, other]
    for mine, yours in zip(first, other, strict=True):
        assert set(mine["answers"]) == set(mine["names"])
        assert all(1000 <= length < 1050 for length in mine["lengths"])
        assert mine["text"] != yours["text"]


def test_on_paper_all_captions_stand_and_nothing_is_cut(browser: Browser, written: Path):
    browser.open(written, dark=True)
    assert base64.b64decode(browser.call("Page.printToPDF")["data"]).startswith(b"%PDF")
    browser.look(SHEET, 1060)
    browser.call("Emulation.setEmulatedMedia", media="print", features=[])
    browser.evaluate("dispatchEvent(new Event('beforeprint'))")
    browser.pause()
    assert browser.evaluate(CUT) == browser.evaluate(CONTROLS) == []
    assert all(browser.all(".guide", "e.checkVisibility()"))
    browser.assert_fits()


@pytest.mark.parametrize("language", ["cycle-navigation", "dyck-2", "symmetric-3", "regex:(ab)*", "brackets-2"])
def test_it_begins_with_the_machine_of_a_language(browser: Browser, tmp_path: Path, language: str):
    text = machine_of(language)
    page.write(tmp_path / "page.html", text)
    browser.open(tmp_path / "page.html")
    shown = browser.evaluate(SHOWN)
    machine = json.loads(text)
    assert len(shown["states"]) == len(machine["outputs"] if "moves" in machine else machine["states"])
    assert set(shown["word"]) <= set(machine["alphabet"])
    assert "machine=" not in browser.evaluate("address.link()")
    assert browser.evaluate(HIDDEN) == 0
    assert browser.evaluate(HIDDEN) == 0
