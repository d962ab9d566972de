"""The tree, the map and the wall of the workbench, against torch and the certificate's table."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from safetensors.torch import load_file

import languages
from languages.automata import MooreMachine
from languages.automata.monoid import TransitionMonoid
from regulargpt.certificate.checker.claims import claim
from regulargpt.finite.float64_network import Float64Network
from regulargpt.finite.specification import specified_machine
from regulargpt.finite.table import QuantisedTable
from regulargpt.models.regulargpt import RegularGPT
from tests.regulargpt.axe import violations
from tests.regulargpt.browser import Browser
from tests.regulargpt.conftest import PARITY
from tests.regulargpt.workbench.panels_page import Moment, written

Floats = npt.NDArray[np.float64]
SMALL = {"d_model": 16, "n_heads": 4, "d_ff": 24, "gates": False}
REST = {"chunk_size": 2, "thickness": 1, "norm": "pre", "activation": "gelu", "attention_bias": True, "pad": "learned"}
REST |= {"embedding_scale": 1.0, "state_norm": True, "attention": "dilated", "tied": False, "distinct_levels": 1}
REST |= {"levels": 0, "tree": "flat"}
SPOILT = "state_norm.bias"


@dataclass(frozen=True)
class Subject:
    """A language and a network, trained or not, with a prototype for each least word of an element."""

    machine: MooreMachine
    options: Mapping[str, Any]
    weights: Mapping[str, torch.Tensor]
    prototypes: Mapping[str, Sequence[float]]

    @property
    def monoid(self) -> TransitionMonoid:
        return TransitionMonoid.from_machine(self.machine)

    def network(self) -> Float64Network:
        shape = {name: self.options[name] for name in SMALL}
        model = RegularGPT(len(self.machine.alphabet), len(self.machine.output_names), **shape)
        model.load_state_dict(dict(self.weights))
        return Float64Network(model)

    def moment(self, step: int, known: bool = True) -> Moment:
        arrays = {name: tensor.numpy() for name, tensor in self.weights.items()}
        return Moment(step, arrays, self.prototypes if known else None)

    def spoilt(self) -> Subject:
        """With one weight that is far off: the two first prototypes are told apart by its number most of all."""
        first, second, *_ = self.points(list(self.prototypes))
        changed = self.weights[SPOILT].clone()
        changed[int((first - second).abs().argmax())] += 20
        return replace(self, weights={**self.weights, SPOILT: changed})

    def points(self, words: Sequence[str]) -> torch.Tensor:
        return torch.tensor([self.prototypes[word] for word in words], dtype=torch.float64)


@cache
def subject(name: str) -> Subject:
    """Parity is proven; the others are as they were drawn, with prototypes that lie anywhere."""
    machine = specified_machine(languages.get(name))
    monoid = TransitionMonoid.from_machine(machine)
    if name == "parity":
        record = json.loads((PARITY / "certificate.json").read_text())
        options = json.loads((PARITY / "config.json").read_text())["model"]
        points = dict(zip(monoid.words, record["prototypes"], strict=True))
        return Subject(machine, options, load_file(PARITY / "model.safetensors"), points)
    generator = torch.Generator().manual_seed(1)
    model = RegularGPT(len(machine.alphabet), len(machine.output_names), generator=generator, **SMALL)
    values = torch.randn(monoid.size, SMALL["d_model"], generator=generator).tolist()
    return Subject(machine, SMALL | REST, model.state_dict(), dict(zip(monoid.words, values, strict=True)))


NAMES = ("parity", "cycle-navigation", "regex:(ab)*")


@pytest.fixture(scope="session")
def pages(tmp_path_factory) -> Mapping[str, Path]:
    """Of each subject: without prototypes, with them, and spoilt."""
    place = tmp_path_factory.mktemp("panels")
    return {name: page_of(subject(name), place / f"{i}.html") for i, name in enumerate(NAMES)}


def page_of(found: Subject, out: Path) -> Path:
    moments = [found.moment(1, known=False), found.moment(2), found.spoilt().moment(3)]
    return written(out, found.machine, found.options, moments)


def opened(browser: Browser, page: Path, moment: int | None = 1, width: int = 1280, **how: Any) -> Browser:
    browser.open(page, width=width, still=True, **how)
    if moment is not None:
        show(browser, moment)
    return browser


def show(browser: Browser, moment: int) -> None:
    """What a worker sends; until all panels have drawn it."""
    browser.evaluate(f"show({moment})")
    browser.wait(f"!panels.wall.left && panels.map.last?.step === data.snapshots[{moment}].step")
    browser.pause(0)


def word_is(browser: Browser, word: Sequence[int]) -> None:
    browser.evaluate(f"bench.set.word({json.dumps(list(word))})")


# --- the wall


@pytest.mark.parametrize("name", NAMES)
def test_the_wall_stands_as_torch_and_the_table_say(browser: Browser, pages: Mapping[str, Path], name: str):
    """Also where a weight was spoilt: just those squares turn of which Python says so."""
    opened(browser, pages[name], 0)
    assert browser.count(".wall-squares td[data-case]:is(.right, .wrong)") == 0
    stood: list[str] = []
    for moment, found in ((1, subject(name)), (2, subject(name).spoilt())):
        show(browser, moment)
        expected = walls(browser, found)
        squares = dict(browser.all(".wall-squares td[data-case]", "[Number(e.dataset.case), e.className]"))
        stands = [squares[i] for i in range(len(squares))]
        assert stands == ["right" if right else "wrong" for _, right, _ in expected]
        said = browser.evaluate("panels.wall.found.map(({ here, margin }) => [here, margin])")
        assert [here for here, _ in said] == [here for here, _, _ in expected]
        assert [margin for _, margin in said] == pytest.approx([margin for _, _, margin in expected], rel=1e-6)
        right = stands.count("right")
        assert browser.one(".wall .count").startswith(f"{right} of {len(stands)} cases are right")
        assert browser.one(".wall progress", "e.value") == right
        stood.append(",".join(stands))
    assert stood[0] != stood[1]
    assert ("wrong" in stood[0]) == (name != "parity")


def walls(browser: Browser, found: Subject) -> list[tuple[Any, bool, float]]:
    """Of each case: where the network comes to, whether that is right, and how much nearer that is than the next."""
    monoid, machine = found.monoid, found.machine
    cases = browser.evaluate("bench.cases")
    words = browser.evaluate("bench.cases.elements.map((e) => bench.language.elements.words[e])")
    table = QuantisedTable(found.network(), found.points(words))
    numbers = [monoid.words.index(word) for word in words]
    expected: list[tuple[Any, bool, float]] = []
    for part, entries, elements in (
        ("leaves", table.leaves, [int(e) for e in monoid.generators]),
        ("nodes", table.nodes, numbers),
    ):
        windows = np.array([window for window, _ in cases[part]])
        entries(windows)
        keys = windows @ [entries.base, 1]
        for (near, far), key in zip(windows.tolist(), keys.tolist(), strict=True):
            at = int(np.searchsorted(entries.keys, key))
            here = int(entries.images[at])
            left = elements[far - 1] if far else 0
            element = int(monoid.table[left, elements[near - 1]])
            expected.append((here, numbers[here - 1] == element, float(entries.margins[at])))
    answers, margins = table.answers()
    for k, element in enumerate(numbers):
        truth = machine.outputs[int(monoid.elements[element, machine.initial_index])]
        if cases["answers"][k] is not None:
            expected.append((machine.output_names[answers[k]], bool(answers[k] == truth), float(margins[k])))
    return expected


def test_every_square_is_reached_by_arrow_keys_and_says_what_it_is(browser: Browser, pages: Mapping[str, Path]):
    opened(browser, pages["regex:(ab)*"], 0)
    assert browser.count(".wall-squares [tabindex='0']") == 1
    first = ".wall-squares [tabindex='0']"
    browser.key("ArrowRight", at=first)
    assert browser.one(".wall .detail") == "First level: nothing, then b, is [b]. Not tried yet."
    show(browser, 1)
    # What has the focus says what has become of it, without moving.
    assert browser.one(".wall .detail").startswith("First level: nothing, then b, is [b]. The network comes to [")
    for _ in range(3):
        browser.key("ArrowDown")
    assert browser.evaluate("document.activeElement.closest('table').caption.textContent").startswith(
        "All other levels"
    )
    browser.key("ArrowDown")
    assert browser.one(".wall .detail") == "No word with an answer has these two neighbours: there is no case."
    browser.key("End")
    label = browser.evaluate("document.activeElement.ariaLabel")
    assert label.startswith("All other levels: [a], then [ba], is [a].")
    assert ("✓" in label) == (browser.evaluate("document.activeElement.className") == "right")
    for _ in range(9):
        browser.key("ArrowDown")
    assert browser.one(".wall .detail").startswith("Answers: a word that ends at [ba] is reject. The network answers ")
    assert browser.count(".wall-squares [tabindex='0']") == 1
    # A square that is pressed is what the hammer strikes.
    for press in ("click", "Enter"):
        browser.evaluate("bench.set.aim(null)")
        browser.click(".wall-squares td[data-case='3']") if press == "click" else browser.key(press)
        assert browser.evaluate("bench.aim") == {"kind": "case", "part": "leaves", "window": [2, 0]}
        browser.focus(".wall-squares td[data-case='3']")
    browser.one(
        ".wall-squares td[data-case='0']", "void e.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }))"
    )
    assert browser.one(".wall .detail").startswith("First level: nothing, then a, is [a].")


def test_the_last_square_turns_and_the_panel_says_what_is_proven(browser: Browser, pages: Mapping[str, Path]):
    found = subject("parity")
    said = claim(found.machine.alphabet, 2, 2, total=True)
    opened(browser, pages["parity"], 2)
    browser.evaluate(f"bench.set.proven({{ sentence: {json.dumps(said)} }})")
    assert browser.one(".wall .proof") == ""  # a square is red
    show(browser, 1)
    assert said in browser.one(".wall .claim")
    assert "Checked here in double precision; the proof is regulargpt check" in browser.one(".wall .claim")
    assert browser.one(".wall .proof").startswith("✓ Proven: right on every word, the network with each node")
    browser.click(".wall .proof button")
    assert browser.evaluate("bench.saved")
    assert browser.one(".wall .first-wrong") == (
        "None, at any length, with each node at its prototype: that is the proof."
    )
    browser.evaluate("bench.set.proven(null)")
    none = {"lane": "regulargpt", "word": None, "answer": None, "truth": None, "tried": 5}
    browser.evaluate(f"bench.set.wrong({json.dumps(none)})")
    assert browser.one(".wall .first-wrong") == "None of at most 5 symbols, with each state rounded to 2⁻²⁴."
    wrong = {"lane": "regulargpt", "word": [1, 1, 0], "answer": "odd", "truth": "even", "tried": 3}
    browser.evaluate(f"bench.set.wrong({json.dumps(wrong)})")
    assert browser.one(".wall .first-wrong") == "110 It answers odd; right is even."
    browser.click(".wall .first-wrong button")
    assert browser.evaluate("bench.word") == [1, 1, 0]
    assert browser.one(".tree .field input", "e.value") == "110"
    # A hit makes all of it old, at once.
    browser.evaluate("bench.set.hits([{ kind: 'weight', name: 'state_norm.bias', index: 0, by: 0.5 }])")
    assert browser.one(".wall .first-wrong") == "Not searched yet."
    browser.evaluate("bench.set.proven({ sentence: '' }); bench.set.hits([])")
    assert browser.one(".wall .first-wrong").startswith("None, at any length")
    browser.evaluate("bench.set.again()")
    assert browser.all(".wall :is(.proof, .claim)") == [""] * 2
    assert browser.count(".wall-squares td:is(.right, .wrong)") == 0


def test_sixty_elements_have_a_square_for_each_case(browser: Browser, tmp_path: Path):
    """And the page turns them a few at a time."""
    name = "cycle-navigation:size=60"
    opened(browser, written(tmp_path / "60.html", subject(name).machine, SMALL | REST, [subject(name).moment(1)]), None)
    assert browser.count(".wall-squares td[data-case]") == 12 + 61 * 60 + 60
    browser.evaluate("show(0)")
    done = browser.evaluate("panels.wall.found.length")
    assert 0 < done < 3732
    browser.wait("!panels.wall.left")
    assert browser.count(".wall-squares td:is(.right, .wrong)") == 3732
    assert browser.evaluate("panels.wall.tables.scrollWidth <= panels.wall.tables.clientWidth")
    # Each element is on the map.
    assert "of 60 elements." in browser.one(".map .said")


# --- the tree


def nodes_of(found: Subject, word: Sequence[int]) -> list[list[tuple[int, int, torch.Tensor]]]:
    """The levels above the symbols: from, to and the state of each node, computed row by row."""
    network = found.network()
    rows, below = network.symbols, [(i, i + 1, 1 + symbol) for i, symbol in enumerate(word)]
    levels: list[list[tuple[int, int, torch.Tensor]]] = []
    while not levels or len(below) > 1:
        pairs = [below[max(0, end - 2) : end] for end in range(len(below), 0, -2)][::-1]
        windows = np.array([[pair[-1][2], pair[0][2] if len(pair) > 1 else 0] for pair in pairs])
        with torch.no_grad():
            states = network.model.merge(rows, torch.from_numpy(windows))
        levels.append([(pair[0][0], pair[-1][1], state) for pair, state in zip(pairs, states, strict=True)])
        rows = torch.cat([network.absent, states])
        below = [(start, end, 1 + i) for i, (start, end, _) in enumerate(levels[-1])]
    return levels


@pytest.mark.parametrize("name", NAMES)
def test_each_dot_is_where_torch_says_and_what_the_monoid_says(browser: Browser, pages: Mapping[str, Path], name: str):
    found, draw = subject(name), random.Random(name)
    opened(browser, pages[name])
    words = browser.evaluate("bench.cases.elements.map((e) => bench.language.elements.words[e])")
    points = found.points(words)
    for length in (1, 2, 5, 11, 77):
        word = [draw.randrange(len(found.machine.alphabet)) for _ in range(length)]
        word_is(browser, word)
        expected = {}
        for level, nodes in enumerate(nodes_of(found, word), 1):
            for index, (start, end, state) in enumerate(nodes):
                element = found.monoid.words[found.monoid.of_word(np.array(word[start:end])).item()]
                nearest = int((points - state).norm(dim=1).argmin())
                right = words[nearest] == element
                expected[level, index] = (start, end, element, 1 + nearest, "right" if right else "wrong")
        told = browser.evaluate(
            "panels.tree.tree.levels.flat().map((n) => [[n.level, n.index], "
            "[n.from, n.to, bench.language.elements.words[n.element], n.state, n.verdict]])"
        )
        assert {tuple(at): tuple(node) for at, node in told} == expected
        colours = browser.evaluate("bench.cases.elements.map((e) => bench.language.colours[e][0].toLowerCase())")
        look = "getComputedStyle(e.firstChild)"
        drawn = f"[+e.dataset.level, +e.dataset.index, e.lastChild.textContent, {look}.fill, {look}.strokeDasharray]"
        dots = browser.all(".dots .node", drawn)
        assert len(dots) == len(expected) if length < 12 else 9 < len(dots) < len(expected)
        for level, index, mark, fill, dashes in dots:
            *_, state, verdict = expected[level, index]
            assert fill == "rgb({}, {}, {})".format(*bytes.fromhex(colours[state - 1][1:]))
            assert (mark == "✗") == (dashes != "none") == (verdict == "wrong")
        right = sum(verdict == "right" for *_, verdict in expected.values())
        assert (
            browser.one(".tree .count") == f"{len(expected):,} nodes: {right:,} right, {len(expected) - right:,} wrong."
        )
        model = found.network().model
        answer = found.machine.output_names[int(model(torch.tensor([word])).argmax())]
        assert browser.one(".tree .said").endswith(
            f"The network: {'✓' if truth(found, word) == answer else '✗'} {answer}."
        )


def truth(found: Subject, word: Sequence[int]) -> str:
    return found.machine.output_names[found.machine.answers(np.array(word)).item()]


def test_ten_thousand_symbols_fold(browser: Browser, pages: Mapping[str, Path]):
    opened(browser, pages["regex:(ab)*"])
    browser.choose(".tree input[type='number']", "10000")
    press(browser, "Random word")
    assert browser.evaluate("bench.word.length") == 10000
    count = browser.evaluate("panels.tree.tree.levels.flat().length")
    assert count > 9999
    assert browser.one(".tree .count").startswith(f"{count:,} nodes: ")
    assert f"{count:,} nodes: " in browser.one(".tree .detail")
    assert " are folded." in browser.one(".tree .detail")
    assert browser.count(".tree *") < 600
    # Down along a path to the symbols, level by level, each time with its numbers.
    browser.key("ArrowDown", at=".dots .node")
    for level in range(12, 0, -1):
        browser.key("ArrowDown")
        assert browser.one(".tree .detail").startswith(
            f"Level {level}, symbols 1 to" if level > 1 else "Level 1, symbol"
        )
    assert browser.count(".tree *") < 600
    browser.assert_fits()


def test_the_tree_grows_with_the_word_and_the_focus_stays_while_it_learns(browser: Browser, pages: Mapping[str, Path]):
    opened(browser, pages["parity"], None)
    # Without a network, then without prototypes, then with them.
    browser.focus(".tree .field input")
    browser.write("0110100")
    assert browser.evaluate("bench.word") == [0, 1, 1, 0, 1, 0, 0]
    assert browser.one(".tree .said") == "The machine: odd. The network has not begun."
    grey = browser.one(".dots .node circle", "getComputedStyle(e).fill")
    assert browser.all(".dots .node", "e.dataset.verdict") == ["unknown"] * 7
    # The machine says what the nodes will be: their letters and rims.
    elements = browser.all(".dots .node", "bench.language.elements.words[e.dataset.element] || 'ε'")
    assert browser.all(".dots .node text.name") == elements
    rims = browser.all(".dots .node circle", "e.style.getPropertyValue('--rim')")
    assert len(set(rims)) == len(set(elements)) == 2
    assert "by the machine" in browser.evaluate("panels.tree.key.textContent")
    browser.key("ArrowDown", at=".dots .node")
    place = browser.evaluate("[document.activeElement.dataset.level, document.activeElement.dataset.index]")
    for moment in (0, 1):
        show(browser, moment)
        assert browser.evaluate("[document.activeElement.dataset.level, document.activeElement.dataset.index]") == place
        fills = browser.all(".dots .node circle", "getComputedStyle(e).fill")
        assert (set(fills) == {grey}) == (moment == 0)
        label = browser.evaluate("document.activeElement.ariaLabel")
        assert label.endswith("✓ the same." if moment else "? There are no prototypes yet.")
        assert browser.one(".tree .detail").startswith(label)
    # What is chosen is what the hammer strikes: the node over 0 and 11, or ε and ε.
    browser.key("ArrowUp")
    browser.key("ArrowDown")
    assert browser.evaluate("bench.aim") == {"kind": "case", "part": "nodes", "window": [1, 1]}
    assert browser.count(".tree .its-numbers rect") == subject("parity").options["d_model"]
    browser.click(".tree details summary")
    browser.pause()
    assert browser.count(".tree .numbers li") == subject("parity").options["d_model"]
    for read in (0, 1, 4):
        browser.choose(".tree input[type='range']", read)
        assert browser.one(".tree .read") == f"{read} of 7"
        assert browser.count(".dots .node") == [0, 1, None, None, 3][read]
    browser.click(".tree button[data-what]")
    assert browser.one(".tree button[data-what]", "e.ariaLabel") == "Pause the word, symbol by symbol"
    browser.wait("document.querySelector('.tree .read').textContent === '5 of 7'")
    word_is(browser, [1])
    assert browser.one(".tree button[data-what]") == "Play"
    assert browser.one(".tree .read") == "1 of 1"


def test_a_random_word_has_the_wanted_element_and_length(browser: Browser, pages: Mapping[str, Path]):
    """And each answer comes, though words of symbols drawn one by one would hardly ever be in (ab)*."""
    found = subject("regex:(ab)*")
    opened(browser, pages["regex:(ab)*"], None)
    draw = "((state) => () => (state = (state * 48271) % 2147483647) / 2147483647)(7)"
    drawn = f"wordWith(bench.language, [e], n, {draw})"
    with_each = f"bench.language.elements.right.map((_, e) => [1, 6, 7, 40].map((n) => {drawn}))"
    module = "modules['regulargpt/classroom/workbench/word_draws.js']"
    words = browser.evaluate(f"(({{ wordWith }}) => {with_each})({module})")
    for element, of_element in enumerate(words):
        for length, word in zip((1, 6, 7, 40), of_element, strict=True):
            if word is None:
                assert found.monoid.words[element] == ""
                continue
            assert found.monoid.of_word(np.array(word)).item() == element
            assert length <= len(word) <= length + 1
    answers = set()
    for _ in range(9):
        press(browser, "Random word")
        answers.add(truth(found, browser.evaluate("bench.word")))
    assert answers == {"accept", "reject"}


def press(browser: Browser, words: str) -> None:
    browser.click(".tree button", browser.all(".tree button").index(words))


# --- the map


def test_the_map_has_one_frame_and_one_unit_and_turns_slowly(browser: Browser, tmp_path: Path):
    """From weights to other weights, with no prototypes at first: what is drawn is what torch has, as it is seen."""
    first, steps = subject("cycle-navigation"), 70
    other = {name: torch.randn(tensor.shape, generator=seeded(name)) for name, tensor in first.weights.items()}
    mixed = [{name: torch.lerp(w, other[name], i / steps) for name, w in first.weights.items()} for i in range(steps)]
    moments = [replace(first, weights=weights).moment(i, known=i >= 40) for i, weights in enumerate(mixed)]
    moments = [replace(moment, phase="words" if i < 50 else "table") for i, moment in enumerate(moments)]
    opened(browser, written(tmp_path / "map.html", first.machine, first.options, moments), None)
    box = browser.one(".cloud", "e.getAttribute('viewBox')")
    axes = [np.array(found) for found in browser.evaluate(f"({FILM})({steps})")]
    for before, after in pairwise(axes):
        assert after @ after.T == pytest.approx(np.eye(2), abs=1e-9)
        # The largest angle between two directions and their plane a moment before.
        assert np.linalg.svd(after - after @ before.T @ before)[1].max() <= 0.1 + 1e-6
        assert np.trace(after @ before.T) > 1.9
    kept = browser.evaluate("panels.map.kept.map(({ step, unit, points }) => [step, unit, points.length])")
    assert len(kept) <= 60
    assert [kept[0][0], kept[-1][0]] == [0, steps - 1]
    assert len({(unit, count) for _, unit, count in kept}) == 1
    assert browser.one(".cloud", "e.getAttribute('viewBox')") == box
    assert browser.count(".cloud .ring") == 5
    assert_places(browser, replace(first, weights=mixed[-1]))
    assert colours_of(browser) == 5
    # As long as it learns from words alone no element has a colour, though prototypes are known.
    at = next(i for i, (step, *_) in enumerate(kept) if step >= 42)
    browser.choose(".map input[type='range']", at)
    assert browser.one(".map .when") == f"step {kept[at][0]}"
    assert colours_of(browser) == 1
    browser.key("Home", at=".map input[type='range']")
    assert browser.one(".map .when") == "step 0"
    assert browser.count(".cloud .ring") == 0
    browser.click("#tint")
    assert colours_of(browser) == 5
    browser.evaluate("bench.set.again()")
    browser.wait("!document.querySelector('.cloud *')")
    assert browser.one(".map .said").startswith("No network yet")


def colours_of(browser: Browser) -> int:
    return len(set(browser.all(".cloud .point", "getComputedStyle(e).fill")))


# The directions after each moment, each of which is drawn.
FILM = """async (steps) => {
  const seen = [];
  for (let i = 0; i < steps; i += 1) {
    show(i);
    panels.map.take();
    while (panels.map.end) await new Promise((done) => setTimeout(done));
    seen.push(panels.map.view.axes);
  }
  return seen;
}"""


def seeded(name: str) -> torch.Generator:
    return torch.Generator().manual_seed(len(name))


def assert_places(browser: Browser, found: Subject) -> None:
    """The last points are the nodes' states, less their centre, along the two directions."""
    words = browser.evaluate("panels.map.words")
    where = browser.evaluate("panels.map.chosen.map(({ key }) => key)")
    axes, centre = (np.array(browser.evaluate(f"panels.map.view.{name}")) for name in ("axes", "centre"))
    states: dict[str, Floats] = {}
    for word in words:
        for level, nodes in enumerate(nodes_of(found, word), 1):
            for start, end, state in nodes:
                states.setdefault(f"{level} false {','.join(map(str, word[start:end]))}", state.numpy())
    expected = (np.array([states[key] for key in where]) - centre) @ axes.T
    points, unit = browser.evaluate("((kept) => [kept.points, kept.unit])(panels.map.kept[panels.map.kept.length - 1])")
    drawn = (np.array(points) - [220, 190]) / [unit, -unit]
    assert drawn == pytest.approx(expected, abs=1e-6)


# --- all three


@pytest.mark.parametrize(("name", "width", "dark"), [("cycle-navigation:size=9", 390, False), (NAMES[2], 1280, True)])
def test_no_rule_of_access_is_broken(browser: Browser, tmp_path: Path, name: str, width: int, dark: bool):
    """Also where there is no room for the elements' names."""
    page = page_of(subject(name), tmp_path / "page.html")
    opened(browser, page, None, width=width, dark=dark)
    assert (browser.count(".wall-squares table.coloured") > 0) == (width == 390)
    word_is(browser, [0, 1] * 9)
    for moment in (None, 0, 1):
        if moment is not None:
            show(browser, moment)
        browser.all("details", "{ e.open = true; }")
        browser.pause()
        assert violations(browser) == []
        browser.assert_fits()
    assert len(ids := browser.all("[id]", "e.id")) == len(set(ids))


def test_without_a_machine_there_is_nothing_to_draw(browser: Browser, tmp_path: Path):
    """And another machine is another wall."""
    opened(browser, written(tmp_path / "none.html", None), None)
    assert browser.one(".wall .count") == "No machine is drawn yet."
    assert browser.one(".tree .said") == "No machine is drawn yet."
    states = [{"name": "p", "x": 0, "y": 0, "output": 1}, {"name": "q", "x": 0, "y": 0, "output": 0}]
    drawn = {"alphabet": ["a"], "outputs": ["reject", "accept"], "states": states, "initial": 0}
    for arrows in ([[0, 1], [1, 0]], [[0, 1], [1, 1]], []):
        made = [{"from": p, "to": q, "symbols": [0]} for p, q in arrows]
        browser.evaluate(f"bench.set.language({json.dumps(drawn | {'arrows': made})})")
        cases = browser.evaluate("bench.cases") or {"leaves": [], "nodes": [], "answers": []}
        count = len(cases["leaves"]) + len(cases["nodes"]) + sum(answer is not None for answer in cases["answers"])
        assert browser.count(".wall-squares [data-case]") == count
    assert browser.one(".tree .said") == "There is no arrow yet. Draw one from a state to a state."
