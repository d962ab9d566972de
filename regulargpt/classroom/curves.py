"""A measure by length and the receptive field, as SVG.

Not drawn by `regulargpt.plots`: here the colours are those of the page, dark or light, a point says its value when it
is pointed at, and a page with many runs stays small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from regulargpt.classroom.facts import with_unit
from regulargpt.classroom.field import Field
from regulargpt.findings.axes import BOTTOM, LEFT, RIGHT, TOP, Axes, plot
from regulargpt.findings.markup import points, tag, text
from regulargpt.objectives.measures import Measure
from regulargpt.objectives.measures import measure as measure_of


def by_length(rows: Sequence[tuple[int, float]], summary: Mapping[str, Any]) -> str:
    """What was measured at each length, with its 95 % interval, chance, and where training ended."""
    measure, train_len = measure_of(summary["measure"]), summary["train_len"]
    intervals = summary["measures"][measure.name]["intervals"]
    lengths = [length for length, _ in rows]
    low, high = ([intervals[str(length)][bound] for length in lengths] for bound in (0, 1))
    axes = axes_of(lengths, train_len, measure, low, high)
    parts = axes.grid(measure.label, "length of the word" + (", log scale" if axes.log else ""))
    band = [*zip(lengths, low, strict=True), *reversed([*zip(lengths, high, strict=True)])]
    parts.append(tag("polygon", points=points(axes.at(*point) for point in band), class_="band"))
    if summary.get("chance") is not None:
        y = axes.y(summary["chance"])
        parts.append(tag("line", x1=LEFT, x2=RIGHT, y1=y, y2=y, class_="chance"))
        # A linear axis begins at 0, where nothing was tested: there the word lies on no curve.
        where = {"x": RIGHT, "class_": "chance end"} if axes.log else {"x": LEFT + 32, "class_": "chance"}
        parts.append(tag("text", "chance", y=y - 5, **where))
    if summary.get("steps"):
        parts += axes.mark(train_len, f"trained up to {train_len}")
    parts.append(tag("polyline", points=points(axes.at(*row) for row in rows), class_="curve"))
    dots = rows if len(rows) <= 40 else [row for row in rows if row[0] > 2 * summary["test_len"]]
    parts += [
        tag(
            "circle",
            tag("title", text(f"length {n}: {with_unit(value, measure)}")),
            cx=axes.x(n),
            cy=axes.y(value),
            r=4,
        )
        for n, value in dots
    ]
    at, value = (min if measure.higher_is_better else max)(rows, key=lambda row: row[1])
    name = measure.name.replace("_", " ").capitalize()
    label = f"{name} at lengths {lengths[0]} to {lengths[-1]}; worst {with_unit(value, measure)} at length {at}"
    return plot(parts, label)


def axes_of(
    lengths: Sequence[int], train_len: int, measure: Measure, low: Sequence[float], high: Sequence[float]
) -> Axes:
    """Axes that hold the intervals at these lengths, and all values that the measure can have if that is known."""
    bottom = min(low) if measure.low is None else measure.low
    top = max(high) if measure.high is None else measure.high
    span = (bottom, top if top > bottom else bottom + 1.0)
    if lengths[-1] > 10 * train_len and len(lengths) > 1:
        return Axes(min(train_len, lengths[0]), lengths[-1], True, *span)
    return Axes(0, lengths[-1], False, *span)


def receptive_field(field: Field, train_len: int = 0) -> str:
    """The share of the gradient that the m last symbols hold, with its band and the number that holds 99 %.

    A training length, if it is given, is marked too.
    """
    axes = Axes(0, len(field.c))
    parts = axes.grid("gradient, %", "last m symbols")
    low = [axes.at(m, 100 * c) for m, c in enumerate(field.low, 1)]
    high = [axes.at(m, 100 * c) for m, c in enumerate(field.high, 1)]
    parts.append(tag("polygon", points=points([*low, *reversed(high)]), class_="band"))
    parts.append(tag("line", x1=LEFT, x2=RIGHT, y1=BOTTOM, y2=TOP, class_="chance"))
    curve = [axes.at(0, 0), *(axes.at(m, 100 * c) for m, c in enumerate(field.c, 1))]
    parts.append(tag("polyline", points=points(curve), class_="curve"))
    if field.erf is not None:
        parts += axes.mark(field.erf, f"99 % in the last {field.erf}")
    if 0 < train_len < len(field.c):
        parts += axes.mark(train_len, f"training length {train_len:,}", 2)
    return plot(parts, f"Receptive field over {len(field.c)} symbols; 99 % of the gradient in the last {field.erf}")
