"""The map of states: what is said to match does, outlines hold their points, letters do not touch, arrows follow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.text import Annotation

import languages
from languages.automata.monoid import TransitionMonoid
from languages.randomness import rng
from regulargpt.findings import Axis, Dots, Group, Picture
from regulargpt.findings.draw import figure
from regulargpt.measurements.plane import plane
from regulargpt.measurements.state_classes import CLASSES, ClassMoves, Sub, classed
from regulargpt.measurements.state_map import Match, arrows, hull, letters, outlines
from regulargpt.measurements.states import node_states
from regulargpt.models.gru import Gru
from regulargpt.models.regulargpt import RegularGPT

few = st.lists(st.integers(0, 3), min_size=1, max_size=30)


@given(st.data())
def test_a_cluster_matches_exactly_where_a_row_is_in_it_if_and_only_if_it_is_of_one_class(data):
    classes = np.array(data.draw(few))
    numbers = data.draw(st.lists(st.integers(0, 3), min_size=len(classes), max_size=len(classes)))
    clusters = np.unique(np.array(numbers), return_inverse=True)[1]
    match = Match.from_labels(classes, clusters)
    whole = [k for k in range(clusters.max() + 1) if any(((classes == e) == (clusters == k)).all() for e in classes)]
    assert match.whole.tolist() == whole
    # Of each cluster the most frequent class: no other choice would leave fewer rows among another class's.
    fewest = sum(int((clusters == k).sum()) - np.bincount(classes[clusters == k]).max() for k in set(clusters.tolist()))
    assert match.wrong.sum() == fewest
    is_match = len(whole) == len(set(classes.tolist())) == clusters.max() + 1
    assert ("without" not in match.sentence(classes, "abcd", 1.0, 1.0)) == (len(whole) == len(set(classes.tolist())))
    assert is_match <= (not match.wrong.any())


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=40))
def test_a_hull_holds_all_points_and_has_points_as_corners(points):
    rows = np.array(points, dtype=float)
    corners = hull(rows)
    assert {tuple(corner) for corner in corners.tolist()} <= {tuple(row) for row in rows.tolist()}
    if len(corners) > 2:
        ahead = np.roll(corners, -1, 0) - corners  # (corners, 2)
        beside = rows[:, None] - corners  # (rows, corners, 2)
        assert (ahead[:, 0] * beside[..., 1] - ahead[:, 1] * beside[..., 0] >= 0).all()


def mapped(classes, states, clusters, name, moves):
    """The panel of some states."""
    points, _ = plane(states)
    match = Match.from_labels(classes, clusters)
    return Dots(
        [Group(points.tolist(), classes.tolist())],
        {int(e): name[e] for e in np.unique(classes)},
        Axis("x"),
        Axis("y"),
        outlines(points, match, letters(match, name, moves)),
        arrows(points, match, moves),
        points[match.wrong].tolist(),
    )


def monoid_moves(name: str) -> tuple[TransitionMonoid, ClassMoves]:
    monoid = TransitionMonoid.from_machine(languages.get(name).machine.minimise())
    return monoid, ClassMoves(monoid.alphabet, monoid.right)


TITLE = "{}, regulargpt, trained on T <= 40, seed 0\nstates, T = 500: 5 of 5 clusters match, purity 100 %"


@settings(max_examples=16, deadline=None)
@given(
    st.sampled_from(["parity", "cycle-navigation", "dyck-2", "tomita-3", "symmetric-3"]),
    st.integers(0, 999),
    st.sampled_from([None, 3.25]),
)
def test_nothing_that_is_written_touches_nor_is_cut_off(name: str, seed: int, inches: float | None):
    monoid, moves = monoid_moves(name)
    means = rng(seed, "means").normal(size=(monoid.size, 6))
    classes = np.repeat(np.arange(monoid.size), 5)
    states = means[classes] + 0.05 * rng(seed, "noise").normal(size=(len(classes), 6))
    panel = mapped(classes, states, classes, list(map(str, monoid.words)), moves)
    drawn = figure(Picture([panel], TITLE.format(name), size=(6.4, 4.8)), inches)
    drawn.draw_without_rendering()
    axes, legend = drawn.axes[0], drawn.legends[0]
    letters_on_it = [of for of in axes.texts if isinstance(of, Annotation) and of.get_text() and of.get_visible()]
    assert len(letters_on_it) >= monoid.size
    numbers = [
        label
        for axis, ends in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim()))
        for place, label in zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
        if ends[0] <= place <= ends[1]  # others are not drawn
    ]
    seen = [of for of in [axes.xaxis.label, axes.yaxis.label, *numbers] if of.get_text()]
    assert drawn._suptitle is not None  # type: ignore[attr-defined]
    written = [*letters_on_it, *seen, drawn._suptitle]  # type: ignore[attr-defined]
    assert min(float(of.get_fontsize()) for of in [*written, *legend.get_texts()]) >= 8
    boxes = np.array([of.get_window_extent().extents for of in [*written, legend]])  # (n, 4)
    low, high = boxes[:, :2], boxes[:, 2:]
    shared = np.minimum(high[:, None], high) - np.maximum(low[:, None], low)
    touch = (shared > 0.5).all(-1) & ~np.eye(len(boxes), dtype=bool)  # half a dot is no overlap
    assert [(written[i].get_text(), j) for i, j in np.argwhere(touch) if i < len(written)] == []
    assert (low >= -0.5).all()
    assert (high <= np.array(drawn.bbox.size) + 0.5).all()


def test_arrows_go_where_the_automaton_goes_and_only_between_clusters_that_match():
    monoid, moves = monoid_moves("cycle-navigation")
    classes = np.repeat(np.arange(5), 4)
    states = rng(0, "means").normal(size=(5, 6))[classes]
    panel = mapped(classes, states, classes, monoid.words, moves)
    middle = {tuple(np.round(np.array(panel.groups[0].points)[classes == e].mean(0), 6)): e for e in range(5)}
    ways = {(middle[tuple(np.round(a.start, 6))], a.name, middle[tuple(np.round(a.end, 6))]) for a in panel.arrows}
    assert ways == {
        (e, symbol, monoid.right[e, s]) for e in range(5) for s, symbol in enumerate("012") if symbol != "0"
    }
    assert all(outline.name.endswith("↺ 0") for outline in panel.outlines)
    # Two classes in one cluster: no arrow touches them, and the map says that they do not match.
    merged = np.where(classes == 4, 3, classes)
    panel = mapped(classes, states, merged, monoid.words, moves)
    assert [outline.is_sure for outline in panel.outlines] == [True, True, True, False]
    assert len(panel.wrong) == 4
    assert {arrow.name for arrow in panel.arrows} == {"1", "2"}
    assert len(panel.arrows) == len([(e, s) for e in range(3) for s in (1, 2) if monoid.right[e, s] < 3])


@pytest.mark.parametrize("by", CLASSES)
@pytest.mark.parametrize("model", [RegularGPT(3, 5, d_model=8, n_heads=2, d_ff=8), Gru(3, 5, d_model=8)])
def test_what_a_state_should_say_is_what_the_machine_says_of_its_sub_word(by: str, model):
    machine = languages.get("cycle-navigation").machine.minimise()
    monoid = TransitionMonoid.from_machine(machine)
    words = rng(0, "words").integers(3, size=(4, 11))
    nodes = node_states(model, words, monoid)
    sought, labelled = classed(Sub(nodes, words, machine, monoid), by)

    def run(state: int, symbols) -> int:
        for symbol in symbols:
            state = machine.table[state, symbol]
        return state

    for n in range(0, len(nodes), 7):
        word, start, end = words[nodes.words[n]], nodes.starts[n], nodes.ends[n]
        right = {
            "transition": monoid.of_word(machine.decode(word[start:end])),
            "state": run(machine.initial_index, word[start:end]),
            "prefix": run(machine.initial_index, word[:end]),
            "symbol": word[end - 1],
            "depth": nodes.depths[n],
        }[by]
        assert labelled.elements[n] == right
        assert sought.names[labelled.elements[n]]
