"""What the page draws: means over languages, by a number of theirs or by kind, a colour each network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.atlas.algebra import KINDS
from experiments.atlas.columns import Row
from experiments.atlas.groups import accuracy, bands, mean, of_network, proven
from experiments.atlas.networks import NETWORKS
from regulargpt import plots
from regulargpt.evaluation.interval import Interval
from regulargpt.objectives.measures import measure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = "pictures"
MONOID_EDGES = (2, 4, 8, 16, 32, 60)
DEPTH_EDGES = (1, 2, 3, 4, 5, 6, 8, 60)
Measured = Callable[[Row], float]


@dataclass(frozen=True)
class Picture:
    """A picture of the page: its file in `FOLDER`, its title, and what is drawn from the rows that are finished."""

    name: str
    title: str
    draw: Callable[[Sequence[Row]], Figure]

    @property
    def file(self) -> str:
        """Beside the page."""
        return f"{FOLDER}/{self.name}.svg"


def by_band(
    column: str, edges: Sequence[int], axis: str, measured: Measured, label: str, is_log: bool = False
) -> Callable[[Sequence[Row]], Figure]:
    """What draws the mean of a measure over languages whose value of a column is up to each edge."""

    def draw(rows: Sequence[Row]) -> Figure:
        found = asked(rows, measured)
        lines = [line(NETWORKS[name].title, of_name, column, edges, measured) for name, of_name in found]
        figure = plots.single(lines, measure("accuracy"), label=label)
        axes = figure.axes[0]
        axes.set(xlabel=axis)
        if is_log:
            axes.set_xscale("log")
            axes.set_xticks(edges, [str(edge) for edge in edges])
            axes.minorticks_off()
        return figure

    return draw


def asked(rows: Iterable[Row], measured: Measured) -> list[tuple[str, list[Row]]]:
    """The rows of each network; of proofs, only networks of which one was asked for."""
    found = ((name, of_network(rows, name)) for name in NETWORKS)
    return [
        (name, of_name)
        for name, of_name in found
        if of_name and (measured is not proven or any(row["proven"] is not None for row in of_name))
    ]


def line(title: str, rows: Sequence[Row], column: str, edges: Sequence[int], measured: Measured) -> plots.Line:
    """A network's means; each band of languages stands at the mean of the column in it."""
    found = bands(rows, column, edges).values()
    at = [sum(row[column] for row in band) / len(band) for band in found]
    estimates = [mean(band, measured) for band in found]
    values, low, high = ([getattr(one, part) for one in estimates] for part in ("value", "low", "high"))
    return plots.Line(title, at, values, low, high)  # type: ignore[arg-type]  # places between whole numbers


def by_kind(rows: Sequence[Row]) -> Figure:
    """The mean accuracy of each network on each kind of monoid, with its interval: a bar each."""
    figure = plots.new_figure(8, 4)
    axes = figure.add_subplot()
    found = {name: kinds(of_name) for name, of_name in asked(rows, accuracy)}
    width = 0.8 / max(1, len(found))
    for at, of_kind in enumerate(found.values()):
        for place, kind in enumerate(KINDS):
            if (bar := of_kind.get(kind)) is not None:
                x = place + (at - (len(found) - 1) / 2) * width
                error = [[bar.value - bar.low], [bar.high - bar.value]]
                axes.bar(x, bar.value, width, color=plots.COLOURS[at], yerr=error, error_kw={"linewidth": 0.8})
    axes.set_xticks(range(len(KINDS)), KINDS)
    axes.set(xlabel="transition monoid", ylabel="accuracy (%)", ylim=(0, 104))
    axes.spines[["top", "right"]].set_visible(False)
    colours = {NETWORKS[name].title: plots.COLOURS[at] for at, name in enumerate(found)}
    plots.add_legend(figure, colours, 8)
    return figure


def kinds(rows: Sequence[Row]) -> Mapping[str, Interval]:
    """The mean accuracy on each kind of monoid that there is among the rows."""
    found = {kind: [row for row in rows if row["kind"] == kind] for kind in KINDS}
    return {kind: mean(of_kind, accuracy) for kind, of_kind in found.items() if of_kind}


SIZE, DEPTH = "elements of the transition monoid", "depth of Green's structure (J-classes)"
PICTURES: tuple[Picture, ...] = (
    Picture(
        "accuracy-by-monoid",
        "Accuracy on words of 41 to 200 symbols, by the size of the transition monoid",
        by_band("monoid", MONOID_EDGES, SIZE, accuracy, "mean accuracy (%)", is_log=True),
    ),
    Picture(
        "proven-by-monoid",
        "Share of languages that a network is proven to compute, by the size of the transition monoid",
        by_band("monoid", MONOID_EDGES, SIZE, proven, "proven (% of languages)", is_log=True),
    ),
    Picture("accuracy-by-kind", "Accuracy on groups, aperiodic monoids, and those that are neither", by_kind),
    Picture(
        "accuracy-by-depth",
        "Accuracy by the depth of Green's structure",
        by_band("j_depth", DEPTH_EDGES, DEPTH, accuracy, "mean accuracy (%)"),
    ),
)


def draw(rows: Sequence[Row], out: Path) -> list[Picture]:
    """Write every picture that rows have anything for; those that were written."""
    found = [one for one in PICTURES if asked(rows, proven if one.name.startswith("proven") else accuracy)]
    for picture in found:
        plots.save(out / picture.file, picture.draw(rows))
    return found
