"""What a page says of the network itself: its answers, where it parts from the automaton, its wrong words."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch

import languages
from languages.automata.monoid import TransitionMonoid
from languages.randomness import rng
from regulargpt.classroom.data import PageRun, gather
from regulargpt.classroom.live import network as networks
from regulargpt.classroom.live.twins import twin
from regulargpt.classroom.live.wrong_words import LENGTHS, MOST_SYMBOLS, MOST_WORDS, search
from regulargpt.classroom.page import render, write
from regulargpt.encodings import ENCODINGS
from regulargpt.finite.specification import specified_machine
from regulargpt.models import MODELS
from regulargpt.models.tree.levels import tree_levels
from regulargpt.runs import run as running
from regulargpt.runs.load import load_reader
from regulargpt.storage.folder import RunFolder
from tests.regulargpt.browser import Browser
from tests.regulargpt.cases import MIXING
from tests.regulargpt.conftest import FAMILIES, TRANSFORMER, Runs, network_of, shown
from tests.regulargpt.small import config
from tests.regulargpt.test_live import computed


def say(browser: Browser, word: str) -> str:
    """What the page says of a word."""
    browser.type(word)
    return browser.one(".answer")


# Today's recurrent networks are long: their equations stand twice as it is, in Python and in the checker.
WITHOUT = {*MIXING, "looped", "decoder-only", "path"}


def test_all_other_models_and_encodings_have_a_script():
    rows = [row for registry in (MODELS, ENCODINGS) for row in registry.items()]
    assert {name for name, row in rows if twin(row.place) is None} == WITHOUT


@torch.no_grad()
def answers(run: PageRun, words: np.ndarray) -> list[str]:
    """What the network itself says of words of one length, by the definitions of the objectives."""
    symbols = torch.from_numpy(words.astype(np.int64))
    if getattr(run.config.objective, "output_token", False):
        symbols = torch.cat([symbols, torch.full((len(words), 1), languages.get(run.config.data.name).n_symbols)], 1)
    logits = load_reader(RunFolder.open(run.path))(symbols)
    if run.config.objective.name == "next":
        return ["accept" if logit > 0 else "reject" for logit in logits[:, -1].tolist()]
    return [run.live.output_names[i] for i in logits.argmax(1).tolist()]


@pytest.mark.parametrize("family", sorted(FAMILIES.keys() - {"bidirectional", "full"}))
def test_the_page_says_what_the_network_says_and_offers_words_on_which_it_is_wrong(
    browser: Browser, runs: Runs, family_of, family: str
):
    run = family_of(family)
    task, machine, wrong = languages.get(run.config.data.name), run.machine, run.live.wrong
    browser.open(runs.page(run))
    for length in filter(task.has_length, (1, 2, 5, 8, 30)):
        words = task.sample(rng(0, "said", length), length, 4)
        for word, said, truth in zip(words, answers(run, words), task.labels(words), strict=True):
            agree = "They agree." if said == task.output_names[truth] else "They disagree: the network is wrong."
            assert agree in say(browser, machine.decode(word))
            assert browser.one("[data-live]", "e.dataset.live") == said
    buttons = browser.count(".wrong-words button")
    assert buttons == len(wrong.words) > 3
    assert len({len(word) for word in wrong.words}) == buttons
    for i in range(buttons):
        browser.click(".wrong-words button", i)
        assert "They disagree" in browser.one(".answer")


@torch.no_grad()
def nodes(run: PageRun, word: list[int]) -> list[list[set[int]]]:
    """The elements that the prototype nearest to each node's state stands for, level by level."""
    model, prototypes = network_of(run), run.live.prototypes
    assert prototypes is not None
    points = torch.from_numpy(np.asarray(prototypes.points, dtype=np.float32)).double()
    _, *levels = tree_levels(model, torch.tensor([word]), share=False)
    near = [torch.cdist(level.states[level.node[0]], points).argmin(1).tolist() for level in levels]
    return [[set(prototypes.elements[found]) for found in level] for level in near]


def first_apart(run: PageRun, word: list[int], C: int, from_left: bool) -> tuple[int, int, int, int] | None:
    """The first node whose state is nearest to another element's mean: level, from, to, element."""
    assert run.machine is not None
    monoid, spans = TransitionMonoid.from_machine(run.machine), [(i, i + 1) for i in range(len(word))]
    for number, level in enumerate(nodes(run, word), 1):
        cut = 0 if from_left else len(spans) % C
        groups = [spans[:cut]] * bool(cut) + [spans[i : i + C] for i in range(cut, len(spans), C)]
        spans = [(group[0][0], group[-1][1]) for group in groups]
        for (low, high), near in zip(spans, level, strict=True):
            element = int(monoid.of_word(np.array(word[low:high])))
            if element not in near:
                return number, low, high, element
    return None


@pytest.mark.parametrize(("language", "model", "C"), [("parity", "regulargpt", 3), ("tomita-3", "ldru", 2)])
def test_where_they_part_is_the_first_node_nearer_to_another_element(browser: Browser, runs: Runs, language, model, C):
    run = runs.plain(language, C, model)
    assert run.certificate is None
    browser.open(runs.page(run))
    random, found = rng(0, "part"), []
    for length in (*range(1, 12), 20, 33):
        word = random.integers(0, 2, length).tolist()
        say(browser, "".join(map(str, word)))
        parting, parts = browser.one(".parting"), browser.data(".node.parts")
        apart = first_apart(run, word, C, model == "ldru")
        found.append(apart)
        if apart is None:
            assert parts == []
            assert parting.startswith(("They part nowhere", "Every node of the tree"))
            continue
        _, low, high, _ = apart
        assert [int(parts[0][key]) for key in ("level", "from", "to", "element")] == list(apart)
        assert "ere they part: level" in parting
        assert "".join(map(str, word[low:high])) in parting or high - low > 24
    assert len(set(found)) > 2


def test_the_button_shows_where_they_part(browser: Browser, runs: Runs):
    browser.open(runs.page(runs.plain("tomita-3", 2, "ldru")), width=390)
    say(browser, "0110" * 100)
    browser.click(".parting button")
    assert browser.evaluate("({ ...document.activeElement.dataset })") == browser.data(".node.parts")[0]


BOX = "((b) => [b.x, b.y, b.width, b.height])(e.getBoundingClientRect())"
# Trees with and without a certificate, of narrow and wide nodes, and a network without a tree.
SHAPES = [("parity", 2, "certified"), ("parity", 3, "regulargpt"), ("parity", 8, "regulargpt"), ("tomita-3", 2, "ldru")]


@pytest.mark.parametrize(("language", "C", "model"), [*SHAPES, ("parity", 2, "lstm")])
def test_long_words_fit_any_width(browser: Browser, runs: Runs, language: str, C: int, model: str):
    run = runs.certified(language) if model == "certified" else runs.plain(language, C, model)
    for width, length in ((390, 9), (390, 1000), (1280, 100), (1280, 1000)):
        browser.open(runs.page(run), "#word=" + ("0110100" * 200)[:length], width=width, dark=width == 390)
        browser.assert_fits()
        if model == "lstm":
            continue
        assert browser.one("[data-part=tree]", "e.scrollWidth - e.clientWidth") == 0
        scale = browser.one("[data-part=tree] svg", "e.getBoundingClientRect().width / e.viewBox.baseVal.width")
        assert scale > 0.65, "letters would be too small to read"
        boxes = browser.all(".tree .node rect", BOX)
        assert len(boxes) > 1
        for i, a in enumerate(boxes):
            assert all(abs(a[0] - b[0]) >= a[2] - 1 or abs(a[1] - b[1]) >= a[3] - 1 for b in boxes[:i])
        assert min(box[0] for box in boxes) >= 0
        assert max(box[0] + box[2] for box in boxes) <= width


@torch.no_grad()
def test_a_trained_network_is_torchs_in_a_page_below_a_megabyte(browser: Browser, runs: Runs):
    run = runs.committed()
    assert run.live.network is not None
    page = runs.page(run)
    assert page.stat().st_size < 1_000_000
    browser.open(page, "#word=0110")
    assert "No word is wrong, at any length: that is proven, in real arithmetic." in browser.one("body")
    # No share is rounded up, and the marks are explained where there are nodes.
    assert re.search(r"Network: ✓ even, over 99\.99\s% sure\.", browser.one(".run > .answer"))
    assert browser.count("footer") == 1
    assert "<footer>" not in render([gather(TRANSFORMER)])
    model, random = load_reader(RunFolder.open(run.path)), rng(0, "committed")
    words = [random.integers(0, 2, length).tolist() for length in random.integers(1, 120, 100)]
    for word, logits in zip(words, computed(browser, run.live.network, words), strict=True):
        torch.testing.assert_close(logits, model(torch.tensor([word]))[0].double(), rtol=0, atol=1e-4)


def test_what_the_page_does_not_compute_it_says(browser: Browser, runs: Runs, tmp_path: Path, monkeypatch):
    run = runs.plain("parity")
    monkeypatch.setattr(networks, "MOST_MEGABYTES", 0.001)
    write([shown(run.path)], tmp_path / "page.html")
    browser.open(tmp_path / "page.html")
    said = r"This page does not compute the network: it has 0\.0 MB of weights, and a page takes at most 0\.001 MB\."
    assert re.fullmatch(said, browser.one(".not-live"))
    assert say(browser, "0110") == "Automaton: even."
    assert "const modules" not in (tmp_path / "page.html").read_text()
    monkeypatch.undo()
    monkeypatch.setattr(networks, "twin", lambda place: None)
    assert "no script lies beside regulargpt." in render([shown(run.path)])
    monkeypatch.undo()
    # A table of positions ends where training did.
    table = {"model__encoding__name": "learned", "model__encoding__train_len": 20}
    running.run(config("transformer", training__steps=1, **table), tmp_path / "learned")
    browser.open(runs.page(shown(tmp_path / "learned")))
    assert "sure" in say(browser, "01" * 10)
    assert "The network is not computed here for more than 20 symbols." in say(browser, "01" * 10 + "0")


def test_no_word_is_typed_for_runs_on_texts_and_retrieval(tmp_path: Path):
    for family in ("text", "retrieval"):
        running.run(config(family, training__steps=1), tmp_path / family)
        page = render([gather(tmp_path / family)])
        assert "does not compute the network" not in page
        assert "<input" not in page
        assert ("it reads documents with questions" in page) == (family == "retrieval")


TASK = languages.get("parity")


def test_wrong_words_are_a_pure_function_of_the_seed():
    def last_two(words: np.ndarray) -> np.ndarray:
        return words[:, -2:].sum(1) % 2

    first, again, other = (search(last_two, TASK.machine, TASK, seed) for seed in (0, 0, 1))
    assert first == again
    assert first.words != other.words
    assert first.tried == other.tried
    lengths = [length for length, _ in first.tried]
    assert lengths == list(LENGTHS)
    assert [len(word) for word in first.words] == lengths[2:]
    for word in first.words:
        assert last_two(np.array([word]))[0] != sum(word) % 2
    for length, count in first.tried:
        assert count == min(2**length, MOST_WORDS, MOST_SYMBOLS // length)


def test_where_no_wrong_word_is_found_the_page_says_what_was_tried():
    found = search(lambda words: words.sum(1) % 2, TASK.machine, TASK, seed=0)
    assert found.words == ()
    total = sum(count for _, count in found.tried)
    longer = total - (2**9 - 2)
    assert found.none_found() == (
        f"No wrong word was found: {total:,} words were tried, all words of 1 to 8 symbols "
        f"and {longer:,} words of 9 to 512 symbols."
    )


def test_only_words_with_an_answer_are_tried():
    task = languages.get("modular-arithmetic:plus=true")
    asked: list[np.ndarray] = []

    def never(words: np.ndarray) -> np.ndarray:
        asked.append(words)
        return np.full(len(words), -2)

    found = search(
        never, specified_machine(task), task, seed=0, too_long=lambda length: "it ends" if length > 40 else None
    )
    assert task.domain is not None
    assert all(task.domain.accepts(words).all() for words in asked)
    assert max(length for length, _ in found.tried) == 40
