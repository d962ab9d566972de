"""What the page draws: means over languages by a number of theirs, a line each network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from experiments.atlas.columns import Row
from experiments.atlas.groups import accuracy, bands, mean, of_network, proven
from experiments.atlas.networks import NETWORKS
from experiments.page.record import Picture
from regulargpt import plots

MONOID_EDGES = (2, 4, 8, 16, 32, 60)
DEPTH_EDGES = (1, 2, 3, 4, 5, 6, 8, 60)
SIZE, DEPTH = "elements of the transition monoid", "depth of Green's structure (J-classes)"
Measured = Callable[[Row], float]


def pictures(rows: Sequence[Row]) -> Iterator[Picture]:
    """Every picture that finished rows have anything for."""
    for name, title, column, edges, axis, measured, label in (
        (
            "accuracy-by-monoid",
            "Accuracy on words of 41 to 200 symbols, by the size of the transition monoid",
            *("monoid", MONOID_EDGES, SIZE, accuracy, "mean accuracy (%)"),
        ),
        (
            "proven-by-monoid",
            "Share of languages that a network is proven to compute, by the size of the transition monoid",
            *("monoid", MONOID_EDGES, SIZE, proven, "proven (% of languages)"),
        ),
        (
            "accuracy-by-depth",
            "Accuracy by the depth of Green's structure",
            *("j_depth", DEPTH_EDGES, DEPTH, accuracy, "mean accuracy (%)"),
        ),
    ):
        found = asked(rows, measured)
        lines = tuple(line(NETWORKS[of].title, of_name, column, edges, measured) for of, of_name in found)
        if lines:
            scale = "log" if column == "monoid" else "even"
            yield Picture(title, f"curves/{name}.svg", title, lines, axis=axis, scale=scale, label=label)


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
