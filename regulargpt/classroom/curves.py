"""The findings of a run's own tests: a measure by length, bits per byte by length."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from regulargpt.classroom.facts import with_unit
from regulargpt.findings import Axis, Curves, Finding, Picture
from regulargpt.objectives.measures import measure as measure_of
from regulargpt.plots import Line
from regulargpt.tables import Table

WIDE = 4.0  # a value so many times another value: the axis is logarithmic
LEAST = 0.2  # bits that the axis shows at least


def by_measure(summary: Mapping[str, Any]) -> list[Finding]:
    """A curve of each measure, that of the score first."""
    findings = []
    for name, of in summary["measures"].items():
        rows = sorted((int(length), value) for length, value in of["values"].items())
        chance = summary.get("scores", {}).get(name, summary).get("chance")
        findings.append(by_length(rows, {**summary, "measure": name, "chance": chance}))
    return findings


def by_length(rows: Sequence[tuple[int, float]], summary: Mapping[str, Any]) -> Finding:
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
    return Finding(
        name="accuracy",  # what is drawn of the score, whatever it counts
        title=f"{name} by length",
        picture=Picture([Curves([Line("", lengths, values, low, high)], x, y, marks, levels)]),
        sentence=f"Lengths {lengths[0]:,} to {lengths[-1]:,}; worst {with_unit(value, measure)} at length {at:,}.",
    )


def of_texts(name: str, lines: Sequence[Line], train_len: int | None, table: Table) -> Finding:
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
    picture = Picture([Curves(lines, x, y, marks)])
    return Finding(name=name, title="Bits per byte by length", picture=picture, tables=[table])
