"""Pictures: one run's, names beside the ends of lines, points that need not be drawn, and files by their names."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from languages.errors import UserError
from regulargpt import plots
from regulargpt.evaluation.measures import Measure
from regulargpt.evaluation.measures import measure as measure_of
from tests.regulargpt.results.made import a_test

BITS = Measure("bits_per_byte", "bits per byte", "bits", False, 0.0, None)


def summary(values: dict[int, float], measure: str = "accuracy", **more: object) -> dict[str, object]:
    """What a picture reads of summary.json."""
    return {"train_len": 40, "steps": 100, "chance": 50.0, **a_test(values, measure, test_len=500), **more}


@pytest.mark.parametrize("title", ["parity", "regex:a*;alphabet=$a_$", r"regex:(a\$)*", "dfa:x^{_%\\"])
@pytest.mark.parametrize("values", [{41: 100.0}, {41: 100.0, 42: 50.0, 10_000: 0.0}], ids=["one", "several"])
def test_a_picture_of_a_run_is_drawn_whatever_its_language_is_called(values: dict[int, float], title: str, tmp_path):
    plots.of_run(tmp_path / "a.png", summary(values), title)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_of_a_run_whose_measure_nobody_described(tmp_path: Path):
    plots.of_run(tmp_path / "a.svg", summary({1: 4.0, 2: 300.0}, "perplexity", chance=None, steps=0), "text")
    text = (tmp_path / "a.svg").read_text()
    assert "perplexity" in text
    assert "accuracy" not in text
    assert "longest training word" not in text


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


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_labels_keep_their_order_and_their_distance(heights: list[float]):
    heights.sort(reverse=True)
    moved = plots.spread(heights, 0.085)
    assert all(a - b >= 0.085 - 1e-9 for a, b in pairwise(moved))
    assert moved[-1] >= 0
    assert moved[0] <= 1
