"""The lesson in a real browser: each of the seven things to do, against Python, on a phone."""

from __future__ import annotations

import dataclasses
import json
import math
import random
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import languages
from languages.automata.monoid import TransitionMonoid
from regulargpt.classroom.lesson import page
from regulargpt.classroom.lesson.material import Material
from regulargpt.runs.load import load_reader
from regulargpt.storage.folder import RunFolder
from tests.regulargpt.browser import Browser
from tests.regulargpt.conftest import PARITY, TRANSFORMER
from tests.regulargpt.test_lesson import evil

TASK = languages.get("parity")
PLACE = "['cx', 'cy', 'r'].map((name) => Number(e.getAttribute(name)))"
WORDS = ["0", "1", "01", "110", "0110", "111", "10101", "0000", "1101011", "00110011001"]


@pytest.fixture
def shown(browser: Browser, written: Path) -> Iterator[Browser]:
    """The page, on which nothing moves by itself."""
    browser.open(written, width=390, still=True)
    assert browser.evaluate("typeof finished") == "function"
    yield browser
    browser.assert_fits()


def press(browser: Browser, step: str, words: str) -> None:
    """The button of a step that is named so."""
    browser.click(f"#{step} button", browser.all(f"#{step} button").index(words))


def write(browser: Browser, step: str, word: str, field: int = 0) -> None:
    """Type into a field as a person does."""
    cleared = "(e) => { e.value = ''; e.dispatchEvent(new Event('input')); e.focus(); }"
    browser.evaluate(f"({cleared})(document.querySelectorAll('#{step} .field input')[{field}])")
    browser.write(word)


def is_done(browser: Browser, step: str) -> bool:
    return browser.one(f".way a[href='#{step}']", "e.classList.contains('done')")


def label(word: str) -> str:
    return TASK.output_names[int(TASK.machine.answers(word).item())]


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_lies_on_anything_else_and_nothing_is_done(shown: Browser, width: int):
    """Each step's parts stand one below the other, and the steps too."""
    shown.look(width, still=True)
    box = "((box) => [box.top, box.bottom])(e.getBoundingClientRect())"
    boxes = shown.all(".step > :is(h2, .says, .activity, .takeaway), .words", box)
    assert len(boxes) >= 7 * 3
    for (_, bottom), (top, _) in pairwise(boxes):
        assert top >= bottom - 1
    assert shown.count(".way .done") == 0


@pytest.mark.parametrize("step", page.STEPS)
def test_an_address_that_names_a_step_opens_there(browser: Browser, written: Path, step: str):
    browser.open(written, f"#{step}")
    browser.pause()
    # At the top, below the way through the steps.
    assert 0 <= browser.one(f"#{step}", "e.getBoundingClientRect().top") < 150
    assert browser.evaluate("address.link()").endswith(f"#{step}")


def test_language_a_word_is_answered_and_kept_in_its_pile(shown: Browser):
    for word in WORDS:
        write(shown, "language", word)
        shown.key("Enter")
        assert shown.one("#language .said") == f"{word}: {label(word)}."
        assert word in shown.all(f"#language .pile[data-answer={label(word)}] ul li")
    write(shown, "language", "012")
    assert shown.one("#language .problem") == "Not a symbol of this language: 2. Its symbols: 0 1"
    write(shown, "language", "")
    press(shown, "language", "Ask")
    assert shown.one("#language .said") == "Type a word first."
    for symbol in "0110":
        press(shown, "language", symbol)
    press(shown, "language", "⌫")
    press(shown, "language", "Ask")
    assert shown.one("#language .said") == "011: even."


def test_language_ten_right_answers_in_a_row_and_no_fewer(shown: Browser):
    def guess(right: bool) -> None:
        truth = label(shown.one("#language .question code"))
        answer = truth if right else next(name for name in TASK.output_names if name != truth)
        shown.click(f"#language [data-guess={answer}]")

    for right in [True] * 9 + [False] + [True] * 9:
        guess(right)
        assert shown.one("#language .verdict").startswith("✓ Right" if right else "✗ No")
        assert not is_done(shown, "language")
    guess(True)
    assert is_done(shown, "language")
    said = shown.one("#language .verdict")
    assert "10 right answers in a row: guesses come so far less than once in 1,000 times." in said
    assert "only at the first symbol, the last symbol, the length or which symbols occur. They may fit others" in said
    assert "You know" not in said
    assert shown.one("#language .rule", "e.open")
    assert "odd if the number of 1s is odd" in shown.one("#language .rule").lower()


def test_automaton_the_token_goes_where_the_machine_goes(shown: Browser):
    machine, word = TASK.machine, "0110100"
    assert shown.one("#automaton .count") == "1 of 2 states visited."
    for i, symbol in enumerate(word, 1):
        shown.click(f"#automaton [data-read='{symbol}']")
        state = machine.states[int(machine.run(word[:i]).item())]
        assert shown.one("#automaton .said") == f"Read: {word[:i]}. State: {state}. Answer: {state}."
        lit = shown.all("#automaton .state.lit title")
        assert lit == [f"{state}: {state}"]
        assert shown.count("#automaton .edge.lit") == 1
        # The token lies on the circle of the state that is lit.
        (x, y, r), (a, b, _) = shown.one("#automaton .state.lit circle", PLACE), shown.one(".token", PLACE)
        assert math.hypot(a - x, b - y) == pytest.approx(r, abs=2)
    assert is_done(shown, "automaton")
    press(shown, "automaton", "Begin again")
    assert shown.one("#automaton .said") == "Nothing is read yet. State: even. Answer: even."


def test_automaton_the_token_walks_along_the_arrow_where_things_may_move(browser: Browser, written: Path):
    browser.open(written)
    before = browser.one(".token", PLACE)
    browser.click("#automaton [data-read='1']")
    browser.pause(600)
    assert abs(browser.one(".token", PLACE)[0] - before[0]) > 40


def test_monoid_words_do_the_same_where_they_are_one_element(shown: Browser):
    monoid = TransitionMonoid.from_machine(TASK.machine)
    met = set()
    for u, v in [("0", "1"), ("00", "11"), ("1", "010"), ("0110", "0110"), ("101", "1"), ("", "11")]:
        write(shown, "monoid", u, 0)
        write(shown, "monoid", v, 1)
        verdict = shown.one("#monoid .said")
        same = monoid.of_word(u).item() == monoid.of_word(v).item()
        expected = "This is one word twice" if u == v else "✓" if same else "✗ They differ: from even one leads to"
        assert verdict.startswith(expected)
        assert (" do the same" in verdict) == (same and u != v)
        if " do the same" in verdict:
            assert verdict.endswith(f"their monoid element is [{monoid.words[monoid.of_word(u).item()] or 'ε'}].")
        ends = shown.all("#monoid tbody tr", "e.className")
        assert ends == ["same" if same else "other"] * 2  # parity is a group: words agree everywhere or nowhere
        met |= {monoid.of_word(u).item(), monoid.of_word(v).item()}
        assert is_done(shown, "monoid") or (len(met) < 3 and verdict.startswith(("✗", "This")))
    assert is_done(shown, "monoid")
    assert shown.one("#monoid .elements").endswith("2 of 2.")


def test_tree_every_order_of_merging_gives_the_monoid_element_of_the_word(shown: Browser):
    monoid = TransitionMonoid.from_machine(TASK.machine)
    order, shapes, chips = random.Random(0), [], "#tree .chip small"
    word = "".join(shown.all(chips))
    element = monoid.words[monoid.of_word(word).item()] or "ε"
    for turn in range(4):
        for left in range(len(word) - 1, 0, -1):
            assert shown.count("#tree .gap") == left
            shown.evaluate(f"document.querySelectorAll('#tree .gap')[{order.randrange(left)}].focus()")
            shown.key("Enter")
            assert "".join(shown.all(chips)) == word
        said = shown.one("#tree .said")
        assert f"The monoid element of the whole word is [{element}], merged as (" in said
        assert said.endswith(f"Its answer: {label(word)}.")
        shapes.append(said.split("merged as ")[1].split(".")[0])
        again = turn > 0 and shapes[-1] != shapes[-2]
        assert ("In another order it was the same." in said) == again
        press(shown, "tree", "Begin again")
    assert is_done(shown, "tree")
    assert len(set(shapes)) > 1
    for left in (3, 2, 1):
        press(shown, "tree", "Merge a level")
        assert shown.count("#tree .chip") == left
    assert f"of the whole word is [{element}]" in shown.one("#tree .said")
    press(shown, "tree", "Another word")
    assert len("".join(shown.all(chips))) >= 6


@torch.no_grad()
def answers(path: Path, word: str) -> str:
    """What a network itself says."""
    model = load_reader(RunFolder.open(path))
    return TASK.output_names[int(model(torch.tensor([[int(symbol) for symbol in word]])).argmax())]


def test_network_both_networks_say_here_what_they_say_in_torch(shown: Browser):
    wrong = 0
    for word in [*WORDS, "01" * 7, "1" * 12]:
        write(shown, "network", word)
        said = [answers(PARITY, word), answers(TRANSFORMER, word)]
        marks = ["✓ " if answer == label(word) else "✗ " for answer in said]
        expected = [label(word), marks[0] + said[0], marks[1] + said[1]]
        assert shown.all("#network td[data-answer]", "e.dataset.answer") == expected
        wrong += marks[1] == "✗ "
        assert shown.count("#network .strip rect") == 64
    assert wrong


def test_network_a_hundred_words_and_a_wrong_one(shown: Browser):
    tried = "#network .said p"
    for length in (11, 100):
        shown.one("#long-length", f"{{ e.value = {length}; }}")
        press(shown, "network", "Try 100 words")
        shown.wait(f"document.querySelector('{tried}')?.textContent.includes('of 100 words of length {length}.')")
        assert shown.one(tried) == f"RegularGPT: right on 100 of 100 words of length {length}."
        assert shown.all(tried, "Number(e.dataset.right)")[1] < 90
        press(shown, "network", "Show a wrong one")
        word = shown.one("#network .field input", "e.value")
        assert len(word) == length
        assert answers(TRANSFORMER, word) != label(word) == answers(PARITY, word)
    assert is_done(shown, "network")
    # Other lengths than the page can try are refused, and nothing is tried.
    for length in ("10000", "501", "0", "2.5", ""):
        shown.one("#long-length", f"{{ e.value = '{length}'; }}")
        press(shown, "network", "Try 100 words")
        assert shown.one("#network .said") == "Here a length is a whole number from 1 to 500."
        assert shown.one("#long-length", "e.value") == length


def elements_of_nodes(word: str) -> Counter[str]:
    """The monoid elements of all nodes of a word's tree, whose pairs are counted from the right end."""
    found, parts = Counter[str](), list(word)
    while True:
        cut = len(parts) % 2
        parts = parts[:cut] + [left + right for left, right in zip(parts[cut::2], parts[cut + 1 :: 2], strict=True)]
        found.update("[1]" if part.count("1") % 2 else "[ε]" for part in parts)
        if len(parts) == 1:
            return found


def test_clusters_each_node_falls_on_the_prototype_of_its_monoid_element(shown: Browser):
    expected: Counter[str] = Counter()
    counts = "[e.querySelector('.name').textContent, Number(e.dataset.count)]"
    for word in WORDS:
        write(shown, "clusters", word)
        press(shown, "clusters", "Add this word")
        expected += elements_of_nodes(word)
        assert dict(shown.all("#clusters .prototype", counts)) == {name: expected[name] for name in ("[ε]", "[1]")}
        assert shown.all("#clusters li") == [f"{name} {expected[name]}" for name in ("[ε]", "[1]")]
    rings = shown.count("#clusters .ring")
    assert rings == sum(expected.values())
    said = shown.one("#clusters .said")
    assert said.startswith(f"{rings} nodes at 2 of 2 prototypes.")
    # The certificate has proven that no node is farther than its radii, and how far prototypes are apart.
    off, apart = (float(said.replace("less than ", "").split(words)[1].split()[0]) for words in (" is ", "least "))
    record = json.loads((PARITY / "certificate.json").read_text())
    assert off <= max(record["unquantised"]["radii"])
    points = np.array(record["prototypes"])
    assert apart == pytest.approx(np.linalg.norm(points[0] - points[1]), abs=0.01)
    dots, drawn = (np.array(shown.all(f"#clusters {kind}", PLACE)) for kind in (".prototype circle", ".ring"))
    assert (np.linalg.norm(drawn[:, None, :2] - dots[:, :2], axis=-1).min(1) < 3).all()
    press(shown, "clusters", "Add 20 random words")
    assert shown.count("#clusters .ring") > rings
    assert is_done(shown, "clusters")


def test_proof_the_counter_comes_to_its_end(shown: Browser, lesson: Material):
    total = lesson.certificate.accepted.entries + lesson.certificate.accepted.answered_roots
    assert shown.one("#proof .count") == f"0 of {total} tried, 0 wrong."
    for i in range(1, 4):
        press(shown, "proof", "Next case")
        assert shown.one("#proof .count") == f"{i} of {total} tried, 0 wrong."
    assert not is_done(shown, "proof")
    # A window is by offset, the right one first; the page says it from left to right.
    assert shown.one("#proof .cases li:last-child").startswith("1 and 0 → [1] ✓")
    press(shown, "proof", "All cases")
    shown.wait(f"document.querySelector('#proof progress').value === {total}")
    assert shown.one("#proof .count").endswith("each node at its prototype, the network is right on every word.")
    assert shown.count("#proof .squares .right") == total
    assert is_done(shown, "proof")
    press(shown, "proof", "Begin again")
    assert shown.one("#proof .count") == f"0 of {total} tried, 0 wrong."


def test_proof_a_wrong_case_is_found_and_nothing_is_proven(browser: Browser, lesson: Material, tmp_path: Path):
    """One image of the table is another prototype than the network's."""
    browser.look(1280, still=True)
    record: dict[str, Any] = json.loads(json.dumps(lesson.certificate.record))
    record["nodes"]["images"][3] = 3 - record["nodes"]["images"][3]
    spoilt = dataclasses.replace(lesson, certificate=dataclasses.replace(lesson.certificate, record=record))
    page.write(spoilt, tmp_path / "spoilt.html")
    browser.open(tmp_path / "spoilt.html")
    press(browser, "proof", "All cases")
    browser.wait("document.querySelector('#proof progress').value === 14")
    assert browser.one("#proof .count") == "14 of 14 tried, 1 wrong. Nothing is proven."
    assert not is_done(browser, "proof")


def test_words_are_explained_under_the_pointer_and_the_focus(shown: Browser):
    count = shown.count(".term")
    assert count == 17
    for i in range(count):
        term = f"document.querySelectorAll('.term')[{i}]"
        shown.evaluate(f"{term}.scrollIntoView({{ block: 'center' }})")
        shown.pause(0)
        shown.evaluate(f"{term}.focus({{ preventScroll: true }})")
        meaning = shown.evaluate(f"byId({term}.getAttribute('aria-describedby')).textContent")
        said, hidden = shown.one("#tip", "[e.textContent, e.hidden]")
        assert not hidden
        assert said.endswith(f": {meaning}")
        tip = shown.one("#tip", "e.getBoundingClientRect().toJSON()")
        assert 0 <= tip["left"] < tip["right"] <= shown.width
        assert 0 <= tip["top"] < tip["bottom"] <= 900
        shown.key("Escape")
        assert shown.one("#tip", "e.hidden")
    for event, hidden in (("mouseenter", False), ("mouseleave", True)):
        shown.one(".term", f"void e.dispatchEvent(new MouseEvent('{event}'))")
        assert shown.one("#tip", "e.hidden") == hidden


def test_every_button_is_reached_by_the_keyboard_in_order(shown: Browser):
    focusable = "a[href], button:not(:disabled), input, summary, [tabindex='0']"
    # What a figure's menu holds is there once it is opened.
    found = f'[...document.querySelectorAll("{focusable}")].filter((each) => !each.closest("[hidden]"))'
    count = shown.evaluate(f"{found}.length")
    reached = []
    for _ in range(count):
        shown.key("Tab")
        reached.append(shown.evaluate(f"{found}.indexOf(document.activeElement)"))
    assert reached == list(range(count))


def test_names_that_are_markup_and_a_network_that_is_wrong(browser: Browser, tmp_path: Path):
    page.write(evil(tmp_path), tmp_path / "evil.html")
    browser.open(tmp_path / "evil.html", width=390, still=True)
    browser.click("#automaton [data-read]")
    assert browser.one("#automaton .said") == "Read: <b>. State: <!--. Answer: <i>yes."
    press(browser, "proof", "All cases")
    browser.wait("((e) => e.value === e.max)(document.querySelector('#proof progress'))")
    assert browser.one("#proof .count").endswith("Nothing is proven.")
    assert not is_done(browser, "proof")
    browser.assert_fits()
