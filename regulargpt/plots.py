"""A measure by length: lines with bands, in one picture or in panels; PNG, SVG or PDF by the name of the file."""

from __future__ import annotations

import io
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from languages.errors import UserError, one_of, shown
from regulargpt.evaluation.measures import Measure
from regulargpt.evaluation.measures import measure as measure_of
from regulargpt.storage.atomic import write_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from regulargpt.config.schema import RunConfig

# Colours that people of any colour vision tell apart (Okabe and Ito, Color Universal Design, 2008), and greys.
BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, YELLOW, BLACK = "#E69F00", "#56B4E9", "#F0E442", "#000000"
GREY, LIGHT_GREY = "#777777", "#999999"
OLIVE = "#9A8700"  # where yellow would be a thin line on white
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK, OLIVE)

# Without what changes from day to day, so that equal pictures are equal bytes.
METADATA: Mapping[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
LOG_FROM = 1000  # with longer words the axis is logarithmic
MAX_DOTS = 12  # so many lengths have a dot each
LONGEST_NAME = 44
DASHES = ("-", "--", ":")  # of the ninth line and later ones, whose colours come again
TOLERANCE = 1 / 150  # of the height: points so near to the line are left out, since nobody sees the difference


@dataclass(frozen=True)
class Line:
    """A line: values by length, with a band from `low` to `high`; no lengths if there is nothing to draw."""

    name: str
    lengths: Sequence[int]
    values: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


def name_of(summary: Mapping[str, Any]) -> str:
    """The file of a run's picture.

    >>> name_of({"measure": "accuracy"})
    'accuracy.png'
    """
    return f"{summary['measure']}.png"


def of_run(path: Path, summary: Mapping[str, Any], title: str) -> None:
    """The picture of one run, from what summary.json says: its measure with its 95 % intervals, and the longest word.

    Chance is a line where it means something.
    """
    name = summary["measure"]
    found = summary["measures"][name]
    lengths = sorted(map(int, found["values"]))
    low, high = zip(*(found["intervals"][str(T)] for T in lengths), strict=True)
    line = Line("", lengths, [found["values"][str(T)] for T in lengths], low, high)
    of_text = summary.get("factor", 1) > 1
    trained, tested = ("training length", "segments") if of_text else ("longest training word", "words")
    marks = {trained: summary["train_len"]} if summary["steps"] else {}
    levels = {"chance": summary["chance"]} if summary.get("chance") is not None else {}
    band = f"95 % interval over the {tested}"
    figure = single([line], measure_of(name), band=band, marks=marks, levels=levels, long=4 * summary["test_len"])
    figure.axes[0].set_title(title, parse_math=False)  # a dollar of a user's regular expression is a dollar
    save(path, figure)


def title(config: RunConfig) -> str:
    """The run in a line."""
    sign = "=" if config.data.shortest == config.data.train_len else "<="
    trained = f"trained on T {sign} {config.data.train_len}" if config.training.steps else config.recipe
    return f"{config.data.name}, {config.model.label}, {trained}, seed {config.seed}"


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, so many inches wide and high."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=150, layout="constrained")


def save(path: Path, figure: Figure) -> None:
    """Write the picture, the same bytes each time; UserError for a name that ends otherwise."""
    from matplotlib import rc_context

    if path.suffix not in METADATA:
        raise UserError(f"{shown(path)}: a picture is {one_of(METADATA)}; name it {shown(path.with_suffix('.png'))}")
    buffer = io.BytesIO()
    # One font, named once: SVG would have all that might stand in for it beside each word.
    with rc_context({"svg.hashsalt": "regulargpt", "svg.fonttype": "none", "font.sans-serif": "DejaVu Sans"}):
        figure.savefig(buffer, format=path.suffix[1:], metadata=METADATA[path.suffix])
    data = buffer.getvalue()
    if path.suffix == ".svg":
        data = smaller(data.decode()).encode()
    write_bytes(path, data)


def smaller(svg: str) -> str:
    r"""SVG with rounded numbers and straight lines by their steps: half the bytes, for pages keep many pictures.

    >>> smaller('<text x="1.234567">1.234567</text> <path d="M 1.43 2.04 L 3.96 4 z"/>')
    '<text x="1.2">1.234567</text>\n<path d="M1.5 2l2.5 2z"/>'
    """
    svg = re.sub(' d="([MLz0-9. \\n-]*)"', lambda found: f' d="{steps(found[1])}"', svg)
    svg = re.sub('="[^"]*"', lambda found: re.sub(r"\d+\.\d\d+", lambda n: f"{float(n[0]):.1f}", found[0]), svg)
    return re.sub(r">\s+<", ">\n<", svg)


def steps(path: str) -> str:
    """A path of straight lines in half points, each line by its step.

    >>> steps("M 1.43 2.04 L 3.96 4 L 3.46 0.5 z M 1 1 L 2 2 z")
    'M1.5 2l2.5 2l-0.5-3.5zM1 1l1 1z'
    """
    parts, at = [], (0.0, 0.0)
    for command, *numbers in (part.split() for part in re.findall("[ML][^MLz]*|z", path)):
        place = tuple(round(2 * float(number)) / 2 for number in numbers)
        origin = at if command == "L" else (0.0, 0.0)
        moves = (f"{a - b:g}" for a, b in zip(place, origin, strict=False))  # of z there are none
        parts.append(command.replace("L", "l") + " ".join(moves))
        at = place
    return "".join(parts).replace(" -", "-")


def single(
    lines: Sequence[Line],
    measure: Measure,
    *,
    label: str = "",
    band: str = "",
    marks: Mapping[str, float] = {},
    levels: Mapping[str, float] = {},
    long: float = LOG_FROM,
) -> Figure:
    """All lines in one picture, the name of each beside its end.

    `label` is that of the height if not the measure's, `band` what the band is, `marks` are lengths and `levels` values
    to point out, by what they are; beyond the length `long` the axis is logarithmic.
    """
    figure = new_figure(8, 4)
    axes = figure.add_subplot()
    prepare(axes, lines, measure, long)
    for at, line in enumerate(lines):
        draw(axes, line, at, len(lines) - at - 1, band)
    for (text, value), style in zip(levels.items(), (":", "-.", "--"), strict=False):
        axes.axhline(value, color=GREY, linestyle=style, linewidth=1, label=text)
    for text, length in marks.items():
        axes.axvline(length, color=VERMILION, linestyle="--", linewidth=1, label=text)
    axes.set(xlabel="length T", ylabel=label or measure.label)
    write_names(axes, lines)
    if band or marks or levels:
        axes.legend(loc="lower left", frameon=False)
    if blank := [line.name for line in lines if not line.lengths]:
        axes.set_title("no line, since every run failed: " + "; ".join(blank), fontsize=9, parse_math=False)
    return figure


def write_names(axes: Axes, lines: Sequence[Line]) -> None:
    """The name of each line beside its end, moved apart."""
    bottom, top = axes.get_ylim()
    drawn = [(line, COLOURS[at % len(COLOURS)]) for at, line in enumerate(lines) if line.lengths and line.name]
    drawn.sort(key=lambda pair: -pair[0].values[-1])
    heights = spread([(line.values[-1] - bottom) / (top - bottom) for line, _ in drawn], 0.085)
    for (line, colour), height in zip(drawn, heights, strict=True):
        axes.annotate(
            cut(line.name),
            xy=(line.lengths[-1], line.values[-1]),
            xytext=(1.05, height),
            textcoords="axes fraction",
            va="center",
            color=colour,
            parse_math=False,
            # Dotted: a line to a name is no value at the lengths that it passes.
            arrowprops={"arrowstyle": "-", "linestyle": ":", "color": colour, "shrinkB": 2, "relpos": (0, 0.5)},
        )


def panels(found: Mapping[str, Sequence[Line]], measure: Measure, *, label: str = "") -> Figure:
    """A panel each title; lines of one name have the same colour in all."""
    across = 3 if len(found) <= 9 else 4
    down = -(-len(found) // across)
    figure = new_figure(3 * across, 1.9 * down + 0.6)
    grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True).flatten()  # (down * across,)
    every = [line for lines in found.values() for line in lines]
    names = list(dict.fromkeys(line.name for line in every))
    for axes, (title, lines) in zip(grid, found.items(), strict=False):
        prepare(axes, every, measure)
        for line in lines:
            at = names.index(line.name)
            draw(axes, line, at, len(names) - at - 1)
        axes.set_title(cut(title), fontsize=9, parse_math=False)
    for axes in grid[len(found) :]:
        axes.remove()
    for axes in grid[max(0, len(found) - across) : len(found)]:
        axes.tick_params(labelbottom=True)
    figure.supxlabel("length T", fontsize=10)
    figure.supylabel(label or measure.label, fontsize=10)
    drawn = {line.name for line in every if line.lengths}
    if drawn != {""}:
        add_legend(figure, {name: COLOURS[at] for at, name in enumerate(names) if name in drawn}, 3 * across)
    return figure


def add_legend(figure: Figure, colours: Mapping[str, str], inches: float) -> None:
    """Above the panels, what has which colour."""
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], color=colour, linewidth=2, label=cut(name)) for name, colour in colours.items()]
    ncols = abreast([str(line.get_label()) for line in lines], inches)
    figure.legend(handles=lines, loc="outside upper center", ncols=ncols, frameon=False)


def abreast(names: Sequence[str], inches: float) -> int:
    """How many entries of a legend fit beside each other: a letter is about 0.09 inches, a line and its space 0.6.

    >>> abreast(["rnn", "lstm"], 9), abreast(["regulargpt, chunk_size 3, robust"] * 6, 9)
    (2, 2)
    """
    widest = 0.6 + 0.09 * max(map(len, names), default=0)
    return max(1, min(len(names), int(inches / widest)))


def draw(axes: Axes, line: Line, at: int, above: int, band: str = "") -> None:
    """The values as a line and their band, in the style of the line number `at`; dots where lengths are few.

    A line is wider than those drawn `above` it, so that lines upon each other are all seen.
    """
    if not line.lengths:
        return
    places = [math.log(T) if axes.get_xscale() == "log" else T for T in line.lengths]
    width, colour, dash = 1.3 + 0.35 * above, COLOURS[at % len(COLOURS)], DASHES[at // len(COLOURS) % len(DASHES)]
    has_dots = len(line.lengths) <= MAX_DOTS
    bottom, top = axes.get_ylim()
    drawn = [*zip(line.low, line.values, line.high, strict=True)]
    kept = range(len(drawn)) if has_dots else bends(places, drawn, (top - bottom) * TOLERANCE)
    lengths, (low, values, high) = [line.lengths[at] for at in kept], zip(*(drawn[at] for at in kept), strict=True)
    dots = [at for at, length in enumerate(lengths) if has_dots or length >= LOG_FROM]
    axes.fill_between(lengths, low, high, color=colour, alpha=0.18, linewidth=0, label=band or None)
    style = {"linestyle": dash, "linewidth": width, "marker": "o", "markersize": width + 2, "markevery": dots}
    axes.plot(lengths, values, color=colour, **style)


def bends(places: Sequence[float], values: Sequence[tuple[float, ...]], tolerance: float) -> list[int]:
    """Where lines over the same places bend: other points are no farther from them than the tolerance.

    >>> bends(range(5), [(1.0,), (1.0,), (1.0,), (2.0,), (2.0,)], tolerance=0.1)
    [0, 2, 3, 4]
    """
    x, y = np.array(places, dtype=float), np.array(values)  # (points,), (points, lines)
    kept, parts = {0, len(x) - 1}, [(0, len(x) - 1)]
    while parts:  # Ramer 1972, Douglas and Peucker 1973, with the distance upwards
        first, last = parts.pop()
        if last - first < 2:
            continue
        share = ((x[first : last + 1] - x[first]) / (x[last] - x[first]))[:, None]  # (points, 1)
        off = np.abs(y[first : last + 1] - (1 - share) * y[first] - share * y[last]).max(1)
        if off.max() > tolerance:
            at = first + int(off.argmax())
            kept.add(at)
            parts += [(first, at), (at, last)]
    return sorted(kept)


def prepare(axes: Axes, lines: Sequence[Line], measure: Measure, long: float = LOG_FROM) -> None:
    """Scales and grid, before anything is drawn: the heights that the measure can have, or those that it has here."""
    lengths = sorted({length for line in lines for length in line.lengths})
    if lengths and (lengths[-1] > long or grow(lengths)):
        axes.set_xscale("log")
    if grow(lengths):
        # Powers of ten would say little of them.
        axes.set_xticks(lengths, [f"{T:,}" for T in lengths])
        axes.minorticks_off()
    heights = [measure.low, measure.high]
    if any(height is None or math.isinf(height) for height in heights):
        heights = [height for line in lines for height in (*line.low, *line.high) if math.isfinite(height)]
    low, high = (of((height for height in heights if height is not None), default=0.0) for of in (min, max))
    margin = (high - low) / 25 or 1.0
    axes.set_ylim(low - margin, high + margin)
    axes.grid(color=GREY, alpha=0.2, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def grow(lengths: Sequence[int]) -> bool:
    """Whether lengths are few and each is so many times the one before, as those at which texts are tested.

    >>> grow([64, 128, 256]), grow([41, 42, 43]), grow([64])
    (True, False, False)
    """
    pairs = list(itertools.pairwise(lengths))
    return 0 < len(pairs) < MAX_DOTS and all(a >= 2 * b for b, a in pairs)


def cut(name: str) -> str:
    """A name that fits beside a picture.

    >>> len(cut("a" * 60))
    44
    """
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


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
