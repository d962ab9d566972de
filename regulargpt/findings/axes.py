"""The axes of a plain SVG picture: where lengths and values are, the grid, the marks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from regulargpt.findings.markup import Point, tag, text

WIDTH, HEIGHT = 420.0, 250.0
LEFT, RIGHT, TOP, BOTTOM = 66.0, 398.0, 14.0, 200.0
SUFFIXES = ((10**6, "M"), (10**3, "k"))


@dataclass(frozen=True)
class Axes:
    """Lengths from left to right, values from the bottom up; `named` are the lengths to write down, if given."""

    low: float
    high: float
    log: bool = False
    bottom: float = 0.0
    top: float = 100.0
    log_values: bool = False
    named: tuple[int, ...] = ()

    def x(self, length: float) -> float:
        """Where a length is."""
        scale: Callable[[float], float] = math.log10 if self.log else float
        span = scale(self.high) - scale(self.low) or 1.0
        return LEFT + (RIGHT - LEFT) * (scale(length) - scale(self.low)) / span

    def y(self, value: float) -> float:
        """Where a value is."""
        scale: Callable[[float], float] = math.log10 if self.log_values else float
        return BOTTOM - (BOTTOM - TOP) * (scale(value) - scale(self.bottom)) / (scale(self.top) - scale(self.bottom))

    def at(self, length: float, value: float) -> Point:
        """Where both are."""
        return self.x(length), self.y(value)

    def value(self, share: float) -> float:
        """The value so far up.

        >>> Axes(1, 2).value(0.5), Axes(1, 2, bottom=1.0, top=4.0, log_values=True).value(0.5)
        (50.0, 2.0)
        """
        if self.log_values:
            return self.bottom * (self.top / self.bottom) ** share
        return self.bottom + share * (self.top - self.bottom)

    def ticks(self) -> list[int]:
        """Lengths to write down.

        >>> Axes(1, 500).ticks(), Axes(41, 1e6, log=True).ticks()
        ([100, 200, 300, 400, 500], [100, 1000, 10000, 100000, 1000000])
        """
        if self.named:
            return list(self.named)
        if self.log:
            return [10**k for k in range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)]
        step = next((s * 10**k for k in range(9) for s in (1, 2, 5) if (self.high - self.low) / (s * 10**k) <= 6), 1)
        return list(range(math.ceil(self.low / step) * step, int(self.high) + 1, step))

    def grid(self, y_label: str, x_label: str) -> list[str]:
        """Lines and numbers."""
        parts = []
        for value in map(self.value, (0, 0.25, 0.5, 0.75, 1)):
            y = self.y(value)
            parts.append(tag("line", x1=LEFT, x2=RIGHT, y1=y, y2=y, class_="grid"))
            parts.append(tag("text", text(short(value)), x=LEFT - 6, y=y + 5, class_="tick end"))
        for length in self.ticks():
            x = self.x(length)
            parts.append(tag("line", x1=x, x2=x, y1=BOTTOM, y2=BOTTOM + 5, class_="grid"))
            parts.append(tag("text", text(thousands(length)), x=x, y=BOTTOM + 20, class_="tick"))
        parts.append(tag("text", text(x_label), x=(LEFT + RIGHT) / 2, y=BOTTOM + 42, class_="axis"))
        middle = (TOP + BOTTOM) / 2
        rotated = f"rotate(-90 13 {middle})"
        parts.append(tag("text", text(y_label), x=13, y=middle, transform=rotated, class_="axis"))
        return parts

    def mark(self, length: float, label: str, row: int = 1) -> list[str]:
        """A dashed line upwards with what it means, so many rows above the bottom."""
        x = self.x(length)
        side = {"x": x + 6, "class_": "mark"} if x < (LEFT + RIGHT) / 2 else {"x": x - 6, "class_": "mark end"}
        line = tag("line", x1=x, x2=x, y1=TOP, y2=BOTTOM, class_="mark")
        return [line, tag("text", text(label), y=BOTTOM + 10 - 20 * row, **side)]


def short(value: float) -> str:
    """A value in few letters.

    >>> short(0.0), short(5.3478), short(-2047.6)
    ('0', '5.35', '-2048')
    """
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def thousands(length: int) -> str:
    """A length in few letters.

    >>> thousands(500), thousands(10_000), thousands(1_000_000)
    ('500', '10k', '1M')
    """
    for size, suffix in SUFFIXES:
        if length >= size and length % size == 0:
            return f"{length // size}{suffix}"
    return str(length)


def plot(parts: Sequence[str], label: str) -> str:
    """The picture."""
    box = f"0 0 {WIDTH:.0f} {HEIGHT:.0f}"
    return tag("svg", *parts, class_="plot", viewBox=box, role="img", aria_label=label)
