"""The page's map of states: every point where Python puts it, and what it lights."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from languages.randomness import rng
from regulargpt.classroom.data import PageRun
from regulargpt.classroom.page import render, write
from regulargpt.classroom.scatter import scatter
from regulargpt.measurements.plane import plane, principal_axes
from regulargpt.models.hooks import run_with_cache
from regulargpt.models.tree.levels import tree_levels
from regulargpt.runs.load import load_reader
from regulargpt.storage.folder import RunFolder
from tests.regulargpt.browser import Browser
from tests.regulargpt.certified import folder
from tests.regulargpt.conftest import FAMILIES, Runs, network_of, shown

TYPE = """(text) => {
  const input = document.querySelector("#word");
  input.value = text;
  input.dispatchEvent(new Event("input", { bubbles: true }));
}"""
WORDS = ("0", "1", "0110", "01101001", "110100100111010")


def opened(browser: Browser, run: PageRun) -> None:
    write([run], run.path / "report.html")
    browser.open(run.path / "report.html")


def points(browser: Browser, word: str) -> dict[str, list[float]]:
    """Where the page puts each node or prefix of a word."""
    browser.type(word)
    found = browser.evaluate("runs[0].map.dots.flatMap(({ where, items }) => items.map((item) => [item, where]))")
    return {str(item): where for item, where in found}


def places(run: PageRun, states: torch.Tensor) -> np.ndarray:
    """Where the states lie in the plane, by the definition."""
    assert run.live.map is not None
    return (states.numpy() - run.live.map.mean) @ run.live.map.axes.T


# Of each ring and each dot: where it lies in the plane, and where in the picture.
DRAWN = """(() => {
  const { anchors, dots } = runs[0].map;
  const middle = (made) => ["cx", "cy"].map((name) => Number(made.querySelector("circle").getAttribute(name)));
  const all = (kind) => [...document.querySelectorAll(`.map .${kind}`)].map(middle);
  return [all("anchor").map((at, i) => [anchors[i].where, at]), all("dot").map((at, i) => [dots[i].at, at])];
})()"""


def unit_of(plane: np.ndarray, picture: np.ndarray) -> tuple[float, float]:
    """Pixels for one unit of the first axis, and the largest error in pixels of a picture with this unit on both.

    Both are (points, 2); the picture's second axis points down.
    """
    (x, y), (a, b) = ((where - where[0]).T for where in (plane, picture))
    unit = float(a[np.abs(x).argmax()] / x[np.abs(x).argmax()])
    return unit, float(max(np.abs(a - unit * x).max(), np.abs(b + unit * y).max()))


def assert_one_unit(browser: Browser) -> float:
    """The map has one unit for both axes, and all lies in the picture; pixels for one unit."""
    plane, picture = np.array([pair for kind in browser.evaluate(DRAWN) for pair in kind]).swapaxes(0, 1)
    unit, error = unit_of(plane, picture)
    assert error < 1e-3
    assert (picture >= 43.99).all()
    assert (picture <= np.array([420, 330]) - 43.99).all()
    return unit


@given(arrays(float, st.tuples(st.integers(1, 6), st.integers(2, 5)), elements=st.integers(-4, 4).map(float)))
def test_a_plane_has_two_axes_at_right_angles_and_keeps_what_varies(rows):
    mean, axes, shares = principal_axes(rows)
    np.testing.assert_allclose(axes @ axes.T, np.eye(2), atol=1e-9)
    assert (axes[np.arange(2), np.abs(axes).argmax(1)] > 0).all()
    seen = (rows - mean) @ axes.T
    total = ((rows - mean) ** 2).sum()
    np.testing.assert_allclose((seen**2).sum(0), np.multiply(shares, total), atol=1e-9)
    np.testing.assert_allclose(plane(rows)[0], seen)
    # No other direction holds more of the variance than the first.
    others = np.linalg.eigvalsh((rows - mean).T @ (rows - mean))
    np.testing.assert_allclose((seen[:, 0] ** 2).sum(), others[-1], atol=1e-9)


@pytest.mark.parametrize(("model", "C", "certified"), [("regulargpt", 3, True), ("ldru", 2, False)])
@torch.no_grad()
def test_every_node_is_a_point_where_torch_has_its_state(browser: Browser, runs: Runs, model, C, certified):
    run = (runs.certified if certified else runs.plain)("parity", C, model)
    browser.open(runs.page(run))
    network = network_of(run)
    for word in WORDS:
        found = points(browser, word)
        _, *levels = tree_levels(network, torch.tensor([[int(symbol) for symbol in word]]), share=False)
        assert len(found) == sum(level.node.shape[1] for level in levels)
        for number, level in enumerate(levels, 1):
            for index, place in enumerate(places(run, level.states[level.node[0]])):
                np.testing.assert_allclose(found[f"{number},{index}"], place, atol=1e-4)
        assert_one_unit(browser)
    assert run.live.map is not None
    assert len(run.live.map.anchors) == browser.count(".map .anchor")


@torch.no_grad()
def read_at_the_end(run: PageRun, prefix: list[int]) -> tuple[torch.Tensor, str]:
    """The state that the network answers from, heard at its hook, and its answer."""
    assert run.live.network is not None
    network = load_reader(RunFolder.open(run.path))
    token = [] if run.live.network.token is None else [run.live.network.token]
    logits, cache = run_with_cache(network, torch.tensor([[*prefix, *token]]), readout="all")
    own = [found for name, found in cache.items() if name.startswith(("hook_output", "hook_state"))][-1:]
    states = (own or [found for name, found in cache.items() if "hook_resid_post" in name])[-1][0, -1].double()
    last = logits[0, -1]
    if run.live.network.reading == "member":
        return states, run.live.output_names[int(last[-1] > 0)]
    return states, run.live.output_names[int(last.argmax())]


def test_what_hardly_varies_is_drawn_flat(browser: Browser, runs: Runs):
    browser.open(runs.page(runs.committed()))
    points(browser, "01101001")
    assert_one_unit(browser)
    rings, dots = (np.array(kind)[:, 1] for kind in browser.evaluate(DRAWN))
    assert np.ptp(rings[:, 0]) == pytest.approx(332)
    assert np.ptp([*rings[:, 1], *dots[:, 1]]) < 5
    assert browser.all(".map .axis") == ["component 1: 100% of prototypes' variance", "component 2: 0%"]
    assert len(set(re.findall(r'cy="([^"]*)"', browser.one("svg.scatter", "e.outerHTML")))) == 1


@given(
    arrays(float, st.tuples(st.integers(2, 6), st.integers(2, 4)), elements=st.integers(-4, 4).map(float)),
    st.sampled_from([1e-3, 1.0, 1e4]),
)
def test_the_picture_of_prototypes_has_one_unit(rows, size):
    places, _ = plane(size * rows)
    assume(np.ptp(places[:, 0]) > 0)
    names, colours = list(map(str, range(len(rows)))), [("#0072B2", "#FFFFFF")] * len(rows)
    found = re.findall(r'<circle cx="([^"]*)" cy="([^"]*)"', scatter(size * rows, names, colours))
    _, error = unit_of(places, np.array(found, dtype=float))
    assert error < 0.2  # a picture has one digit after the point


# The others are trees, or are one network more of torch's.
@pytest.mark.parametrize("family", sorted(FAMILIES.keys() - {"regulargpt", "rnn"}))
def test_every_prefix_is_a_point_and_the_first_wrong_one_is_named(browser: Browser, runs: Runs, family_of, family: str):
    run = family_of(family)
    machine = run.machine
    browser.open(runs.page(run))
    random, firsts = rng(0, "prefixes"), []
    for length in (1, 2, 7, 12):
        word = random.integers(0, machine.n_symbols, length).tolist()
        found = points(browser, machine.decode(np.array(word)))
        assert_one_unit(browser)
        wrong = []
        for n in range(1, length + 1):
            state, said = read_at_the_end(run, word[:n])
            np.testing.assert_allclose(found[str(n)], places(run, state), atol=2e-4)
            answer = int(machine.answers(np.array(word[:n])))
            wrong += [n] if answer >= 0 and machine.output_names[answer] != said else []
        text = browser.one(".parting")
        if wrong:
            assert f"Here they part: after {wrong[0]} symbol" in text
            browser.click(".parting button")
            assert browser.one("#step", "e.value") == str(wrong[0])
            assert browser.one(".map .dot.chosen", "e.getAttribute('class')") == "dot wrong chosen"
        else:
            assert text.startswith(("They part nowhere: they agree on each of the", "No prefix has an answer"))
        firsts.append(wrong[:1])
    assert any(firsts)


def test_a_point_lights_its_node_and_a_node_its_point(browser: Browser, runs: Runs):
    browser.open(runs.page(runs.plain("cycle-navigation")), width=390, dark=True)
    place, last = "`${e.dataset.level},${e.dataset.index}`", "[...document.querySelectorAll('.tree .node')].at(-1)"
    for word in ("01201", "0121" * 100):
        browser.type(word)
        browser.assert_fits()
        left, right = browser.one(".map svg", "[e.getBoundingClientRect().left, e.getBoundingClientRect().right]")
        assert 0 <= left < right <= browser.width
        # The keyboard: every dot chooses its first node, also where that was folded.
        browser.focus(".map .dot")
        for key in ("ArrowRight", "ArrowRight", "End", "ArrowLeft", "Home"):
            browser.key(key)
            item = browser.evaluate("runs[0].map.dots[document.activeElement.dataset.dot].items[0]")
            assert browser.one(".tree .node.chosen", place) == item
            name = browser.evaluate("document.activeElement.getAttribute('aria-label')")
            assert browser.one("[data-part=where]").startswith(name)
        # From the tree: the node's dot is lit, by focus and by the pointer.
        for kind, act in (("chosen", "focus()"), ("looked", "dispatchEvent(new PointerEvent('pointerenter'))")):
            browser.evaluate(f"{last}.{act}")
            lit = browser.one(f".map .dot.{kind}", "e.dataset.dot")
            node = browser.evaluate(f"((e) => {place})({last})")
            assert node in browser.evaluate(f"runs[0].map.dots[{lit}].items")
        # The pointer over a dot lights all of its nodes that are drawn, and leaving it lets them go.
        browser.focus(".map .dot")
        browser.one(".map .dot", "void e.dispatchEvent(new PointerEvent('pointerenter'))")
        assert browser.count(".tree .node.looked") > 0
        browser.one(".map .dot", "void e.dispatchEvent(new PointerEvent('pointerleave'))")
        assert browser.count(".map .dot.looked") == 1


def test_longer_words_compute_as_many_prefixes_as_take_a_moment(browser: Browser, runs: Runs, family_of):
    browser.open(runs.page(family_of("transformer")))
    browser.type("01" * 900)
    count = browser.evaluate("runs[0].prefixes.length")
    assert 50 < count < 1800
    assert f"Only the first {count:,} of 1,800 prefixes were computed." in browser.one(".parting")


def test_a_script_without_states_has_no_points_and_says_so(browser: Browser, runs: Runs, tmp_path: Path):
    page = runs.page(runs.plain("parity", model="rnn")).read_text()
    assert "  state(word) {" in page
    page = page.replace("  state(word) {", "  unnamed(word) {").replace("this.state(word)", "this.unnamed(word)")
    (tmp_path / "page.html").write_text(page)
    browser.open(tmp_path / "page.html", "#word=0110")
    assert "%" in browser.one(".answer")
    assert "it has no state(word)" in browser.one("[data-part=where]")
    assert browser.count(".dot") == 0


def test_where_there_is_no_state_of_a_prefix_there_is_no_map(tmp_path: Path, monkeypatch):
    from regulargpt.classroom.live import state_map

    monkeypatch.setattr(state_map, "last_states", lambda *given: np.full((state_map.WORDS, 3), np.nan))
    run = shown(folder(tmp_path / "run", "parity", model="rnn").path)
    assert run.live.map is None
    assert "There is no map: this network has no state of a prefix" in render([run])
