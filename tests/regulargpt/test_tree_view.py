"""What the page's tree shows of a network: what each node pays to its children, and the numbers of a state."""

import pytest
import torch

from regulargpt.models.regulargpt.trace import trace_tree
from tests.regulargpt.browser import Browser
from tests.regulargpt.conftest import Runs, network_of

PAID = """runs[0].nodes.map((level) => level.map((node) => {
  const { children, pads } = node.attention();
  return [node.children.map((child) => child.index ?? child), children, pads];
}))"""


@pytest.mark.parametrize(
    ("model", "C", "certified"), [("regulargpt", 2, True), ("regulargpt", 5, False), ("regulargpt:gates=true", 3, True)]
)
@torch.no_grad()
def test_an_edge_is_as_wide_as_the_attention_that_torch_pays(browser: Browser, runs: Runs, model, C, certified):
    run = runs.certified("parity", C, model) if certified else runs.plain("parity", C, model)
    browser.open(runs.page(run))
    for word in ("1", "01", "0110100", "110100100111010"):
        browser.type(word)
        trace = trace_tree(network_of(run), torch.tensor([[int(symbol) for symbol in word]]))
        found = browser.evaluate(PAID)
        for level, (patterns, children) in enumerate(zip(trace.patterns[1:], trace.children[1:], strict=True)):
            shares = patterns[0].mean(1)  # (node, C)
            for node, (places, paid, pads) in enumerate(found[level]):
                by_child = {int(child): float(share) for child, share in zip(children[node], shares[node], strict=True)}
                absent = float(shares[node][children[node] < 0].sum())
                assert paid == pytest.approx([by_child[place] for place in places], abs=1e-6)
                assert pads == pytest.approx(absent, abs=1e-6)
        assert browser.count(".tree .twig[data-share]") == browser.count(".tree .twig")
    # On focus the numbers stand at the edges and in the sentence.
    browser.focus(".tree .node")
    numbers, detail = browser.all(".tree .share"), browser.one("[data-part=detail]")
    assert len(numbers) == len(found[-1][0][0])
    assert all(number in detail.partition("Attention: ")[2] for number in numbers)
    note = browser.one("[data-part=edges]")
    assert note.startswith("The width of an edge is the attention")
    assert ("gates" in note) == ("gates" in model)


def test_a_tree_without_attention_says_so_and_has_no_edge_to_cut(browser: Browser, runs: Runs):
    browser.open(runs.page(runs.plain("parity", 2, "ldru")), "#word=0110")
    assert browser.count(".tree .twig[data-share]") == 0
    assert browser.one("[data-part=edges]").startswith("This network has no attention")
    browser.focus(".tree .node")
    assert "Attention" not in browser.one("[data-part=detail]")
    assert browser.count("[data-patch=edges] button") == 0
    assert not browser.one("[data-patch=state]", "e.disabled")


def numbers(browser: Browser) -> list[float]:
    return [float(number.replace("−", "-")) for number in browser.all(".numbers li")]


@torch.no_grad()
def test_the_numbers_of_a_state_are_shown_on_demand(browser: Browser, runs: Runs):
    browser.look(390)
    run, word = runs.plain("parity", 3), "110100100111010"
    browser.open(runs.page(run))
    browser.type(word)
    assert browser.count(".strip") == 0
    browser.key("Enter", "[data-part=vector] summary")
    browser.pause()
    assert "Choose a state" in browser.one("[data-part=vector]")
    browser.focus(".tree .node")
    trace = trace_tree(network_of(run), torch.tensor([[int(symbol) for symbol in word]]))
    for key, (level, index) in {"": (3, 0), "ArrowDown": (2, 0), "ArrowRight": (2, 1)}.items():
        if key:
            browser.key(key)
        state = trace.states[level][0, index].tolist()
        assert numbers(browser) == pytest.approx(state, abs=6e-4)
        signs = browser.all(".strip rect", "e.getAttribute('class')")
        assert signs == ["below" if number < 0 else "above" for number in state]
        dark = browser.all(".strip rect", "Number(e.getAttribute('fill-opacity'))")
        assert dark == pytest.approx([abs(number) / max(map(abs, state)) for number in state], abs=2e-3)
        label = browser.one(".strip", "e.getAttribute('aria-label')")
        assert label == f"{len(state)} numbers from {min(state):.2f} to {max(state):.2f}, listed below"
    browser.assert_fits()


def test_the_numbers_of_a_prefix_are_those_of_its_state(browser: Browser, runs: Runs):
    browser.open(runs.page(runs.plain("parity", model="lstm")), "#word=0110")
    browser.one("[data-part=vector]", "{ e.open = true; }")
    browser.evaluate("readTo(2)")
    browser.pause()
    state = browser.evaluate("Array.from(runs[0].live.model.state([0, 1]))")
    assert numbers(browser) == pytest.approx(state, abs=6e-4)
    assert browser.one("[data-part=vector] p").startswith("Prefix of 2")
