"""Pages of runs on languages with brackets: what the page computes, draws and says, against torch and the machine."""

import itertools
import json
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

import languages
from languages.context_free.nested import NestedTask
from languages.randomness import rng
from regulargpt.classroom.data import PageRun
from regulargpt.classroom.nested import Elements
from regulargpt.models.tree.trace import NestedTrace, trace_nested
from regulargpt.runs import run as running
from tests.regulargpt.browser import Browser
from tests.regulargpt.conftest import Runs, network_of, shown
from tests.regulargpt.small import config

TREES: dict[str, dict[str, Any]] = {
    "C=2": {"model__name": "regulargpt", "model__gates": True, "model__n_heads": 2, "model__d_ff": 8},
    "C=3": {"model__name": "regulargpt", "model__chunk_size": 3, "model__n_heads": 2, "model__d_ff": 8},
    "ldru": {"model__name": "ldru"},
}
OTHERS: dict[str, dict[str, Any]] = {
    "flat": TREES["C=2"] | {"model__tree": "flat"},
    "gru": {"model__name": "gru", "model__tree": None},
}
LANGUAGE = {"C=2": "brackets-2", "C=3": "arithmetic-brackets", "ldru": "xml-2", "flat": "brackets-1", "gru": "formula"}
LONGEST = 6


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Callable[[str], PageRun]:
    """A run trained for a moment, which is wrong on many words."""
    path = tmp_path_factory.mktemp("nested")

    @cache
    def trained(name: str) -> PageRun:
        options = {"data__name": LANGUAGE[name], "training__steps": 2, "evaluation__samples": 2}
        given = {"model__tree": "nested"} | (TREES | OTHERS)[name]
        given = {key: value for key, value in given.items() if value is not None}
        with torch.enable_grad():  # the tests that ask do without
            running.run(config("gru", objective__name="last", **options, **given), path / name)
        return shown(path / name)

    return trained


def task_of(run: PageRun) -> NestedTask:
    task = languages.find(run.config.data.name)
    assert isinstance(task, NestedTask)
    return task


def in_page(browser: Browser, function: str, given: Any) -> Any:
    """What a function of the scripts makes of a value."""
    return browser.evaluate(f"({function})({json.dumps(given)})")


def every_short_word(task: NestedTask) -> list[list[int]]:
    """All words up to six symbols, or as many of each length as are drawn of 300."""
    found: list[list[int]] = []
    for length in range(1, LONGEST + 1):
        if task.n_symbols**length <= 4096:
            found += map(list, itertools.product(range(task.n_symbols), repeat=length))
        else:
            found += rng(0, "short", length).integers(task.n_symbols, size=(300, length)).tolist()
    return found


@pytest.mark.parametrize("name", TREES)
@torch.no_grad()
def test_answers_states_and_elements_of_all_short_words(browser: Browser, runs: Runs, made, name: str):
    """Matched, pending and wrongly closed brackets alike: logits are torch's, states and elements the machine's."""
    run = made(name)
    task, model = task_of(run), network_of(run)
    browser.open(runs.page(run))
    words = every_short_word(task)
    found = in_page(
        browser,
        """(words) => words.map((word) => {
          const { run, live } = runs[0];
          return [live.logits(word), passed(word, run).slice(1), element(word, run)];
        })""",
        words,
    )
    elements = Elements.from_machine(task.machine)
    assert elements is not None
    for length, group in itertools.groupby(zip(words, found, strict=True), key=lambda pair: len(pair[0])):
        some, theirs = zip(*group, strict=True)
        logits, states, named = zip(*theirs, strict=True)
        expected = model(torch.tensor(some))
        torch.testing.assert_close(torch.tensor(logits, dtype=torch.float64), expected, rtol=1e-9, atol=1e-9)
        reached = task.machine.run(np.array(some), every=True)
        assert np.array_equal(np.array(states), np.where(reached < 0, task.machine.n_states, reached)), length
        assert list(named) == [elements.algebra.of_word(np.array(word)) for word in some]


NODES = """(word) => runs[0].nearest.tree(word, runs[0].run, runs[0].live.model).map((level) => level.map((node) => {
  const paid = node.attention();
  const place = (child) => (child.level ? [child.level, child.index] : [0, child]);
  const children = node.children.map((child) => (child === null ? null : place(child)));
  return { ...node, vector: Array.from(node.vector), children, paid: paid ? [paid.children, paid.pads] : null };
}))"""


def assert_nodes(found: list[list[dict[str, Any]]], trace: NestedTrace, elements: Elements, aligned: str) -> None:
    """Each node's place, children, state, attention and element."""
    word = trace.words[0].numpy()
    for level, nodes in enumerate(found, 1):
        for number, (node, ours) in enumerate(zip(nodes, trace.nodes.nodes[level - 1], strict=True)):
            assert [0, node["from"], node["to"]] == trace.spans[level][number].tolist()
            assert node["vector"] == pytest.approx(trace.states[level][number].tolist(), abs=1e-6)
            assert node["element"] == elements.of_node(word, ours)
            children = [child or [-1, -1] for child in node["children"]]
            children = children[::-1] if aligned == "right" else children
            places = trace.children[level][number].tolist()
            assert children == places[: len(children)]
            assert places[len(children) :] == [[-1, -1]] * (len(places) - len(children))
            if node["paid"]:
                shares = trace.patterns[level][number].mean(0).tolist()
                paid = node["paid"][0][::-1] if aligned == "right" else node["paid"][0]
                assert [*paid, node["paid"][1]] == pytest.approx(
                    [*shares[: len(paid)], sum(shares[len(paid) :])], abs=1e-6
                )


@pytest.mark.parametrize("name", TREES)
@torch.no_grad()
def test_every_node_is_torchs_also_where_one_is_moved(browser: Browser, runs: Runs, made, name: str):
    run = made(name)
    task, model = task_of(run), network_of(run)
    elements = Elements.from_machine(task.machine)
    assert elements is not None
    browser.open(runs.page(run))
    words = [
        task.sample(rng(0, "nodes", length), length, 2).tolist() for length in (1, 5, 13, 29) if task.has_length(length)
    ]
    pending = [0] * 3 + [1] * 5 + [2] * 4
    for word in [*itertools.chain(*words), pending]:
        trace = trace_nested(model, torch.tensor([word]))
        assert_nodes(in_page(browser, NODES, word), trace, elements, model.aligned)
        # A state is moved to a prototype: what is above it, and the answer, are torch's.
        level, node = (len(trace.states) + 1) // 2, 0
        point = torch.tensor(in_page(browser, "() => Array.from(runs[0].nearest.points[0])", None)).double()
        moved = f"{{ patches: new Map([['{level},{node}', {point.tolist()}]]) }}"
        root = in_page(
            browser,
            f"""(word) => {{
              const {{ live, nearest, run }} = runs[0];
              const levels = nearest.tree(word, run, live.model, {moved});
              return Array.from(live.model.read(levels[levels.length - 1][0].vector));
            }}""",
            word,
        )
        assert root == pytest.approx(trace.patch(level, node, point).logits[0].tolist(), abs=1e-6)


def text_of(run: PageRun, word: list[int]) -> str:
    assert run.machine is not None
    return run.machine.decode(np.array(word))


def test_the_tree_is_drawn_with_its_brackets_and_walked_with_arrow_keys(browser: Browser, runs: Runs, made):
    run = made("C=2")
    browser.open(runs.page(run))
    browser.type("([]())[]")
    drawn = browser.all(".tree .leaf.bracket")
    assert sorted(drawn) == sorted("([]())[]")
    # From left to right as in the word, whatever row they stand in.
    at = browser.all(".tree .leaf", "[Number(e.getAttribute('x')), Number(e.dataset.position)]")
    assert [position for _, position in sorted(at)] == list(range(8))
    browser.focus(".tree .node")
    assert browser.one(".tree .node.chosen", "[e.dataset.from, e.dataset.to].join()") == "0,8"
    browser.key("ArrowDown")
    assert browser.one(".tree .node.chosen", "[e.dataset.from, e.dataset.to].join()") == "0,6"
    browser.key("ArrowDown")
    assert "symbols 1 to 5: ([](); element, open, [(" in browser.one("[data-part=detail]")
    browser.key("ArrowUp")
    browser.key("ArrowRight")
    assert browser.one(".tree .node.chosen", "[e.dataset.from, e.dataset.to].join()") == "6,8"
    # In the machine, too, the symbols are read along the stack.
    assert browser.all(".path li", "e.textContent")[-1] == "] → balanced"
    assert browser.count(".automaton .edge.lit") == 1
    assert "A node that is open holds the call and the inside" in browser.one(".tree")
    browser.assert_fits()


def test_a_deep_and_a_long_word_are_computed_and_folded(browser: Browser, runs: Runs, made):
    browser.open(runs.page(made("C=2")))
    for word in ("(" * 700 + "[]" + ")" * 700, "[]" * 900, "(" * 900):
        browser.type(word)
        assert browser.one(".answer").startswith("Automaton: ")
        assert "folded" in browser.one("[data-part=detail]")
        assert browser.count(".levels tbody tr") <= 101
        assert browser.one(".tree svg.nodes", "e.viewBox.baseVal.height") < 45 * 104
        browser.key("Home", ".tree .node")
        assert browser.one(".tree .node.chosen", "Number(e.dataset.to) - Number(e.dataset.from)") == len(word)
        browser.key("ArrowDown")
        assert browser.count(".tree .node.chosen") == 1
        browser.assert_fits()
    browser.click("#random")
    browser.type("()")
    browser.choose("#length", 9)
    browser.click("#random")
    assert len(browser.one("#word", "e.value")) == 9


def test_wrong_words_are_words_that_the_network_answers_wrongly(browser: Browser, runs: Runs, made):
    run = made("C=3")
    browser.open(runs.page(run))
    assert run.live.wrong is not None
    assert run.live.wrong.words
    browser.click(".wrong-words button")
    word = run.live.wrong.words[0]
    assert browser.one("#word", "e.value") == text_of(run, list(word))
    assert "They disagree: the network is wrong" in browser.one(".answer")
    assert run.machine is not None
    truth = run.machine.output_names[int(run.machine.answers(np.array(word)))]
    assert f"Automaton: {truth}." in browser.one(".answer")


@pytest.mark.parametrize(("name", "said"), [
    ("flat", "This tree does not follow the brackets: its nodes cut them apart"),
    ("gru", "gru has no tree."),
])  # fmt: skip
def test_networks_without_such_a_tree_answer_and_have_a_map_of_prefixes(browser: Browser, runs: Runs, made, name, said):
    run = made(name)
    browser.open(runs.page(run))
    assert said in browser.one(".tree")
    browser.click("#random")
    assert "Network: " in browser.one(".answer")
    assert run.live.map is not None
    assert (run.live.map.kind, browser.count(".states .dot") > 0) == ("prefixes", True)
