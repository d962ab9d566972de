"""Changing a tree in the page: states that are moved and edges that are cut, against torch."""

import re
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import torch

from languages.randomness import rng
from regulargpt.models.hooks import HookPoint, hooks
from regulargpt.models.tree.base import Tree
from regulargpt.models.tree.levels import TreeLevel, levels_above, tree_levels
from tests.regulargpt.browser import Browser
from tests.regulargpt.conftest import Runs, network_of

VECTORS = "runs[0].nodes.map((level) => level.map(({ vector }) => Array.from(vector)))"
SAID, HEAD, PARTING = "[data-patch=said]", ".answer", ".parting"


def unfold(browser: Browser, level: int, index: int) -> None:
    browser.evaluate(f"runs[0].tree.unfold(runs[0].tree.levels[{level} - 1][{index}])")


def move(browser: Browser, prototype: int) -> None:
    """The node that is chosen."""
    browser.choose("[data-patch=state]", prototype, "change")


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
        levels = [*levels[:at], TreeLevel(levels[at].node, states, levels[at].children)]
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


# Of each node, from the symbols up and from the left: level, first and last symbol, and whether it is right.
VERDICTS = """[...document.querySelectorAll("[data-part=nodes] tbody tr")]
  .map(({ dataset: { level, index, from, to, verdict } }) => [+level, +index, +from + 1, +to, verdict])
  .sort((a, b) => a[0] - b[0] || a[1] - b[1])"""


def assert_head_follows(browser: Browser, run: Any, logits: torch.Tensor) -> None:
    """The sentences over the tree are those of the changed one."""
    browser.all("details", "{ e.open = true; }")
    browser.pause(20)
    nodes = browser.evaluate(VERDICTS)
    wrong = [node for node in nodes if node[-1] != "right"]
    head, parting = browser.one(HEAD), browser.one(PARTING)
    share, index = logits.softmax(-1).max(-1)
    answer = run.live.output_names[int(index)]
    is_right = f"Automaton: {answer}." in head
    said = r"The network with your changes: . (\S+), (?:over )?([\d.]+)\s% sure\. They (dis)?agree\. (.*)$"
    found = re.search(said, head)
    assert found is not None, head
    assert abs(float(found[2]) - 100 * share) < 0.6
    assert (found[1], not found[3]) == (answer, is_right)
    assert found[4] == f"{len(nodes) - len(wrong)} of {len(nodes)} nodes right."
    assert parting.startswith("With your changes: ")
    # The tree marks the same node.
    assert browser.all(".node.parts", "+e.dataset.level") == [node[0] for node in wrong[:1]]
    if wrong:
        level, _, first, last, _ = wrong[0]
        place = f"symbol {first}" if first == last else f"symbols {first} to {last}"
        assert f"part: level {level}, {place}, the sub-word" in parting
    else:
        assert "part nowhere" in parting or "only the readout is wrong" in parting
    assert browser.one(PARTING, "e.classList.contains('here')") == bool(wrong or not is_right)


@pytest.mark.parametrize(("model", "C", "certified"), [("regulargpt", 3, True), ("ldru", 2, False), ("ldru", 2, True)])
def test_a_state_that_is_moved_changes_what_torch_changes(browser: Browser, runs: Runs, model, C, certified):
    run = (runs.certified if certified else runs.plain)("cycle-navigation", C, model)
    browser.open(runs.page(run))
    random, tree, prototypes = rng(0, "moved"), network_of(run), run.live.prototypes
    assert prototypes is not None
    points = torch.from_numpy(np.asarray(prototypes.points, dtype=np.float32)).double()
    sentences = set()
    for length in (1, 5, 14, 30):
        word = random.integers(0, 3, length).tolist()
        browser.type("".join(map(str, word)))
        plain, logits = recomputed(tree, word)
        assert_same(browser, plain)
        as_it_was = [browser.one(HEAD), browser.one(PARTING)]
        level = int(random.integers(1, len(plain) + 1))
        index, to = int(random.integers(len(plain[level - 1]))), int(random.integers(len(points)))
        unfold(browser, level, index)
        move(browser, to + 1)
        states, changed = recomputed(tree, word, (level, index, points[to]))
        assert_same(browser, states)
        said = browser.one(SAID)
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
        assert (f"{len(others)} other state" if others else "No other state changed.") in said
        # The map follows, the node is marked, and undo brings back what was.
        assert browser.evaluate("runs[0].map.total") == sum(map(len, plain))
        assert browser.all(".node.moved", "[+e.dataset.level, +e.dataset.index]") == [[level, index]]
        sentences.add(said)
        browser.click("[data-patch=undo]")
        assert_same(browser, plain)
        assert [browser.one(HEAD), browser.one(PARTING)] == as_it_was
        assert browser.count(".node.moved, .node.changed") == 0
        assert browser.one(SAID) == "Nothing is changed any more."
    assert len(sentences) == 4


@pytest.mark.parametrize(("model", "C"), [("regulargpt", 2), ("regulargpt", 4), ("regulargpt:gates=true", 3)])
def test_an_edge_that_is_cut_is_not_seen(browser: Browser, runs: Runs, model, C):
    run = runs.plain("parity", C, model)
    browser.open(runs.page(run))
    random, tree, edges = rng(0, "cut"), network_of(run), "[data-patch=edges] button"
    for length in (2, 9, 16):
        word = random.integers(0, 2, length).tolist()
        browser.type("".join(map(str, word)))
        plain, logits = recomputed(tree, word)
        level = int(random.integers(1, len(plain) + 1))
        index = int(random.integers(len(plain[level - 1])))
        unfold(browser, level, index)
        offsets = browser.all(edges, "+e.dataset.offset")
        assert sorted(offsets) == list(range(len(offsets)))
        cut: list[int] = []
        for i, offset in enumerate(offsets):
            browser.evaluate(f"document.querySelectorAll('{edges}')[{i}].focus()")
            browser.key("Enter")
            cut.append(offset)
            states, changed = recomputed(tree, word, cut=cut_at(level, index, cut))
            assert_same(browser, states)
            said = browser.one(SAID)
            assert f"{'one edge is' if len(cut) == 1 else f'{len(cut)} edges are'} cut." in said
            assert said_after(run, logits, changed) in said
            assert_head_follows(browser, run, changed)
            focused = browser.evaluate("[document.activeElement.dataset.offset, document.activeElement.ariaPressed]")
            assert focused == [str(offset), "true"]
        # Pressed again, an edge is mended; undo all brings back the tree.
        browser.key("Enter")
        assert_same(browser, recomputed(tree, word, cut=cut_at(level, index, cut[:-1]) if cut[:-1] else None)[0])
        browser.click("[data-patch=all]")
        assert_same(browser, plain)
        assert browser.one("[data-patch=undo]", "e.disabled")


def test_no_sentence_of_a_proven_network_is_left_over_a_changed_tree(browser: Browser, runs: Runs):
    browser.open(runs.page(runs.committed()), "#word=0110100110010110")
    before = browser.one(HEAD)
    assert before.endswith("They agree. Quantised network: ✓ even. 15 of 15 nodes right.")
    assert browser.one(PARTING).startswith("They part nowhere")
    unfold(browser, 1, 3)
    move(browser, 1)  # the fourth pair is 01, an odd number of 1
    head, changed = browser.one(HEAD), "The network with your changes: ✗ odd, over 99.99\xa0% sure. They disagree."
    assert head == f"Automaton: even. {changed} 11 of 15 nodes right."
    assert browser.one(PARTING).startswith("With your changes: Here they part: level 1, symbols 7 to 8,")
    # The slider under the word shows a part of it: the answers are to all of it, and say so.
    browser.evaluate("readTo(7)")
    assert browser.one(HEAD) == f"{head} These answers are to the whole word."
    assert browser.count(".leaf.unread") > 0
    browser.click("[data-patch=undo]")
    assert browser.one(HEAD) == f"{before} These answers are to the whole word."
    assert browser.count(".leaf.unread") > 0
    browser.evaluate("readTo(16)")
    assert browser.one(HEAD) == before


def test_changes_are_made_by_the_keyboard_and_end_with_the_word(browser: Browser, runs: Runs):
    browser.open(runs.page(runs.plain("cycle-navigation")), width=390, dark=True)
    for word in ("0120121", "012" * 100):
        browser.type(word)
        assert browser.one("[data-patch=state]", "e.disabled")
        browser.key("ArrowDown", ".tree .node")
        place = browser.evaluate("[document.activeElement.dataset.level, document.activeElement.dataset.index]")
        browser.key("ArrowDown", "[data-patch=state]")
        browser.pause()
        assert "is moved to prototype 1 " in browser.one(SAID)
        assert browser.evaluate("document.activeElement.dataset.patch") == "state"
        assert browser.all(".node.moved", "[e.dataset.level, e.dataset.index]") == [place]
        assert browser.count(".node.chosen") == 1
        browser.key("Enter", "[data-patch=edges] button")
        said = browser.one(SAID)
        assert "is moved to prototype 1 " in said
        assert "one edge is cut." in said
        browser.key("Enter", "[data-patch=undo]")
        assert "cut" not in browser.one(SAID)
        browser.assert_fits()
    browser.type("01")
    assert browser.one(SAID) == ""
    assert browser.count(".node.moved") == 0
