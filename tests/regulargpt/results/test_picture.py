"""What the pictures show: every group, its band, its name, its failures; on a log axis when lengths are long."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from languages.errors import UserError
from regulargpt.results.curves import curves, label
from regulargpt.results.picture import COLOURS, accuracy_png, name, panels, single, spread
from regulargpt.results.row import Row


def runs(languages: int, models: int = 1, longest: int = 43) -> list[Row]:
    """Two runs a language and model, of which the second is the worse, at 41, 42 and the longest length."""
    return [
        Row(f"{language}-{model}-{run}", "done", length=length, accuracy=100.0 - language - run, in_score=True)
        for language in range(languages)
        for model in range(models)
        for run in range(2)
        for length in (41, 42, longest)
    ]


def of(rows: list[Row]) -> list[Row]:
    """The rows with the language and model that their runs' names say."""
    named = []
    for row in rows:
        language, model, _ = row.run.split("-")
        named.append(replace(row, language=f"tomita-{language}", model=f"model-{model}"))
    return named


FAILED = Row("x", "failed", "diverged", language="tomita-0", model="model-0")


def test_curves_are_mean_worst_and_best_of_the_runs_that_have_a_length():
    rows = [*of(runs(2)), Row("c", "done", language="tomita-0", length=50, accuracy=7.0, in_score=True), FAILED]
    first, second = curves(rows, ["language"])
    assert first.group.key == ("tomita-0",)
    assert (first.group.n_runs, first.group.n_failed) == (4, 1)
    assert first.lengths == (41, 42, 43, 50)
    assert first.mean == (99.5, 99.5, 99.5, 7.0)
    assert first.low == (99.0, 99.0, 99.0, 7.0)
    assert first.high == (100.0, 100.0, 100.0, 7.0)
    assert second.mean == (98.5,) * 3


def test_a_picture_names_every_group_and_what_failed():
    rows = [*of(runs(8)), FAILED]
    figure = single(curves(rows, ["language"]), ["language"])
    (axes,) = figure.axes
    names = {text.get_text(): text.get_color() for text in axes.texts}
    assert list(names) == ["tomita-0 (1 of 3 failed)", *(f"tomita-{k}" for k in range(1, 8))]
    assert list(names.values()) == list(COLOURS)
    assert [line.get_color() for line in axes.lines] == list(COLOURS)
    assert axes.get_xscale() == "linear"
    assert axes.get_title() == ""


def test_groups_of_which_every_run_failed_are_named_too():
    rows = [*of(runs(1)), Row("x", "failed", language="dyck-2")]
    (axes,) = single(curves(rows, ["language"]), ["language"]).axes
    assert axes.get_title() == "no line, since every run failed: dyck-2"
    assert len(axes.lines) == 1


@pytest.mark.parametrize(("longest", "scale"), [(1000, "linear"), (1001, "log"), (1_000_000, "log")])
def test_long_lengths_are_on_a_log_axis(longest: int, scale: str):
    (axes,) = single(curves(of(runs(2, longest=longest)), ["language"]), ["language"]).axes
    assert axes.get_xscale() == scale


def test_many_groups_have_a_panel_each_value_of_the_first_column():
    rows, by = [*of(runs(11, 3)), FAILED], ["language", "model"]
    found = curves(rows, by)
    figure = panels(found, by, [f"tomita-{k}" for k in range(11)], [(f"model-{k}",) for k in range(3)])
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["tomita-0 (1 of 7 failed)", *(f"tomita-{k}" for k in range(1, 11))]
    assert all([line.get_color() for line in axes.lines] == list(COLOURS[:3]) for axes in figure.axes)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["model-0", "model-1", "model-2"]


@pytest.mark.parametrize(
    ("rows", "by"),
    [
        (of(runs(1)), ["language"]),
        (of(runs(8, longest=10_000)), ["language"]),
        (of(runs(9)), ["language"]),
        (of(runs(3, 8)), ["language", "model"]),
        (of(runs(2)), ["accuracy", "language"]),
    ],
)
@pytest.mark.filterwarnings("error")
def test_the_file_is_a_png_and_the_same_each_time(tmp_path: Path, rows: list[Row], by: list[str]):
    for file in ("a.png", "b.png"):
        accuracy_png(tmp_path / file, rows, by)
    data = (tmp_path / "a.png").read_bytes()
    assert data.startswith(b"\x89PNG")
    assert data == (tmp_path / "b.png").read_bytes()


@pytest.mark.parametrize(
    ("rows", "by", "message"),
    [
        ([FAILED], ["language"], "--plot x.png: no run here was tested"),
        (
            of(runs(2, 9)),
            ["language", "model"],
            "--plot x.png: 9 lines in a picture, at most 8 can be told apart; choose with --where, "
            "or --group-by fewer columns",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(tmp_path: Path, monkeypatch, rows: list[Row], by: list[str], message: str):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as refused:
        accuracy_png(Path("x.png"), rows, by)
    assert str(refused.value) == message
    assert not list(tmp_path.iterdir())


def test_the_legend_of_panels_is_inside_the_picture():
    rows = [replace(row, recipe="robust-nodes", supervision="every") for row in of(runs(languages=3, models=6))]
    by = ["language", "model", "recipe", "supervision"]
    found = curves(rows, by)
    heads, tails = (
        list(dict.fromkeys(key)) for key in ([c.group.key[0] for c in found], [c.group.key[1:] for c in found])
    )
    figure = panels(found, by, heads, tails)
    figure.draw_without_rendering()
    box, whole = figure.legends[0].get_window_extent(), figure.bbox
    assert whole.x0 <= box.x0 < box.x1 <= whole.x1


def test_names():
    assert label(("lstm", None), ("model", "chunk_size")) == "lstm"
    assert label((1e-3, True), ("lr", "proven")) == "lr 0.001, proven true"
    assert label((None,), ("chunk_size",)) == "others"
    assert name(("$" * 60,), ("language",)) == "$" * 43 + "…"


def test_a_name_with_dollars_is_drawn_as_it_is(tmp_path: Path):
    rows = [Row("a", "done", language="regex:$a_{b$", length=41, accuracy=100.0, in_score=True)]
    accuracy_png(tmp_path / "a.png", rows, ["language"])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_labels_keep_their_order_and_their_distance(heights: list[float]):
    heights.sort(reverse=True)
    moved = spread(heights, 0.085)
    assert all(a - b >= 0.085 - 1e-9 for a, b in pairwise(moved))
    assert moved[-1] >= 0
    assert moved[0] <= 1
