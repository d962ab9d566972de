"""The curves of a page: a measure by length, bits per byte by length, the receptive field, biases by distance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from regulargpt.classroom.facts import with_unit
from regulargpt.classroom.field import Field
from regulargpt.findings import Axis, Curves
from regulargpt.findings.svg import svg
from regulargpt.objectives.measures import measure as measure_of
from regulargpt.plots import Line

WIDE = 4.0  # a value so many times another one: the axis is logarithmic
LEAST = 0.2  # bits that the axis shows at least
DRAWN = 256  # distances of a bias at most


def by_length(rows: Sequence[tuple[int, float]], summary: Mapping[str, Any]) -> str:
    """What was measured at each length, with its 95 % interval, chance, and where training ended."""
    measure, train_len = measure_of(summary["measure"]), summary["train_len"]
    intervals = summary["measures"][measure.name]["intervals"]
    lengths, values = [length for length, _ in rows], [value for _, value in rows]
    low, high = ([intervals[str(length)][end] for length in lengths] for end in (0, 1))
    is_log = len(lengths) > 1 and lengths[-1] > 10 * train_len
    x = Axis("length of the word", is_log, low=min(train_len, lengths[0]))
    levels = {} if summary.get("chance") is None else {"chance": summary["chance"]}
    marks = {"trained up to": train_len} if summary.get("steps") else {}
    y = Axis(measure.label, low=measure.low, high=measure.high)
    at, value = (min if measure.higher_is_better else max)(rows, key=lambda row: row[1])
    name = measure.name.replace("_", " ").capitalize()
    label = f"{name} at lengths {lengths[0]} to {lengths[-1]}; worst {with_unit(value, measure)} at length {at}"
    return svg(Curves([Line("", lengths, values, low, high)], x, y, marks, levels), label)


def receptive_field(field: Field, train_len: int = 0) -> str:
    """The share of the gradient that the m last symbols hold, with its band and the number that holds 99 %.

    A training length, if it is given, is marked too. The dotted line is where each symbol has the same share.
    """
    length, percent = len(field.c), [[100 * c for c in curve] for curve in (field.c, field.low, field.high)]
    lines = [Line("", range(1, length + 1), *percent), Line("", (0, length), (0.0, 100.0), dash=":")]
    marks = {} if field.erf is None else {"99 % in the last": field.erf}
    marks |= {"training length": train_len} if 0 < train_len < length else {}
    label = f"Receptive field over {length} symbols; 99 % of the gradient in the last {field.erf}"
    return svg(Curves(lines, Axis("last m symbols", False), Axis("gradient, %", low=0, high=100), marks), label)


def of_texts(lines: Sequence[Line], train_len: int | None) -> str:
    """Bits per byte by length of several runs; a dashed line where training ended, if that is the same for all."""
    lengths = sorted({length for line in lines for length in line.lengths})
    ends = [value for line in lines for value in (*line.low, *line.high) if math.isfinite(value)]
    bottom, top = min(ends, default=0.0), max(ends, default=1.0)
    is_wide = bottom > 0 and top > WIDE * bottom
    # Room above and below: small differences are not to look large, and equal values not to lie on the frame.
    room = 0.0 if is_wide else max(0.06 * (top - bottom), (LEAST - (top - bottom)) / 2)
    x = Axis("length of the segment", len(lengths) > 1, ticks=lengths)
    y = Axis(measure_of("bits_per_byte").label, is_wide, bottom - room, top + room)
    marks = {} if train_len is None else {"training length": train_len}
    said = "; ".join(f"{line.name}: {line.values[0]:.3f} to {line.values[-1]:.3f}" for line in lines)
    return svg(Curves(lines, x, y, marks), f"Bits per byte at lengths {lengths[0]:,} to {lengths[-1]:,}. {said}")


def biases(heads: np.ndarray, train_len: int) -> str:
    """The bias of each head (n_heads, distances) by distance, less that at distance 0; -inf is not drawn."""
    step = -(-heads.shape[1] // DRAWN)
    at, lowered = range(0, heads.shape[1], step), (heads - heads[:, :1])[:, ::step].tolist()
    lines = [Line(f"head {i}", at, values) for i, values in enumerate(lowered, 1)]
    x, y = Axis("distance m - n", False), Axis("bias, less that at 0")
    label = f"The bias of {len(heads)} heads at distances 0 to {heads.shape[1] - 1}"
    return svg(Curves(lines, x, y, {"training length": train_len}), label)
