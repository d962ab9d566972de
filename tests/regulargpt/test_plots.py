"""Pictures: one run's, names of lines in the margin, points that need not be drawn, and files by their names."""

from collections.abc import Sequence
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
    assert "longest training word" not in text


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, ["95 % interval over the words", "longest training word"]),
        ({"factor": 2}, ["95 % interval over the words", "longest training word"]),  # a retrieval task
        ({"factor": 2, "scoring": "last_k"}, ["95 % interval over the segments, by file", "training length"]),
    ],
)
def test_the_picture_of_a_run_says_what_its_interval_is_over(more: dict[str, Any], said: list[str], tmp_path: Path):
    plots.of_run(tmp_path / "a.svg", summary({41: 90.0, 42: 80.0}, **more), "a run")
    assert all(f">{words}<" in (tmp_path / "a.svg").read_text() for words in said)


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
