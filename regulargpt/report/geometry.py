"""Arrows, and directions in the plane."""

from __future__ import annotations

import math

from regulargpt.report.svg import Point, points, tag


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
