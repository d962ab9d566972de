"""What a page says of the network itself: its answers, where it parts from the automaton, its wrong words."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import languages
import languages.randomness
from languages.automata import MooreMachine
from languages.automata.monoid import TransitionMonoid
from regulargpt.classroom.data import PageRun, gather
from regulargpt.classroom.live import network as networks
from regulargpt.classroom.live.twins import twin
from regulargpt.classroom.live.wrong_words import LENGTHS, MOST_SYMBOLS, MOST_WORDS, search
from regulargpt.classroom.page import render, write
from regulargpt.config.schema import RunConfig
from regulargpt.encodings import ENCODINGS
from regulargpt.finite.specification import specified_machine
from regulargpt.models import MODELS
from regulargpt.models.tree.base import Tree
from regulargpt.models.tree.levels import tree_levels
from regulargpt.runs import run as running
from regulargpt.runs.load import load_reader
from regulargpt.storage.folder import RunFolder
from tests.regulargpt.browser import Browser, needs_browser
from tests.regulargpt.certified import believed as believed_run
from tests.regulargpt.certified import certify, folder
from tests.regulargpt.small import config
from tests.regulargpt.test_live import computed
from tests.test_imports import ROOT

SAY = """(text) => {
  const input = document.querySelector("#word");
  input.value = text;
  input.dispatchEvent(new Event("input", { bubbles: true }));
  const data = (selector) => ({ ...document.querySelector(selector)?.dataset });
  const text_of = (selector) => document.querySelector(selector)?.textContent ?? "";
  const [answer, parting] = [".answer", ".parting"].map(text_of);
  return { said: data("[data-live]").live, answer, parting, parts: data(".node.parts") };
}"""


def shown(path: Path) -> PageRun:
    found = gather(path)
    assert isinstance(found, PageRun)
    return found


def opened(browser: Browser, path: Path, runs: list[PageRun] | None = None) -> None:
    write(runs or [gather(path)], path / "report.html")
    browser.open(path / "report.html")


def test_every_model_and_every_encoding_has_a_script():
    places = [row.place for registry in (MODELS, ENCODINGS) for row in registry.rows.values()]
    assert [place for place in places if twin(place) is None] == []


# Trained for a moment: each is wrong on many words. One is asked for the symbols that may follow, one at a token.
FAMILIES: dict[str, dict[str, Any]] = {
    "regulargpt": {"training__curriculum": ()},
    "gru": {},
    "rnn": {},
    "linear-rnn": {},
    "transformer": {"model__encoding__name": "alibi"},
    "token": {"objective__name": "last", "objective__output_token": True},
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """A run of each family."""
    path = tmp_path_factory.mktemp("trained")
    for name, changes in FAMILIES.items():
        running.run(config("gru" if name == "token" else name, training__steps=10, **changes), path / name)
    return path


@torch.no_grad()
def logits_of(run: PageRun, words: np.ndarray) -> torch.Tensor:
    """The network's logits at the end of words of one length, or at the token after them."""
    symbols = torch.from_numpy(words.astype(np.int64))
    if getattr(run.config.objective, "output_token", False):
        symbols = torch.cat([symbols, torch.full((len(words), 1), languages.get(run.config.data.name).n_symbols)], 1)
    return load_reader(RunFolder.open(run.path))(symbols)


def answers(run: PageRun, words: np.ndarray) -> list[str]:
    """What the network itself says of words of one length, by the definitions of the objectives."""
    logits = logits_of(run, words)
    if run.config.objective.name == "next":
        return ["accept" if logit > 0 else "reject" for logit in logits[:, -1].tolist()]
    return [run.live.output_names[i] for i in logits.argmax(1).tolist()]


@needs_browser
@pytest.mark.parametrize("family", FAMILIES)
def test_the_page_says_what_the_network_says(browser: Browser, trained: Path, family: str):
    run = shown(trained / family)
    task = languages.get(run.config.data.name)
    opened(browser, run.path)
    for length in (1, 2, 5, 8, 12, 30):
        if not task.has_length(length):
            continue
        words = task.sample(languages.randomness.rng(0, "said", length), length, 8)
        assert run.live.network is not None
        assert run.machine is not None
        found = torch.stack(computed(browser, run.live.network, words.tolist()))
        torch.testing.assert_close(found, logits_of(run, words).double(), rtol=0, atol=1e-4)
        for word, said, truth in zip(words, answers(run, words), task.labels(words), strict=True):
            found = browser.evaluate(f"({SAY})({json.dumps(run.machine.decode(word))})")
            assert found["said"] == said
            agree = "They agree." if said == task.output_names[truth] else "They disagree: the network is wrong."
            assert agree in found["answer"]
    assert browser.problems == []


@needs_browser
@pytest.mark.parametrize("family", FAMILIES)
def test_every_wrong_word_that_is_offered_is_wrong(browser: Browser, trained: Path, family: str):
    run = shown(trained / family)
    opened(browser, run.path)
    wrong = run.live.wrong
    assert wrong is not None
    buttons = browser.evaluate("document.querySelectorAll('.wrong-words button').length")
    assert buttons == len(wrong.words) > 3
    assert len({len(word) for word in wrong.words}) == buttons
    for i in range(buttons):
        browser.evaluate(f"document.querySelectorAll('.wrong-words button')[{i}].click()")
        assert "They disagree" in browser.evaluate("document.querySelector('.answer').textContent")
    assert shown(trained / family).live.wrong == wrong
    assert browser.problems == []


def first_apart(run: PageRun, word: list[int]) -> tuple[int, int, int, int] | None:
    """The first node whose state is nearest to another element's mean: level, from, to, element."""
    model, prototypes = load_reader(RunFolder.open(run.path)), run.live.prototypes
    assert isinstance(model, Tree)
    assert prototypes is not None
    assert run.machine is not None
    monoid = TransitionMonoid.of(run.machine)
    points = torch.from_numpy(np.asarray(prototypes.points)).double()
    with torch.no_grad():
        levels = list(tree_levels(model.double(), torch.tensor([word]), share=False))
    spans = [(i, i + 1) for i in range(len(word))]
    for number, level in enumerate(levels[1:], 1):
        C, side = model.chunk_size, model.aligned
        cut = len(spans) % C if side == "right" else 0
        groups = [spans[:cut]] * bool(cut) + [spans[i : i + C] for i in range(cut, len(spans), C)]
        spans = [(group[0][0], group[-1][1]) for group in groups]
        nearest = torch.cdist(level.states[level.node[0]], points).argmin(1).tolist()
        for (low, high), found in zip(spans, nearest, strict=True):
            element = int(monoid.of_word(np.array(word[low:high])))
            if element not in prototypes.elements[found]:
                return number, low, high, element
    return None


@needs_browser
@pytest.mark.parametrize(("language", "model", "C"), [("parity", "regulargpt", 3), ("tomita-3", "ldru", 2)])
def test_where_they_part_is_the_first_node_nearer_to_another_element(browser, tmp_path, language, model, C):
    run = shown(folder(tmp_path / "run", language, C, model).path)
    assert run.certificate is None
    opened(browser, run.path)
    random, found = languages.randomness.rng(0, "part"), []
    for length in (*range(1, 12), 20, 33):
        word = random.integers(0, 2, length).tolist()
        said = browser.evaluate(f"({SAY})({json.dumps(''.join(map(str, word)))})")
        apart = first_apart(run, word)
        found.append(apart)
        if apart is None:
            assert said["parts"] == {}
            assert said["parting"].startswith(("They part nowhere", "Every node of the tree"))
            continue
        level, low, high, element = apart
        assert [int(said["parts"][key]) for key in ("level", "from", "to", "element")] == [level, low, high, element]
        assert "ere they part: level" in said["parting"]
        sub = "".join(map(str, word[low:high]))
        assert sub in said["parting"] or high - low > 24
    assert len(set(found)) > 2
    assert browser.problems == []


@needs_browser
def test_the_button_shows_where_they_part(browser: Browser, tmp_path: Path):
    browser.look(390)
    opened(browser, folder(tmp_path / "run", "tomita-3", 2, "ldru").path)
    browser.evaluate(f"({SAY})({json.dumps('0110' * 100)})")
    browser.evaluate("document.querySelector('.parting button').click()")
    focused = browser.evaluate("({ ...document.activeElement.dataset })")
    assert focused == browser.evaluate("({ ...document.querySelector('.node.parts').dataset })")
    browser.look(1280)


@pytest.fixture(scope="module")
def wide(tmp_path_factory) -> Path:
    """Trees with and without a certificate, of narrow and wide nodes, and a network without a tree."""
    path = tmp_path_factory.mktemp("wide")
    certified = folder(path / "certified", "parity", 2)
    certify(certified, "parity", 2)
    write([believed_run(path / "certified")], path / "certified.html")
    for name, language, C, model in (
        ("right", "parity", 3, "regulargpt"),
        ("wide", "parity", 8, "regulargpt"),
        ("left", "tomita-3", 2, "ldru"),
        ("recurrent", "parity", 2, "lstm"),
    ):
        write([gather(folder(path / name, language, C, model).path)], path / f"{name}.html")
    return path


@needs_browser
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["certified", "right", "wide", "left", "recurrent"])
def test_long_words_fit_any_width(browser: Browser, wide: Path, name: str, width: int):
    browser.look(width, dark=width == 390)
    for length in (9, 100, 1000):
        browser.open(wide / f"{name}.html", "#word=" + ("0110100" * 200)[:length])
        assert browser.evaluate("document.documentElement.scrollWidth") == width
        if name == "recurrent":
            continue
        tree = browser.evaluate(
            "((e) => [e.scrollWidth - e.clientWidth, e.querySelector('svg').getBoundingClientRect().width"
            " / e.querySelector('svg').viewBox.baseVal.width])(document.querySelector('[data-part=tree]'))"
        )
        assert tree[0] == 0
        assert tree[1] > 0.65, "letters would be too small to read"
        assert browser.evaluate("document.querySelectorAll('.tree .node').length") > 1
        boxes = browser.evaluate(
            "[...document.querySelectorAll('.tree .node rect')].map((e) => e.getBoundingClientRect())"
            ".map(({ x, y, width, height }) => [x, y, width, height])"
        )
        assert all(
            abs(a[0] - b[0]) >= a[2] - 1 or abs(a[1] - b[1]) >= a[3] - 1 for i, a in enumerate(boxes) for b in boxes[:i]
        )
        assert min(box[0] for box in boxes) >= 0
        assert max(box[0] + box[2] for box in boxes) <= width
    assert browser.problems == []
    browser.look(1280)


@needs_browser
@torch.no_grad()
def test_a_trained_network_is_torchs_in_a_page_below_a_megabyte(browser: Browser, tmp_path: Path):
    run = shown(ROOT / "docs" / "certified" / "parity")
    assert run.live.network is not None
    assert write([run], tmp_path / "page.html") < 1_000_000
    browser.open(tmp_path / "page.html", "#word=0110")
    assert "No word is wrong, at any length: that is proven, in real arithmetic." in browser.evaluate(
        "document.body.textContent"
    )
    model, random = load_reader(RunFolder.open(run.path)), languages.randomness.rng(0, "committed")
    words = [random.integers(0, 2, length).tolist() for length in random.integers(1, 120, 200)]
    for word, logits in zip(words, computed(browser, run.live.network, words), strict=True):
        torch.testing.assert_close(logits, model(torch.tensor([word]))[0].double(), rtol=0, atol=1e-4)
    assert browser.problems == []
    assert {request.split("#")[0] for request in browser.requests} <= {(tmp_path / "page.html").as_uri(), "data:,"}


@needs_browser
def test_what_the_page_does_not_compute_it_says(browser: Browser, tmp_path: Path, monkeypatch):
    run = folder(tmp_path / "run", "parity")
    monkeypatch.setattr(networks, "MOST_MEGABYTES", 0.001)
    opened(browser, run.path)
    sentence = (
        r"This page does not compute the network: it has 0\.0 MB of weights, and a page takes at most 0\.001 MB\."
    )
    assert re.fullmatch(sentence, browser.evaluate("document.querySelector('.not-live').textContent"))
    assert browser.evaluate(f"({SAY})('0110')")["answer"] == "Automaton: even."
    assert "const modules" not in (run.path / "report.html").read_text()
    monkeypatch.undo()
    monkeypatch.setattr(networks, "twin", lambda place: None)
    assert "no script lies beside regulargpt." in render([gather(run.path)])
    monkeypatch.undo()
    # A table of positions ends where training did.
    table = {"model__encoding__name": "learned", "model__encoding__train_len": 20}
    running.run(config("transformer", training__steps=1, **table), tmp_path / "learned")
    opened(browser, tmp_path / "learned")
    assert "sure" in browser.evaluate(f"({SAY})('{'01' * 10}')")["answer"]
    too_long = browser.evaluate(f"({SAY})('{'01' * 10}0')")["answer"]
    assert "The network is not computed here for more than 20 symbols." in too_long
    assert browser.problems == []


def test_no_word_is_typed_for_runs_on_texts_and_retrieval(tmp_path: Path):
    for family in ("text", "retrieval"):
        running.run(config(family, training__steps=1), tmp_path / family)
        page = render([gather(tmp_path / family)])
        assert "does not compute the network" not in page
        assert "<input" not in page
        assert ("it reads documents with questions" in page) == (family == "retrieval")


def parity() -> tuple[MooreMachine, Any]:
    task = languages.get("parity")
    return task.machine, task


def test_wrong_words_are_a_pure_function_of_the_seed():
    machine, task = parity()

    def last_two(words: np.ndarray) -> np.ndarray:
        return words[:, -2:].sum(1) % 2

    first, again, other = (search(last_two, machine, task, seed) for seed in (0, 0, 1))
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
    machine, task = parity()
    found = search(lambda words: words.sum(1) % 2, machine, task, seed=0)
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


OUTSIDE = {
    "model.py": """
import torch
from torch import nn
from regulargpt.models.base import Model
from regulargpt.models.layers import linear

class LastSymbol(Model):
    def __init__(self, n_symbols, n_outputs, *, generator=None):
        super().__init__()
        self.readout = linear(n_symbols, n_outputs, generator or torch.Generator().manual_seed(0))

    def forward(self, words, readout="last"):
        x = nn.functional.one_hot(words.long(), self.readout.in_features).to(self.readout.weight.dtype)
        return self.readout(x[:, -1] if readout == "last" else x)
""",
    "model.js": """
import { linear } from "regulargpt/models/layers.js";
import { oneHot } from "./parts.js";

export class LastSymbol {
  constructor({ weights, n_symbols }) {
    this.logits = (word) => linear(weights.of("readout"))(oneHot(word[word.length - 1], n_symbols));
  }

  cost() {
    return 1;
  }
}
""",
    "parts.js": """
export const oneHot = (symbol, n) => Float64Array.from({ length: n }, (_, i) => Number(i === symbol));
""",
    "__init__.py": "",
}


@needs_browser
def test_a_model_outside_is_computed_by_the_script_beside_it(browser: Browser, tmp_path: Path, monkeypatch):
    (tmp_path / "outside_lab").mkdir()
    for name, text in OUTSIDE.items():
        (tmp_path / "outside_lab" / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    chosen = {"data.name": "parity", "model.name": "outside_lab.model:LastSymbol", "evaluation.test_len": 41}
    made = RunConfig().replaced({**chosen, "training.steps": 1, "evaluation.extra_lengths": (), "device": "cpu"})
    running.run(made, tmp_path / "run")
    run = shown(tmp_path / "run")
    opened(browser, run.path)
    for word in ("0", "1", "0110", "10101"):
        said = answers(run, np.array([list(map(int, word))]))[0]
        assert browser.evaluate(f"({SAY})('{word}')")["said"] == said
    assert browser.problems == []
    for name in [name for name in sys.modules if name.startswith("outside_lab")]:
        del sys.modules[name]
