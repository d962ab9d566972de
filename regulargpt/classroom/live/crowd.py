"""Behind a map's points: all states that `verify` clusters, the clusters that it finds, and what symbols do to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from languages.randomness import rng
from regulargpt.classroom.live.numbers import encoded

if TYPE_CHECKING:
    from regulargpt.findings import Outline

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.integer]

STEPS = 999  # of the wider side of the map: a place has three digits
MOST_DOTS, MOST_OUTLINES = 5000, 200


@dataclass(frozen=True)
class Crowd:
    """The states, coloured by class, and what was found in them; the classes are those of `verify`.

    `dots` (dots, 3) are the places of the states, in steps of the grid, with their classes: no two are alike. The grid
    begins at `corner` (2,), and `step` is its width in the plane. `ways` say which symbols, by number, move the heap of
    one class to that of another, `kept` which leave it where it is; `middles` is where heaps lie. `pairs` are the
    page's numbers of monoid elements, or of states of the automaton, each with its class. `reads` is the class of the
    empty word, and what symbols make of each class; None along brackets.
    """

    dots: Ints
    corner: Floats
    step: float
    sentence: str
    said: str
    outlines: Sequence[Outline]
    ways: Mapping[tuple[int, int], Sequence[int]]
    kept: Mapping[int, Sequence[int]]
    middles: Mapping[int, Sequence[float]]
    pairs: Sequence[tuple[int, int]]
    reads: tuple[int, list[list[int]]] | None

    def data(self) -> dict[str, Any]:
        """JSON values for the script: places are steps of the grid, two 16-bit integers each."""
        kinds = np.unique(self.dots[:, 2]).tolist()
        return {
            "grid": [float(f"{value:.6g}") for value in (*self.corner, self.step)],
            "dots": [[kind, self.places(self.dots[self.dots[:, 2] == kind, :2])] for kind in kinds],
            "outlines": [
                [of.colour, of.name, of.is_sure, self.places(self.on_grid(of.corners))] for of in self.outlines
            ],
            "arrows": [[*ends, list(symbols)] for ends, symbols in self.ways.items()],
            "kept": {str(kind): list(symbols) for kind, symbols in self.kept.items()},
            "middles": {str(kind): self.on_grid([at])[0].tolist() for kind, at in self.middles.items()},
            "pairs": list(self.pairs),
            "reads": self.reads,
        }

    def on_grid(self, points: Floats | Sequence[Sequence[float]]) -> Ints:
        """Points (n, 2) in steps of the grid."""
        return steps(np.asarray(points), self.corner, self.step)

    def places(self, points: Ints) -> str:
        return encoded(points, kind="<i2")


def steps(points: Floats, corner: Floats, step: float) -> Ints:
    """Points (n, 2) of the plane in steps of a grid."""
    return np.rint((points - corner) / step).astype(np.int64)


def folded(points: Ints, classes: Ints, seed: int) -> tuple[Ints, int]:
    """Points (n, 2) with their classes (dots, 3), equal ones of a class once, and how many of these there are.

    Of more than `MOST_DOTS` so many, drawn by the seed.

    >>> folded(np.array([[1, 2], [1, 2], [1, 2]]), np.array([7, 0, 7]), 0)[0].tolist()
    [[1, 2, 0], [1, 2, 7]]
    """
    rows = np.unique(np.column_stack([points, classes]), axis=0)
    return rows[np.sort(rng(seed, "crowd").permutation(len(rows))[:MOST_DOTS])], len(rows)


def said(states: int, clustered: int, places: int, words: int, length: int) -> str:
    """What is drawn, in words.

    >>> said(2281, 2281, 40, 32, 500)
    'Behind the points are the 2,281 states that verify takes from 32 words of length 500, as 40 dots.'
    >>> said(9000, 3000, 7000, 32, 500).partition(", as ")[2]
    '5,000 of 7,000 dots. The clusters are those of 3,000 states.'
    """
    dots = f"{places:,} dot{'s' * (places != 1)}"
    text = f"Behind the points are the {states:,} states that verify takes from {words} words of length {length:,}, as "
    text += f"{MOST_DOTS:,} of {dots}." if places > MOST_DOTS else f"{dots}."
    return text + (f" The clusters are those of {clustered:,} states." if clustered < states else "")
