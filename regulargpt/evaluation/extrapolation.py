"""Whether a language model extrapolates: its perplexity beyond the training length against that at it, in pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regulargpt.config.options import as_mapping
from regulargpt.config.schema import RunConfig
from regulargpt.evaluation.by_length import Point
from regulargpt.evaluation.interval import Interval
from regulargpt.evaluation.measures import exp
from regulargpt.evaluation.segments import NLL

GAINS, HOLDS, EXPLODES = 0.99, 1.05, 1.5


@dataclass(frozen=True)
class Extrapolation:
    """The perplexity at each length over that at the shortest, with 95 % intervals over the segments.

    >>> found = Extrapolation(64, {128: Interval(1.0, 0.9, 1.1), 256: Interval(1.8, 1.7, 1.9)})
    >>> found.verdict, found.worst
    ('explodes', 256)
    """

    base: int
    ratios: Mapping[int, Interval]
    attention: str = "full"

    @property
    def worst(self) -> int:
        """The length with the largest ratio."""
        return max(self.ratios, key=lambda length: self.ratios[length].value)

    @property
    def verdict(self) -> str:
        """By the rule of docs/text.md: "improves", "holds", "degrades" or "explodes".

        It explodes if a ratio is above 1.5 with its whole interval, and holds if none is above 1.05. It improves if,
        besides, the ratio at the longest length is at most 0.99, and below 1 with its whole interval.
        """
        if any(ratio.low > EXPLODES for ratio in self.ratios.values()):
            return "explodes"
        if any(ratio.value > HOLDS for ratio in self.ratios.values()):
            return "degrades"
        longest = self.ratios[max(self.ratios)]
        return "improves" if longest.value <= GAINS and longest.high < 1 else "holds"

    @property
    def sentence(self) -> str:
        """The verdict with its figure, at the longest length if it holds, else at the worst.

        >>> Extrapolation(64, {128: Interval(1.0, 0.998, 1.002)}, "bca").sentence
        'With attention bca it extrapolates: at 2 times the training length, perplexity x 1.000 (95 % interval 0.998 to 1.002).'
        """  # noqa: E501
        length = max(self.ratios) if self.verdict in ("improves", "holds") else self.worst
        ratio = self.ratios[length]
        words = {
            "improves": "extrapolates and improves",
            "holds": "extrapolates",
            "degrades": "degrades",
            "explodes": "does not extrapolate",
        }[self.verdict]
        # What is kept from seeing far says little of what was learned.
        it = "It" if self.attention == "full" else f"With attention {self.attention} it"
        times = f"{length // self.base} times" if length % self.base == 0 else f"{length / self.base:.1f} times"
        value, low, high = (f"{x:.3f}" if x < 10 else f"{x:.4g}" for x in (ratio.value, ratio.low, ratio.high))
        return f"{it} {words}: at {times} the training length, perplexity x {value} (95 % interval {low} to {high})."

    def as_json(self) -> dict[str, Any]:
        """As summary.json has it."""
        ratios = {str(T): [ratio.value, ratio.low, ratio.high] for T, ratio in self.ratios.items()}
        return {"base": self.base, "ratios": ratios, "verdict": self.verdict, "sentence": self.sentence}


def extrapolation(
    nll: Mapping[int, np.ndarray], base: int, attention: str = "full", files: Mapping[int, np.ndarray] = {}
) -> Extrapolation | None:
    """The ratios to the length `base`, from the nats per symbol of each segment; None without a longer length.

    Where every length has the same segments, differences are taken segment by segment: they vary far less than the
    segments do. `files` has the file that each segment lies in: those of one file are not independent.

    >>> found = extrapolation({64: np.array([1.0, 3.0]), 128: np.array([1.1, 3.1])}, base=64)
    >>> round(found.ratios[128].value, 4), round(found.ratios[128].high, 4)
    (1.1052, 1.1052)
    """
    longer = {T: values for T, values in nll.items() if base < T}
    if base not in nll or not longer:
        return None
    return Extrapolation(
        base,
        {T: ratio((values, files.get(T)), (nll[base], files.get(base))) for T, values in longer.items()},
        attention,
    )


# Of each segment: nats a symbol, and its file where that is known.
Measured = tuple[np.ndarray, np.ndarray | None]


def ratio(longer: Measured, base: Measured) -> Interval:
    """exp of the difference of the means, in pairs where there are as many."""
    if len(longer[0]) == len(base[0]):
        return Interval.of_mean(longer[0] - base[0], longer[1]).through(exp)
    parts = [Interval.of_mean(*part) for part in (longer, base)]
    middle = parts[0].value - parts[1].value
    half = math.hypot(*(part.high - part.value for part in parts))
    return Interval(middle, middle - half, middle + half, parts[0].over).through(exp)


def text_facts(points: Sequence[Point], config: RunConfig) -> dict[str, Any]:
    """What summary.json says of a test on a text beside its measures; nothing for words of a language."""
    nll = {point.length: point.of_words[NLL] for point in points if NLL in point.of_words}
    if not nll:
        return {}
    files = {point.length: point.files for point in points if point.files is not None}
    found = extrapolation(nll, config.data.train_len, config.evaluation.attention, files)
    return {
        "scoring": as_mapping(config.data).get("scoring"),
        "attention": config.evaluation.attention,
        "no_words_of_length": [length for length in config.tested if length not in nll],
        "extrapolation": None if found is None else found.as_json(),
    }
