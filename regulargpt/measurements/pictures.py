"""The pictures of the analyses, drawn by matplotlib without a screen, in colours told apart by colour-blind eyes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from regulargpt.measurements.clusters import States
from regulargpt.measurements.receptive_field import BAND, ReceptiveField
from regulargpt.measurements.states import NodeStates
from regulargpt.plots import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, YELLOW, new_figure, save

# With more elements than these, shades of cividis.
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, YELLOW, BLACK)
MARKERS = "osD^v<>PX*hp"
MAX_IN_LEGEND = 12


def colours(count: int) -> list[str]:
    """A colour for each of `count` elements."""
    if count <= len(COLOURS):
        return list(COLOURS[:count])
    import matplotlib
    from matplotlib.colors import to_hex

    return [to_hex(shade) for shade in matplotlib.colormaps["cividis"](np.linspace(0, 1, count))]


def pca_png(path: Path, nodes: NodeStates, points: States, names: list[str], shares: tuple[float, ...], title: str):
    """Figure 6.3: the states in their plane, a colour for each element, a marker for each depth, deeper ones darker."""
    from matplotlib.lines import Line2D

    figure = new_figure(6.4, 4.8)
    axes = figure.add_subplot()
    present, depths = np.unique(nodes.elements), np.unique(nodes.depths)
    colour = dict(zip(present.tolist(), colours(len(present)), strict=True))
    for number, depth in enumerate(depths):
        here = nodes.depths == depth
        axes.scatter(
            *points[here].T,
            c=[colour[element] for element in nodes.elements[here].tolist()],
            marker=MARKERS[number % len(MARKERS)],
            alpha=0.35 + 0.5 * (number + 1) / len(depths),
            s=18,
            linewidths=0,
        )
    dots = [Line2D([], [], color=colour[e], marker="o", linestyle="", label=names[e]) for e in present.tolist()]
    shapes = [
        Line2D([], [], color=GREY, marker=MARKERS[i % len(MARKERS)], linestyle="", label=f"depth {depth}")
        for i, depth in enumerate(depths)
        if len(depths) > 1  # a network without a tree has none
    ]
    rest = [Line2D([], [], linestyle="", label=f"and {len(dots) - MAX_IN_LEGEND} more")]
    dots = dots if len(dots) <= MAX_IN_LEGEND else [*dots[:MAX_IN_LEGEND], *rest]
    for legend in figure.legend(handles=[*dots, *shapes], loc="outside right upper", fontsize=8).get_texts():
        legend.set_parse_math(False)
    # One unit for both axes: a component without variance is flat, and distances can be compared in every direction.
    axes.set_aspect("equal", adjustable="datalim")
    axes.set(xlabel=f"PC 1 ({100 * shares[0]:.1f} % of the variance)", ylabel=f"PC 2 ({100 * shares[1]:.1f} %)")
    axes.set_title(title, parse_math=False, fontsize=10)
    save(path, figure)


def receptive_field_png(
    path: Path, field: ReceptiveField, train_len: int, title: str, theoretical: int | None = None
) -> None:
    """Figures 4.4 and 6.4a: c_m over the m most recent symbols, with its band, the straight line, the training length.

    Beyond `theoretical` symbols nothing can count; it is drawn if it lies within the word.
    """
    figure = new_figure(6.4, 4.0)
    axes = figure.add_subplot()
    m = np.arange(1, len(field.c) + 1)
    if len(m):
        band = f"{100 * BAND[0]:.0f}-{100 * BAND[1]:.0f} % of the words"
        axes.fill_between(m, field.low, field.high, color=BLUE, alpha=0.25, linewidth=0, label=band)
        axes.plot(m, field.c, color=BLUE, linewidth=1.4, label="mean over words")
        axes.plot([0, len(m)], [0, 1], color=GREY, linestyle=":", linewidth=1, label="every symbol alike")
    axes.axvline(train_len, color=VERMILION, linestyle="--", linewidth=1, label="training length")
    if theoretical is not None and theoretical <= len(m):
        axes.axvline(theoretical, color=GREEN, linestyle="-.", linewidth=1, label="theoretical receptive field")
    axes.legend(loc="lower right", frameon=False)
    axes.set(xlabel="m most recent symbols", ylabel="share of the gradient $c_m$")
    axes.set_ylim(-0.02, 1.02)
    axes.set_title(title, parse_math=False, fontsize=10)
    save(path, figure)
