"""A picture of the prototypes in two dimensions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from regulargpt.findings.markup import tag, text
from regulargpt.measurements.plane import plane

Floats = npt.NDArray[np.float64]

WIDTH, HEIGHT, EDGE = 420.0, 310.0, 44.0
RADIUS = 9.0


def scatter(prototypes: Floats, labels: Sequence[str], colours: Sequence[tuple[str, str]]) -> str:
    """A dot for each prototype with the words it stands for; where labels would overlap, only the first is shown."""
    places, explained = plane(prototypes)
    low, high = places.min(0), places.max(0)
    # One unit for both axes: a component that nothing varies in is flat, however small its numbers are.
    room = np.array([WIDTH - 2 * EDGE, HEIGHT - 2 * EDGE])
    unit = float((room / np.maximum(high - low, 1e-9)).min())
    offsets = unit * (places - (low + high) / 2)  # (prototypes, 2)
    xs, ys = WIDTH / 2 + offsets[:, 0], HEIGHT / 2 - offsets[:, 1]
    shown = free_labels(xs.tolist(), ys.tolist(), [len(label) for label in labels])
    dots = [
        dot(i, label, (x, y), colour, i in shown)
        for i, (label, x, y, colour) in enumerate(zip(labels, xs.tolist(), ys.tolist(), colours, strict=True))
    ]
    axes = [
        tag("text", text(f"component 1: {explained[0]:.0%} of the variance"), x=WIDTH / 2, y=HEIGHT - 6, class_="axis"),
        tag(
            "text",
            text(f"component 2: {explained[1]:.0%}"),
            x=13,
            y=HEIGHT / 2,
            transform=f"rotate(-90 13 {HEIGHT / 2})",
            class_="axis",
        ),
    ]
    return tag(
        "svg",
        *axes,
        *dots,
        class_="plot scatter",
        viewBox=f"0 0 {WIDTH:.0f} {HEIGHT:.0f}",
        role="img",
        aria_label=f"{len(labels)} prototypes in two dimensions; the table below lists them",
    )


def dot(i: int, label: str, place: tuple[float, float], colours: tuple[str, str], shown: bool) -> str:
    """One prototype with its number; the script writes into `count` how many nodes of the typed word are at it."""
    (x, y), (colour, ink) = place, colours
    return tag(
        "g",
        tag("title", text(f"prototype {i + 1}: {label}")),
        tag("circle", cx=x, cy=y, r=RADIUS, fill=colour),
        tag("text", text(label), x=x, y=y - RADIUS - 5, class_="name" if shown else "name spare"),
        tag("text", text(i + 1), x=x, y=y + 4, class_="number light" if ink == "#FFFFFF" else "number dark"),
        tag("text", x=x + RADIUS + 8, y=y + RADIUS + 9, class_="count"),
        class_="prototype",
        data_prototype=i + 1,
    )


def free_labels(xs: Sequence[float], ys: Sequence[float], lengths: Sequence[int]) -> set[int]:
    """The dots whose labels touch no earlier label and no dot.

    >>> sorted(free_labels([0, 5, 200], [0, 3, 0], [4, 4, 4]))
    [0, 2]
    """
    chosen: list[tuple[int, float, float, float]] = []
    for i, (x, y, length) in enumerate(zip(xs, ys, lengths, strict=True)):
        half = 4.5 * length + 2
        clear = all(abs(x - a) > half + b or abs(y - c) > 16 for _, a, c, b in chosen)
        if clear:
            chosen.append((i, x, y, half))
    return {i for i, *_ in chosen}
