"""The gallery: what each page shows is right, is the same at each making, and asks nothing of the network."""

import contextlib
import json
import math
import re
import shlex
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import languages
from experiments.gallery import GALLERY, INDEX, commands, make, rows
from languages.automata.pushdown import PushdownTransducer
from regulargpt.classroom.nested import Elements
from regulargpt.cli import call
from regulargpt.config.schema import RunConfig
from regulargpt.models.tree.nodes import Node, levels_of_nodes
from regulargpt.runs import run as running
from regulargpt.runs.load import load_reader
from regulargpt.storage.folder import RunFolder
from tests.regulargpt.browser import Browser
from tests.regulargpt.markup import assert_one_file, data_of

ROOT = GALLERY.parents[1]
PAGES = [*commands()]
NESTED = "brackets-2"
TRAINED = ("parity", "even-pairs", NESTED)
RIVAL = GALLERY / "runs" / "parity-transformer"
GUIDE = ROOT / "docs" / "lesson.md"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Callable[[str], Path]:
    """Makes a page of the gallery, once; where it is."""
    folder = tmp_path_factory.mktemp("gallery")

    @cache
    def page(name: str) -> Path:
        with contextlib.chdir(ROOT):
            return make(name, folder)

    return page


Made = Callable[[str], Path]


def test_the_index_leads_to_each_of_the_five_pages(made: Made):
    names = [f"{name}.html" for name in commands()]
    assert len(names) == 5
    assert re.findall(r'<a href="([^#"]+)"', made(INDEX).read_text("utf-8")) == names


def test_a_page_is_the_same_at_each_making(made: Made, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert made("parity").read_bytes() == make("parity", tmp_path).read_bytes()


@pytest.mark.parametrize("name", [*PAGES, INDEX])
def test_a_page_names_no_address_and_no_folder(made: Made, name: str):
    text = made(name).read_text("utf-8")
    assert_one_file(text)
    assert not re.findall(r"/tmp/|/home/", text)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_and_its_proof_comes_to_its_end(browser: Browser, made: Made, name: str):
    browser.look(390 if PAGES.index(name) % 2 else 1280)
    browser.open(made(name))
    browser.click("#proof button", browser.all("#proof button").index("All cases"))
    browser.wait("((e) => e.value === e.max)(document.querySelector('#proof progress'))")
    right = "calculated without rounding, each node at its prototype, the network is right on every word."
    assert browser.one("#proof .count").endswith(f"0 wrong. Nothing is left to try: {right}")
    assert browser.one("#proof progress", "e.max") == browser.count("#proof .squares td.right")
    browser.assert_fits()
    # How sure is said only of networks that were trained.
    text, data = made(name).read_text("utf-8"), data_of(made(name))
    is_constructed = not name.startswith(TRAINED)
    assert data["live"]["is_constructed"] == is_constructed == ("nobody trained it" in text)
    assert is_constructed != ("a computer adjusted them" in text)
    assert browser.all("#network thead th") == ["network", "answer"] + ["how sure"] * (not is_constructed)
    label = browser.all("#network tbody th")[1]
    made_of = "gated RegularGPT" if name == NESTED else "RegularGPT"
    assert label == (f"{made_of}, made by hand" if is_constructed else made_of)


@pytest.mark.parametrize("name", PAGES)
def test_the_questions_rule_out_simple_rules(browser: Browser, made: Made, name: str):
    """Whoever guesses, or looks at one thing only, does not come to the end of step 1."""
    browser.open(made(name))
    answers, in_a_row = browser.evaluate("[answersOf(lesson).length, lesson.in_a_row]")
    shown = "({ words, out }) => [words.map((word) => [word, answerOf(word, lesson)]), out]"
    looks = (lambda w: 0, lambda w: w[0], lambda w: w[-1], len, set)
    for _ in range(5):
        asked, out = browser.evaluate(f"({shown})(questions(lesson, new Set()))")
        assert len(asked) == in_a_row
        assert answers ** -len(asked) < 1e-3
        assert len({tuple(word) for word, _ in asked}) == len(asked)
        assert len(out) == len(looks)
        for look in looks:
            given: dict[str, set[str]] = {}
            for word, answer in asked:
                given.setdefault(str(look(word)), set()).add(answer)
            assert max(map(len, given.values())) > 1


def test_brackets_are_shown_as_brackets(browser: Browser, made: Made):
    browser.open(made("dyck-2"))
    assert browser.all("#automaton [data-read]") == ["(", ")"]
    assert set(browser.all("#automaton .edge text")) == {"(", ")", "(,)"}
    for words in ("#tree .chip small", ".pile code, .question code"):
        assert set("".join(browser.all(words))) <= {"(", ")"}
    assert set("".join(browser.evaluate("lesson.elements.words"))) == {"(", ")"}
    browser.choose("#network input", "(())")
    assert browser.all("#network td[data-answer]") == ["accept", "✓ accept"]
    assert browser.one(".about").endswith("In its data the symbols ( and ) are 0 and 1.")


def test_the_index_opens_and_a_lesson_opens_from_it(browser: Browser, made: Made):
    browser.open(made(INDEX), width=390)
    browser.assert_fits()
    assert browser.one("#lessons a", "e.href") == made("parity").as_uri()


def test_the_cases_of_a_language_with_brackets_are_those_of_its_words(made: Made):
    """Step 7 counts them, and each window of a tree over a short word is one of them."""
    text, data = made(NESTED).read_text("utf-8"), data_of(made(NESTED))
    leaves, nodes = len(data["leaves"]), len(data["nodes"])
    for part in (f"have {leaves} such", f"a pad: {nodes} cases", f"In each of these {leaves + nodes} cases"):
        assert part in text
    machine, K = languages.find(NESTED).machine, len(data["network"]["elements"])
    assert isinstance(machine, PushdownTransducer)
    elements = Elements.from_machine(machine)
    assert elements is not None
    place = {element: k for k, some in enumerate(data["network"]["elements"], 1) for element in some}
    met: dict[str, set[tuple[int, ...]]] = {"leaves": set(), "nodes": set()}
    direction = torch.tensor(data["nesting"]["direction"])
    words = np.indices((4,) * 5).reshape(5, -1).T  # (words, length)
    for level in levels_of_nodes(torch.from_numpy(words), direction, 2, "right"):
        for node in level:
            word = words[node.word]
            rows = [
                0 if child is None else place[elements.of_node(word, child)] if isinstance(child, Node) else child
                for child in node.children
            ]
            of_symbols = not any(isinstance(child, Node) for child in node.children)
            beside = 1 if of_symbols else K + 1
            window = [
                row if child is None or isinstance(child, Node) else beside + int(word[row])
                for child, row in zip(node.children, rows, strict=True)
            ]
            met["leaves" if of_symbols else "nodes"].add((*window, *[0] * (2 - len(window))))
    assert met["leaves"] == {tuple(window) for window, _ in data["leaves"]}
    assert met["nodes"] <= {tuple(window) for window, _ in data["nodes"]}


@pytest.mark.parametrize("name", [name for name in PAGES if name != NESTED])
def test_the_cases_can_be_counted(made: Made, name: str):
    """The sums of step 7 are right, and its cases are those of all words of up to a dozen symbols."""
    text, data = made(name).read_text("utf-8"), data_of(made(name))
    (low, leaves), (high, nodes) = re.findall(r"alone or with others: ([\d ×+−]+) = (\d+) ", text)
    for terms, total in ((low, leaves), (high, nodes)):
        assert sum(eval_terms(terms)) == int(total)
    assert (len(data["leaves"]), len(data["nodes"])) == (int(leaves), int(nodes))
    assert f"In each of these {int(leaves) + int(nodes)} cases" in text
    met = met_windows(data, 12 if len(data["alphabet"]) == 2 else 8)
    assert {tuple(window) for window, _ in data["leaves"]} == met["leaves"]
    assert {tuple(window) for window, _ in data["nodes"]} == met["nodes"]


def eval_terms(terms: str) -> list[int]:
    """The numbers of a sum with products, subtracted ones negative."""
    signed = terms.replace("− ", "+ -1 × ").split(" + ")
    return [math.prod(map(int, term.split(" × "))) for term in signed]


def met_windows(data: Any, longest: int) -> dict[str, set[tuple[int, ...]]]:
    """What stands below the nodes of any word, by offset: a symbol's number, a prototype's, or 0 for the pad."""
    assert data["network"]["chunk_size"] == 2
    assert data["network"]["aligned"] == "right"
    right, symbols = np.array(data["elements"]["right"]), len(data["alphabet"])
    place = np.zeros(len(right), dtype=int)  # which prototype stands for each element
    for k, elements in enumerate(data["network"]["elements"], 1):
        place[elements] = k
    met: dict[str, set[tuple[int, ...]]] = {"leaves": set(), "nodes": set()}
    for length in range(1, longest + 1):
        words = np.indices((symbols,) * length).reshape(length, -1).T  # (words, length)
        below, spans, part = [words[:, i] + 1 for i in range(length)], [(i, i + 1) for i in range(length)], "leaves"
        while len(spans) > 1 or part == "leaves":
            if len(spans) % 2:
                below, spans = [np.zeros(len(words), dtype=int), *below], [(spans[0][0], spans[0][0]), *spans]
            for left, near in zip(below[::2], below[1::2], strict=True):
                met[part] |= set(map(tuple, np.stack([near, left], axis=1).tolist()))
            spans = [(low, high) for (low, _), (_, high) in zip(spans[::2], spans[1::2], strict=True)]
            below, part = [place[element_of(words[:, low:high], right)] for low, high in spans], "nodes"
    return met


def element_of(words: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The number of each word's monoid element (words,)."""
    found = np.zeros(len(words), dtype=int)
    for column in words.T:
        found = right[found, column]
    return found


def test_the_rival_is_what_its_command_trains(tmp_path: Path, monkeypatch):
    command = re.search(r"^regulargpt (run parity .*?) --out", GUIDE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert command
    asked: list[RunConfig] = []
    monkeypatch.setattr(running, "run", lambda config, *more: asked.append(config) or {})
    call([*shlex.split(command[1].replace("\\\n", " ")), "--out", str(tmp_path / "run"), "--json"])
    # How many words of a million symbols there would be was another number then; none has more than 60. And each length
    # was scored, as those of a network that is not proven are today.
    (config,) = (config.replaced({"evaluation.symbols": 33_554_432, "evaluation.stride": 1}) for config in asked)
    assert config == RunConfig.parse((RIVAL / "config.toml").read_text("utf-8"))


def test_what_is_said_of_the_rival_is_so(made: Made):
    """All words up to the length at which it is first wrong are read by the network itself."""
    path = made("parity-beside-transformer")
    text, data = path.read_text("utf-8"), data_of(path)
    steps, length = json.loads((RIVAL / "summary.json").read_text("utf-8"))["steps"], 40
    assert f"adjusted {steps:,} times for words of at most {length} symbols." in text
    proven = RunConfig.parse((ROOT / "docs" / "certified" / "parity" / "config.toml").read_text("utf-8"))
    assert proven.data.train_len == RunConfig.parse((RIVAL / "config.toml").read_text("utf-8")).data.train_len == length
    said = re.search(r"It gives a wrong answer to <code>([01]+)</code>, and to no shorter word that was tried.", text)
    assert said
    wrong = {n: wrong_words(n) for n in range(1, 15)}
    first = next(n for n in wrong if len(wrong[n]))
    assert [int(symbol) for symbol in said[1]] in wrong[first].tolist()
    (good_for,) = (row[2] for row in rows() if row[1] == "parity-beside-transformer")
    assert "wrong on 11 and on about half of all words of 10 symbols or more" in good_for
    assert (len(wrong[1]), wrong[2].tolist()) == (0, [[1, 1]])
    assert all(0.45 < len(wrong[n]) / 2**n < 0.55 for n in range(10, 15))
    assert data["rival"]["label"] == "Transformer"


@torch.no_grad()
def wrong_words(length: int) -> np.ndarray:
    """The words of a length that the rival answers wrongly (words, length)."""
    words = np.indices((2,) * length).reshape(length, -1).T  # (words, length)
    found = load_reader(RunFolder.open(RIVAL))(torch.from_numpy(words)).argmax(-1).numpy()
    return words[found != words.sum(axis=1) % 2]
