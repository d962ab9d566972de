"""Pictures: one run's, names of lines in the margin, points that need not be drawn, and files by their names."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox

from languages.errors import UserError
from regulargpt import plots
from regulargpt.objectives.measures import Measure
from regulargpt.objectives.measures import measure as measure_of
from tests.regulargpt.results.made import a_test

BITS = Measure("bits_per_byte", "bits per byte", "bits", False, 0.0, None)


def summary(values: dict[int, float], measure: str = "accuracy", **more: object) -> dict[str, object]:
    """What a picture reads of summary.json."""
    return {"train_len": 40, "steps": 100, "chance": 50.0, **a_test(values, measure, test_len=500), **more}


@pytest.mark.parametrize("title", ["parity", "regex:a*;alphabet=$a_$", r"regex:(a\$)*", "dfa:x^{_%\\"])
def test_a_picture_of_a_run_is_drawn_whatever_its_language_is_called(title: str, tmp_path: Path):
    for values in ({41: 100.0}, {41: 100.0, 42: 50.0, 10_000: 0.0}):
        plots.of_run(tmp_path / "a.png", summary(values), title)
        assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_a_long_title_is_inside_the_picture(monkeypatch):
    drawn: list[Figure] = []
    monkeypatch.setattr(plots, "save", lambda path, figure: drawn.append(figure))
    plots.of_run(Path("a.png"), summary({41: 100.0, 42: 50.0}), "regex:" + "(ab|ba)*" * 30)
    drawn[0].draw_without_rendering()
    assert_apart_and_inside([drawn[0].axes[0].title.get_window_extent()], drawn[0].bbox)


def test_a_picture_of_a_run_whose_measure_nobody_described(tmp_path: Path):
    plots.of_run(tmp_path / "a.svg", summary({1: 4.0, 2: 300.0}, "perplexity", chance=None, steps=0), "text")
    text = (tmp_path / "a.svg").read_text()
    assert "perplexity" in text
    assert "accuracy" not in text
    assert "longest training length" not in text


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, ["95 % interval over the words", "longest training length"]),
        ({"factor": 2}, ["95 % interval over the words", "longest training length"]),  # a retrieval task
        ({"factor": 2, "scoring": "last_k"}, ["95 % interval over the segments, by file", "longest training length"]),
    ],
)
def test_the_picture_of_a_run_says_what_its_interval_is_over(more: dict[str, Any], said: list[str], tmp_path: Path):
    plots.of_run(tmp_path / "a.svg", summary({41: 90.0, 42: 80.0}, **more), "a run")
    assert all(f">{words}<" in (tmp_path / "a.svg").read_text() for words in said)


FAR = {**dict.fromkeys(range(41, 501), 100.0), 10_000: 100.0, 1_000_000: 100.0}


def spans(figure: Figure) -> list[tuple[float, float]]:
    """From where to where each stroke along the lengths goes, and each band."""
    (axes,) = figure.axes
    lines = [line.get_xdata() for line in axes.lines if line.get_marker() != "None" or line.get_linestyle() == "-"]
    drawn = [path.vertices[:, 0] for found in axes.collections for path in found.get_paths()]
    return [(min(places), max(places)) for places in (*lines, *drawn) if len(places)]


def drawn_of(values: dict[int, float], title: str = "parity", **more: object) -> Figure:
    """The picture of a run."""
    drawn: list[Figure] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plots, "save", lambda path, figure: drawn.append(figure))
        plots.of_run(Path("a.png"), summary(values, **more), title)
    drawn[0].draw_without_rendering()
    return drawn[0]


def test_nothing_is_drawn_between_lengths_far_apart():
    found = set(spans(drawn_of(FAR, steps=0)))
    assert found == {(41, 500), (10_000, 10_000), (1_000_000, 1_000_000)}


def test_a_length_that_stands_alone_has_its_interval_as_a_bar():
    figure = drawn_of(FAR)
    of = summary(FAR)["measures"]["accuracy"]["intervals"]  # type: ignore[index]
    _, *bars = [path.vertices.tolist() for found in figure.axes[0].collections for path in found.get_paths()]
    assert bars == [[[length, height] for height in of[str(length)]] for length in (10_000, 1_000_000)]


@given(
    st.one_of(
        st.builds(
            lambda start, step, n: [start + step * at for at in range(n)], *[st.integers(1, 500)] * 2, st.just(9)
        ),
        st.builds(lambda start, by: [start * by**at for at in range(6)], st.integers(1, 100), st.integers(2, 10)),
        st.lists(st.integers(0, 10**6), unique=True).map(sorted),
    ),
    st.integers(1, 1000),
)
def test_the_laws_of_which_lengths_are_joined(lengths: list[int], scale: int):
    found = plots.joined(lengths)
    assert [at for part in found for at in part] == [*range(len(lengths))]  # each is drawn once
    assert plots.joined([scale * length for length in lengths]) == found  # whatever the unit
    gaps = np.diff([0, *lengths])
    for part in found:
        assert all(gaps[at] <= plots.FAR * min(gaps[at - 1 : at + 2]) for at in part[1:] if at > 1)
    steps = set(gaps[1:].tolist())
    if len(steps) == 1 and lengths[0] * plots.FAR >= max(steps):
        assert len(found) == 1
    if lengths and lengths[0] and {b / a for a, b in itertools.pairwise(lengths)} <= set(range(2, 11)):
        assert len(found) == 1


@given(st.lists(st.integers(1, 500), min_size=1, unique=True).map(sorted), st.integers(50, 1000), st.integers(50, 1000))
def test_lengths_far_away_are_never_joined(near: list[int], by: int, further: int):
    far = by * near[-1]
    assert [*map(len, plots.joined([*near, far, further * far])[-2:])] == [1, 1]


def test_the_legend_lies_on_no_curve():
    for figure in (drawn_of(FAR), plots.single([flat("a", 0.0), flat("b", 100.0)], measure_of("accuracy"), band="x")):
        figure.draw_without_rendering()
        boxes = [legend.get_window_extent() for legend in figure.legends]
        assert boxes
        assert not any(box.overlaps(axes.bbox) for box in boxes for axes in figure.axes)
        assert all(axes.get_legend() is None for axes in figure.axes)


def test_the_title_of_a_run_has_what_is_proven_in_a_line_of_its_own():
    assert drawn_of(FAR, "a run\nproven at every length").axes[0].get_title() == "a run\nproven at every length"


def references(*lines: plots.Line) -> dict[str, list[tuple[object, object]]]:
    """What stands beside lines, by its name: where, and in which colour."""
    (axes,) = plots.single(lines, measure_of("accuracy")).axes
    found: dict[str, list[tuple[object, object]]] = {}
    for line in axes.lines:
        if not (name := str(line.get_label())).startswith("_"):
            at = line.get_ydata() if name.startswith("chance") else line.get_xdata()
            found.setdefault(name, []).append((at[0], line.get_color()))  # type: ignore[index]
    return found


def test_chance_and_training_are_of_all_lines_or_of_each():
    one, two, three = (replace(flat(name, 90.0), chance=50.0, trained=40) for name in "abc")
    common = {"chance": [(50.0, plots.GREY)], "longest training length": [(40, plots.GREY)]}
    assert references(one) == references(one, two, three) == common
    assert references(one, two, replace(flat("d", 0.0), lengths=())) == common  # a line without lengths is not drawn
    assert references(flat("a", 90.0)) == {}
    third = plots.COLOURS[2]
    assert references(one, two, replace(three, chance=20.0, trained=None)) == {
        "chance of several lines": [(50.0, plots.GREY)],
        "chance of the line of its colour": [(20.0, third)],
        "longest training length of several lines": [(40, plots.GREY)],
    }


def test_lengths_on_the_axis_are_whole_numbers():
    lengths = [*range(11, 31)]
    figure = plots.single([plots.Line("rnn", lengths, [50.0] * 20, [40.0] * 20, [60.0] * 20)], measure_of("accuracy"))
    figure.draw_without_rendering()
    assert all(float(tick) == int(tick) for tick in figure.axes[0].get_xticks())


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_the_same_points_draw_the_same_bytes(suffix: str, tmp_path: Path):
    for name in ("a", "b"):
        plots.of_run(tmp_path / f"{name}{suffix}", summary({41: 100.0, 42: 90.0}), "parity")
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_a_picture_of_another_kind_is_refused(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    figure = plots.single([plots.Line("", [1], [1.0], [1.0], [1.0])], measure_of("accuracy"))
    with pytest.raises(UserError) as refused:
        plots.save(Path("a.gif"), figure)
    assert str(refused.value) == "a.gif: a picture is '.png', '.svg', '.pdf'; name it a.png"


def test_a_measure_without_bounds_has_the_height_of_its_values():
    lines = [plots.Line("gru", [1, 2], [3.0, 4.0], [2.5, 3.5], [3.5, 4.5])]
    (axes,) = plots.single(lines, BITS).axes
    bottom, top = axes.get_ylim()
    assert bottom < 2.5 < 4.5 < top < 6
    assert axes.get_ylabel() == "bits per byte"
    (bounded,) = plots.single(lines, measure_of("accuracy")).axes
    assert bounded.get_ylim() == (-4.0, 104.0)


@given(st.lists(st.tuples(*[st.floats(0, 100)] * 2), min_size=1, max_size=60))
def test_what_is_left_out_of_a_line_is_on_it(values: list[tuple[float, float]]):
    places = [float(at) for at in range(len(values))]
    tolerance = (max(map(max, values)) - min(map(min, values))) / 150
    kept = plots.bends(places, values, tolerance)
    assert {0, len(values) - 1} <= set(kept)
    for line in zip(*values, strict=True):
        drawn = np.interp(places, [places[at] for at in kept], [line[at] for at in kept])
        assert np.abs(drawn - line).max() <= tolerance + 1e-9


LONG = "modular-arithmetic:plus=true, regulargpt, chunk_size 3, recipe answers, supervision prefixes, seed"
NAMES = {
    "short": "lstm",
    "long": LONG,
    "longer": 3 * LONG,
    "path": "dfa:" + "/folder" * 20,
    "odd": r"_regex:($a_{b$|\)*",
}


def flat(name: str, value: float) -> plots.Line:
    """A line of one value."""
    return plots.Line(name, [41, 100, 500], [value] * 3, [value] * 3, [value] * 3)


def assert_apart_and_inside(boxes: Sequence[Bbox], whole: Bbox) -> None:
    for box in boxes:
        assert whole.x0 <= box.x0 < box.x1 <= whole.x1
        assert whole.y0 <= box.y0 < box.y1 <= whole.y1
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("values", [[100.0], [100.0] * 5, [100.0] * 6 + [50.0] * 6, [*range(30)]], ids=len)
def test_names_stand_in_the_right_margin_and_nothing_but_lines_in_the_axes(name: str, values: list[float]):
    lines = [flat(f"{name} {at}", value) for at, value in enumerate(values)]
    figure = plots.single(lines, measure_of("accuracy"))
    figure.draw_without_rendering()
    ((axes,), (legend,)) = figure.axes, figure.legends
    assert not list(axes.texts)
    drawn = [found for found in axes.get_children() if isinstance(found, Line2D)]
    assert drawn == list(axes.lines)
    assert len(drawn) == len(lines)
    boxes = [text.get_window_extent() for text in legend.get_texts()]
    assert_apart_and_inside(boxes, figure.bbox)
    assert axes.bbox.width > figure.bbox.width / 2
    assert all(axes.bbox.x1 <= box.x0 for box in [legend.get_window_extent(), *boxes])
    # In the order of the last values, each beside a piece of its own line.
    order = sorted(range(len(lines)), key=lambda at: -values[at])
    names = ["".join(text.get_text().split()) for text in legend.get_texts()]
    for at, found, piece in zip(order, names, legend.get_lines(), strict=True):
        assert found.endswith(f"{name} {at}".replace(" ", "")[-9:])
        assert (piece.get_color(), piece.get_linestyle()) == (drawn[at].get_color(), drawn[at].get_linestyle())


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_titles_and_names_of_panels_are_apart_and_inside(name: str):
    found = {f"{title} {name}": [flat(f"{at} {name}", 100.0) for at in range(5)] for title in range(7)}
    figure = plots.panels(found, measure_of("accuracy"))
    figure.draw_without_rendering()
    boxes = [axes.title.get_window_extent() for axes in figure.axes]
    boxes += [text.get_window_extent() for text in figure.legends[0].get_texts()]
    assert_apart_and_inside(boxes, figure.bbox)
