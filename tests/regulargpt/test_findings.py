"""A finding: its files, what a terminal and a page show of it, its pictures; a measurement of a class outside."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from languages.errors import UserError
from regulargpt.cli import call
from regulargpt.findings import Axis, Curves, Data, Dots, Finding, Group, HeatMap, Picture, text, write
from regulargpt.findings.draw import figure
from regulargpt.findings.html import html
from regulargpt.findings.svg import svg
from regulargpt.measurements import MEASUREMENTS
from regulargpt.measurements.measuring import measured
from regulargpt.plots import Line
from regulargpt.storage import atomic
from regulargpt.tables import Table
from regulargpt.text.measurements.quantities import QUANTITIES, quantity
from tests.regulargpt.texts import text_run

EVIL = "<b>$x_1$</b>"
LINES = (Line(EVIL, [8, 16, 32], [1.0, 2.0, math.inf], [0.5, 1.0, 1.5], [2.0, 3.0, 4.0]), Line("b", [8, 16], [3, 1]))
CURVES = Curves(LINES, Axis("length T"), Axis("loss"), {"training length": 8}, {"chance": 2.5}, "95 %")
PANELS = (
    CURVES,
    Curves([Line("c", range(1, 50), [1 / m for m in range(1, 50)], dash=":")], Axis("m", True), Axis("v", True)),
    HeatMap([[1.0, None], [99.0, 50.0]], ["8", "16"], [0, 50, 100], *map(Axis, "xys"), level=6.0, mark=("long", 1)),
    Dots([Group([(0, 1), (2, 3)], [0, 4], "depth 1"), Group([(1, 1)], [4])], {0: "ε", 4: "$"}, Axis("a"), Axis("b")),
)
FINDING = Finding(
    name="found",
    title=f"text {EVIL}",
    facts={"run_dir": "runs/a", "length": 8},
    values={"loss": [1.0, None], "summary": "it | rises"},
    data=Data(("length", "loss"), [(8, 1.0), (16, None)]),
    more={"further": Data(("a",), [(1,)])},
    picture=Picture(PANELS, "two\nlines", across=2, size=(4, 3)),
    tables=[Table(("length", "loss"), [("8", "1.000"), ("16", "-")], notes=["below the table"])],
    sentence="it | rises",
    notes=["a note"],
)


def test_the_files_of_a_finding(tmp_path: Path, monkeypatch):
    written: list[str] = []
    original = atomic.write_bytes
    monkeypatch.setattr(atomic, "write_bytes", lambda path, data: (written.append(path.name), original(path, data)))
    write(FINDING, tmp_path / "a" / "b")
    assert written[-1] == "found.json"  # where it is, the others are
    files = {path.name: path.read_bytes() for path in (tmp_path / "a" / "b").iterdir()}
    assert sorted(files) == ["found.csv", "found.json", "found.png", "further.csv"]
    assert files["found.csv"] == b"length,loss\n8,1.0\n16,\n"
    report = json.loads(files["found.json"])
    assert report == FINDING.report == {**FINDING.facts, **FINDING.values}
    assert list(report) == ["run_dir", "length", "loss", "summary"]
    write(replace(FINDING, drawn="picture"), tmp_path / "again")
    assert (tmp_path / "again" / "picture.png").read_bytes() == files["found.png"]


def test_what_a_terminal_shows():
    assert text(FINDING).splitlines() == [
        f"text {EVIL}",
        *("length  loss", "8       1.000", "16      -", "below the table", "it | rises", "a note"),
    ]


def test_a_page_shows_the_same_and_no_text_is_markup():
    page = html(FINDING, "A heading")
    assert page.startswith('<section class="found"><h3>A heading</h3><svg')
    assert page.count("<svg") == 2
    assert "<b>" not in page
    assert all(part in page for part in ("it | rises", "a note", "below the table", "training length 8", "chance"))
    assert 'class="line c1 d0"' in page
    assert "nan" not in page
    assert "inf" not in page


def test_the_panels_of_a_picture():
    drawn = figure(FINDING.picture)
    drawn.draw_without_rendering()
    curves, falling, heat, dots, scale = drawn.axes
    assert curves.get_xscale() == falling.get_xscale() == falling.get_yscale() == "log"
    assert [label.get_text() for label in curves.get_xticklabels()] == ["8", "16", "32"]
    assert [text.get_text() for text in heat.texts] == ["1", "99", "50"]
    assert scale.get_lines()[0].get_ydata() == [6.0, 6.0]
    assert (dots.get_xlabel(), dots.get_ylabel()) == ("a", "b")
    assert drawn.get_suptitle() == "two\nlines"
    named = [text.get_text() for text in drawn.legends[0].get_texts()]
    assert named == ["ε", "$", "depth 1"]


def test_a_page_draws_nothing_between_lengths_far_apart():
    lengths, values = [*range(41, 100), 10_000, 1_000_000], [100.0] * 61
    drawn = svg(Curves([Line("", lengths, values, [90.0] * 61, values)], Axis("length"), Axis("accuracy")))
    lines = re.findall(r'<(poly\w+) points="([^"]*)"', drawn)
    spans = [(kind, {point.split(",")[0] for point in points.split()}) for kind, points in lines]
    assert [(kind, len(places)) for kind, places in spans] == [
        *(("polygon", 59), ("polyline", 59)),  # the run of lengths, with its band
        *(("polyline", 1), ("polyline", 1)) * 2,  # a bar and a point
    ]
    assert drawn.count("<circle") == 2


def test_the_legend_of_a_panel_of_curves_lies_above_it():
    drawn = figure(Picture((CURVES, CURVES), across=2, size=(4, 3)))
    drawn.draw_without_rendering()
    for axes in drawn.axes:
        legend = axes.get_legend()
        assert legend is not None
        assert not legend.get_window_extent().overlaps(axes.bbox)
        assert [text.get_text() for text in legend.get_texts()][-1] == "training length"
        assert axes.bbox.height > 1.9 * drawn.dpi  # it keeps its room


OUTSIDE = '''
from dataclasses import dataclass, replace

from regulargpt.measurements.options import MeasurementOptions
from regulargpt.options import option
from tests.regulargpt.test_findings import FINDING


@dataclass(frozen=True)
class CountOptions(MeasurementOptions):
    """Count test words."""

    on = ("text",)
    words: int = option(2, "How many.", least=1)


class Count:
    """Words, counted."""

    Options = CountOptions

    @staticmethod
    def measure(run, options):
        return replace(FINDING, name="count", facts=run.facts("train_len") | {"words": options.words})
'''


def test_a_measurement_outside_is_a_verb_too(tmp_path: Path, monkeypatch, capsys):
    (tmp_path / "counting_outside.py").write_text(OUTSIDE)
    monkeypatch.syspath_prepend(tmp_path)
    place = str(text_run(tmp_path, model__encoding__name="alibi").path)
    assert call(["counting_outside:Count", "--help"]) == 0
    said = capsys.readouterr().out
    assert "Count test words." in said
    assert "--words INTEGER RANGE How many. [default: 2; x>=1]" in " ".join(said.split())
    assert call(["counting_outside:Count", place, "--words", "3", "--out", str(tmp_path / "out"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["train_len"], report["words"]) == (8, 3)
    assert json.loads((tmp_path / "out" / "count.json").read_text()) == report
    for verb, message in (("counting_outside:Cuont", "has no class Cuont; did you mean 'Count'?"), ("count", "count")):
        assert call([verb, place]) == 2
        assert message in capsys.readouterr().err


def test_options_are_checked_in_python_too(tmp_path: Path):
    folder = text_run(tmp_path, model__encoding__name="alibi")
    for options, message in (({"words": 1}, "words = 1; at least 2"), ({"length": True}, "length = True; give")):
        with pytest.raises(UserError, match=message):
            measured("resolution", folder.path, **options)


def test_every_measurement_has_a_function_and_every_quantity():
    assert all(callable(row.load()) and row.source for row in MEASUREMENTS.values())
    assert all(callable(quantity(name)) for name in QUANTITIES)
