"""The scores by which methods are compared: what of a test is shown, and in which of its numbers ratios are taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from regulargpt.evaluation.by_length import Point
from regulargpt.evaluation.interval import Interval
from regulargpt.evaluation.segments import NLL
from regulargpt.runs.again import Retest
from regulargpt.text.evaluation.extrapolation import ratio

Points = Mapping[int, Point]


@dataclass(frozen=True)
class Score:
    """A measure of a point by its name, and `nats`, that of its ratios: exp of differences, segment by segment.

    `prefix` is put before the names of the ratios. `within` makes a test measure it, where a usual test does not.
    """

    measure: str
    label: str
    nats: str = NLL
    prefix: str = ""
    within: Callable[[Retest], Retest] = lambda test: test
    to_base: str = ""
    """What heads a table of the second ratios, if any."""

    @property
    def to_trained(self) -> str:
        """What reports call the ratio to the network as trained, at the same length."""
        return f"{self.prefix}to_trained"

    @property
    def to_training_length(self) -> str:
        """What they call that to the network as trained, at the training length."""
        return f"{self.prefix}to_training_length"

    @property
    def keys(self) -> tuple[str, str, str]:
        """All that is said of it."""
        return self.measure, self.to_trained, self.to_training_length

    @property
    def facts(self) -> str:
        """All that the measure depends on beside the test."""
        return self.measure

    def notes(self, values: Mapping[str, Any], longest: str) -> list[str]:
        """What else is said of the methods."""
        return []

    def ratio(self, point: Point, base: Point) -> Interval:
        """That of two tests."""
        return ratio((point.of_words[self.nats], point.files), (base.of_words[self.nats], base.files))

    def values(self, points: Points, trained: Points, base: int) -> dict[str, Any]:
        """What is said of a method by length: the measure, and its ratios to the network as trained."""
        measured = {T: point.measures[self.measure] for T, point in points.items()}
        here = {T: self.ratio(point, trained[T]) for T, point in points.items() if T in trained}
        at_base = {T: self.ratio(point, trained[base]) for T, point in points.items() if base in trained}
        named = zip(self.keys, (measured, here, at_base), strict=True)
        return {name: {str(T): [x.value, x.low, x.high] for T, x in of.items()} for name, of in named}


BITS = Score("bits_per_byte", "bits per byte")
SCORES = (BITS,)
