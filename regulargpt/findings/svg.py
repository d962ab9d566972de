"""Curves as SVG for a page: in the page's colours, dark or light; a point says its value when it is pointed at."""

from __future__ import annotations

import math
from collections.abc import Mapping

from regulargpt.findings.axes import LEFT, RIGHT, Axes, plot
from regulargpt.findings.finding import Curves
from regulargpt.findings.markup import points, tag, text
from regulargpt.plots import LOG_FROM, Line, grow, joined

COLOURS = 8  # of the style sheet; later lines are dashed
MOST_DOTS = 40  # more of them would be a line
MOST_DRAWN = 512  # a page is no place for more: several would be on one pixel
REFERENCE = "chance"  # the class of what a line is held against


def svg(panel: Curves, label: str = "") -> str:
    """The picture, described by the label if any; a legend where several lines have a name."""
    axes = axes_of(panel)
    parts = axes.grid(panel.y.label, panel.x.label + ", log scale" * axes.log)
    for name, value in panel.levels.items():
        y = axes.y(value)
        parts.append(tag("line", x1=LEFT, x2=RIGHT, y1=y, y2=y, class_="chance"))
        # A linear axis begins at 0, where nothing was measured: there the word lies on no curve.
        where = {"x": RIGHT, "class_": "chance end"} if axes.log else {"x": LEFT + 32, "class_": "chance"}
        parts.append(tag("text", text(name), y=y - 5, **where))
    for at, line in enumerate(panel.lines):
        parts += drawn(axes, line, look_of(panel, at), panel.y.label)
    for row, (name, place) in enumerate(panel.marks.items(), 1):
        if axes.low <= place <= axes.high:
            parts += axes.mark(place, f"{name} {place:,}", row)
    finite = {line.name: [value for value in line.values if math.isfinite(value)] for line in panel.lines}
    ends = "; ".join(f"{name}: {values[0]:.4g} to {values[-1]:.4g}" for name, values in finite.items() if values)
    names = {line.name: look_of(panel, at) for at, line in enumerate(panel.lines) if line.name}
    picture = plot(parts, label or f"{panel.y.label} by {panel.x.label}. {ends}")
    return picture + (legend(names) if len(names) > 1 else "")


def axes_of(panel: Curves) -> Axes:
    """Axes that hold the lines with their bands."""
    lengths = sorted({length for line in panel.lines for length in line.lengths})
    doubles = grow(lengths) and panel.x.is_log is not False
    is_log = (lengths[-1] > LOG_FROM or doubles) if panel.x.is_log is None else panel.x.is_log
    heights = [y for line in panel.lines for y in (*line.values, *line.low, *line.high) if math.isfinite(y)]
    low, high = min(heights, default=0.0), max(heights, default=1.0)
    room = (high - low) / 25 or 0.5
    if panel.y.is_log:
        low, room = min(height for height in heights if height > 0), 0.0
    bottom = low - room if panel.y.low is None else panel.y.low
    top = high + room if panel.y.high is None else panel.y.high
    first = (panel.x.low or lengths[0]) if is_log else min(0, lengths[0])
    named = tuple(panel.x.ticks) or (tuple(lengths) if doubles else ())
    return Axes(first, lengths[-1], is_log, bottom, top if top > bottom else bottom + 1.0, bool(panel.y.is_log), named)


def drawn(axes: Axes, line: Line, look: str, label: str) -> list[str]:
    """A line with its band where it joins lengths, and a dot for each length if they are few; a line that stands alone
    has a bar instead. Infinities have no place."""
    kept, parts = apart(axes, line), []
    for of in filter(None, ([i for i in kept if i in joint] for joint in joined(line.lengths))):
        middle = [axes.at(line.lengths[i], line.values[i]) for i in of]
        if line.low:
            low, high = ([axes.at(line.lengths[i], side[i]) for i in of] for side in (line.low, line.high))
            name, look_of_it = ("polygon", f"band {look}") if len(of) > 1 else ("polyline", look)
            parts.append(tag(name, points=points([*low, *reversed(high)]), class_=look_of_it))
        parts.append(tag("polyline", points=points(middle), class_=look))
        for i, (x, y) in zip(of, middle, strict=True):
            if look != REFERENCE and len(of) <= MOST_DOTS:
                name = f"{line.name}, {line.lengths[i]:,}: {line.values[i]:.4g} {label}".removeprefix(", ")
                parts.append(tag("circle", tag("title", text(name)), cx=x, cy=y, r=4, class_=look))
    return parts


def apart(axes: Axes, line: Line) -> list[int]:
    """Which points are drawn: those with a place, and of very many those that are not on one pixel with the last."""
    finite = [i for i, value in enumerate(line.values) if math.isfinite(value)]
    if len(finite) <= MOST_DRAWN:
        return finite
    kept = finite[:1]
    for i in finite:
        if axes.x(line.lengths[i]) >= axes.x(line.lengths[kept[-1]]) + 1:
            kept.append(i)
    return kept


def look_of(panel: Curves, at: int) -> str:
    """The class of a line: the page's own of one alone, else that of its number; a dotted line is a reference."""
    line = panel.lines[at]
    if line.dash == ":":
        return REFERENCE
    alone = sum(other.dash != ":" for other in panel.lines) == 1
    return "curve" if alone else style(at if line.like is None else line.like, line.dash)


def style(at: int, dash: str = "") -> str:
    """The class of the line number `at`: its colour, and how it is dashed.

    >>> style(0), style(9)
    ('line c0 d0', 'line c1 d1')
    """
    return f"line c{at % COLOURS} d{1 if dash == '--' else at // COLOURS % 3}"


def legend(names: Mapping[str, str]) -> str:
    """What looks how."""
    items = (tag("li", tag("span", class_=f"swatch {look}"), " ", text(name)) for name, look in names.items())
    return tag("ul", *items, class_="legend")
