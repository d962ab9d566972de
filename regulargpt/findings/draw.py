"""Pictures of findings, drawn by matplotlib without a screen, in colours told apart by colour-blind eyes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from regulargpt import plots
from regulargpt.findings.draw_map import draw_map
from regulargpt.findings.finding import Axis, Curves, Dots, HeatMap, Panel, Picture
from regulargpt.findings.markup import colours
from regulargpt.objectives.measures import Measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = "osD^v<>PX*hp"
MAX_IN_LEGEND = 12
MOST_NUMBERS = 12  # rows, and columns, of a heat map whose values are written into it
LETTERS_AN_INCH, SMALL_AN_INCH = 13, 15  # of a title, and of one in letters of 8 points
LINE, BELOW = 0.17, 0.4  # inches: a line of a title or legend, and what stands below the panels
NARROW = 5.0  # inches: the legend of a narrower picture stands below it
SMALL = 8.0  # points, the smallest letters
PALE = 60  # percent of the scale from which the colours of a heat map are read in black


def figure(picture: Picture, inches: float | None = None) -> Figure:
    """The picture as a figure of matplotlib, so many inches wide, or as wide as it likes.

    In a narrow one all letters have 8 points, the title has more lines, and the legend stands below: the panels keep
    their room.
    """
    from matplotlib import rc_context

    width, height = picture.size
    down, total = -(-len(picture.panels) // picture.across), inches or width * picture.across
    title = wrapped_title(picture.title, total)
    more = 0.0 if inches is None else LINE * title.count("\n") + BELOW
    with rc_context({"font.size": SMALL} if total < NARROW else {}):
        drawn = plots.new_figure(total, height * down * total / (width * picture.across) + more)
        if title:  # first, for letters on a map are placed once the layout is known
            drawn.suptitle(title, fontsize=10 if total >= NARROW else SMALL, parse_math=False)
        grid = drawn.subplots(down, picture.across, squeeze=False).flatten()  # (down * across,)
        for axes, panel in zip(grid, picture.panels, strict=False):
            draw(drawn, axes, panel)
        for axes in grid[len(picture.panels) :]:
            axes.remove()
        if len(picture.panels) == 1 and isinstance(panel := picture.panels[0], Curves):
            plots.name_lines(drawn, panel.lines)
    return drawn


def wrapped_title(title: str, inches: float) -> str:
    """The lines of a title, none wider than the picture."""
    room = int((LETTERS_AN_INCH if inches >= NARROW else SMALL_AN_INCH) * inches)
    return "\n".join(plots.wrapped(line, room) for line in title.split("\n"))


def draw(drawn: Figure, axes: Axes, panel: Panel) -> None:
    """A panel in its axes."""
    if isinstance(panel, Curves):
        draw_curves(axes, panel, has_names=len(drawn.axes) > 1)
        write_above(drawn, axes)
    elif isinstance(panel, HeatMap):
        draw_heat_map(drawn, axes, panel)
    else:
        draw_dots(drawn, axes, panel)


def draw_curves(axes: Axes, panel: Curves, has_names: bool) -> None:
    """Lines with their bands, marks and levels, and the names of the lines, if these are not to stand beside them."""
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


def write_above(drawn: Figure, axes: Axes) -> None:
    """The legend of a panel of curves, above the axes, where no curve lies; the picture is as much higher."""
    if not (named := plots.labelled([axes])):
        return
    across = drawn.axes[0].get_gridspec().ncols  # type: ignore[union-attr]  # panels lie in a grid
    abreast = plots.abreast([name for name, _ in named], drawn.get_figwidth() / across)
    drawn.set_figheight(drawn.get_figheight() + LINE * -(-len(named) // abreast) / across)
    above = {"loc": "lower right", "bbox_to_anchor": (1, 1), "borderaxespad": 0.2}
    plots.write_legend(axes, named, ncols=abreast, fontsize=SMALL, **above)


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
    """Points: a colour for each kind, a marker for each group, later groups darker; outlines and arrows over them."""
    from matplotlib.lines import Line2D

    colour = {kind: colours(kind)[0] for kind in panel.colours}
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
    if panel.outlines:
        named.append(("cluster", Line2D([], [], color=plots.GREY, lw=1.2)))
    if not all(outline.is_sure for outline in panel.outlines):
        named.append(("cluster that does not match", Line2D([], [], color=plots.GREY, lw=1.2, ls="--")))
    if panel.wrong:
        axes.scatter(*np.array(panel.wrong).T, marker="x", color=plots.BLACK, s=26, linewidths=0.9, zorder=4)
        named.append(("wrong cluster", Line2D([], [], color=plots.BLACK, marker="x", ls="")))
    if (inches := drawn.get_figwidth()) < NARROW:
        across = plots.abreast([name for name, _ in named], inches)
        drawn.set_figheight(drawn.get_figheight() + LINE * -(-len(named) // across))
        plots.write_legend(drawn, named, loc="outside lower center", fontsize=8, ncols=across)
    else:
        plots.write_legend(drawn, named, loc="outside right center", fontsize=8)  # clear of a wide title
    # One unit for both axes: a component without variance is flat, and distances can be compared in every direction.
    axes.set_aspect("equal", adjustable="datalim")
    label(axes, panel.x, panel.y)
    draw_map(drawn, axes, panel, colour)
