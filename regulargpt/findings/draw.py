"""Pictures of findings, drawn by matplotlib without a screen, in colours told apart by colour-blind eyes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from regulargpt import plots
from regulargpt.findings.finding import Axis, Curves, Dots, HeatMap, Panel, Picture
from regulargpt.objectives.measures import Measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = "osD^v<>PX*hp"
MAX_IN_LEGEND = 12
MOST_NUMBERS = 12  # rows, and columns, of a heat map whose values are written into it
PALE = 60  # percent of the scale from which the colours of a heat map are read in black


def figure(picture: Picture) -> Figure:
    """The picture as a figure of matplotlib."""
    down = -(-len(picture.panels) // picture.across)
    width, height = picture.size
    drawn = plots.new_figure(width * picture.across, height * down)
    grid = drawn.subplots(down, picture.across, squeeze=False).flatten()  # (down * across,)
    for axes, panel in zip(grid, picture.panels, strict=False):
        draw(drawn, axes, panel)
    for axes in grid[len(picture.panels) :]:
        axes.remove()
    if len(picture.panels) == 1 and isinstance(panel := picture.panels[0], Curves):
        plots.name_lines(drawn, panel.lines)
    if picture.title:
        title = "\n".join(plots.wrapped(line, 100) for line in picture.title.split("\n"))
        drawn.suptitle(title, fontsize=10, parse_math=False)
    return drawn


def draw(drawn: Figure, axes: Axes, panel: Panel) -> None:
    """A panel in its axes."""
    if isinstance(panel, Curves):
        draw_curves(axes, panel, has_names=len(drawn.axes) > 1)
    elif isinstance(panel, HeatMap):
        draw_heat_map(drawn, axes, panel)
    else:
        draw_dots(drawn, axes, panel)


def draw_curves(axes: Axes, panel: Curves, has_names: bool) -> None:
    """Lines with their bands, marks and levels; the names of the lines in the legend, or beside the axes."""
    x, y, lines = panel.x, panel.y, panel.lines
    long = {None: plots.LOG_FROM, True: 0, False: math.inf}[x.is_log]
    plots.prepare(axes, lines, Measure("", y.label, "", True, y.low, y.high), long)
    if y.is_log:
        axes.set_yscale("log")
        positive = [value for line in lines for value in line.values if value > 0]
        axes.set_ylim(min(positive) / 1.3, max(positive) * 1.3)
    for at, line in enumerate(lines):
        plots.draw(axes, line, at, len(lines) - at - 1, panel.band)
        if has_names and line.name:
            axes.plot([], [], label=line.name, **plots.style(at, line))
    for (name, value), style in zip(panel.levels.items(), (":", "-.", "--"), strict=False):
        axes.axhline(value, color=plots.GREY, linestyle=style, linewidth=1, label=name)
    for (name, place), style in zip(panel.marks.items(), ("--", "-."), strict=False):
        axes.axvline(place, color=plots.VERMILION, linestyle=style, linewidth=1, label=name)
    label(axes, x, y)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(frameon=False, fontsize=8)


def label(axes: Axes, x: Axis, y: Axis) -> None:
    """What the axes show; the ticks where they are given."""
    axes.set(xlabel=x.label, ylabel=y.label)
    if x.ticks:
        axes.set_xticks(x.ticks, [f"{tick:,}" for tick in x.ticks])
        axes.minorticks_off()
    if x.low is not None or x.high is not None:
        axes.set_xlim(x.low, x.high)


def draw_heat_map(drawn: Figure, axes: Axes, panel: HeatMap) -> None:
    """A heat map: the first row on top, its numbers in it where they are few, the level a line on the scale."""
    values = np.array([[np.nan if value is None else value for value in row] for row in panel.values])
    axes.set_facecolor(plots.LIGHT_GREY)  # where there is nothing
    low, high = panel.scale.low, panel.scale.high
    places = np.arange(len(values) + 1)
    mesh = axes.pcolormesh(panel.edges, places, values, cmap="viridis", vmin=low, vmax=high)
    if max(values.shape) <= MOST_NUMBERS:
        for row, column in np.argwhere(np.isfinite(values)):
            middle, value = sum(panel.edges[column : column + 2]) / 2, float(values[row, column])
            colour = "white" if value < PALE else "black"
            axes.text(middle, row + 0.5, f"{value:.0f}", ha="center", va="center", color=colour, fontsize=8)
    if panel.mark and 0 < panel.mark[1] < len(values):
        axes.axhline(panel.mark[1], color=plots.VERMILION, linestyle="--", label=panel.mark[0])
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), frameon=False, fontsize=8, borderaxespad=0)
    every = -(-len(values) // MOST_NUMBERS)
    axes.set_yticks(places[:-1:every] + 0.5, panel.rows[::every])
    axes.invert_yaxis()
    label(axes, panel.x, panel.y)
    scale = drawn.colorbar(mesh, ax=axes, label=panel.scale.label)
    if panel.level is not None:
        scale.ax.axhline(panel.level, color=plots.VERMILION)


def draw_dots(drawn: Figure, axes: Axes, panel: Dots) -> None:
    """Points: a colour for each kind, a marker for each group, later groups darker."""
    from matplotlib.lines import Line2D

    colour = dict(zip(panel.colours, colours(len(panel.colours)), strict=True))
    for number, group in enumerate(panel.groups):
        axes.scatter(
            *np.array(group.points).T,
            c=[colour[kind] for kind in group.colour],
            marker=MARKERS[number % len(MARKERS)],
            alpha=0.35 + 0.5 * (number + 1) / len(panel.groups),
            s=18,
            linewidths=0,
        )
    named = [(name, Line2D([], [], color=colour[kind], marker="o", ls="")) for kind, name in panel.colours.items()]
    if len(named) > MAX_IN_LEGEND:
        named[MAX_IN_LEGEND:] = [(f"and {len(named) - MAX_IN_LEGEND} more", Line2D([], [], ls=""))]
    for number, group in enumerate(panel.groups):
        if group.name:
            marker = MARKERS[number % len(MARKERS)]
            named.append((group.name, Line2D([], [], color=plots.GREY, marker=marker, ls="")))
    plots.write_legend(drawn, named, loc="outside right upper", fontsize=8)
    # One unit for both axes: a component without variance is flat, and distances can be compared in every direction.
    axes.set_aspect("equal", adjustable="datalim")
    label(axes, panel.x, panel.y)


def colours(count: int) -> list[str]:
    """A colour for each of `count` kinds; shades of cividis for more than there are colours."""
    known = (*plots.COLOURS[:-2], plots.YELLOW, plots.BLACK)
    if count <= len(known):
        return list(known[:count])
    import matplotlib
    from matplotlib.colors import to_hex

    return [to_hex(shade) for shade in matplotlib.colormaps["cividis"](np.linspace(0, 1, count))]
