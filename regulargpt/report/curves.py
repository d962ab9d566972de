"""Accuracy by length and the receptive field, as SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from regulargpt.cli.output import percent
from regulargpt.report.data import Field
from regulargpt.report.svg import Point, points, tag, text

WIDTH, HEIGHT = 420.0, 250.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 398.0, 14.0, 200.0
SUFFIXES = ((10**6, "M"), (10**3, "k"))


@dataclass(frozen=True)
class Axes:
    """Lengths from left to right, per cent from the bottom up."""

    low: float
    high: float
    log: bool = False

    def x(self, length: float) -> float:
        """Where a length is."""
        scale: Callable[[float], float] = math.log10 if self.log else float
        span = scale(self.high) - scale(self.low) or 1.0
        return LEFT + (RIGHT - LEFT) * (scale(length) - scale(self.low)) / span

    def y(self, share: float) -> float:
        """Where a share is."""
        return BOTTOM - (BOTTOM - TOP) * share / 100

    def at(self, length: float, share: float) -> Point:
        """Where both are."""
        return self.x(length), self.y(share)

    def ticks(self) -> list[int]:
        """Lengths to write down.

        >>> Axes(1, 500).ticks(), Axes(41, 1e6, log=True).ticks()
        ([100, 200, 300, 400, 500], [100, 1000, 10000, 100000, 1000000])
        """
        if self.log:
            return [10**k for k in range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)]
        step = next((s * 10**k for k in range(9) for s in (1, 2, 5) if (self.high - self.low) / (s * 10**k) <= 6), 1)
        return list(range(math.ceil(self.low / step) * step, int(self.high) + 1, step))

    def grid(self, y_label: str, x_label: str) -> list[str]:
        """Lines and numbers."""
        parts = []
        for share in (0, 25, 50, 75, 100):
            y = self.y(share)
            parts.append(tag("line", x1=LEFT, x2=RIGHT, y1=y, y2=y, class_="grid"))
            parts.append(tag("text", text(share), x=LEFT - 6, y=y + 5, class_="tick end"))
        for length in self.ticks():
            x = self.x(length)
            parts.append(tag("line", x1=x, x2=x, y1=BOTTOM, y2=BOTTOM + 5, class_="grid"))
            parts.append(tag("text", text(thousands(length)), x=x, y=BOTTOM + 20, class_="tick"))
        parts.append(tag("text", text(x_label), x=(LEFT + RIGHT) / 2, y=BOTTOM + 42, class_="axis"))
        middle = (TOP + BOTTOM) / 2
        rotated = f"rotate(-90 13 {middle})"
        parts.append(tag("text", text(y_label), x=13, y=middle, transform=rotated, class_="axis"))
        return parts

    def mark(self, length: float, label: str) -> list[str]:
        """A dashed line upwards with what it means."""
        x = self.x(length)
        side = {"x": x + 6, "class_": "mark"} if x < (LEFT + RIGHT) / 2 else {"x": x - 6, "class_": "mark end"}
        line = tag("line", x1=x, x2=x, y1=TOP, y2=BOTTOM, class_="mark")
        return [line, tag("text", text(label), y=BOTTOM - 10, **side)]


def thousands(length: int) -> str:
    """A length in few letters.

    >>> thousands(500), thousands(10_000), thousands(1_000_000)
    ('500', '10k', '1M')
    """
    for size, suffix in SUFFIXES:
        if length >= size and length % size == 0:
            return f"{length // size}{suffix}"
    return str(length)


def accuracy(rows: Sequence[tuple[int, float]], train_len: int, summary: Mapping[str, Any]) -> str:
    """The share of right answers at each length, with its 95 % interval, chance, and where training ended."""
    lengths = [length for length, _ in rows]
    axes = Axes(min(train_len, lengths[0]), lengths[-1], log=lengths[-1] > 10 * train_len and len(rows) > 1)
    if not axes.log:
        axes = Axes(0, lengths[-1])
    parts = axes.grid("right answers, %", "length of the word" + (", log scale" if axes.log else ""))
    intervals = summary.get("interval", {})
    if all(str(length) in intervals for length in lengths):
        low = [axes.at(length, intervals[str(length)][0]) for length in lengths]
        high = [axes.at(length, intervals[str(length)][1]) for length in reversed(lengths)]
        parts.append(tag("polygon", points=points([*low, *high]), class_="band"))
    if "chance" in summary:
        y = axes.y(summary["chance"])
        parts.append(tag("line", x1=LEFT, x2=RIGHT, y1=y, y2=y, class_="chance"))
        parts.append(tag("text", "chance", x=RIGHT, y=y - 5, class_="chance end"))
    if summary.get("steps"):
        parts += axes.mark(train_len, f"trained up to {train_len}")
    parts.append(tag("polyline", points=points(axes.at(*row) for row in rows), class_="curve"))
    dots = rows if len(rows) <= 40 else [row for row in rows if row[0] > 2 * summary.get("test_len", lengths[-1])]
    parts += [
        tag("circle", tag("title", text(f"length {n}: {percent(p)} %")), cx=axes.x(n), cy=axes.y(p), r=4)
        for n, p in dots
    ]
    worst = min(rows, key=lambda row: row[1])
    label = f"Right answers at lengths {lengths[0]} to {lengths[-1]}; worst {percent(worst[1])} % at length {worst[0]}"
    return plot(parts, label)


def receptive_field(field: Field) -> str:
    """The share of the gradient that the m last symbols hold, with its band and the number that holds 99 %."""
    axes = Axes(0, len(field.c))
    parts = axes.grid("gradient, %", "last m symbols of the word")
    low = [axes.at(m, 100 * c) for m, c in enumerate(field.low, 1)]
    high = [axes.at(m, 100 * c) for m, c in enumerate(field.high, 1)]
    parts.append(tag("polygon", points=points([*low, *reversed(high)]), class_="band"))
    parts.append(tag("line", x1=LEFT, x2=RIGHT, y1=BOTTOM, y2=TOP, class_="chance"))
    curve = [axes.at(0, 0), *(axes.at(m, 100 * c) for m, c in enumerate(field.c, 1))]
    parts.append(tag("polyline", points=points(curve), class_="curve"))
    if field.erf is not None:
        parts += axes.mark(field.erf, f"99 % in the last {field.erf}")
    return plot(parts, f"Receptive field over {len(field.c)} symbols; 99 % of the gradient in the last {field.erf}")


def plot(parts: Sequence[str], label: str) -> str:
    """The picture."""
    box = f"0 0 {WIDTH:.0f} {HEIGHT:.0f}"
    return tag("svg", *parts, class_="plot", viewBox=box, role="img", aria_label=label)
