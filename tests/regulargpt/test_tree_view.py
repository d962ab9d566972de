"""What the page's tree shows of a network: what each node pays to its children, and the numbers of a state."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.regulargpt.trace import trace_tree
from regulargpt.runs.load import load_reader
from regulargpt.storage.folder import RunFolder
from tests.regulargpt.browser import Browser, needs_browser
from tests.regulargpt.certified import believed, certify, folder
from tests.regulargpt.test_state_map import TYPE, opened, shown

PAID = """runs[0].nodes.map((level) => level.map((node) => {
  const { children, pads } = node.attention();
  return [node.children, children, pads];
}))"""


def network(path: Path) -> RegularGPT:
    model = load_reader(RunFolder.open(path)).double()
    assert isinstance(model, RegularGPT)
    return model


@needs_browser
@pytest.mark.parametrize("certified", [False, True])
@pytest.mark.parametrize(("model", "C"), [("regulargpt", 2), ("regulargpt", 5), ("regulargpt:gates=true", 3)])
@torch.no_grad()
def test_an_edge_is_as_wide_as_the_attention_that_torch_pays(browser, tmp_path, model, C, certified):
    made = folder(tmp_path / "run", "parity", C, model)
    if certified:
        certify(made, "parity", network(made.path).chunk_size)
    opened(browser, believed(made.path) if certified else shown(made.path))
    for word in ("1", "01", "0110100", "110100100111010"):
        browser.evaluate(f"({TYPE})('{word}')")
        trace = trace_tree(network(made.path), torch.tensor([[int(symbol) for symbol in word]]))
        found = browser.evaluate(PAID)
        for level, (patterns, children) in enumerate(zip(trace.patterns[1:], trace.children[1:], strict=True)):
            shares = patterns[0].mean(1)  # (node, C)
            for node, (places, paid, pads) in enumerate(found[level]):
                by_child = {int(child): float(share) for child, share in zip(children[node], shares[node], strict=True)}
                absent = float(shares[node][children[node] < 0].sum())
                assert paid == pytest.approx([by_child[place] for place in places], abs=1e-6)
                assert pads == pytest.approx(absent, abs=1e-6)
        drawn = browser.evaluate("document.querySelectorAll('.tree .twig[data-share]').length")
        assert drawn == browser.evaluate("document.querySelectorAll('.tree .twig').length")
    # On focus the numbers stand at the edges and in the sentence.
    browser.evaluate("document.querySelector('.tree .node').focus()")
    numbers = browser.evaluate("[...document.querySelectorAll('.tree .share')].map((e) => e.textContent)")
    detail = browser.evaluate("document.querySelector('[data-part=detail]').textContent")
    assert len(numbers) == len(found[-1][0][0])
    assert all(number in detail.partition("Attention: ")[2] for number in numbers)
    note = browser.evaluate("document.querySelector('[data-part=edges]').textContent")
    assert note.startswith("The width of an edge is the attention")
    assert ("gates" in note) == ("gates" in model)
    assert browser.problems == []


@needs_browser
def test_a_tree_without_attention_says_so(browser: Browser, tmp_path: Path):
    opened(browser, shown(folder(tmp_path / "run", "parity", 2, "ldru").path))
    browser.evaluate(f"({TYPE})('0110')")
    assert browser.evaluate("document.querySelectorAll('.tree .twig[data-share]').length") == 0
    note = browser.evaluate("document.querySelector('[data-part=edges]').textContent")
    assert note.startswith("This network has no attention")
    browser.evaluate("document.querySelector('.tree .node').focus()")
    assert "Attention" not in browser.evaluate("document.querySelector('[data-part=detail]').textContent")
    assert browser.problems == []


@needs_browser
@pytest.mark.parametrize("width", [390, 1280])
@torch.no_grad()
def test_the_numbers_of_a_state_are_shown_on_demand(browser: Browser, tmp_path: Path, width: int):
    browser.look(width, dark=width == 1280)
    made = folder(tmp_path / "run", "parity", 3)
    opened(browser, shown(made.path))
    word = "110100100111010"
    browser.evaluate(f"({TYPE})('{word}')")
    assert browser.evaluate("document.querySelectorAll('.strip').length") == 0
    browser.evaluate("document.querySelector('[data-part=vector] summary').focus()")
    browser.key("Enter")
    browser.evaluate("new Promise((done) => setTimeout(done, 50))")
    assert "Choose a state" in browser.evaluate("document.querySelector('[data-part=vector]').textContent")
    browser.evaluate("document.querySelector('.tree .node').focus()")
    trace = trace_tree(network(made.path), torch.tensor([[int(symbol) for symbol in word]]))
    for key, (level, index) in {"": (3, 0), "ArrowDown": (2, 0), "ArrowRight": (2, 1)}.items():
        if key:
            browser.key(key)
        numbers = browser.evaluate("[...document.querySelectorAll('.numbers li')].map((e) => e.textContent)")
        state = trace.states[level][0, index].tolist()
        assert [float(number.replace("−", "-")) for number in numbers] == pytest.approx(state, abs=6e-4)
        signs = browser.evaluate("[...document.querySelectorAll('.strip rect')].map((e) => e.getAttribute('class'))")
        assert signs == ["below" if number < 0 else "above" for number in state]
        dark = browser.evaluate(
            "[...document.querySelectorAll('.strip rect')].map((e) => Number(e.getAttribute('fill-opacity')))"
        )
        assert dark == pytest.approx([abs(number) / max(map(abs, state)) for number in state], abs=2e-3)
        label = browser.evaluate("document.querySelector('.strip').getAttribute('aria-label')")
        assert label == f"{len(state)} numbers from {min(state):.2f} to {max(state):.2f}, listed below"
    assert browser.evaluate("document.documentElement.scrollWidth") == width
    assert browser.problems == []
    browser.look(1280)


@needs_browser
def test_the_numbers_of_a_prefix_are_those_of_its_state(browser: Browser, tmp_path: Path):
    opened(browser, shown(folder(tmp_path / "run", "parity", model="lstm").path))
    browser.evaluate(f"({TYPE})({json.dumps('0110')})")
    browser.evaluate("document.querySelector('[data-part=vector]').open = true")
    browser.evaluate("readTo(2)")
    browser.evaluate("new Promise((done) => setTimeout(done, 50))")
    shown_numbers = browser.evaluate("[...document.querySelectorAll('.numbers li')].map((e) => e.textContent)")
    state = browser.evaluate("Array.from(runs[0].live.model.state([0, 1]))")
    assert [float(number.replace("−", "-")) for number in shown_numbers] == pytest.approx(state, abs=6e-4)
    assert browser.evaluate("document.querySelector('[data-part=vector] p').textContent").startswith("Prefix of 2")
    assert browser.problems == []
