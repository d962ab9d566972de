"""What a test can measure, by name. Tables, pictures and pages know a measure by this and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from regulargpt.tables import number


@dataclass(frozen=True)
class Measure:
    """A measure: what axes and headings call it, its unit, which values are good, and between which bounds they lie.

    A bound is None where there is none. `of_mean` makes the measure from the mean over words (or segments): it rises.
    """

    name: str
    label: str
    unit: str
    higher_is_better: bool
    low: float | None
    high: float | None
    of_mean: Callable[[float], float] = float
    scales: str = ""
    """The measure that it is made of, so that 0 is chance and 100 all right; it is made where a table asks for it."""

    @property
    def best(self) -> float | None:
        """The best value there can be, if any."""
        return self.high if self.higher_is_better else self.low

    def worst(self, values: Iterable[float]) -> float:
        """The worst of several values.

        >>> MEASURES["accuracy"].worst([99.0, 100.0])
        99.0
        """
        return min(values) if self.higher_is_better else max(values)


@dataclass(frozen=True)
class Guess:
    """What a measure is, as a share, of rules that do not read the word.

    `chance` is that of a fair guess wherever an answer is asked, `shares` those of always giving the same answer, one
    for each answer.
    """

    chance: float
    shares: tuple[float, ...]


def exp(nats: float) -> float:
    """e to that power; from 700 on that of 700, since files of JSON hold no infinity."""
    return math.exp(min(nats, 700.0))


MEASURES = {
    measure.name: measure
    for measure in (
        Measure("accuracy", "accuracy (%)", "%", True, 0.0, 100.0),
        Measure("scaled_accuracy", "scaled accuracy (%)", "%", True, None, 100.0, scales="accuracy"),
        Measure("accuracy_by_position", "accuracy by position (%)", "%", True, 0.0, 100.0),
        Measure("words", "whole words right (%)", "%", True, 0.0, 100.0),
        Measure("next_sets", "words with every set of next symbols right (%)", "%", True, 0.0, 100.0),
        Measure("next_sets_by_position", "sets of next symbols by position (%)", "%", True, 0.0, 100.0),
        Measure("exact_match", "exact match (%)", "%", True, 0.0, 100.0),
        Measure("choice", "likeliest of four answers (%)", "%", True, 0.0, 100.0),
        Measure("bits_per_byte", "bits per byte", "bits per byte", False, 0.0, None),
        Measure("nll", "nats per symbol", "nats", False, 0.0, None),
        Measure("perplexity", "perplexity", "", False, 1.0, None, exp),
    )
}


def measure(name: str) -> Measure:
    """The measure of this name. One that nobody described goes by its name, without bounds, and more is better.

    >>> measure("accuracy").unit, measure("my_measure").label
    ('%', 'my_measure')
    """
    return MEASURES.get(name) or Measure(name, name, "", True, None, None)


def denominator(ratios: Mapping[str, Any] | None) -> str:
    """What the ratios in summary.json are to, for a heading.

    >>> denominator({"base": 64, "ratios": {"128": [1.0, 0.9, 1.1]}})
    'the training length'
    >>> denominator({"base": 64, "ratios": {"64": [1.2, 1.1, 1.3], "128": [1.4, 1.3, 1.5]}})
    'the network as trained, at its training length'
    """
    changed = ratios is not None and str(ratios["base"]) in ratios["ratios"]
    return "the network as trained, at its training length" if changed else "the training length"


def said(known: Measure, value: float) -> str:
    """A measure with its value: its name, where the unit does not say it.

    >>> said(measure("accuracy"), 99.5), said(measure("bits_per_byte"), 2.25)
    ('accuracy 99.50 %', '2.25 bits per byte')
    """
    shown = f"{number(value, known.unit)} {known.unit}".rstrip()
    return shown if known.unit == known.name.replace("_", " ") else f"{known.name} {shown}"
