"""Curves as a PNG: in one picture with their names at their ends, or in panels when they are many."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from languages.errors import UserError
from regulargpt.colours import BLACK, BLUE, GREEN, GREY, OLIVE, ORANGE, PURPLE, SKY, VERMILION
from regulargpt.results.curves import Curve, curves, label
from regulargpt.results.row import Key, Row, Value
from regulargpt.storage.atomic import shown, write_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK, OLIVE)
MOST = len(COLOURS)
# Beyond this length the axis is logarithmic.
LONG = 1000
FEW = 30
LONGEST_NAME = 44
HEIGHT = "accuracy (%): mean and range of runs"


def accuracy_png(path: Path, rows: Sequence[Row], by: Sequence[str]) -> None:
    """Draw accuracy by length: up to eight groups in one picture, more in a panel each value of the first column.

    Raises UserError if a panel would have more lines than can be told apart, or there is nothing to draw.
    """
    found = curves(rows, by)
    if not any(curve.lengths for curve in found):
        raise UserError(f"--plot {shown(path)}: no run here was tested")
    one = len(found) <= MOST
    heads = [None] if one else list(dict.fromkeys(curve.group.key[0] for curve in found))
    tails = list(dict.fromkeys(curve.group.key if one else curve.group.key[1:] for curve in found))
    if len(tails) > MOST:
        raise UserError(
            f"--plot {shown(path)}: {len(tails)} lines in a picture, at most {MOST} can be told apart; "
            "choose with --where, or --group-by fewer columns"
        )
    buffer = io.BytesIO()
    figure = single(found, by) if one else panels(found, by, heads, tails)
    figure.savefig(buffer, format="png", metadata={"Software": None})
    write_bytes(path, buffer.getvalue())


def single(found: Sequence[Curve], by: Sequence[str]) -> Figure:
    """All curves in one picture, the name of each beside its end."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    for at, curve in enumerate(found):
        draw(axes, curve, COLOURS[at], len(found) - at - 1)
    finish(axes, found)
    axes.set(xlabel="length T", ylabel=HEIGHT)
    drawn = [(curve, COLOURS[at]) for at, curve in enumerate(found) if curve.lengths]
    drawn.sort(key=lambda pair: -pair[0].mean[-1])
    heights = spread([(curve.mean[-1] + 4) / 108 for curve, _ in drawn], 0.085)
    for (curve, colour), height in zip(drawn, heights, strict=True):
        axes.annotate(
            name(curve.group.key, by) + note(curve),
            xy=(curve.lengths[-1], curve.mean[-1]),
            xytext=(1.05, height),
            textcoords="axes fraction",
            va="center",
            color=colour,
            parse_math=False,
            # Dotted: a line to a name is no accuracy at the lengths that it passes.
            arrowprops={"arrowstyle": "-", "linestyle": ":", "color": colour, "shrinkB": 2, "relpos": (0, 0.5)},
        )
    blank = [name(curve.group.key, by) for curve in found if not curve.lengths]
    axes.set_title(
        "no line, since every run failed: " + "; ".join(blank) if blank else "", fontsize=9, parse_math=False
    )
    return figure


def panels(found: Sequence[Curve], by: Sequence[str], heads: Sequence[Value], tails: Sequence[Key]) -> Figure:
    """A panel each value of the first column; what the other columns say has the same colour in all."""
    from matplotlib.figure import Figure

    across = 3 if len(heads) <= 9 else 4
    down = -(-len(heads) // across)
    figure = Figure(figsize=(3 * across, 1.9 * down + 0.6), dpi=150, layout="constrained")
    grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True).flatten()
    for axes, head in zip(grid, heads, strict=False):
        here = [curve for curve in found if curve.group.key[0] == head]
        for curve in here:
            at = tails.index(curve.group.key[1:])
            draw(axes, curve, COLOURS[at], len(tails) - at - 1)
        finish(axes, found)
        axes.set_title(name(here[0].group.key[:1], by[:1]) + note(*here), fontsize=9, parse_math=False)
    for axes in grid[len(heads) :]:
        axes.remove()
    for axes in grid[max(0, len(heads) - across) : len(heads)]:
        axes.tick_params(labelbottom=True)
    figure.supxlabel("length T", fontsize=10)
    figure.supylabel(HEIGHT, fontsize=10)
    if tails != [()]:
        from matplotlib.lines import Line2D

        drawn = {curve.group.key[1:] for curve in found if curve.lengths}
        lines = [
            Line2D([], [], color=colour, linewidth=2, label=name(tail, by[1:]))
            for tail, colour in zip(tails, COLOURS, strict=False)
            if tail in drawn
        ]
        ncols = abreast([str(line.get_label()) for line in lines], inches=3 * across)
        figure.legend(handles=lines, loc="outside upper center", ncols=ncols, frameon=False)
    return figure


def abreast(names: Sequence[str], inches: float) -> int:
    """How many entries of a legend fit beside each other: a letter is about 0.09 inches, a line and its space 0.6.

    >>> abreast(["rnn", "lstm"], 9), abreast(["regulargpt, chunk_size 3, robust"] * 6, 9)
    (2, 2)
    """
    widest = 0.6 + 0.09 * max(map(len, names), default=0)
    return max(1, min(len(names), int(inches / widest)))


def draw(axes: Axes, curve: Curve, colour: str, above: int) -> None:
    """The mean as a line, from the worst to the best run as a band; dots where lengths are few.

    A line is wider than those drawn `above` it, so that lines upon each other are all seen.
    """
    if not curve.lengths:
        return
    dots = [at for at, length in enumerate(curve.lengths) if length >= LONG or len(curve.lengths) <= FEW]
    width = 1.3 + 0.35 * above
    axes.fill_between(curve.lengths, curve.low, curve.high, color=colour, alpha=0.18, linewidth=0)
    axes.plot(
        curve.lengths, curve.mean, color=colour, linewidth=width, marker="o", markersize=width + 2, markevery=dots
    )


def finish(axes: Axes, found: Sequence[Curve]) -> None:
    """Scales and grid."""
    if max(curve.lengths[-1] for curve in found if curve.lengths) > LONG:
        axes.set_xscale("log")
    axes.set_ylim(-4, 104)
    axes.grid(color=GREY, alpha=0.2, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def name(key: Key, by: Sequence[str]) -> str:
    """A key in words that fit beside a picture."""
    words = label(key, by)
    return words if len(words) <= LONGEST_NAME else words[: LONGEST_NAME - 1] + "…"


def note(*found: Curve) -> str:
    """How many of the runs behind these curves failed, if any did."""
    n_failed, n_runs = (sum(getattr(curve.group, what) for curve in found) for what in ("n_failed", "n_runs"))
    return f" ({n_failed} of {n_runs} failed)" if n_failed else ""


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Descending heights moved apart by `gap` at least, none above 1 and, if there is room, none below 0.

    >>> [round(height, 2) for height in spread([1.0, 1.0, 0.5], 0.1)]
    [1.0, 0.9, 0.5]
    >>> [round(height, 2) for height in spread([0.05, 0.0], 0.1)]
    [0.1, 0.0]
    """
    moved: list[float] = []
    for height in heights:
        moved.append(min(height, moved[-1] - gap) if moved else height)
    floor = 0.0
    for at in range(len(moved) - 1, -1, -1):
        moved[at] = max(moved[at], floor)
        floor = moved[at] + gap
    return moved
