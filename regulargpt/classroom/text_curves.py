"""The pictures of runs on texts, as SVG: lines of runs or heads, each with a colour, from the ninth on dashed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from regulargpt.findings.axes import Axes, plot
from regulargpt.findings.markup import points, tag, text
from regulargpt.objectives.measures import measure
from regulargpt.plots import Line

COLOURS = 8
WIDE = 4.0  # a value so many times another one: the axis is logarithmic
LEAST = 0.2  # bits that the axis shows at least
DRAWN = 256  # distances of a bias at most


def style(i: int) -> str:
    """The class of the i-th line: its colour, and how it is dashed.

    >>> style(0), style(9)
    ('line c0 d0', 'line c1 d1')
    """
    return f"line c{i % COLOURS} d{i // COLOURS % 3}"


def by_length(lines: Sequence[Line], train_len: int | None) -> str:
    """Bits per byte by length; a dashed line where training ended, if that is the same for all."""
    lengths = sorted({length for line in lines for length in line.lengths})
    high = [value for line in lines for value in line.high if math.isfinite(value)]
    low = [value for line in lines for value in line.low if math.isfinite(value)]
    bottom, top = min(low, default=0.0), max(high, default=1.0)
    is_wide = bottom > 0 and top > WIDE * bottom
    # Room above and below: small differences are not to look large, and equal values not to lie on the frame.
    room = 0.0 if is_wide else max(0.06 * (top - bottom), (LEAST - (top - bottom)) / 2)
    axes = Axes(lengths[0], lengths[-1], len(lengths) > 1, bottom - room, top + room, is_wide, tuple(lengths))
    parts = axes.grid(measure("bits_per_byte").label, "length of the segment, log scale")
    for i, line in enumerate(lines):
        parts += drawn(axes, line, i)
    if train_len is not None and lengths[0] <= train_len <= lengths[-1]:
        parts += axes.mark(train_len, f"training length {train_len:,}")
    ends = "; ".join(f"{line.name}: {line.values[0]:.3f} to {line.values[-1]:.3f}" for line in lines)
    return plot(parts, f"Bits per byte at lengths {lengths[0]:,} to {lengths[-1]:,}. {ends}")


def drawn(axes: Axes, line: Line, i: int) -> list[str]:
    """A line with its band and a dot for each length."""
    # A value that is no number has no place.
    kept = [at for at, value in enumerate(line.values) if math.isfinite(value)]
    low, high = ([axes.at(line.lengths[at], side[at]) for at in kept] for side in (line.low, line.high))
    middle = [axes.at(line.lengths[at], line.values[at]) for at in kept]
    parts = [
        tag("polygon", points=points([*low, *reversed(high)]), class_=f"band {style(i)}"),
        tag("polyline", points=points(middle), class_=style(i)),
    ]
    for at, (x, y) in zip(kept, middle, strict=True):
        name = f"{line.name}, length {line.lengths[at]:,}: {line.values[at]:.3f} bits per byte"
        parts.append(tag("circle", tag("title", text(name)), cx=x, cy=y, r=4, class_=style(i)))
    return parts


def biases(heads: np.ndarray, train_len: int) -> str:
    """The bias of each head (n_heads, distances) by distance, less that at distance 0; -inf is not drawn."""
    heads = heads - heads[:, :1]
    finite = heads[np.isfinite(heads)]
    low, high = float(finite.min(initial=0.0)), float(finite.max(initial=0.0))
    high = high if high > low else low + 1.0
    axes = Axes(0, heads.shape[1] - 1, False, low, high)
    parts = axes.grid("bias, less that at 0", "distance m - n")
    step = -(-heads.shape[1] // DRAWN)
    for i, values in enumerate(heads):
        seen = [n for n in range(0, len(values), step) if np.isfinite(values[n])]
        line = [axes.at(n, float(values[n])) for n in seen]
        title = tag("title", text(f"head {i + 1}: {float(values[seen[-1]]):.4g} at distance {seen[-1]}"))
        parts.append(tag("polyline", title, points=points(line), class_=style(i)))
    parts += axes.mark(train_len, f"training length {train_len:,}")
    return plot(parts, f"The bias of {len(heads)} heads at distances 0 to {heads.shape[1] - 1}")


def legend(names: Sequence[str]) -> str:
    """What has which colour."""
    items = (tag("li", tag("span", class_=f"swatch {style(i)}"), " ", text(name)) for i, name in enumerate(names))
    return tag("ul", *items, class_="legend")
