"""Curves as SVG for a page: in the page's colours, dark or light; a point says its value when it is pointed at."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regulargpt.findings.axes import LEFT, RIGHT, Axes, plot
from regulargpt.findings.finding import Curves
from regulargpt.findings.markup import points, tag, text
from regulargpt.plots import LOG_FROM, MAX_DOTS, Line, grow

COLOURS = 8  # of the style sheet; later lines are dashed


def svg(panel: Curves) -> str:
    """The picture, and what has which colour where there are several lines."""
    axes = axes_of(panel)
    parts = axes.grid(panel.y.label, panel.x.label + ", log scale" * axes.log)
    for name, value in panel.levels.items():
        y = axes.y(value)
        parts.append(tag("line", x1=LEFT, x2=RIGHT, y1=y, y2=y, class_="chance"))
        parts.append(tag("text", text(name), x=LEFT + 32, y=y - 5, class_="chance"))
    for at, line in enumerate(panel.lines):
        parts += drawn(axes, line, at)
    for row, (name, place) in enumerate(panel.marks.items(), 1):
        if axes.low <= place <= axes.high:
            parts += axes.mark(place, f"{name} {place:,}", row)
    finite = {line.name: [value for value in line.values if math.isfinite(value)] for line in panel.lines}
    ends = "; ".join(f"{name}: {values[0]:.4g} to {values[-1]:.4g}" for name, values in finite.items() if values)
    names = [line.name for line in panel.lines]
    return plot(parts, f"{panel.y.label} by {panel.x.label}. {ends}") + (legend(names) if len(names) > 1 else "")


def axes_of(panel: Curves) -> Axes:
    """Axes that hold the lines with their bands."""
    lengths = sorted({length for line in panel.lines for length in line.lengths})
    is_log = panel.x.is_log
    if is_log is None:
        is_log = lengths[-1] > LOG_FROM or grow(lengths)
    heights = [y for line in panel.lines for y in (*line.values, *line.low, *line.high) if math.isfinite(y)]
    low, high = min(heights, default=0.0), max(heights, default=1.0)
    room = (high - low) / 25 or 0.5
    bottom = low - room if panel.y.low is None else panel.y.low
    top = high + room if panel.y.high is None else panel.y.high
    named = tuple(lengths) if grow(lengths) else ()
    if panel.y.is_log:
        bottom, top = min(height for height in heights if height > 0), high
    first = lengths[0] if is_log else min(0, lengths[0])
    return Axes(first, lengths[-1], is_log, bottom, top, bool(panel.y.is_log), named)


def drawn(axes: Axes, line: Line, at: int) -> list[str]:
    """A line with its band, and a dot for each length where these are few; what is no number has no place."""
    kept = [i for i, value in enumerate(line.values) if math.isfinite(value)]
    middle = [axes.at(line.lengths[i], line.values[i]) for i in kept]
    look, parts = style(at if line.like is None else line.like, line.dash), []
    if line.low:
        low, high = ([axes.at(line.lengths[i], side[i]) for i in kept] for side in (line.low, line.high))
        parts.append(tag("polygon", points=points([*low, *reversed(high)]), class_=f"band {look}"))
    parts.append(tag("polyline", points=points(middle), class_=look))
    for i, (x, y) in zip(kept, middle, strict=True) if len(kept) <= MAX_DOTS else ():
        name = f"{line.name}, {line.lengths[i]:,}: {line.values[i]:.4g}".removeprefix(", ")
        parts.append(tag("circle", tag("title", text(name)), cx=x, cy=y, r=4, class_=look))
    return parts


def style(at: int, dash: str = "") -> str:
    """The class of the line number `at`: its colour, and how it is dashed.

    >>> style(0), style(9)
    ('line c0 d0', 'line c1 d1')
    """
    dashes = {"": at // COLOURS % 3, "-": 0, "--": 1, ":": 2}[dash]
    return f"line c{at % COLOURS} d{dashes}"


def legend(names: Sequence[str]) -> str:
    """What has which colour."""
    items = (tag("li", tag("span", class_=f"swatch {style(i)}"), " ", text(name)) for i, name in enumerate(names))
    return tag("ul", *items, class_="legend")
