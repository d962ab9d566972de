"""Behind the points of a page's map: the states that `verify` clusters, its numbers and clusters, what lights up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import languages
from regulargpt.classroom.crowded import crowded, pairs_of
from regulargpt.classroom.data import PageRun
from regulargpt.classroom.live import crowd
from regulargpt.classroom.live.crowd import Crowd, folded, steps
from regulargpt.classroom.page import write
from regulargpt.finite.specification import specified_machine
from regulargpt.measurements.measuring import measured
from regulargpt.measurements.state_classes import of_states
from tests.regulargpt.axe import violations
from tests.regulargpt.browser import Browser
from tests.regulargpt.conftest import BRACKETS, Runs, shown

places = arrays(np.int64, st.tuples(st.integers(1, 30), st.just(2)), elements=st.integers(0, 3))


@given(places, st.data())
def test_each_place_of_each_class_is_drawn_once_and_of_many_so_many(points, data):
    classes = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(points), max_size=len(points))))
    there = {(*place, kind) for place, kind in zip(points.tolist(), classes.tolist(), strict=True)}
    rows, count = folded(points, classes, 0)
    assert sorted(there) == [tuple(row) for row in rows.tolist()]
    assert count == len(there)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crowd, "MOST_DOTS", 3)
        few, count = folded(points, classes, 0)
        again, _ = folded(points, classes, 0)
    assert (len(few), count) == (min(3, len(there)), len(there))
    assert {tuple(row) for row in few.tolist()} <= there
    assert few.tolist() == again.tolist()


@given(arrays(float, (5, 2), elements=st.floats(-1e3, 1e3)))
def test_a_place_is_within_half_a_step_of_its_state(points):
    corner, step = points.min(0), float(np.ptp(points, axis=0).max() / crowd.STEPS) or 1.0
    found = steps(points, corner, step)
    assert (np.abs(corner + step * found - points) <= step * (0.5 + 1e-6)).all()
    assert (found >= 0).all()
    assert (found <= crowd.STEPS).all()


@pytest.mark.parametrize("name", ["parity", "flip-flop", "modular-arithmetic"])
def test_a_word_has_the_pages_number_and_the_class_that_go_together(name: str):
    task = languages.get(name)
    page, machine = specified_machine(task), task.machine.minimise()
    start = machine.initial_index
    pairs, random = set(pairs_of(page, of_states(machine), start)), np.random.default_rng(0)
    for length in range(8):
        here, there = page.initial_index, start
        for symbol in random.integers(0, machine.n_symbols, length):
            here, there = page.table[here, symbol], machine.table[there, symbol]
        assert (here, there) in pairs


def opened(browser: Browser, run: PageRun, word: str, place: Path) -> Crowd:
    """The page of a run, a word typed; its crowd."""
    run = crowded(run)
    write([run], place / "crowd.html")
    browser.open(place / "crowd.html", f"#word={word}")
    assert run.live.map is not None
    assert run.live.map.crowd is not None
    return run.live.map.crowd


def assert_drawn(browser: Browser, found: Crowd) -> None:
    """Every dot, outline and arrow is there."""
    assert browser.all(".map .crowd", "e.getAttribute('d').split('M').length - 1") == [
        int((found.dots[:, 2] == kind).sum()) for kind in np.unique(found.dots[:, 2])
    ]
    assert browser.count(".map .heap") == len(found.outlines)
    assert browser.count(".map .heap.unsure") == sum(not outline.is_sure for outline in found.outlines)
    assert browser.count(".map .move") == len(found.ways)
    # As wide as the map is, on one of its sides.
    assert found.dots[:, :2].max() <= crowd.STEPS
    box = browser.evaluate("runs[0].map.plane.box")
    ends = browser.evaluate("runs[0].map.crowd.dots.flatMap(({ places }) => places)")
    np.testing.assert_array_less(np.array(box[0]) - found.step, np.min(ends, 0))
    np.testing.assert_array_less(np.max(ends, 0), np.array(box[1]) + found.step)


def test_a_tree_that_is_proven_has_its_semiautomaton_on_the_map_and_steps_light_it(
    browser: Browser, runs: Runs, tmp_path: Path
):
    found = opened(browser, runs.committed(), "0110", tmp_path)
    assert_drawn(browser, found)
    assert found.sentence == "2 of 2 clusters match, purity 100 %, adjusted Rand 1.00"
    assert browser.one("[data-part=match] strong") == f"{found.sentence}."
    assert dict(found.ways) == {(0, 1): [1], (1, 0): [1]}
    lit = []
    for _ in range(5):
        arrow = browser.data(".map .move.lit")
        lit.append((arrow[0]["from"], arrow[0]["to"]) if arrow else None)
        at = int(browser.one("#step", "e.value"))
        assert [heap["class"] for heap in browser.data(".map .heap.lit")] == ["00100"[at]]
        browser.click("#back")
    assert lit == [None, ("1", "0"), ("0", "1"), None, None]
    browser.click("#play")
    browser.wait("document.querySelector('.map .move.lit') !== null")
    assert browser.all(".map .name") == ["1 [ε] ↺ 0", "2 [1] ↺ 0"]
    assert violations(browser) == []
    browser.look(390, dark=True)
    browser.assert_fits()
    assert violations(browser) == []


def test_a_tree_along_brackets_has_outlines_that_light_up_and_no_arrows(browser: Browser, tmp_path: Path):
    found = opened(browser, shown(BRACKETS), "([", tmp_path)
    assert_drawn(browser, found)
    assert (len(found.ways), found.sentence[:23]) == (0, "8 of 8 clusters match, ")
    assert browser.one(".map .heap.lit title") == "Cluster of ("
    assert all("var(" not in colour for colour in browser.all(".map .crowd", "e.getAttribute('stroke')"))
    assert "An arrow" not in browser.one("section.map")


# Networks that were hardly trained: a recurrent one, a Transformer, and a tree.
@pytest.mark.parametrize("family", ["lstm", "transformer", "ldru"])
def test_the_numbers_are_those_of_verify(browser: Browser, runs: Runs, family_of, family: str, tmp_path: Path):
    run = runs.plain("cycle-navigation", model="ldru") if family == "ldru" else family_of(family)
    found = opened(browser, run, "0110", tmp_path)
    assert_drawn(browser, found)
    finding = measured("clusters", run.path)
    assert f": {found.sentence}\n" in finding.picture.title
    sentence = browser.one("[data-part=match] strong")
    assert sentence == f"{found.sentence}."
    assert f"of {finding.values['overall']['clusters']} clusters match" in sentence
    rows = f"{finding.values['overall']['rows']:,}"
    said = browser.one("[data-part=match]")
    assert f"Behind the points are the {rows} states" in said or said.endswith(
        f"The clusters are those of {rows} states."
    )


def test_of_many_states_so_many_are_drawn_and_that_is_said(browser: Browser, family_of, monkeypatch, tmp_path: Path):
    monkeypatch.setattr(crowd, "MOST_DOTS", 50)
    found = opened(browser, family_of("lstm"), "0110", tmp_path)
    assert len(found.dots) == 50
    assert_drawn(browser, found)
    assert ", as 50 of " in browser.one("[data-part=match]")


def test_where_verify_has_no_such_states_nothing_changes(runs: Runs, family_of):
    for run in (family_of("token"), family_of("full")):
        assert crowded(run) is run
