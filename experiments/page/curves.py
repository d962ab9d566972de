"""Accuracy by length of a row of the table: a line a column with a band over its runs, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from experiments.cells import Compared
from experiments.experiment import Shows
from experiments.page.document import Picture
from regulargpt.cli.output import percent
from regulargpt.colours import BLUE, GREEN, GREY, LIGHT_GREY, OLIVE, ORANGE, PURPLE, SKY, VERMILION
from regulargpt.report.curves import BOTTOM, LEFT, RIGHT, TOP, WIDTH, Axes, thousands
from regulargpt.report.svg import points, tag, text
from regulargpt.results.curves import Curve, curves
from regulargpt.sweep.names import plain

COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, GREY, OLIVE)
DASHES = ("", "7 3", "2 3")
LONG = 1000
FEW = 30
LEGEND, LINE = BOTTOM + 62, 20.0


def picture(cells: Sequence[Compared]) -> Picture | None:
    """The picture of a row; None if there is nothing to draw."""
    drawn: dict[tuple[str, ...], tuple[str, Curve]] = {}
    for cell in cells:
        if cell.shows == Shows() and cell.done:
            drawn.setdefault(cell.names, (cell.column.title, curves(cell.rows, [])[0]))
    found = [(title, curve) for title, curve in drawn.values() if curve.lengths]
    if not found:
        return None
    row = cells[0].row
    worst = "; ".join(f"{title}: {percent(min(curve.mean))} % at worst" for title, curve in found)
    label = f"{row}, lengths {min(c.lengths[0] for _, c in found)} to {max(c.lengths[-1] for _, c in found)}: {worst}"
    return Picture(row, f"curves/{plain(row)}.svg", svg(found, label), label)


def svg(found: Sequence[tuple[str, Curve]], label: str) -> str:
    """The picture: each line wider than those drawn after it, so that lines upon each other are all seen."""
    low, high = min(curve.lengths[0] for _, curve in found), max(curve.lengths[-1] for _, curve in found)
    axes = Axes(low, high, log=True) if high > LONG else Axes(0, high)
    parts = frame(axes)
    for i, (_, curve) in enumerate(found):
        parts += line(axes, curve, i, len(found) - i - 1)
    for i, (title, _) in enumerate(found):
        parts += key(title, i)
    height = LEGEND + LINE * -(-len(found) // 2)
    box = f"0 0 {WIDTH:.0f} {height:.0f}"
    described = f"<title>{escape(label)}</title>"
    font = {"font_family": "system-ui, sans-serif", "font_size": 13, "fill": "currentColor"}
    return tag(
        "svg", described, *parts, xmlns="http://www.w3.org/2000/svg", viewBox=box, role="img", class_="curves", **font
    )


def frame(axes: Axes) -> list[str]:
    """Lines and numbers."""
    parts = []
    for share in (0, 25, 50, 75, 100):
        y = axes.y(share)
        parts.append(tag("line", x1=LEFT, x2=RIGHT, y1=y, y2=y, stroke=LIGHT_GREY, stroke_opacity="0.4"))
        parts.append(tag("text", text(share), x=LEFT - 6, y=y + 5, text_anchor="end"))
    for length in axes.ticks():
        x = axes.x(length)
        parts.append(tag("line", x1=x, x2=x, y1=BOTTOM, y2=BOTTOM + 5, stroke=LIGHT_GREY))
        parts.append(tag("text", text(thousands(length)), x=x, y=BOTTOM + 19, text_anchor="middle"))
    scale = ", log scale" if axes.log else ""
    parts.append(tag("text", text(f"length T{scale}"), x=(LEFT + RIGHT) / 2, y=BOTTOM + 40, text_anchor="middle"))
    middle = (TOP + BOTTOM) / 2
    turned = {"transform": f"rotate(-90 13 {middle})", "text_anchor": "middle"}
    return [*parts, tag("text", "accuracy, %", x=13, y=middle, **turned)]


def line(axes: Axes, curve: Curve, i: int, above: int) -> list[str]:
    """A column's mean and its band."""
    kept = bends([*zip(curve.low, curve.mean, curve.high, strict=True)])
    low, mean, high = (
        [axes.at(curve.lengths[at], shares[at]) for at in kept] for shares in (curve.low, curve.mean, curve.high)
    )
    band = [*low, *reversed(high)]
    parts = [tag("polygon", points=points(band), fill=colour(i), fill_opacity="0.18")]
    parts.append(tag("polyline", points=points(mean), fill="none", stroke_width=1.4 + 0.5 * above, **stroke(i)))
    dots = mean if len(curve.lengths) <= FEW else []
    return parts + [tag("circle", cx=x, cy=y, r=1.6 + 0.25 * above, fill=colour(i)) for x, y in dots]


def bends(values: Sequence[tuple[float, ...]]) -> list[int]:
    """Where a line is not level: its other points are on it, and need not be drawn.

    >>> bends([(1.0,), (1.0,), (1.0,), (2.0,), (2.0,)])
    [0, 2, 3, 4]
    """
    last = len(values) - 1
    return [i for i in range(last + 1) if i in (0, last) or not values[i - 1] == values[i] == values[i + 1]]


def key(title: str, i: int) -> list[str]:
    """A line of the legend, two in a row."""
    x, y = (LEFT - 36, (LEFT + RIGHT) / 2 - 4)[i % 2], LEGEND + LINE * (i // 2)
    return [
        tag("line", x1=x, x2=x + 26, y1=y - 4, y2=y - 4, stroke_width=3, **stroke(i)),
        tag("text", text(title), x=x + 32, y=y),
    ]


def colour(i: int) -> str:
    """The i-th colour."""
    return COLOURS[i % len(COLOURS)]


def stroke(i: int) -> dict[str, str]:
    """Colour and dashes: neighbours differ in both."""
    return {"stroke": colour(i), **({"stroke_dasharray": dash} if (dash := DASHES[i % len(DASHES)]) else {})}
