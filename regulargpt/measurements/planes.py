"""The plane in which states are drawn: where they differ most, or where their classes do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from regulargpt.measurements.plane import Points, plane
from regulargpt.measurements.states import NodeStates


@dataclass(frozen=True)
class Plane:
    """All states in a plane, what its axes are, what there is to say of it, and which rows are drawn."""

    points: Points  # (rows, 2)
    axes: tuple[str, str]
    note: str
    drawn: npt.NDArray[np.bool_]  # (rows,)


def of_states(nodes: NodeStates) -> Plane:
    """The plane of the first two principal components."""
    points, shares = plane(nodes.states)
    x, y = (f"PC {at} ({100 * share:.1f} %{' of the variance' * (at == 1)})" for at, share in enumerate(shares, 1))
    note = f"two principal components hold {100 * sum(shares):.1f} % of the variance"
    return Plane(points, (x, y), note, np.ones(len(nodes), bool))


def of_classes(nodes: NodeStates) -> Plane:
    """The plane of the first two linear discriminants, in units of the spread within classes (Fisher 1936).

    It is looked for with the classes at hand, and in many dimensions there is always a plane that parts what was looked
    at. So it is found on the first half of the words, and the rows of the others are drawn. Two classes have one
    discriminant: the other axis is then the direction across it in which the states differ most.
    """
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    found_on = nodes.words < (nodes.words.max() + 1) // 2
    x, y = nodes.states.astype(float), nodes.elements
    n_classes = len(np.unique(y[found_on]))
    if n_classes < 2 or found_on.all():
        return of_states(nodes)
    # Where all states of a class are nearly equal, their spread says nothing: it is shrunk towards a ball's (Ledoit and
    # Wolf 2004), or the axes would follow the rounding.
    discriminants = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(x[found_on], y[found_on])
    points = discriminants.transform(x)[:, :2]  # (rows, 2), or (rows, 1) of two classes
    shares = [*discriminants.explained_variance_ratio_[:2]]
    axes = [f"LD {at} ({100 * share:.1f} %{' between classes' * (at == 1)})" for at, share in enumerate(shares, 1)]
    if points.shape[1] < 2:
        across, _ = plane(x - np.outer(points[:, 0], slope(x, points[:, 0])))
        points, axes = np.column_stack([points[:, 0], across[:, 0]]), [*axes, "PC 1 across it"]
    note = "the plane is that of linear discriminants, found on the first half of the words; the others are drawn"
    return Plane(points, (axes[0], axes[1]), note, ~found_on)


def slope(x: Points, along: Points) -> Points:
    """How much each column of x (rows, width) rises with the numbers `along` (rows,), by least squares.

    >>> slope(np.array([[0.0, 1.0], [2.0, 1.0]]), np.array([0.0, 1.0])).tolist()
    [2.0, 0.0]
    """
    centred = along - along.mean()
    return centred @ (x - x.mean(0)) / (centred @ centred or 1.0)


PLANES: Mapping[str, Callable[[NodeStates], Plane]] = {"pca": of_states, "lda": of_classes}
