"""The editor in a real browser: what a person does on it with a mouse, with keys, with a finger, and what it says."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import languages
from languages.automata import Dfa
from languages.convert.json_text import from_json, to_json
from regulargpt.classroom.automaton import APART, RADIUS, Drawing
from regulargpt.classroom.diagram import Diagram
from regulargpt.classroom.layout import positions
from tests.regulargpt.axe import violations
from tests.regulargpt.browser import CONTROL, SHIFT, Browser
from tests.regulargpt.workbench.editor_page import written

Place = tuple[float, float]
LEFT, RIGHT, BELOW = (120.0, 120.0), (320.0, 120.0), (220.0, 240.0)  # in the plane
HERE = "regulargpt/classroom/workbench"
MIDDLE = "(({ x, y, width, height }) => [x + width / 2, y + height / 2])(e.getBoundingClientRect())"
PATHS, HEADS = re.compile(r'<path d="([^"]*)"'), re.compile(r'<polygon points="([^"]*)"')
EVEN = Dfa(("q0", "q1"), ("a", "b"), ((1, 0), (0, 1)), "q0", {"q0"})


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("editor") / "editor.html")


@pytest.fixture
def editor(browser: Browser, page: Path) -> Iterator[Browser]:
    """An empty plane."""
    browser.open(page, width=1280)
    yield browser
    browser.assert_fits()


def drawn(editor: Browser) -> Any:
    """The machine."""
    return json.loads(text_of(editor))


def text_of(editor: Browser) -> str:
    """The machine, byte for byte."""
    return editor.evaluate("JSON.stringify(editor.drawn)")


def exported(editor: Browser) -> str:
    """The machine as the project's JSON."""
    return editor.evaluate(f"modules['{HERE}/machine_json.js'].toJson(editor.drawn).text")


def at(editor: Browser, place: Place) -> Place:
    """Where in the window a place of the plane is."""
    x, y = place
    point = f"new DOMPoint({x}, {y}).matrixTransform(editor.canvas.svg.getScreenCTM())"
    return tuple(editor.evaluate(f"((p) => [p.x, p.y])({point})"))


def press(editor: Browser, *places: Place, held: int = 0) -> None:
    """Press, move and let go the mouse, by places of the plane."""
    editor.mouse(*(at(editor, place) for place in places), held=held)


def typed(editor: Browser, text: str) -> None:
    """Type into the field that is open."""
    editor.write(text)
    editor.key("Enter")


def arrow(editor: Browser, a: Place, b: Place, symbols: str) -> None:
    """Draw an arrow; one to its own state goes out of it and back."""
    press(editor, a, (a[0] + 20, a[1] - 50), b)
    typed(editor, symbols)


def draw_even(editor: Browser) -> None:
    """An even number of a, with the mouse."""
    press(editor, LEFT)
    press(editor, RIGHT)
    press(editor, LEFT)
    press(editor, LEFT)
    arrow(editor, LEFT, RIGHT, "a")
    arrow(editor, RIGHT, LEFT, "a")
    arrow(editor, LEFT, LEFT, "b")
    arrow(editor, RIGHT, RIGHT, "b")


def choose(editor: Browser, title: str) -> None:
    """Begin with a machine of the list."""
    values = editor.all(".begin option", "[e.text, e.value]")
    value = next(value for text, value in values if re.sub(r" \(about .*", "", text) == title)
    editor.choose(".begin select", value, "change")


def test_an_even_number_of_a_is_drawn_with_the_mouse(editor: Browser):
    draw_even(editor)
    assert drawn(editor) == {
        "alphabet": ["a", "b"],
        "outputs": ["reject", "accept"],
        "states": [
            {"name": "q0", "x": LEFT[0], "y": LEFT[1], "output": 1},
            {"name": "q1", "x": RIGHT[0], "y": RIGHT[1], "output": 0},
        ],
        "initial": 0,
        "arrows": [
            {"from": 0, "to": 1, "symbols": [0]},
            {"from": 1, "to": 0, "symbols": [0]},
            {"from": 0, "to": 0, "symbols": [1]},
            {"from": 1, "to": 1, "symbols": [1]},
        ],
    }
    assert editor.one(".counts") == "A language: 2 states, 2 elements"
    assert editor.evaluate("bench.drawn === editor.drawn && bench.language.elements.words.join()") == ",a"
    # A state has the colour of the least word that leads there.
    fills = editor.all(".plane .state", "e.style.getPropertyValue('--fill')")
    assert fills == [f" {fill}".strip() for fill, _ in editor.evaluate("bench.language.colours")]


def test_a_new_arrow_proposes_a_symbol_that_its_state_has_not(editor: Browser):
    """Enter alone never makes a machine nondeterministic."""
    for place in (LEFT, RIGHT):
        press(editor, place)
    for a, b in ((LEFT, RIGHT), (RIGHT, LEFT), (LEFT, LEFT), (RIGHT, RIGHT), (LEFT, BELOW)):
        press(editor, a, (a[0] + 20, a[1] - 50), b)
        editor.key("Enter")
    assert [[one["from"], one["symbols"]] for one in drawn(editor)["arrows"]] == [
        *([0, [0]], [1, [0]], [0, [1]], [1, [1]], [0, [2]]),
    ]
    assert drawn(editor)["alphabet"] == ["a", "b", "c"]


def test_and_with_keys_alone(editor: Browser):
    editor.focus(".plane")
    editor.key("n")
    editor.key("n")
    editor.key("ArrowRight")
    for origin, target, symbol in (("0", "1", "a"), ("1", "0", "a"), ("0", "0", "b"), ("1", "1", "b")):
        reach(editor, origin)
        editor.key("a")
        reach(editor, target)
        editor.key("Enter")
        typed(editor, symbol)
    reach(editor, "0")
    editor.key(" ")
    assert exported(editor) == to_json(EVEN)
    reach(editor, "0-1")
    editor.key("Delete")
    reach(editor, "1")
    editor.key("s")
    editor.key("Enter")
    typed(editor, "end")
    found = drawn(editor)
    assert found["initial"] == 1
    assert found["states"][1]["name"] == "end"
    assert [(a["from"], a["to"]) for a in found["arrows"]] == [(1, 0), (0, 0), (1, 1)]
    assert editor.evaluate("document.activeElement.dataset.key") == "1"


def reach(editor: Browser, key: str) -> None:
    """To a part of the machine, by Tab."""
    editor.focus(".plane")
    for _ in range(20):
        editor.key("Tab")
        if editor.evaluate("document.activeElement.dataset.key") == key:
            return
    raise AssertionError(key)


def test_and_with_the_list_alone(editor: Browser):
    editor.evaluate("document.querySelector('.listing').open = true")
    editor.pause()
    for _ in range(2):
        editor.click("[data-at='new:0']")
        editor.pause()
    assert editor.evaluate("document.activeElement.getAttribute('aria-label')") == "Name of q1"
    for origin, target, symbol in (("0", "1", "a"), ("1", "0", "a"), ("0", "0", "b"), ("1", "1", "b")):
        editor.choose("[data-at='new:2']", origin, "change")
        editor.choose("[data-at='new:3']", target, "change")
        editor.click("[data-at='new:1']")
        editor.pause()
        name = f"Symbols of the arrow from q{origin} to q{target}"
        assert editor.evaluate("document.activeElement.getAttribute('aria-label')") == name
        editor.choose(f"[data-at='{origin}-{target}:0']", symbol, "change")
        editor.pause()
    editor.choose("[data-at='0:2']", "1", "change")
    editor.pause()
    assert exported(editor) == to_json(EVEN)
    # A field that has the focus keeps it when its row is made again.
    editor.choose("[data-at='1:0']", "odd", "change")
    editor.focus("[data-at='1:2']")
    editor.pause()
    assert editor.evaluate("document.activeElement.dataset.at") == "1:2"


def test_gestures(editor: Browser):
    draw_even(editor)
    press(editor, (LEFT[0] + 26, LEFT[1]), (LEFT[0] + 46, LEFT[1] + 30))  # by its rim
    press(editor, RIGHT, (RIGHT[0] + 40, RIGHT[1]), held=SHIFT)
    assert [(s["x"], s["y"]) for s in drawn(editor)["states"]] == [(140, 150), (360, 120)]
    told = editor.evaluate("told.length")
    assert editor.evaluate("told.at(-1).states[0].x") == LEFT[0]  # who moves a state does not lose what is learned
    assert editor.evaluate("bench.drawn === editor.drawn")
    press(editor, (140, 150), (200, 200), BELOW)  # to the empty plane: a new state
    typed(editor, "a, (")
    found = drawn(editor)
    assert found["states"][2] == {"name": "q2", "x": BELOW[0], "y": BELOW[1], "output": 0}
    assert (found["alphabet"], found["arrows"][-1]["symbols"]) == (["a", "b", "("], [0, 2])
    assert editor.all(".plane .bracket") == ["("]
    assert "nondeterministic" in editor.one(".notes")
    assert editor.evaluate("told.length") > told
    # What is dropped is not drawn: the arrow, and the state that came with it.
    before = text_of(editor)
    press(editor, BELOW, (300, 240), (400, 240))
    editor.key("Escape")
    assert text_of(editor) == before
    # Beside a state is no room for another one: an arrow ends at it, and a click leaves a gap.
    press(editor, (140, 150), (180, 150), (360, 170))
    editor.key("Escape")
    assert text_of(editor) == before
    press(editor, (BELOW[0] + 40, BELOW[1]))
    assert drawn(editor)["states"][3]["x"] == BELOW[0] + 70
    editor.click("[aria-label=Undo]")
    # A symbol that no arrow has stays, if it was there before the arrow was drawn.
    editor.evaluate("editor.do({ ...editor.drawn, alphabet: [...editor.drawn.alphabet, 'c'] }, null)")
    arrow(editor, (360, 120), BELOW, "z")
    assert drawn(editor)["alphabet"] == ["a", "b", "(", "c", "z"]
    editor.click("[aria-label=Undo]")
    editor.click("[aria-label=Undo]")
    # The start is dragged to another state.
    start = editor.one(".plane .start .near", "((p) => [p.x + 4, p.y + p.height / 2])(e.getBoundingClientRect())")
    editor.mouse(start, at(editor, (240, 180)), at(editor, BELOW))
    assert drawn(editor)["initial"] == 2
    # A click on an arrow asks for its symbols; a click beside the field closes it, and adds no state.
    editor.mouse(editor.one(".plane [data-key='0-1'] text", MIDDLE))
    assert editor.one(".canvas .at", "e.value") == "a"
    editor.write("b")
    press(editor, (500, 300))
    found = drawn(editor)
    assert len(found["states"]) == 3
    assert found["arrows"][0] == {"from": 0, "to": 1, "symbols": [1]}
    # Who goes on elsewhere has typed the symbols, too, and is where they went.
    editor.key("Enter", at=".plane [data-key='0-1']")
    editor.write("a")
    editor.mouse(editor.one(".begin form input", MIDDLE))
    assert editor.evaluate("document.activeElement.type") == "text"
    assert drawn(editor)["arrows"][0]["symbols"] == [0]
    editor.key("Enter", at=".plane [data-key='0-1']")
    editor.key("Tab")
    assert editor.evaluate("document.activeElement.dataset.key") == "0-0"


def test_touch(editor: Browser, page: Path):
    editor.open(page, width=390)
    places = [at(editor, place) for place in ((80, 150), (270, 150))]
    for place in (*places, places[0], places[0]):
        editor.touch(place)
    editor.touch(places[0], (150, places[0][1] - 40), places[1])
    typed(editor, "a")
    editor.touch(places[1], (150, places[0][1] + 90), places[0])
    typed(editor, "a")
    assert editor.one(".counts") == "A language: 2 states, 2 elements"
    assert editor.evaluate("scrollY") == 0
    editor.click(".editor .tools button", 2)
    editor.touch(places[1], (places[1][0], places[1][1] + 30), (places[1][0], places[1][1] + 60))
    assert drawn(editor)["states"][1]["y"] == 210
    # A finger that begins on the plane scrolls the page, and adds nothing.
    editor.look(390, 400)
    x, y = editor.one(".plane", "(({ x, y }) => [x + 20, y + 200])(e.getBoundingClientRect())")
    before = text_of(editor)
    editor.touch((x, y), (x, y - 40), (x, y - 90), (x, y - 150))
    editor.wait("scrollY > 0")
    assert text_of(editor) == before


def test_what_is_undone_is_as_it_was(editor: Browser):
    rng = random.Random(0)
    choose(editor, "Multiples of 3")
    editor.evaluate("editor.history.past = []")
    seen = [text_of(editor)]
    for _ in range(25):
        edit_at_random(editor, rng)
        if (now := text_of(editor)) != seen[-1]:
            seen.append(now)
        assert is_sound(drawn(editor))
    assert len(seen) > 15
    for was in reversed(seen[:-1]):
        editor.key("z", at=".plane", held=CONTROL)
        assert text_of(editor) == was
    assert editor.one("[aria-label=Undo]", "e.disabled")
    for was in seen[1:]:
        editor.key("z", at=".plane", held=CONTROL | SHIFT)
        assert text_of(editor) == was
    editor.click("[aria-label=Undo]")
    editor.key("n", at=".plane")
    assert editor.one("[aria-label=Redo]", "e.disabled")


def is_sound(machine: Any) -> bool:
    """Every number names something, nothing is there twice, and no arrow is without a symbol."""
    states, symbols = (range(len(machine[part])) for part in ("states", "alphabet"))
    ends = [(a["from"], a["to"]) for a in machine["arrows"]]
    on = [a["symbols"] for a in machine["arrows"]]
    names = [[state["name"] for state in machine["states"]], machine["alphabet"], ends, *on]
    return (
        all(len(listed) == len(set(listed)) for listed in names)
        and all(q in states for pair in ends for q in pair)
        and all(listed and listed == sorted(listed) and set(listed) <= set(symbols) for listed in on)
        and (machine["initial"] is None or machine["initial"] in states)
        and set(machine["alphabet"]) == {machine["alphabet"][a] for listed in on for a in listed}
    )


def edit_at_random(editor: Browser, rng: random.Random) -> None:
    """One of the edits of the plane."""
    keys = editor.all(".plane [data-key]", "e.dataset.key")
    key = rng.choice(keys) if keys else None
    what = rng.choice(["n", "arrow", "symbols", " ", "s", "ArrowLeft", "Delete", "move"])
    if what == "n" or key is None:
        editor.key("n", at=".plane")
    elif what in ("arrow", "move"):
        ends = [editor.evaluate(f"editor.drawn.states[{rng.randrange(len(drawn(editor)['states']))}]") for _ in "ab"]
        a, b = [(float(end["x"]), float(end["y"])) for end in ends]
        press(editor, a, (a[0] + 20, a[1] + 20), b, held=SHIFT if what == "move" else 0)
        if what == "arrow":
            typed(editor, rng.choice(["a", "0", "1 0", ""]))
    elif what == "symbols":
        editor.key("Enter", at=f".plane [data-key='{key}']")
        typed(editor, rng.choice(["01", "x", "left right", ""]))
    else:
        editor.key(what, at=f".plane [data-key='{key}']")


# Two states that are one, and one that no word leads to.
MERGED = """{"states": ["e", "o", "e2", "x"], "alphabet": ["a", "b"], "initial": "e", "accepting": ["e", "e2"],
  "transitions": {"e": {"a": "o", "b": "e2"}, "o": {"a": "e2", "b": "o"}, "e2": {"a": "o", "b": "e"},
                  "x": {"a": "x", "b": "x"}}}"""
# Names that are markup, and an answer that is missing.
ANSWERS = """{"states": ["0", "1"], "alphabet": ["up", "<b>"], "initial": "1", "outputs": {"0": "&amp;", "1": null},
  "transitions": {"0": {"up": "1", "<b>": "0"}, "1": {"up": "0", "<b>": "0"}}, "output_names": ["&amp;", "<i>"]}"""


def open_file(editor: Browser) -> None:
    editor.evaluate("document.querySelector('.files').open = true")
    editor.pause()


def paste(editor: Browser, text: str) -> None:
    """Draw what a text says."""
    open_file(editor)
    editor.one(".files textarea", "{ e.value = ''; e.focus(); }")
    editor.write(text)
    editor.click(".files button", 0)
    editor.evaluate("document.activeElement.blur(), editor.exchange.show()")


def test_machines_in_and_out(editor: Browser, tmp_path: Path):
    even = to_json(EVEN)
    paste(editor, even)
    assert editor.one(".files textarea", "e.value") == even
    paste(editor, MERGED)
    out = editor.one(".files textarea", "e.value")
    assert from_json(out).states == ("e", "o", "e2")
    assert editor.one(".counts") == "A language: 2 states, 2 elements"
    fills = editor.all(".plane .state", "e.style.getPropertyValue('--fill')")
    assert fills[0] == fills[2] != fills[1]
    assert not fills[3]
    assert editor.count(".plane .frame.within") == 1
    assert editor.all(".notes p") == [
        "e and e2 are framed: no word tells them apart, so they are one state of the smallest machine.",
        "No word leads to x.",
    ]
    assert editor.count(".smallest .state") == 2
    # From a file, and into one.
    (file := tmp_path / "machine.json").write_text(even)
    node = editor.call("DOM.getDocument")["root"]["nodeId"]
    field = editor.call("DOM.querySelector", nodeId=node, selector="input[type=file]")["nodeId"]
    editor.call("DOM.setFileInputFiles", nodeId=field, files=[str(file)])
    editor.wait("editor.drawn.states.length === 2")
    editor.evaluate("{ window.saved = []; save = async (blob, name) => saved.push(name, await blob.text()); }")
    editor.click(".files button", 2)
    editor.wait("saved.length")
    assert editor.evaluate("saved") == ["automaton.json", even]
    # What is no machine changes nothing.
    before = text_of(editor)
    paste(editor, "{")
    assert "JSON" in editor.one(".editor .problem[role=alert]")
    assert text_of(editor) == before
    paste(editor, ANSWERS)
    assert editor.all(".plane .answer") == ["&amp;", "–"]
    editor.focus(".plane [data-key='1']")
    for index in (0, 1, 0):
        editor.key(" ")
        assert drawn(editor)["states"][1]["output"] == index


def test_a_regular_expression(editor: Browser):
    editor.focus(".begin form input")
    typed(editor, "(ab)*")
    assert editor.one(".counts") == "A language: 3 states, 6 elements"
    before = text_of(editor)
    editor.one(".begin form input", "{ e.value = ''; e.focus(); }")
    typed(editor, "(ab")
    assert editor.one(".editor .problem[role=alert]")
    assert text_of(editor) == before


def test_machines_to_start_from(editor: Browser):
    titles = editor.all(".begin option")[2:]
    assert len(titles) == 12
    for title in titles:
        choose(editor, re.sub(r" \(about \d+ s\)$", "", title))
        assert editor.one(".begin select", "e.selectedOptions[0].text") == title
        assert editor.one(".counts").startswith("A language: ")
        # No label lies on a state, and nothing is outside.
        assert editor.evaluate(LABELS_ARE_FREE)
        assert editor.evaluate(ALL_IS_IN_VIEW)
    choose(editor, "Third symbol from the end")
    assert "nondeterministic" in editor.one(".notes")
    assert editor.one(".counts") == "A language: 8 states, 15 elements"
    assert editor.count(".smallest .state") == 8
    editor.key("n", at=".plane")
    assert editor.one(".begin select", "e.value") == ""


LABELS_ARE_FREE = """[...document.querySelectorAll('.plane .edge text')].every((label) => editor.drawn.states.every(
  ({ x, y }) => Math.hypot(label.getAttribute('x') - x, label.getAttribute('y') - 5 - y) > 36))"""
ALL_IS_IN_VIEW = """((outer) => [...document.querySelectorAll('.plane [data-key]')].every((part) => {
  const box = part.getBoundingClientRect();
  return box.left >= outer.left && box.right <= outer.right && box.top >= outer.top && box.bottom <= outer.bottom;
}))(document.querySelector('.plane').getBoundingClientRect())"""


def test_a_machine_with_a_stack(editor: Browser):
    press(editor, LEFT)
    press(editor, LEFT)
    press(editor, RIGHT)
    arrow(editor, LEFT, RIGHT, "( / push first")
    arrow(editor, RIGHT, LEFT, ") / pop first, the bottom")
    arrow(editor, RIGHT, RIGHT, "a; (/push in; ) / pop in")
    assert drawn(editor)["arrows"] == [
        {"from": 0, "to": 1, "symbols": [0], "push": "first"},
        {"from": 1, "to": 0, "symbols": [1], "pop": ["first", None]},
        {
            "from": 1,
            "to": 1,
            "symbols": [2],
        },
        {"from": 1, "to": 1, "symbols": [0], "push": "in"},
        {"from": 1, "to": 1, "symbols": [1], "pop": ["in"]},
    ]
    assert editor.all(".plane [data-key='1-1'] text") == ["a", "( / push in", ") / pop in"]
    assert editor.one(".counts").startswith("A language: 3 states, ")
    assert editor.one(".plane [data-key='1-0']", "e.getAttribute('aria-label')") == (
        "Arrow from q1 to q0: ) / pop first, the bottom"
    )
    # What is written of an arrow is read as the same arrow.
    before = text_of(editor)
    for key in ("0-1", "1-0", "1-1"):
        editor.key("Enter", at=f".plane [data-key='{key}']")
        editor.write(editor.one(".canvas .at", "e.value"))
        editor.key("Enter")
    assert text_of(editor) == before
    # A new arrow with a symbol that pushes pushes the same; with a state its arrows go, and with them their symbols.
    editor.evaluate("bench.word = [0, 0, 1, 1]; editor.canvas.draw()")
    assert editor.all(".plane .read", "e.dataset.key") == ["0", "1-0"]
    press(editor, LEFT, (140, 180), BELOW)
    typed(editor, ") / pop in")
    press(editor, BELOW, (240, 220), LEFT)
    assert editor.one(".canvas .at", "e.value") == "( / push first"
    editor.key("Escape")
    editor.key("Delete", at=".plane [data-key='1']")
    assert drawn(editor)["arrows"] == [{"from": 0, "to": 1, "symbols": [0], "pop": ["in"]}]
    assert drawn(editor)["alphabet"] == [")"]


def test_what_is_missing_is_said_with_a_remedy(editor: Browser):
    said = [editor.one(".said")]
    press(editor, LEFT)
    said.append(editor.one(".said"))
    arrow(editor, LEFT, RIGHT, "a")
    said.append(editor.one(".said"))
    editor.key("Delete", at=".plane [data-key='0']")
    said.append(editor.one(".said"))
    press(editor, LEFT)
    editor.key("Enter", at=".plane [data-key='1']")
    typed(editor, "q1")
    said.append(editor.one(".said .note"))
    assert said == [
        "Nothing is drawn yet. Click on the plane: a state.",
        "There is no arrow yet. Drag from a state to a state.",
        editor.evaluate(f"modules['{HERE}/machine.js'].languageOf(editor.history.past[2]).problem"),
        "No state is the start. Click one, then press Start.",
        "There is a state q1 already. Choose another name.",
    ]


def test_a_machine_that_another_panel_sets(editor: Browser):
    draw_even(editor)
    before = text_of(editor)
    editor.key("Enter", at=".plane [data-key='0-1']")  # what is typed then is for a machine that is gone
    editor.write("x")
    editor.evaluate(f"bench.set.language(modules['{HERE}/starters.js'].STARTERS[1].drawn)")
    assert editor.one(".counts") == "A language: 3 states, 6 elements"
    editor.click("[aria-label=Undo]")
    assert text_of(editor) == before
    assert editor.evaluate("bench.language.elements.words.join()") == ",a"
    # Where the word leads.
    editor.evaluate("bench.word = [0, 1]; editor.canvas.draw()")
    assert editor.all(".plane .read", "e.dataset.key") == ["1", "1-1"]


def test_no_rule_of_accessibility_is_broken(editor: Browser, page: Path):
    for width, dark in ((1280, True), (390, False), (290, True)):
        editor.open(page, width=width, dark=dark)
        assert violations(editor) == []
        paste(editor, MERGED)
        editor.all("details", "{ e.open = true; }")
        editor.pause()
        editor.key("Enter", at=".plane [data-key='0-1']")
        assert violations(editor) == []
        editor.assert_fits()
        assert len(ids := editor.all("[id]", "e.id")) == len(set(ids))


@pytest.mark.parametrize("name", ["parity", "tomita-3", "cycle-navigation", "even-pairs"])
def test_arrows_run_as_python_draws_them(editor: Browser, name: str):
    machine = languages.get(name).machine
    diagram = Diagram.from_machine(machine)
    python = Drawing(diagram, positions(diagram), RADIUS, APART, labels=True)
    number = {symbol: a for a, symbol in enumerate(machine.alphabet)}
    data = {
        "states": [{"x": x, "y": y} for x, y in python.places],
        "initial": diagram.initial,
        "arrows": [{"from": p, "to": q, "symbols": [number[s] for s in on]} for (p, q), on in diagram.arrows.items()],
    }
    found = editor.evaluate(f"modules['{HERE}/arrows.js'].lines({json.dumps(data)}, {[[1, 1]] * len(data['arrows'])})")
    lines = [*found["arrows"], found["start"]]
    assert sorted(rounded(line["path"]) for line in lines) == sorted(map(rounded, PATHS.findall(python.svg)))
    assert sorted(rounded(line["head"]) for line in lines) == sorted(map(rounded, HEADS.findall(python.svg)))


def rounded(text: str) -> list[float]:
    """The numbers in a path, without the digit in which two ways to round may differ."""
    return [round(float(value) + 1e-6, 1) + 0.0 for value in re.findall(r"[-\d.]+", text)]
