"""A measure by length: lines with bands where lengths were measured alike, points with bars where a point stands alone.

In a single picture or in panels; PNG, SVG or PDF by the name of the file.
"""

from __future__ import annotations

import io
import itertools
import math
import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from languages.errors import UserError, one_of, shown
from regulargpt.objectives.measures import Measure
from regulargpt.objectives.measures import measure as measure_of
from regulargpt.storage.atomic import write_bytes

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from regulargpt.config.schema import RunConfig

# Colours that people of any colour vision tell apart (Okabe and Ito, Color Universal Design, 2008), a violet that lies
# far from all of them in their eyes too, and greys.
BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, YELLOW, BLACK = "#E69F00", "#56B4E9", "#F0E442", "#000000"
GREY, LIGHT_GREY = "#777777", "#999999"
VIOLET = "#7F1AE5"
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK, VIOLET)  # of lines: yellow is too pale on white

# Without what changes from day to day, so that equal pictures are equal bytes.
METADATA: Mapping[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
LOG_FROM = 1000  # with longer words the axis is logarithmic
MAX_DOTS = 12  # so many lengths have a dot each
FAR = 10  # a gap so many times as wide as one beside it is not drawn over
MOST_ROWS = 4  # of a name
DASHES = ("-", "--", ":")  # of the ninth line and later ones, whose colours come again
TOLERANCE = 1 / 150  # of the height: points so near to the line are left out, since nobody sees the difference


@dataclass(frozen=True)
class Line:
    """A line: values by length, with a band from `low` to `high` if there is one; no lengths if nothing is to draw.

    Its colour and dashes are those of its place among the lines, or of the place `like`, and `dash`. `chance` is what
    guessing has there, `trained` the longest length of its training, None where there is none or it is not known.
    """

    name: str
    lengths: Sequence[int]
    values: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    _: KW_ONLY
    like: int | None = None
    dash: str = ""
    chance: float | None = None
    trained: int | None = None


def name_of(summary: Mapping[str, Any]) -> str:
    """The file of a run's picture.

    >>> name_of({"measure": "accuracy"})
    'accuracy.png'
    """
    return f"{summary['measure']}.png"


def of_run(path: Path, summary: Mapping[str, Any], title: str) -> None:
    """The picture of a run, from what summary.json says: its measure with its 95 % intervals, chance where it means
    something, and the longest length of training. Each line of the title stands in its own."""
    name = summary["measure"]
    measured = summary["measures"][name]
    lengths = sorted(map(int, measured["values"]))
    low, high = zip(*(measured["intervals"][str(T)] for T in lengths), strict=True)
    values, trained = [measured["values"][str(T)] for T in lengths], summary["train_len"] if summary["steps"] else None
    line = Line("", lengths, values, low, high, chance=summary.get("chance"), trained=trained)
    # A task has longer and longer words, too, but no segments of files.
    band = f"95 % interval over the {'segments, by file' if summary.get('scoring') else 'words'}"
    figure = single([line], measure_of(name), band=band, long=4 * summary["test_len"])
    # A user's dollar is a dollar.
    figure.axes[0].set_title("\n".join(wrapped(row, 72) for row in title.splitlines()), parse_math=False)
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
    svg = re.sub(' d="([MLz0-9. \\n-]*)"', lambda match: f' d="{steps(match[1])}"', svg)
    svg = re.sub('="[^"]*"', lambda match: re.sub(r"\d+\.\d\d+", lambda n: f"{float(n[0]):.1f}", match[0]), svg)
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
    long: float = LOG_FROM,
) -> Figure:
    """All lines in a single picture, their names in the right margin, below it what else is drawn.

    `label` is that of the height if not the measure's, `band` what the band is, `marks` are lengths to point out, by
    what they are; beyond the length `long` the axis is logarithmic.
    """
    figure = new_figure(8, height_of(lines))
    axes = figure.add_subplot()
    prepare(axes, lines, measure, long)
    for at, line in enumerate(lines):
        draw(axes, line, at, len(lines) - at - 1, band)
    draw_references(axes, [*enumerate(lines)])
    for text, length in marks.items():
        axes.axvline(length, color=VERMILION, linestyle="--", linewidth=1, label=text)
    axes.set(xlabel="length T", ylabel=label or measure.label)
    name_lines(figure, lines)
    if pieces := labelled(figure.axes):
        columns = abreast([name for name, _ in pieces], 1.25 * figure.get_figwidth())  # in smaller letters
        write_legend(figure, pieces, 72, loc="outside lower center", ncols=columns, fontsize=9)
    if blank := [line.name for line in lines if not line.lengths]:
        text = "no line, since every run failed: " + "; ".join(blank)
        axes.set_title(wrapped(text, 80), fontsize=9, parse_math=False)
    return figure


def name_lines(figure: Figure, lines: Sequence[Line]) -> None:
    """The names of the lines in the right margin, each beside a piece of its line, in the order of the last values."""
    named = [(line, at) for at, line in enumerate(lines) if line.lengths and line.name]
    named.sort(key=lambda pair: -pair[0].values[-1])
    if named:
        pieces = [(line.name, piece(at, line)) for line, at in named]
        write_legend(figure, pieces, loc="outside right upper", fontsize=9)


def height_of(lines: Sequence[Line]) -> float:
    """Inches that a picture needs for the names of its lines, 4 at least.

    >>> height_of([Line("rnn", [1], [1.0], [1.0], [1.0])] * 12), height_of([Line("rnn", [1], [1.0], [1.0], [1.0])] * 30)
    (4.0, 7.0)
    """
    rows = sum(wrapped(line.name).count("\n") + 1 for line in lines)
    return max(4.0, 0.4 + 0.15 * rows + 0.07 * len(lines))


def panels(lines_of: Mapping[str, Sequence[Line]], measure: Measure, *, label: str = "") -> Figure:
    """A panel each title; lines of one name have the same colour in all."""
    across = 3 if len(lines_of) <= 9 else 4
    down = -(-len(lines_of) // across)
    figure = new_figure(3 * across, 1.9 * down + 0.6)
    grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True).flatten()  # (down * across,)
    every = [line for lines in lines_of.values() for line in lines]
    names = list(dict.fromkeys(line.name for line in every))
    for axes, (title, lines) in zip(grid, lines_of.items(), strict=False):
        prepare(axes, every, measure)
        for line in lines:
            at = names.index(line.name)
            draw(axes, line, at, len(names) - at - 1)
        draw_references(axes, [(names.index(line.name), line) for line in lines])
        axes.set_title(wrapped(title), fontsize=9, parse_math=False)
    for axes in grid[len(lines_of) :]:
        axes.remove()
    for axes in grid[max(0, len(lines_of) - across) : len(lines_of)]:
        axes.tick_params(labelbottom=True)
    figure.supxlabel("length T", fontsize=10)
    figure.supylabel(label or measure.label, fontsize=10)
    drawn = {line.name for line in every if line.lengths}
    pieces = [(name, piece(at)) for at, name in enumerate(names) if name in drawn - {""}] + labelled(figure.axes)
    if pieces:
        rows = [row for name, _ in pieces for row in wrapped(name).splitlines()]
        write_legend(figure, pieces, loc="outside upper center", ncols=min(abreast(rows, 3 * across), len(pieces)))
    return figure


def piece(at: int, line: Line | None = None) -> Artist:
    """A piece of the line number `at`, for a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **style(at, line), linewidth=2)


def labelled(every: Sequence[Axes]) -> list[tuple[str, Artist]]:
    """What is drawn besides lines that have a name, each once, beside what it is."""
    artists: dict[str, Artist] = {}
    for axes in every:
        for artist, name in zip(*axes.get_legend_handles_labels(), strict=True):
            artists.setdefault(name, artist)
    return [*artists.items()]


def draw_references(axes: Axes, lines: Sequence[tuple[int, Line]]) -> None:
    """Chance and the longest training length of lines, which come with their numbers.

    In grey, or in the colour of the line that has it where others have another, or none.
    """
    drawn = [(at, line) for at, line in lines if line.lengths]
    for text, key, add, dash in (
        ("chance", "chance", axes.axhline, ":"),
        ("longest training length", "trained", axes.axvline, "--"),
    ):
        shared = Counter(getattr(line, key) for _, line in drawn)
        for value, count in shared.items():
            if value is None:
                continue
            at, line = next(pair for pair in drawn if getattr(pair[1], key) == value)
            of = "" if len(shared) == 1 else " of several lines" if count > 1 else " of the line of its colour"
            colour = style(at, line)["color"] if count == 1 < len(drawn) else GREY
            add(value, color=colour, linestyle=dash, linewidth=1, label=text + of)


def write_legend(place: Figure | Axes, pieces: Sequence[tuple[str, Artist]], room: int = 36, **more: Any) -> None:
    """Names, in rows of at most `room` letters, beside pieces of their lines, outside the axes."""
    legend = place.legend([piece for _, piece in pieces], ["" for _ in pieces], frameon=False, **more)
    for text, (name, _) in zip(legend.get_texts(), pieces, strict=True):
        text.set(text=wrapped(name, room), parse_math=False)  # a dollar is a dollar, and a name may begin with _


def abreast(names: Sequence[str], inches: float) -> int:
    """How many entries of a legend fit beside each other: a letter is about 0.09 inches, a line and its space 0.6.

    >>> abreast(["rnn", "lstm"], 9), abreast(["regulargpt, chunk_size 3, words"] * 6, 9)
    (2, 2)
    """
    widest = 0.6 + 0.09 * max(map(len, names), default=0)
    return max(1, min(len(names), int(inches / widest)))


def draw(axes: Axes, line: Line, at: int, above: int, band: str = "") -> None:
    """The values in the style of the line number `at`: lines with their band, dots where lengths are few; a length that
    stands alone is a point with a bar.

    A line is wider than those drawn `above` it, so that lines upon each other are all seen.
    """
    width, look = 1.3 + 0.35 * above, style(at, line)
    bottom, top = axes.get_ylim()
    drawn = [*zip(line.low or line.values, line.values, line.high or line.values, strict=True)]
    for part in joined(line.lengths):
        has_dots, within = len(part) <= MAX_DOTS, slice(part.start, part.stop)
        places = [math.log(T) if axes.get_xscale() == "log" else T for T in line.lengths[within]]
        kept = part if has_dots else [part[i] for i in bends(places, drawn[within], (top - bottom) * TOLERANCE)]
        lengths, (low, values, high) = [line.lengths[i] for i in kept], zip(*(drawn[i] for i in kept), strict=True)
        if line.low and len(part) > 1:
            axes.fill_between(lengths, low, high, color=look["color"], alpha=0.18, linewidth=0, label=band)
        elif line.low:
            axes.vlines(lengths, low, high, color=look["color"], linewidth=width, label=band)
        axes.plot(lengths, values, linewidth=width, marker="o" if has_dots else "", markersize=width + 2, **look)


def joined(lengths: Sequence[float]) -> list[range]:
    """Which lengths, in rising order, a line joins, as the places of each piece: those that were measured alike.

    A gap between two is left open if it is more than ten times as wide as the gap before it (before the first length,
    that from 0) or the gap after it. So even steps are joined, and lengths that double or grow tenfold; a run of
    lengths and one far from it are not, nor are two that are farther still. Places between whole numbers are no
    lengths: all are joined.

    >>> joined([41, 42, 43, 44, 10_000, 1_000_000])
    [range(0, 4), range(4, 5), range(5, 6)]
    >>> joined([64, 128, 256, 512]), joined([10, 100, 1000]), joined([0, 50, 100])
    ([range(0, 4)], [range(0, 3)], [range(0, 3)])
    """
    if any(length % 1 for length in lengths):
        return [range(len(lengths))]
    gaps = [b - a for a, b in itertools.pairwise((0, *lengths))]
    gaps[:1] = [gap if gap > 0 else math.inf for gap in gaps[:1]]
    starts = [at for at, gap in enumerate(gaps) if at == 0 or gap > FAR * min(gaps[at - 1 : at + 2])]
    return [range(a, b) for a, b in itertools.pairwise([*starts, len(gaps)])]


def style(at: int, line: Line | None = None) -> dict[str, Any]:
    """The colour and the dashes of the line number `at`, or those that the line has.

    >>> style(0)["linestyle"], style(8)["linestyle"], style(0)["color"] == style(8)["color"]
    ('-', '--', True)
    """
    at, dash = (at, "") if line is None else (at if line.like is None else line.like, line.dash)
    return {"color": COLOURS[at % len(COLOURS)], "linestyle": dash or DASHES[at // len(COLOURS) % len(DASHES)]}


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
    doubles = grow(lengths) and long < math.inf
    if lengths and (lengths[-1] > long or doubles):
        axes.set_xscale("log")
    else:
        axes.locator_params(axis="x", integer=True)  # no word has half a symbol
    if doubles:
        # Powers of ten would say little of them.
        axes.set_xticks(lengths, [f"{T:,}" for T in lengths])
        axes.minorticks_off()
    heights = [measure.low, measure.high]
    if any(height is None or math.isinf(height) for height in heights):
        heights = [height for line in lines for height in (*line.values, *line.low, *line.high)]
        heights = [height for height in heights if math.isfinite(height)]
    low, high = (of((height for height in heights if height is not None), default=0.0) for of in (min, max))
    margin = (high - low) / 25 or 1.0
    axes.set_ylim(low - margin, high + margin)
    axes.grid(color=GREY, alpha=0.2, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def grow(lengths: Sequence[int]) -> bool:
    """Whether lengths are few and each is so many times the length before, as those at which texts are tested.

    >>> grow([64, 128, 256]), grow([41, 42, 43]), grow([64])
    (True, False, False)
    """
    pairs = list(itertools.pairwise(lengths))
    return 0 < len(pairs) < MAX_DOTS and all(a >= 2 * b > 0 for b, a in pairs)


def wrapped(name: str, width: int = 36) -> str:
    """A name in lines of at most so many letters; of a very long name the ends, in which names differ.

    >>> wrapped("regulargpt, chunk_size 3, recipe answers, prefixes")
    'regulargpt, chunk_size 3, recipe\\nanswers, prefixes'
    >>> wrapped("a" * 20 + "b" * 20, 8)
    'aaaaaaaa\\naaaaaaa…\\nbbbbbbbb\\nbbbbbbbb'
    """
    half = width * MOST_ROWS // 2
    short = name if len(name) <= 2 * half else f"{name[: half - 1]}…{name[-half:]}"
    return "\n".join(textwrap.wrap(short, width, break_on_hyphens=False))
