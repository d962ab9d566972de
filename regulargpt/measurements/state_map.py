"""The semiautomaton on the map of a network's states: which clusters match a class, their outlines, what symbols do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from regulargpt.findings import Arrow, Outline
from regulargpt.measurements.state_classes import ClassMoves, Labels

Points = npt.NDArray[np.floating]  # (rows, 2)

MAX_ARROWS = 48
"""More arrows than this hide the points; then none is drawn."""
MAX_NAMED = 4
"""So many classes that have no cluster of their own are named in a title."""


ROOM, CORNERS = 0.028, 24
"""Between the points of a cluster and its outline, as a share of the map's width; the corners of a circle."""


@dataclass(frozen=True)
class Match:
    """The clusters that were found without labels, held against the true classes of the same rows.

    `classes[k]` is the class that most rows of cluster k have. `whole` are the clusters that match: all their rows are
    of a class, and all rows of that class are theirs. `wrong[n]` says that row n lies among rows of another class.

    >>> match = Match.from_labels(np.array([7, 7, 9, 9, 8]), np.array([0, 0, 1, 1, 1]))
    >>> match.classes.tolist(), match.whole.tolist(), match.wrong.tolist()
    ([7, 9], [0], [False, False, False, False, True])
    """

    clusters: Labels
    classes: Labels  # (clusters,)
    whole: Labels  # (matching clusters,)
    wrong: npt.NDArray[np.bool_]  # (rows,)

    @classmethod
    def from_labels(cls, classes: Labels, clusters: Labels) -> Match:
        """The match of these labels, row by row; clusters are numbered from 0."""
        kinds, kind = np.unique(classes, return_inverse=True)
        table = np.zeros((int(clusters.max()) + 1, len(kinds)), dtype=np.int64)  # (clusters, classes)
        np.add.at(table, (clusters, kind), 1)
        most = table.argmax(1)  # (clusters,)
        alone = table[np.arange(len(table)), most]
        is_whole = (alone == table.sum(1)) & (alone == table.sum(0)[most])
        return cls(clusters, kinds[most], np.flatnonzero(is_whole), kinds[most][clusters] != classes)

    def sentence(self, classes: Labels, name: Sequence[str], purity: float, ari: float) -> str:
        """What a title says: how many clusters match, and which classes have none of their own.

        >>> classes = np.array([0, 0, 1, 1])
        >>> Match.from_labels(classes, np.array([0, 0, 1, 1])).sentence(classes, ["ε", "a"], 1.0, 1.0)
        '2 of 2 clusters match, purity 100 %, adjusted Rand 1.00'
        >>> Match.from_labels(classes, np.array([0, 0, 0, 0])).sentence(classes, ["ε", "a"], 0.5, 0.0)
        '0 of 1 clusters match, purity 50 %, adjusted Rand 0.00; without a cluster of their own: ε, a'
        """
        text = f"{len(self.whole)} of {len(self.classes)} clusters match, purity {percent(purity)} %, "
        text += f"adjusted Rand {truncated(ari)}"
        lost = [str(name[e]) for e in np.unique(classes).tolist() if e not in self.classes[self.whole]]
        if not lost:
            return text
        rest = f" and {len(lost) - MAX_NAMED} more" if len(lost) > MAX_NAMED else ""
        return f"{text}; without a cluster of their own: {', '.join(lost[:MAX_NAMED])}{rest}"


def percent(share: float) -> str:
    """A share in percent, "100" of a whole only.

    >>> percent(1.0), percent(0.9999), percent(0.5)
    ('100', '99.9', '50')
    """
    return f"{np.floor(1000 * share + 1e-9) / 10:g}"


def truncated(index: float) -> str:
    """An index with two digits, "1.00" of a match only.

    >>> truncated(1.0), truncated(0.9999), truncated(-0.004)
    ('1.00', '0.99', '0.00')
    """
    return f"{np.trunc(100 * index + 1e-9) / 100 + 0.0:.2f}"


def outlines(points: Points, match: Match, name: Mapping[int, str]) -> list[Outline]:
    """A rounded outline of each cluster, named by the class that most of its rows have, and whether it matches."""
    around = np.linspace(0, 2 * np.pi, CORNERS, endpoint=False)
    pen = ROOM * np.ptp(points, axis=0).max() * np.stack([np.cos(around), np.sin(around)], 1)  # (corners, 2)
    rims = []
    for k, e in enumerate(match.classes):
        # What lies round a hull lies in the hull of circles round its corners.
        circles = hull(points[match.clusters == k])[:, None] + pen  # (hull, corners, 2)
        rim = hull(circles.reshape(-1, 2))  # (hull * corners, 2), and of these the outermost
        rims.append(Outline(rim.tolist(), name[int(e)], int(e), k in match.whole))
    return rims


def hull(points: Points) -> Points:
    """The corners of the convex hull of points, counted against the clock (Andrew's monotone chain, 1979).

    >>> hull(np.array([[0, 0], [2, 0], [1, 1], [2, 2], [0, 2], [1, 0]])).tolist()
    [[0, 0], [2, 0], [2, 2], [0, 2]]
    >>> hull(np.array([[1, 1], [1, 1]])).tolist()
    [[1, 1]]
    """
    rows = np.unique(points, axis=0)  # sorted from left to right
    if len(rows) < 3:
        return rows

    def half(row: Points) -> list[Points]:
        kept: list[Points] = []
        for point in row:
            while len(kept) > 1 and turn(kept[-2], kept[-1], point) <= 0:
                kept.pop()
            kept.append(point)
        return kept[:-1]

    return np.array([*half(rows), *half(rows[::-1])])


def turn(a: Points, b: Points, c: Points) -> float:
    """Twice the area of the triangle, above 0 where the way from a over b to c turns to the left."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def ways(match: Match, moves: ClassMoves) -> dict[tuple[int, int], list[str]]:
    """Which symbols move the heap of a class to that of another.

    Only heaps that match are moved, and only to such: elsewhere the network has no states that could be. None at all
    where there would be more than `MAX_ARROWS`.
    """
    whole = match.classes[match.whole].tolist()
    symbols_between = {
        (start, end): symbols
        for start in whole
        for end, symbols in moves.from_class(start).items()
        if end in whole and end != start
    }
    return symbols_between if len(symbols_between) <= MAX_ARROWS else {}


def middles(points: Points, match: Match) -> dict[int, list[float]]:
    """Where the heap of each class that matches lies: the mean of its points."""
    return {int(match.classes[k]): points[match.clusters == k].mean(0).tolist() for k in match.whole}


def arrows(points: Points, match: Match, moves: ClassMoves) -> list[Arrow]:
    """What each symbol does, from heap to heap. Symbols that do the same share an arrow."""
    middle = middles(points, match)
    return [Arrow(middle[start], middle[end], ", ".join(of)) for (start, end), of in ways(match, moves).items()]


def letters(match: Match, name: Sequence[str], moves: ClassMoves | None) -> dict[int, str]:
    """What is written beside the cluster of each class: its name, and, of one that matches, which symbols keep it."""
    written = {int(e): name[int(e)] for e in match.classes}
    if moves is not None:
        for element in match.classes[match.whole].tolist():
            if kept := moves.from_class(element).get(element):
                written[element] += f" ↺ {', '.join(kept)}"
    return written
