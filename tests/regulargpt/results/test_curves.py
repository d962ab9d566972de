"""What the pictures of groups show: every group, its band, its name, its failures; long lengths on a log axis."""

from dataclasses import replace
from pathlib import Path

import pytest

from languages.errors import UserError
from regulargpt import plots
from regulargpt.objectives.measures import MEASURES
from regulargpt.plots import COLOURS, Line, panels, single
from regulargpt.results.beside import Beside
from regulargpt.results.curves import ACCURACY, curves, in_panels, label, note, picture
from regulargpt.results.read import guesses
from regulargpt.results.row import RunRow
from regulargpt.results.rows import collect
from tests.test_imports import ROOT

LANGUAGE, MODEL = "data.name", "model.name"


def row(
    run: str, status: str = "done", accuracy: float | None = None, length: int | None = None, **config: str
) -> RunRow:
    """A row of a language and a model."""
    named = {{"language": LANGUAGE, "model": MODEL}.get(key, key): value for key, value in config.items()}
    measures = {} if accuracy is None else {"accuracy": accuracy}
    return RunRow(run, status, "", named, length=length, in_score=True, measure="accuracy", measures=measures)


def runs(languages: int, models: int = 1, longest: int = 43, **more: str) -> list[RunRow]:
    """Two runs a language and model, of which the second is the worse, at 41, 42 and the longest length."""
    return [
        row(
            f"{language}-{model}-{run}",
            accuracy=100.0 - language - run,
            length=length,
            **{"language": f"tomita-{language}", "model": f"model-{model}", **more},
        )
        for language in range(languages)
        for model in range(models)
        for run in range(2)
        for length in (41, 42, longest)
    ]


FAILED = row("x", "failed", language="tomita-0", model="model-0")


def lines(rows: list[RunRow]) -> list[Line]:
    """A line each language."""
    return [curve.line(label(curve.group.key, ["language"]) + note(curve)) for curve in curves(rows, [LANGUAGE])]


def test_curves_are_mean_worst_and_best_of_the_runs_that_have_a_length():
    rows = [*runs(2), row("c", accuracy=7.0, length=50, language="tomita-0"), FAILED]
    first, second = curves(rows, [LANGUAGE])
    assert first.group.key == ("tomita-0",)
    assert (first.group.n_runs, first.group.n_failed) == (4, 1)
    assert first.lengths == (41, 42, 43, 50)
    assert first.mean == (99.5, 99.5, 99.5, 7.0)
    assert first.low == (99.0, 99.0, 99.0, 7.0)
    assert first.high == (100.0, 100.0, 100.0, 7.0)
    assert second.mean == (98.5,) * 3


def test_a_picture_names_every_group_and_what_failed():
    figure = single(lines([*runs(8), FAILED]), ACCURACY)
    ((axes,), (legend,)) = figure.axes, figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["tomita-0 (1 of 3 failed)", *(f"tomita-{k}" for k in range(1, 8))]
    assert [piece.get_color() for piece in legend.get_lines()] == list(COLOURS)
    assert [line.get_color() for line in axes.lines] == list(COLOURS)
    assert axes.get_xscale() == "linear"
    assert axes.get_title() == ""


def test_lengths_that_are_grouped_by_are_the_axis(tmp_path: Path, monkeypatch):
    drawn: list = []
    monkeypatch.setattr(plots, "save", lambda path, figure: drawn.append(figure))
    for by in ([LANGUAGE], [LANGUAGE, "length"]):
        picture(tmp_path / "a.png", runs(2), by, ["language", "length"][: len(by)])
    plain, pivoted = ([line.get_xydata().tolist() for line in figure.axes[0].lines] for figure in drawn)
    assert plain == pivoted
    assert [text.get_text() for text in drawn[1].legends[0].get_texts()] == ["tomita-0", "tomita-1"]


def known(rows: list[RunRow]) -> list[RunRow]:
    """Rows that also say chance, training and proofs: of each language and model one of two runs is proven."""
    lengths = {f"tomita-{k}": 40 + 10 * (k > 0) for k in range(20)}
    return [
        replace(
            row,
            steps=10,
            config={**row.config, "data.train_len": lengths[str(row.config[LANGUAGE])]},
            guesses={"accuracy": (50.0, 60.0)},
            proven=row.run.endswith("0"),
            as_it_is=row.run.endswith("0"),
        )
        for row in rows
    ]


def labels(rows: list[RunRow], by: list[str], monkeypatch) -> list[set[str]]:
    """What each panel has besides curves, after the names in the legend."""
    drawn: list = []
    monkeypatch.setattr(plots, "save", lambda path, figure: drawn.append(figure))
    picture(Path("a.png"), rows, by, ["language", "model"][: len(by)])
    (figure,) = drawn
    figure.draw_without_rendering()
    axes = figure.axes
    assert not any(legend.get_window_extent().overlaps(one.bbox) for legend in figure.legends for one in axes)
    named = {text.get_text().replace("\n", " ") for legend in figure.legends for text in legend.get_texts()}
    return [named, *({str(line.get_label()) for line in one.lines} for one in axes)]


def test_chance_training_and_proofs_are_in_every_picture(monkeypatch):
    names, drawn = labels(known(runs(1)), [LANGUAGE], monkeypatch)
    assert names == {"tomita-0 (1 of 2 proven)", "chance", "longest training length"}
    assert {"chance", "longest training length"} <= drawn
    names, drawn = labels(known(runs(2)), [LANGUAGE], monkeypatch)
    assert {"chance", "longest training length of the line of its colour"} <= drawn & names
    names, *panels = labels(known(runs(3, 6)), [LANGUAGE, MODEL], monkeypatch)
    assert len(panels) == 3
    assert all({"chance", "longest training length"} <= drawn for drawn in panels)
    assert names == {"chance", "longest training length", *(f"model-{k}" for k in range(6))}
    assert labels(runs(1), [LANGUAGE], monkeypatch)[0] == {"tomita-0"}  # a table that says neither


def test_chance_is_known_of_runs_that_were_measured_before_there_were_several_scores():
    assert guesses({"measure": "accuracy", "chance": 50.0, "majority": 50.2}) == {"accuracy": (50.0, 50.2)}
    assert guesses({"measure": "nats", "chance": None, "majority": None}) == guesses({}) == {}
    rows = collect([ROOT / "docs" / "certified" / "parity"]).rows
    assert [curve.chance for curve in curves(rows, ["language"])] == [50.0]


def test_runs_that_are_not_alike_have_no_training_length_in_common():
    rows = known(runs(2))
    (alike,) = curves(rows[:6], [])
    (unlike,) = curves(rows, [])
    (untrained,) = curves([replace(row, steps=0) for row in rows], [])
    assert (alike.trained, unlike.trained, untrained.trained) == (40, None, None)
    scaled = MEASURES["scaled_accuracy"]
    assert curves(rows, [], scaled)[0].chance == 0
    assert curves(rows, [])[0].chance == 50


def test_groups_of_which_every_run_failed_are_named_too():
    (axes,) = single(lines([*runs(1), row("x", "failed", language="dyck-2")]), ACCURACY).axes
    assert axes.get_title() == "no line, since every run failed: dyck-2 (1 of 1 failed)"
    assert len(axes.lines) == 1


@pytest.mark.parametrize(("longest", "scale"), [(1000, "linear"), (1001, "log"), (1_000_000, "log")])
def test_long_lengths_are_on_a_log_axis(longest: int, scale: str):
    (axes,) = single(lines(runs(2, longest=longest)), ACCURACY).axes
    assert axes.get_xscale() == scale


def test_many_groups_have_a_panel_each_value_of_the_first_column():
    found = in_panels(curves([*runs(11, 3), FAILED], [LANGUAGE, MODEL]), ["language", "model"])
    figure = panels(found, ACCURACY)
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["tomita-0 (1 of 7 failed)", *(f"tomita-{k}" for k in range(1, 11))]
    assert all([line.get_color() for line in axes.lines] == list(COLOURS[:3]) for axes in figure.axes)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["model-0", "model-1", "model-2"]


@pytest.mark.parametrize(
    ("rows", "by", "suffix", "start"),
    [
        (runs(1), [LANGUAGE], ".png", b"\x89PNG"),
        (runs(8, longest=10_000), [LANGUAGE], ".svg", b"<?xml"),
        (runs(9), [LANGUAGE], ".pdf", b"%PDF"),
        (runs(3, 8), [LANGUAGE, MODEL], ".svg", b"<?xml"),
        (runs(2), ["length", LANGUAGE], ".png", b"\x89PNG"),
        ([row("a", accuracy=100.0, length=41, language="regex:$a_{b$")], [LANGUAGE], ".png", b"\x89PNG"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_the_file_is_of_its_kind_and_the_same_each_time(
    tmp_path: Path, rows: list[RunRow], by: list[str], suffix, start
):
    for file in ("a", "b"):
        picture(tmp_path / f"{file}{suffix}", rows, by, by)
    data = (tmp_path / f"a{suffix}").read_bytes()
    assert data.startswith(start)
    assert data == (tmp_path / f"b{suffix}").read_bytes()


@pytest.mark.parametrize(
    ("rows", "by", "message"),
    [
        ([FAILED], [LANGUAGE], "--plot x.png: no run here was tested"),
        (runs(2, 9), [LANGUAGE, MODEL], "--plot x.png: 9 lines in a picture, at most 8 can be told apart; choose with"),
    ],
)
def test_what_cannot_be_drawn_is_refused(tmp_path: Path, monkeypatch, rows: list[RunRow], by: list[str], message: str):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=f"^{message}"):
        picture(Path("x.png"), rows, by, by)
    assert not list(tmp_path.iterdir())


def test_the_legend_of_panels_is_inside_the_picture():
    rows, by = runs(3, 6, recipe="answers-learned", supervision="prefixes"), [LANGUAGE, MODEL, "recipe", "supervision"]
    figure = panels(in_panels(curves(rows, by), by), ACCURACY)
    figure.draw_without_rendering()
    box, whole = figure.legends[0].get_window_extent(), figure.bbox
    assert whole.x0 <= box.x0 < box.x1 <= whole.x1


def test_names():
    assert label(("lstm", None), ("model", "chunk_size")) == "lstm"
    assert label((1e-3, True), ("lr", "proven")) == "lr 0.001, proven true"
    assert label((None,), ("chunk_size",)) == "others"


def test_a_curve_has_the_marks_of_its_group(tmp_path: Path):
    rows = runs(2)
    path = tmp_path / "curves.svg"
    beside = {("tomita-0",): Beside(differ=("recipe",)), ("tomita-1",): Beside(conditions="b")}
    picture(path, rows, [LANGUAGE], ["language"], beside=beside)
    drawn = path.read_text(encoding="utf-8")
    assert "tomita-0 †" in drawn
    assert "tomita-1 [b]" in drawn
    many = curves(rows, [LANGUAGE, MODEL])
    marks = {curve.group.key: Beside(conditions="a") for curve in many}
    assert [line.name for lines in in_panels(many, ["language", "model"], marks).values() for line in lines] == [
        "model-0 [a]"
    ] * 2
