"""Changing a tree in the page: states that are moved and edges that are cut, against torch."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest
import torch

from languages.randomness import rng
from regulargpt.classroom.page import write
from regulargpt.models.hooks import HookPoint, hooks
from regulargpt.models.tree.base import Tree
from regulargpt.models.tree.levels import Level, levels_above, tree_levels
from regulargpt.runs.load import load_reader
from regulargpt.storage.folder import RunFolder
from tests.regulargpt.browser import Browser, needs_browser
from tests.regulargpt.certified import believed, certify, folder
from tests.regulargpt.test_state_map import CERTIFIED, TYPE, opened, shown

FOCUS = """([level, index]) => {
  runs[0].tree.unfold(runs[0].tree.levels[level - 1][index]);
}"""
MOVE = """(prototype) => {
  const select = document.querySelector("[data-patch=state]");
  select.value = prototype ?? "";
  select.dispatchEvent(new Event("change"));
}"""
VECTORS = "runs[0].nodes.map((level) => level.map(({ vector }) => Array.from(vector)))"
SAID = "document.querySelector('[data-patch=said]').textContent"
UNDO = "document.querySelector('[data-patch={}]').click()"


def network(run: RunFolder) -> Tree:
    model = load_reader(run).double()
    assert isinstance(model, Tree)
    return model


def cut_at(level: int, node: int, offsets: list[int]) -> Any:
    """A function for the hook of the pattern that hides children from one node: what is left of it adds up to 1."""

    def cut(value: torch.Tensor, hook: HookPoint) -> torch.Tensor:
        if hook.passage != level - 1:
            return value
        value = value.clone()  # (nodes, n_heads, C)
        value[node, :, offsets] = 0
        value[node] /= value[node].sum(-1, keepdim=True).clamp(min=1e-30)
        return value

    return cut


@torch.no_grad()
def recomputed(
    model: Tree, word: list[int], moved: tuple[int, int, torch.Tensor] | None = None, cut: Any = None
) -> tuple[list[torch.Tensor], torch.Tensor]:
    """The states of each level above the leaves, and the logits, with a node moved or an edge cut."""
    with hooks(model, [("blocks.0.attn.hook_pattern", cut)]) if cut else nullcontext():
        levels = list(tree_levels(model, torch.tensor([word]), share=False))
    if moved is not None:
        at, node, state = moved
        states = levels[at].states.clone()
        states[levels[at].node[0, node]] = state
        levels = [*levels[:at], Level(levels[at].node, states, levels[at].children)]
        levels += levels_above(model, levels[at], model.tree_layers(len(word))[at:], share=False)
    states = [level.states[level.node[0]] for level in levels[1:]]
    return states, model.readout(states[-1][-1])


def assert_same(browser: Browser, states: list[torch.Tensor]) -> None:
    for ours, theirs in zip(browser.evaluate(VECTORS), states, strict=True):
        torch.testing.assert_close(torch.tensor(ours, dtype=torch.float64), theirs, rtol=1e-6, atol=1e-6)


def certainty(share: torch.Tensor) -> str:
    """A share in words: what is less than all is never called 100 %."""
    return "over 99.99\xa0%" if share > 0.9999 else f"{100 * share:.{2 if share >= 0.995 else 0}f}\xa0%"


def said_after(run: Any, before: torch.Tensor, after: torch.Tensor) -> str:
    """The sentence on the answer."""
    names, (was, now) = run.live.output_names, (logits.softmax(-1).max(-1) for logits in (before, after))
    first, second = (f"{names[int(found.indices)]}, {certainty(found.values)} sure" for found in (was, now))
    if was.indices == now.indices:
        return f"The answer is still {second}; it was {certainty(was.values)}."
    return f"The answer was {first}. Now it is {second}."


HEAD = "document.querySelector('.answer').textContent"
PARTING = "document.querySelector('.parting').textContent"
# Of each node, from the symbols up and from the left: level, first and last symbol, and whether it is right.
VERDICTS = """[...document.querySelectorAll("[data-part=nodes] tbody tr")]
  .map(({ dataset: { level, index, from, to, verdict } }) => [+level, +index, +from + 1, +to, verdict])
  .sort((a, b) => a[0] - b[0] || a[1] - b[1])"""


def assert_head_follows(browser: Browser, run: Any, logits: torch.Tensor) -> None:
    """The sentences over the tree are those of the changed one."""
    browser.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    browser.evaluate("new Promise((done) => setTimeout(done, 20))")
    nodes = browser.evaluate(VERDICTS)
    wrong = [node for node in nodes if node[-1] != "right"]
    head, parting = browser.evaluate(HEAD), browser.evaluate(PARTING)
    share, answer = logits.softmax(-1).max(-1)
    answer = run.live.output_names[int(answer)]
    agree = "right" if f"Automaton: {answer}." in head else "wrong"
    found = re.search(
        r"The network with your changes: . (\S+), (?:over )?([\d.]+)\s% sure\. They (dis)?agree\. (.*)$", head
    )
    assert found is not None, head
    assert found[1] == answer
    assert abs(float(found[2]) - 100 * share) < 0.6
    assert bool(found[3]) == (agree == "wrong")
    assert found[4] == f"{len(nodes) - len(wrong)} of {len(nodes)} nodes right."
    assert parting.startswith("With your changes: ")
    # The tree marks the same node.
    marked = browser.evaluate("[...document.querySelectorAll('.node.parts')].map(({ dataset }) => +dataset.level)")
    if wrong:
        level, _, first, last, _ = wrong[0]
        place = f"symbol {first}" if first == last else f"symbols {first} to {last}"
        assert f"part: level {level}, {place}, the sub-word" in parting
        assert marked == [level]
    else:
        assert "part nowhere" in parting or "only the readout is wrong" in parting
        assert marked == []
    assert browser.evaluate("document.querySelector('.parting').classList.contains('here')") == bool(
        wrong or agree == "wrong"
    )


@needs_browser
@pytest.mark.parametrize("certified", [False, True])
@pytest.mark.parametrize(("model", "C"), [("regulargpt", 3), ("ldru", 2)])
def test_a_state_that_is_moved_changes_what_torch_changes(browser, tmp_path, model, C, certified):
    made = folder(tmp_path / "run", "cycle-navigation", C, model)
    if certified:
        certify(made, "cycle-navigation", C)
    run = believed(made.path) if certified else shown(made.path)
    opened(browser, run)
    random, tree, prototypes = rng(0, "moved"), network(made), run.live.prototypes
    assert prototypes is not None
    points = torch.from_numpy(np.asarray(prototypes.points, dtype=np.float32)).double()
    sentences = set()
    for length in (1, 5, 14, 14, 30):
        word = random.integers(0, 3, length).tolist()
        browser.evaluate(f"({TYPE})('{''.join(map(str, word))}')")
        plain, logits = recomputed(tree, word)
        assert_same(browser, plain)
        as_it_was = browser.evaluate(f"[{HEAD}, {PARTING}]")
        level = int(random.integers(1, len(plain) + 1))
        index, to = int(random.integers(len(plain[level - 1]))), int(random.integers(len(points)))
        browser.evaluate(f"({FOCUS})([{level}, {index}])")
        browser.evaluate(f"({MOVE})({to + 1})")
        states, changed = recomputed(tree, word, (level, index, points[to]))
        assert_same(browser, states)
        said = browser.evaluate(SAID)
        assert f"is moved to prototype {to + 1} " in said
        assert said_after(run, logits, changed) in said
        assert ("without the table" in said) == certified
        assert_head_follows(browser, run, changed)
        others = [
            (n, i)
            for n, (a, b) in enumerate(zip(plain, states, strict=True), 1)
            for i in torch.nonzero((a - b).abs().amax(1) > 1e-9).flatten().tolist()
            if (n, i) != (level, index)
        ]
        assert (f"{len(others)} other state" in said) == bool(others)
        assert ("No other state changed." in said) == (not others)
        # The map follows, the node is marked, and undo brings back what was.
        assert browser.evaluate("runs[0].map.total") == sum(map(len, plain))
        assert browser.evaluate(
            "[...document.querySelectorAll('.node.moved')].map((e) => [e.dataset.level, e.dataset.index])"
        ) == [[str(level), str(index)]]
        sentences.add(said)
        browser.evaluate(UNDO.format("undo"))
        assert_same(browser, plain)
        assert browser.evaluate(f"[{HEAD}, {PARTING}]") == as_it_was
        assert browser.evaluate("document.querySelectorAll('.node.moved, .node.changed').length") == 0
        assert browser.evaluate(SAID) == "Nothing is changed any more."
    assert len(sentences) == 5
    assert browser.problems == []


@needs_browser
@pytest.mark.parametrize(("model", "C"), [("regulargpt", 2), ("regulargpt", 4), ("regulargpt:gates=true", 3)])
def test_an_edge_that_is_cut_is_not_seen(browser, tmp_path, model, C):
    made = folder(tmp_path / "run", "parity", C, model)
    run = shown(made.path)
    opened(browser, run)
    random, tree = rng(0, "cut"), network(made)
    for length in (2, 9, 16, 30):
        word = random.integers(0, 2, length).tolist()
        browser.evaluate(f"({TYPE})('{''.join(map(str, word))}')")
        plain, logits = recomputed(tree, word)
        level = int(random.integers(1, len(plain) + 1))
        index = int(random.integers(len(plain[level - 1])))
        browser.evaluate(f"({FOCUS})([{level}, {index}])")
        offsets = browser.evaluate(
            "[...document.querySelectorAll('[data-patch=edges] button')].map((e) => +e.dataset.offset)"
        )
        assert sorted(offsets) == list(range(len(offsets)))
        cut: list[int] = []
        for i, offset in enumerate(offsets):
            browser.evaluate(f"document.querySelectorAll('[data-patch=edges] button')[{i}].focus()")
            browser.key("Enter")
            cut.append(offset)
            states, changed = recomputed(tree, word, cut=cut_at(level, index, cut))
            assert_same(browser, states)
            said = browser.evaluate(SAID)
            assert f"{'one edge is' if len(cut) == 1 else f'{len(cut)} edges are'} cut." in said
            assert said_after(run, logits, changed) in said
            assert_head_follows(browser, run, changed)
            focused = browser.evaluate("[document.activeElement.dataset.offset, document.activeElement.ariaPressed]")
            assert focused == [str(offset), "true"]
        # Pressed again, an edge is mended; undo all brings back the tree.
        browser.key("Enter")
        assert_same(browser, recomputed(tree, word, cut=cut_at(level, index, cut[:-1]) if cut[:-1] else None)[0])
        browser.evaluate(UNDO.format("all"))
        assert_same(browser, plain)
        assert browser.evaluate("document.querySelector('[data-patch=undo]').disabled")
    assert browser.problems == []


@needs_browser
def test_no_sentence_of_a_proven_network_is_left_over_a_changed_tree(browser: Browser, tmp_path: Path):
    copytree(CERTIFIED, tmp_path / "run")
    run = shown(tmp_path / "run")
    opened(browser, run)
    browser.evaluate(f"({TYPE})('0110100110010110')")
    before = browser.evaluate(HEAD)
    assert before.endswith("They agree. Quantised network: ✓ even. 15 of 15 nodes right.")
    assert browser.evaluate(PARTING).startswith("They part nowhere")
    browser.evaluate(f"({FOCUS})([1, 3])")
    browser.evaluate(f"({MOVE})(1)")  # the fourth pair is 01, an odd number of 1
    assert browser.evaluate(HEAD) == (
        "Automaton: even. The network with your changes: ✗ odd, over 99.99\xa0% sure. They disagree. "
        "11 of 15 nodes right."
    )
    assert browser.evaluate(PARTING).startswith("With your changes: Here they part: level 1, symbols 7 to 8,")
    # The slider under the word shows a part of it: the answers are to all of it, and say so.
    browser.evaluate("readTo(7)")
    assert browser.evaluate(HEAD).endswith("11 of 15 nodes right. These answers are to the whole word.")
    assert browser.evaluate("document.querySelectorAll('.leaf.unread').length") > 0
    browser.evaluate(UNDO.format("undo"))
    assert browser.evaluate(HEAD) == f"{before} These answers are to the whole word."
    assert browser.evaluate("document.querySelectorAll('.leaf.unread').length") > 0
    browser.evaluate("readTo(16)")
    assert browser.evaluate(HEAD) == before
    assert browser.problems == []


@needs_browser
def test_a_comparison_says_that_the_changes_are_not_in_it(browser: Browser, tmp_path: Path):
    runs = [shown(folder(tmp_path / name, "parity", 2, name).path) for name in ("regulargpt", "ldru")]
    write(runs, tmp_path / "page.html")
    browser.open(tmp_path / "page.html", "#word=0110")
    compared, sentence = "document.querySelector('[data-compare=said]').textContent", "Your changes are not in this"
    before = browser.evaluate(compared)
    assert sentence not in before
    for i in (0, 1):
        browser.evaluate(f"runs[{i}].tree.unfold(runs[{i}].tree.root)")
        browser.evaluate(f"runs[{i}].patcher.changes.move('1,0', 1)")
        browser.evaluate(f"runs[{i}].change(runs[{i}].patcher.changes)")
        assert browser.evaluate(compared) == f"{before} Your changes are not in this comparison."
        browser.evaluate(f"document.querySelector('[data-run=\"{i}\"] [data-patch=undo]').click()")
        assert browser.evaluate(compared) == before
    assert browser.problems == []


@needs_browser
def test_a_tree_without_attention_has_no_edge_to_cut(browser: Browser, tmp_path: Path):
    opened(browser, shown(folder(tmp_path / "run", "parity", 2, "ldru").path))
    browser.evaluate(f"({TYPE})('0110')")
    browser.evaluate(f"({FOCUS})([1, 0])")
    assert browser.evaluate("document.querySelectorAll('[data-patch=edges] button').length") == 0
    assert not browser.evaluate("document.querySelector('[data-patch=state]').disabled")
    assert browser.problems == []


@needs_browser
@pytest.mark.parametrize("width", [390, 1280])
def test_changes_are_made_by_the_keyboard_and_end_with_the_word(browser: Browser, tmp_path: Path, width: int):
    browser.look(width, dark=width == 390)
    run = shown(folder(tmp_path / "run", "cycle-navigation", 2).path)
    opened(browser, run)
    for word in ("0120121", "012" * 100):
        browser.evaluate(f"({TYPE})('{word}')")
        assert browser.evaluate("document.querySelector('[data-patch=state]').disabled")
        browser.evaluate("document.querySelector('.tree .node').focus()")
        browser.key("ArrowDown")
        place = browser.evaluate("[document.activeElement.dataset.level, document.activeElement.dataset.index]")
        browser.evaluate("document.querySelector('[data-patch=state]').focus()")
        browser.key("ArrowDown")
        browser.evaluate("new Promise((done) => setTimeout(done, 50))")
        assert "is moved to prototype 1 " in browser.evaluate(SAID)
        assert browser.evaluate("document.activeElement.dataset.patch") == "state"
        moved = browser.evaluate("({ ...document.querySelector('.node.moved').dataset })")
        assert [moved["level"], moved["index"]] == place
        assert browser.evaluate("document.querySelectorAll('.node.chosen').length") == 1
        browser.evaluate("document.querySelector('[data-patch=edges] button').focus()")
        browser.key("Enter")
        said = browser.evaluate(SAID)
        assert "is moved to prototype 1 " in said
        assert "one edge is cut." in said
        browser.evaluate("document.querySelector('[data-patch=undo]').focus()")
        browser.key("Enter")
        assert "cut" not in browser.evaluate(SAID)
        assert browser.evaluate("document.documentElement.scrollWidth") == width
    browser.evaluate(f"({TYPE})('01')")
    assert browser.evaluate(SAID) == ""
    assert browser.evaluate("document.querySelectorAll('.node.moved').length") == 0
    assert browser.problems == []
    browser.look(1280)
