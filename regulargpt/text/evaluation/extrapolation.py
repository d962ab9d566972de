"""Whether a language model extrapolates: its perplexity beyond the training length against that at it, in pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regulargpt.config.schema import RunConfig
from regulargpt.evaluation.by_length import Point
from regulargpt.evaluation.interval import Interval
from regulargpt.evaluation.segments import NLL
from regulargpt.objectives.measures import exp
from regulargpt.options import as_mapping
from regulargpt.text.evaluation.reference import Reference

GAINS, HOLDS, EXPLODES = 0.99, 1.05, 1.5
LEARNED = 0.9
"""What has learned from a text more than pairs of symbols has a perplexity below so much of a bigram's."""


@dataclass(frozen=True)
class Extrapolation:
    """The perplexity at each length over that of the network as it was trained, at the training length `base`.

    With 95 % intervals. The ratio at `base` itself is there if the network was tested otherwise than
    it was trained: with a temperature, a restricted attention, or options changed. `bigram` is the perplexity as it was
    trained over that of a bigram, both at `base`.

    >>> found = Extrapolation(64, {128: Interval(1.0, 0.9, 1.1), 256: Interval(1.8, 1.7, 1.9)}, Interval(0.4, 0.3, 0.5))
    >>> found.verdict, found.worst
    ('explodes', 256)
    """

    base: int
    ratios: Mapping[int, Interval]
    bigram: Interval
    attention: str = "full"

    @property
    def worst(self) -> int:
        """The length with the largest ratio."""
        return max(self.ratios, key=lambda length: self.ratios[length].value)

    @property
    def verdict(self) -> str:
        """By the rule of docs/text.md: "damaged", "explodes", "degrades", "weak", "improves" or "holds".

        It is damaged if its ratio at the training length itself is above 1.05. It explodes if a ratio is above 1.5 with
        its whole interval, and degrades if one is above 1.05. It is weak if, as it was trained, its perplexity is not
        below 0.9 of a bigram's with the whole interval. It improves if the ratio at the longest length is at most 0.99,
        and below 1 with its whole interval. Else it holds.
        """
        longest = self.ratios[max(self.ratios)]
        if self.base in self.ratios and self.ratios[self.base].value > HOLDS:
            return "damaged"
        if any(ratio.low > EXPLODES for ratio in self.ratios.values()):
            return "explodes"
        if any(ratio.value > HOLDS for ratio in self.ratios.values()):
            return "degrades"
        if self.bigram.high >= LEARNED:
            return "weak"
        return "improves" if longest.value <= GAINS and longest.high < 1 else "holds"

    @property
    def sentence(self) -> str:
        """The verdict with its figure: of the longest length if it holds, else of the worst.

        >>> Extrapolation(64, {128: Interval(1.0, 0.998, 1.002)}, Interval(0.4, 0.3, 0.5), "bca").sentence
        'With attention bca it extrapolates: at 2 times the training length, perplexity x 1.000 (95 % interval 0.998 to 1.002).'
        >>> Extrapolation(64, {64: Interval(2.8, 2.7, 2.9), 128: Interval(2.8, 2.7, 2.9)}, Interval(0.4, 0.3, 0.5)).sentence
        'As tested, it is worse already at the training length: perplexity x 2.800 that of the network as it was trained (95 % interval 2.700 to 2.900).'
        >>> Extrapolation(64, {128: Interval(1.0, 0.998, 1.002)}, Interval(1.1, 1.0, 1.2)).sentence
        'It says nothing about length: at the training length, perplexity x 1.100 that of a bigram (95 % interval 1.000 to 1.200).'
        """  # noqa: E501
        verdict = self.verdict
        # What is kept from seeing far says little of what was learned.
        it = "It" if self.attention == "full" else f"With attention {self.attention} it"
        if verdict == "damaged":
            it, more = it.replace("It", "As tested, it"), " that of the network as it was trained"
            return f"{it} is worse already at the training length: {figure(self.ratios[self.base], more)}."
        if verdict == "weak":
            return (
                f"{it} says nothing about length: at the training length, {figure(self.bigram, ' that of a bigram')}."
            )
        length = max(self.ratios) if verdict in ("improves", "holds") else self.worst
        words = {
            "improves": "extrapolates and improves",
            "holds": "extrapolates",
            "degrades": "degrades",
            "explodes": "does not extrapolate",
        }[verdict]
        times = f"{length // self.base} times" if length % self.base == 0 else f"{length / self.base:.1f} times"
        return f"{it} {words}: at {times} the training length, {figure(self.ratios[length])}."

    def as_json(self) -> dict[str, Any]:
        ratios = {str(T): [ratio.value, ratio.low, ratio.high] for T, ratio in self.ratios.items()}
        bigram = [self.bigram.value, self.bigram.low, self.bigram.high]
        return {
            "base": self.base,
            "ratios": ratios,
            "bigram": bigram,
            "verdict": self.verdict,
            "sentence": self.sentence,
        }


def figure(ratio: Interval, more: str = "") -> str:
    """A ratio of perplexities in words.

    >>> figure(Interval(1.5, 1.25, 12.0), " that of a bigram")
    'perplexity x 1.500 that of a bigram (95 % interval 1.250 to 12)'
    """
    value, low, high = (f"{x:.3f}" if x < 10 else f"{x:.4g}" for x in (ratio.value, ratio.low, ratio.high))
    return f"perplexity x {value}{more} (95 % interval {low} to {high})"


def extrapolation(
    nll: Mapping[int, np.ndarray],
    base: int,
    reference: Reference,
    attention: str = "full",
    files: Mapping[int, np.ndarray] = {},
) -> Extrapolation | None:
    """The ratios to the network as it was trained at length `base`, from the nats per symbol of each segment.

    None if no longer length was tested, or not this length. Where every length has the same segments, differences are
    taken segment by segment: they vary far less than the segments do. `files` has the file that each segment lies in:
    those of one file are not independent.

    >>> trained, bigram = np.array([1.0, 3.0]), np.array([2.0, 4.0])
    >>> found = extrapolation({64: trained, 128: np.array([1.1, 3.1])}, 64, Reference(trained, bigram))
    >>> round(found.ratios[128].value, 4), round(found.ratios[128].high, 4), round(found.bigram.value, 4)
    (1.1052, 1.1052, 0.3679)
    """
    if base not in nll or base == max(nll):
        return None
    # Computed once more, the same network may round otherwise.
    first = base + 1 if np.allclose(nll[base], reference.trained, rtol=1e-5, atol=1e-6) else base
    trained = reference.trained, reference.files
    ratios = {T: ratio((values, files.get(T)), trained) for T, values in nll.items() if first <= T}
    return Extrapolation(base, ratios, ratio(trained, (reference.bigram, reference.files)), attention)


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


def ratio_of(point: Point, base: Point) -> Interval:
    """The ratio of the perplexities of two tests on a text."""
    return ratio((point.of_words[NLL], point.files), (base.of_words[NLL], base.files))


def text_facts(
    points: Sequence[Point], config: RunConfig, reference: Reference | None, base: int = 0
) -> dict[str, Any]:
    """What summary.json says of a test on a text beside its measures; nothing for words of a language.

    Ratios are to `base`, or else to the config's training length.
    """
    nll = {point.length: point.of_words[NLL] for point in points if NLL in point.of_words}
    if not nll:
        return {}
    length, attention = base or config.data.train_len, config.evaluation.attention
    files = {point.length: point.files for point in points if point.files is not None}
    extrapolated = None if reference is None else extrapolation(nll, length, reference, attention, files)
    return {
        "scoring": as_mapping(config.data).get("scoring"),
        "attention": attention,
        "no_words_of_length": [length for length in config.tested if length not in nll],
        "extrapolation": None if extrapolated is None else extrapolated.as_json(),
    }
