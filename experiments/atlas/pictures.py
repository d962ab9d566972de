"""What the page draws: means over languages by a number of theirs, a line each network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from experiments.atlas.columns import Row
from experiments.atlas.groups import accuracy, bands, mean, of_network, proven
from experiments.atlas.networks import NETWORKS
from experiments.page.record import PagePicture
from regulargpt import plots

MONOID_EDGES = (2, 4, 8, 16, 32, 60)
DEPTH_EDGES = (1, 2, 3, 4, 5, 6, 8, 60)
SIZE, DEPTH = "elements of the transition monoid", "depth of Green's structure (J-classes)"
Measured = Callable[[Row], float]


def pictures(rows: Sequence[Row]) -> Iterator[PagePicture]:
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
        rows_of_networks = with_proofs(rows, measured)
        lines = tuple(line(NETWORKS[of].title, of_name, column, edges, measured) for of, of_name in rows_of_networks)
        if lines:
            scale = "log" if column == "monoid" else "even"
            yield PagePicture(title, f"curves/{name}.svg", title, lines, axis=axis, scale=scale, label=label)


def with_proofs(rows: Iterable[Row], measured: Measured) -> list[tuple[str, list[Row]]]:
    """The rows of each network; of proofs, only networks of which one was requested."""
    by_network = ((name, of_network(rows, name)) for name in NETWORKS)
    return [
        (name, of_name)
        for name, of_name in by_network
        if of_name and (measured is not proven or any(row["proven"] is not None for row in of_name))
    ]


def line(title: str, rows: Sequence[Row], column: str, edges: Sequence[int], measured: Measured) -> plots.Line:
    """A network's means; each band of languages stands at the mean of the column in it."""
    in_bands = bands(rows, column, edges).values()
    at = [sum(row[column] for row in band) / len(band) for band in in_bands]
    estimates = [mean(band, measured) for band in in_bands]
    values, low, high = ([getattr(estimate, part) for estimate in estimates] for part in ("value", "low", "high"))
    return plots.Line(title, at, values, low, high)  # type: ignore[arg-type]  # places between whole numbers
