"""Arrows, and directions in the plane."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from regulargpt.findings.markup import Point, points, tag

SAMPLES = 25  # points of a curve, between which it is nearly straight
Curve = npt.NDArray[np.floating]  # (SAMPLES, 2), or any points


def head(tip: Point, back: Point, size: float = 1.0) -> str:
    """The head of an arrow."""
    base, across = moved(tip, back, 11 * size), (-back[1], back[0])
    return tag("polygon", points=points([tip, moved(base, across, 5 * size), moved(base, across, -5 * size)]))


def moved(place: Point, direction: Point, by: float) -> Point:
    """A point some way off."""
    return place[0] + by * direction[0], place[1] + by * direction[1]


def towards(a: Point, b: Point) -> Point:
    """The direction from a to b."""
    d = math.dist(a, b)
    return (b[0] - a[0]) / d, (b[1] - a[1]) / d


def angle(a: Point, b: Point) -> float:
    """The same as an angle."""
    return math.atan2(b[1] - a[1], b[0] - a[0])


def turn(a: float, b: float) -> float:
    """The angle between two directions.

    >>> round(turn(0.1, -0.1 + 4 * math.pi), 6)
    0.2
    """
    return abs((a - b + math.pi) % (2 * math.pi) - math.pi)


def at(place: Point) -> str:
    """A point in a path."""
    return points([place])


def path(controls: Sequence[Point]) -> str:
    """A line, or a Bézier curve with three or four control points, as a path.

    >>> path([(0, 0), (1, 2)]), path([(0, 0), (1, 2), (2, 0)])
    ('M0,0 L1,2', 'M0,0 Q1,2 2,0')
    """
    first, *rest = map(at, controls)
    return f"M{first} {'LQC'[len(rest) - 1]}{' '.join(rest)}"


def sampled(controls: Sequence[Point]) -> Curve:
    """Points along such a line or curve.

    >>> sampled([(0, 0), (1, 2), (2, 0)])[12].tolist()  # half way
    [1.0, 1.0]
    """
    t = np.linspace(0, 1, SAMPLES)[:, None]  # (SAMPLES, 1)
    rows = [np.array([control]) for control in controls]
    while len(rows) > 1:
        rows = [(1 - t) * a + t * b for a, b in itertools.pairwise(rows)]  # de Casteljau
    return rows[0]


def cross(first: Curve, other: Curve) -> bool:
    """Whether two curves cross.

    >>> flat, steep = sampled([(0, 0), (3, 1)]), sampled([(1, -1), (1, 2)])
    >>> cross(flat, steep), cross(flat, flat + 1)
    (True, False)
    """
    a, b = first[:-1, None], first[1:, None]  # (SAMPLES - 1, 1, 2)
    c, d = other[None, :-1], other[None, 1:]  # (1, SAMPLES - 1, 2)
    return bool(((left(a, b, c) != left(a, b, d)) & (left(c, d, a) != left(c, d, b))).any())


def left(a: Curve, b: Curve, c: Curve) -> npt.NDArray[np.bool_]:
    """Whether the point c is on one side of the line from a to b, or on the line; false on the other side."""
    u, v = b - a, c - a
    return u[..., 0] * v[..., 1] >= u[..., 1] * v[..., 0]
