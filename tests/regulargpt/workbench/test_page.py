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
from regulargpt.classroom.workbench import lean, page
from regulargpt.classroom.workbench.beginning import machine_of
from regulargpt.cli import call
from tests.regulargpt.axe import violations
from tests.regulargpt.browser import Browser
from tests.regulargpt.test_lesson import terms_of
from tests.regulargpt.test_page_print import CONTROLS, CUT, SHEET

MOST_BYTES = 400_000
EMPTY_LOOP = re.compile(r"^\s*(for|while) \((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\);$")
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
    scripts = page_scripts().values()
    assert hole_with_template.search("`${a ? `b c` : {}}`")
    assert [found[0] for script in scripts for found in hole_with_template.finditer(script)] == []


def test_no_text_of_a_script_loses_a_sign_and_no_loop_its_end():
    """What makes the scripts short takes away signs at the end of a block, wherever they stand."""
    for name, source in page_scripts().items():
        lines = [line for line in source.splitlines() if not line.lstrip().startswith("//")]
        texts = re.findall(r'"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`', "\n".join(lines))
        assert [text for text in texts if lean.ENDED.search(text)] == [], name
        # A loop without a body, at the end of a block, would have none.
        assert EMPTY_LOOP.search("\n".join(lines)) is None, name


def test_what_nothing_names_is_left_out_and_nothing_else():
    kept = "function f() {\n  return g;\n}\nconst g = (x) => x;\n// f is called, not h.\nf();\n"
    unused = "function h() {\n  k();\n}\nconst k = () => {\n  1;\n};\nclass H {\n}\nconst n = new Map();\n"
    assert lean.needed(kept + unused) == kept + "const n = new Map();\n"
    method = "  {}(x) {{\n    return x;\n  }}\n"
    made = "class M {{\n{}}}\nnew M().a();\n"
    assert lean.needed(made.format(method.format("a") + method.format("b"))) == made.format(method.format("a"))
    # A name of a class is a short text, not a word of a sentence or of the code.
    assert lean.classes('<p class="a b"><script>f("c d", `e ${g("h")} i`, "a j is no k"); const l = 1;') == set(
        "abcdehi"
    )
    style = "<style>.a, .b:is(.c, .d) { color: red; } @media print { .c { x: y; } #a:hover { x: y; } }</style>"
    assert lean.sheet(style, {"a"}) == "<style>.a{color:red}@media print{#a:hover{x:y}}</style>"


def page_scripts() -> dict[str, str]:
    """All scripts of the page by their names, as they lie beside the classes."""
    found = gathered(map(page.script, page.CALCULATIONS)) | gathered([page.script(page.START)])
    shared = [name for name in (*document.SCRIPTS, *page.SHARED) if name not in document.FIGURES]
    return found | {name: document.file(name) for name in shared}


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
        assert browser.one(".found .said .note").startswith("The link is cut or damaged: it names no machine")
        assert browser.count(".plane .state") == 2
    browser.open(written, "#machine=nonsense&step=3")
    assert browser.one(".found .said .note").startswith("The link is cut or damaged: it names no machine")
    assert browser.evaluate("location.hash") == "#step=3"
    browser.evaluate(f"location.hash = '#machine={OWN}'")
    browser.wait("document.querySelector('.found .said .note') === null")


@pytest.mark.parametrize("end", ["&seed=7&st", "&hits=c!nodes!1.1!2~c!no", "&see=1"])
def test_a_link_that_is_cut_says_so(browser: Browser, written: Path, end: str):
    browser.open(written, "#level=1&hits=c!nodes!1.1!2&step=6")
    assert browser.count(".found .said .note") == 0
    browser.open(written, f"#level=1{end}")
    browser.wait("document.querySelector('.found .said .note') !== null")
    assert browser.one(".found .said .note") == "The link is cut or damaged: its end is not there."


def test_a_trained_network_is_not_lost_by_another_machine_or_by_leaving(browser: Browser, written: Path):
    """Who chooses a machine is asked; undoing it brings the networks back; and so is who leaves the page."""
    browser.open(written)
    browser.choose(".panel.editor select", "2", "change")
    assert browser.count(".panel.editor .problem button") == 0  # nothing is learned
    browser.evaluate("globalThis.bench = modules.start.bench; bench.set.one();0")
    steps = "bench.lanes.map((lane) => bench.snapshots[lane]?.step)"
    browser.wait(f"String({steps}) === '1,1,1'")
    browser.choose(".panel.editor select", "4", "change")
    assert browser.one(".panel.editor .problem").startswith("The networks of this machine stay behind.")
    assert violations(browser) == []
    browser.click(".panel.editor .problem button", 1)
    assert browser.one(".panel.editor select", "e.value") == "2"
    assert browser.evaluate(steps) == [1, 1, 1]
    for way in ("4", "a*b"):
        if way == "4":
            browser.choose(".panel.editor select", way, "change")
        else:
            browser.choose(".panel.editor .begin form input", way)
            browser.click(".panel.editor .begin form button")
        browser.click(".panel.editor .problem button")
        assert browser.evaluate("[bench.training, bench.network]") == ["none", None]
        assert browser.one(".panel.editor select", "e.value") == (way if way == "4" else "")
        browser.click(".panel.editor [aria-label=Undo]")
        assert browser.evaluate(f"[bench.training, ...{steps}]") == ["paused", 1, 1, 1]
        assert browser.one(".lane .stands").endswith(" 1 step.")
    # The networks go on from where they were.
    browser.evaluate("bench.set.one()")
    browser.wait(f"String({steps}) === '2,2,2'")
    browser.key("Tab")  # a browser asks only whom it has seen
    browser.open(written)
    assert browser.asked == ["beforeunload"]
    browser.key("Tab")
    browser.open(written)
    assert browser.asked == ["beforeunload"]  # nothing is learned


def test_what_waits_while_a_level_is_there_is_asked_for_too_and_a_levels_learners_end(browser: Browser, written: Path):
    browser.open(written)
    browser.evaluate(
        "globalThis.bench = modules.start.bench; globalThis.ended = 0; const end = Worker.prototype.terminate;"
        "Worker.prototype.terminate = function () { ended += 1; end.call(this); }; bench.set.one();0"
    )
    browser.wait("bench.snapshots.regulargpt?.step === 1")
    own = browser.evaluate("globalThis.own = bench.drawn;0")
    assert own == 0
    browser.click(".break .levels button", 0)
    browser.wait("bench.isLevel")
    assert browser.evaluate("[bench.training, bench.kept.length, onbeforeunload !== null]") == ["none", 1, True]
    browser.evaluate("bench.set.training('going')")
    browser.wait("bench.learning !== null")
    before = browser.evaluate("ended")
    browser.evaluate("bench.set.language(own)")
    assert browser.evaluate("ended") >= before + 3
    assert browser.evaluate("[bench.training, bench.snapshots.regulargpt.step]") == ["paused", 1]


def test_the_surprise_of_level_4_is_one_press_away(browser: Browser, written: Path):
    """With what a trained network was, and the way back."""
    browser.open(written)
    browser.click(".panel.editor .surprise button")
    browser.wait("document.querySelector('.task .verdict').textContent !== ''")
    assert browser.one(".task .verdict").startswith("✓ No word of less than 20 symbols notices")
    assert browser.one(".guide.current", "e.id") == "break"
    browser.click(".break .task button")
    assert browser.evaluate("modules.machine_link.asText(modules.start.bench.drawn)") == "even-number-of-a"


def test_the_quickest_machine_comes_first_and_its_time_is_said(browser: Browser, written: Path):
    browser.open(written)
    times = browser.evaluate("modules.starters.STARTERS.map(({ seconds }) => seconds)")
    assert times == sorted(times)
    said = browser.all(".panel.editor select option")[2:]
    assert [re.search(r" \(about (\d+) s\)$", text)[1] for text in said] == list(map(str, times))  # type: ignore[index]


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


# What a person sees of some parts: the height of the caption, whether each part is whole below it and in the window.
SEEN = """(selector) => {
  const { bottom } = document.querySelector(".guide.current").getBoundingClientRect();
  const parts = [...document.querySelectorAll(selector)].map((e) => e.getBoundingClientRect());
  return parts.map((e) => e.height > 0 && e.top >= bottom && e.bottom <= innerHeight);
}"""
MADE = """(() => {
  globalThis.bench = modules.start.bench;
  const { snapshot, proven } = modules.levels.made(modules.levels.LEVELS[0]);
  bench.set.snapshot(snapshot);
  bench.set.proven(proven);
})()"""


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (1024, 768), (390, 844)])
def test_the_proof_is_seen_where_the_wall_is_read(browser: Browser, written: Path, width: int, height: int):
    """And beside it the wall and the map, where there are columns; without scrolling, from caption 5 on."""
    browser.look(width, height, still=True)
    browser.open(written)
    browser.evaluate(MADE)
    browser.click(".way a", 4)
    browser.pause(100)
    shown = (".wall .proof p", ".wall .proof button", *((".wall-squares td", "svg.cloud") if width > 390 else ()))
    for selector in shown:
        assert set(browser.evaluate(f"({SEEN})({selector!r})")) == {True}, selector


# What each other caption is about, and what is to be watched then.
ESSENTIAL = {
    0: (".plane", ".found .counts", ".panel.lanes .main"),
    1: (".tree .field", ".tree .picture svg"),
    2: (".plane", ".panel.lanes .main", ".lane"),
    3: ("svg.cloud", ".wall .proof p", ".wall-squares td"),
    6: (".lane", ".wall .proof p", ".wall-squares td"),
}


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (1024, 768)])
def test_what_a_caption_is_about_is_seen_without_scrolling(browser: Browser, written: Path, width: int, height: int):
    browser.look(width, height, still=True)
    browser.open(written)
    browser.evaluate(MADE)
    for caption, selectors in ESSENTIAL.items():
        browser.click(".way a", caption)
        browser.pause(100)
        for selector in selectors:
            assert set(browser.evaluate(f"({SEEN})({selector!r})")) == {True}, (caption, selector)


def test_what_waits_to_be_drawn_has_a_picture_of_its_own_and_a_fault_holds_nothing_up(browser: Browser, written: Path):
    """So that no task is as long as all panels together; and what is said to a worker before it is made is not lost."""
    browser.open(written)
    drawn = """new Promise((done) => {
      const at = [], { calmly } = modules.calmly;
      onerror = () => true;
      for (const i of [0, 1, 2]) calmly(() => {
        at.push(document.timeline.currentTime);
        if (i === 1) throw new Error("a fault");
        if (i === 2) done(at);
      })();
    })"""
    assert len(set(browser.evaluate(drawn))) == 3
    browser.problems.clear()
    asked = """new Promise((done) => {
      const { language } = modules.start.bench;
      const { snapshot } = modules.levels.made(modules.levels.LEVELS[0]);
      const asking = modules.training.worker("asking", done);
      asking.postMessage({ ...snapshot, lane: "regulargpt", language, words: [[0], [0, 0]] });
    })"""
    assert len(browser.evaluate(asked)["answers"]) == 2
    browser.assert_silent()


@pytest.mark.parametrize("width", [1280, 1024])
def test_a_caption_is_a_bar_that_can_be_unfolded(browser: Browser, written: Path, width: int):
    """No sentence is lost: what is cut off is read by a button, which is there only then."""
    browser.look(width, 768, still=True)
    browser.open(written)
    folded = 0
    for i in range(7):
        browser.click(".way a", i)
        browser.pause()
        assert browser.one(".guide.current", "e.offsetHeight") < 120
        cut = "e.scrollHeight > e.clientHeight + 1"
        is_cut = browser.one(".guide.current .says", cut)
        assert browser.one(".guide.current .more", "e.checkVisibility()") == is_cut
        folded += is_cut
        if is_cut:
            browser.key("Enter", at=".guide.current .more")
            assert browser.one(".guide.current .says", cut) is False
            assert browser.one(".guide.current .more", "[e.textContent, e.ariaExpanded]") == ["Fold", "true"]
    assert folded > 0


def test_letters_of_every_machine_are_large_enough_to_read(browser: Browser, written: Path):
    browser.look(1280, 800, still=True)
    browser.open(written)
    sizes = """modules.starters.STARTERS.map(({ drawn }) => {
      modules.start.bench.set.language(drawn);
      const plane = document.querySelector(".plane");
      const letters = [...plane.querySelectorAll("text")].map((e) => parseFloat(getComputedStyle(e).fontSize));
      return Math.min(...letters) * plane.getScreenCTM().a;
    })"""
    assert min(browser.evaluate(sizes)) >= 14


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
    browser.click(".panel.editor .problem button")
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
    claims = browser.one(".panel.wall .claim .caption")
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
  const bench = new modules.bench.Bench();
  bench.set.language(modules.starters.STARTERS[0].drawn);
  const place = html("div");
  new modules.lanes_panel.LanesPanel(place, bench);
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
  const { language } = modules.machine.languageOf(drawn);
  const network = modules.one_hot.oneHot(language, modules.cases.casesOf(language));
  let last = null;
  modules.asking.ask({ ...network, language, seed: 0, lane: "regulargpt" }, (found) => { last = found; });
  return [last.right, last.tried, ...last.lengths];
}"""


LONG = """[0, 1].map((seed) => modules.starters.STARTERS.map(({ drawn }) => {
  const { language } = modules.machine.languageOf(drawn);
  const words = modules.asking.longWords(language, seed);
  const all = Array.from({ length: 20 }, (_, i) => words.word(i));
  const answers = all.map((word) => modules.machine.answerOf(language, word));
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
    # Nor does a list stand there with nothing in it, as where all that it has are buttons; before a level and in it.
    for address in ("", "#level=3&step=6"):
        browser.evaluate(f"location.hash = {address!r}")
        browser.pause(300)
        browser.all(".panel details", "{ e.open = true; }")
        empty = "e.checkVisibility() && !e.innerText.trim()"
        assert True not in browser.all(".panel :is(ol, ul, li, .landings)", empty)
        assert not [text for text in browser.all(".panel p") if text.strip() == "Let it land at"]
        assert browser.all(".panel .landings", "e.checkVisibility()") in ([], [False])


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


def test_a_word_has_a_symbol_in_every_sentence(browser: Browser, written: Path):
    """As the checker states it: nothing that is said of all words is false of the empty one, for it is no word here."""
    browser.open(written)
    assert "a word is a row of one symbol or more" in plain(spoken()[2])
    browser.all("details", "{ e.open = true; }")
    assert "ε is no symbol at all" in browser.one(".panel.editor")
    assert "A dot is grey while no network has been trained." in browser.one(".panel.tree")
    says = browser.evaluate("modules.starters.STARTERS.map(({ says }) => says)")
    assert not [text for text in [*says, browser.one("body", "e.innerText")] if "empty word" in text]
    for number in range(1, 6):
        browser.open(written, f"#level={number}")
        assert "empty word" not in browser.one("body", "e.innerText")


def test_a_rule_that_is_left_out_is_for_no_element(browser: Browser, written: Path):
    style = "".join(document.file(name) for name in ("page.css", "states.css", "lesson/lesson.css", *page.styles()))
    whole, left = lean.sheet(style, set(lean.NAME.findall(style))), lean.STYLE.findall(written.read_text("utf-8"))[0]
    out = list(selectors(whole) - selectors(left))
    assert any(".plot" in one for one in out)
    for address in ("", "#step=5", "#machine=brackets-of-any-depth", "#level=4&hits=c!leaves!1.1!1&step=6"):
        browser.open(written, address)
        browser.all("details", "{ e.open = true; }")
        browser.pause(300)
        assert browser.evaluate(f"{json.dumps(out)}.filter((one) => document.querySelector(one))") == []


def selectors(style: str) -> set[str]:
    return {one for rule in lean.RULE.finditer(style) for one in lean.COMMA.split(rule[1]) if "@" not in one}
