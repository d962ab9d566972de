"""A value and its interval: of shares of words, of segments that lie in files, of networks that differ by the seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float, Int

LEVEL = 0.95
Z = 1.959963984540054  # 95 % of a normal distribution lie within so many standard deviations
# A sentence about a kind of network needs so many networks of it; fewer are just these.
ENOUGH_SEEDS = 3
SEEDS, FILES, WORDS, SEGMENTS = "seeds", "files", "words", "segments"
# What was measured of one network: a number a segment (or word), and the file that each lies in.
Sample = tuple[Float[np.ndarray, " n"], Int[np.ndarray, " n"]]


@dataclass(frozen=True)
class Interval:
    """A value, the ends of its interval, what was drawn to make it and how many of each, and how often it is right.

    `over` names what the interval generalises to: words, segments, files of text, seeds, languages. It says nothing
    of what is not named there. An exact number is over nothing.

    >>> Interval(2.0, 1.0, 3.0, {"files": 15})
    Interval(value=2.0, low=1.0, high=3.0, over={'files': 15}, level=0.95)
    """

    value: float
    low: float
    high: float
    over: Mapping[str, int] = field(default_factory=dict)
    level: float = LEVEL

    @classmethod
    def exactly(cls, value: float) -> Interval:
        return cls(value, value, value)

    @classmethod
    def of_right(cls, right: float, n: int) -> Interval:
        """The share of right words in percent, with Wilson's interval.

        Of words that are each right in part it is too wide rather than too narrow: shares vary most if they are 0 or 1.

        >>> Interval.of_right(512, 512)
        Interval(value=100.0, low=99.25530242771171, high=100.0, over={'words': 512}, level=0.95)
        """
        p = right / n
        centre = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
        half = Z * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n)) / (1 + Z * Z / n)
        # Rounding may put the interval's end beside a share of 0 or 1, which is in it.
        low, high = max(0.0, min(p, centre - half)), min(1.0, max(p, centre + half))
        return cls(100 * p, 100 * low, 100 * high, {WORDS: n})

    @classmethod
    def of_paired(cls, right: Bool[np.ndarray, " n"], other: Bool[np.ndarray, " n"]) -> Interval:
        """The share of right words less another one's of the same words, in percent (Agresti and Min 2005).

        Wald's interval of matched pairs with half a word added to each of the four cells: it has a width, also where
        both are right or wrong together.

        >>> found = Interval.of_paired(np.array([True] * 8), np.array([True] * 4 + [False] * 4))
        >>> found.value, round(found.low, 1), round(found.high, 1)
        (50.0, 3.9, 76.1)
        """
        n = len(right)
        gained, lost = int((right & ~other).sum()), int((other & ~right).sum())
        middle, added = (gained - lost) / (n + 2), n + 2
        half = Z * math.sqrt((gained + lost + 1) / added - middle**2) / math.sqrt(added)
        low, high = max(-1.0, middle - half), min(1.0, middle + half)
        return cls(100 * (gained - lost) / n, 100 * low, 100 * high, {WORDS: n})

    @classmethod
    def of_mean(cls, numbers: Float[np.ndarray, " n"], files: Int[np.ndarray, " n"] | None = None) -> Interval:
        """The mean of one network's numbers with Student's interval; those of one file differ less than others do.

        >>> Interval.of_mean(np.array([1.0, 1.0, 1.0]))
        Interval(value=1.0, low=1.0, high=1.0, over={'words': 3}, level=0.95)
        """
        if files is not None:
            return cls.of_networks([(numbers, files)])
        mean, n = float(numbers.mean()), len(numbers)
        # One word says nothing about others: its interval is itself, and the number of words says why.
        half = student(n - 1) * float(numbers.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
        return cls(mean, mean - half, mean + half, {WORDS: n})

    @classmethod
    def of_networks(cls, samples: Sequence[Sample]) -> Interval:
        """The mean over networks and, of each, over its segments: `crossed` has their spread.

        Of two networks it holds the interval of each. Where all segments lie in one file, they take the place of files.

        >>> one = np.array([1.0, 1.0, 3.0, 3.0]), np.array([0, 0, 1, 1])
        >>> found = Interval.of_networks([one])
        >>> found.value, round(found.high - found.value, 3) == round(student(1) * 1.0, 3), dict(found.over)
        (2.0, True, {'seeds': 1, 'files': 2})
        """
        if 1 < len(samples) < ENOUGH_SEEDS:
            return cls.over_seeds([cls.of_networks([sample]) for sample in samples])
        what = FILES if len({int(file) for _, files in samples for file in files}) > 1 else SEGMENTS
        known = samples if what == FILES else [(numbers, np.arange(len(numbers))) for numbers, _ in samples]
        if all(len(numbers) == 1 for numbers, _ in known):
            return cls.over_seeds([cls.exactly(float(numbers[0])) for numbers, _ in known])
        value, variance, freedom, count = crossed(known)
        half = student(freedom) * math.sqrt(variance)
        return cls(value, value - half, value + half, {SEEDS: len(samples), what: count})

    @classmethod
    def over_seeds(cls, intervals: Sequence[Interval]) -> Interval:
        """The mean of networks of which the intervals alone are known.

        Of three seeds or more it is Student's of their values, in which what their own words add is contained; it is
        never narrower than that of the mean of just these networks, whose intervals are added as independent errors. Of
        two it goes from the lowest end to the highest: what is outside, is for each.

        >>> two = Interval.over_seeds([Interval(2.0, 1.0, 3.0), Interval(4.0, 3.0, 6.0)])
        >>> two.value, two.low, two.high, two.seeds
        (3.0, 1.0, 6.0, 2)
        """
        values, n = np.array([interval.value for interval in intervals]), len(intervals)
        value = float(values.mean())
        over = {
            **{name: min(interval.over.get(name, 0) for interval in intervals) for name in intervals[0].over},
            SEEDS: n,
        }
        if n < ENOUGH_SEEDS:
            return cls(
                value, min(interval.low for interval in intervals), max(interval.high for interval in intervals), over
            )
        spread = student(n - 1) * float(values.std(ddof=1)) / math.sqrt(n)
        below, above = (
            max(spread, math.hypot(*ends) / n)
            for ends in (
                [interval.value - interval.low for interval in intervals],
                [interval.high - interval.value for interval in intervals],
            )
        )
        return cls(value, value - below, value + above, over)

    @property
    def seeds(self) -> int:
        return self.over.get(SEEDS, 1)

    def minus(self, other: Interval) -> Interval:
        """The difference of two that are not paired: its interval holds all differences of their numbers.

        >>> found = Interval(2.0, 1.0, 3.0).minus(Interval(1.0, 0.0, 1.5))
        >>> found.value, found.low, found.high
        (1.0, -0.5, 3.0)
        """
        return Interval(self.value - other.value, self.low - other.high, self.high - other.low, self.over, self.level)

    def through(self, rising: Callable[[float], float]) -> Interval:
        """What a function that rises makes of it.

        >>> Interval(0.0, 0.0, 0.0).through(math.exp).value
        1.0
        """
        return Interval(rising(self.value), rising(self.low), rising(self.high), self.over, self.level)


def crossed(samples: Sequence[Sample]) -> tuple[float, float, float, int]:
    """The mean over networks and files, its variance, the degrees of freedom of that, and how many files there are.

    Files are crossed with seeds: all networks are tested on the same ones. Be D[s, f] what the segments of file f add
    to the mean of network s, less the mean of all times their share, over S; q[f] the mean share of a file. Sums of
    squares of D's rows (V_S), of its columns (V_F), and of what remains without both (V_R), each with its correction
    for small numbers, are the mean squares of an analysis of variance, over S F where all files have as many segments.

    What seeds add to the variance is V_S - V_R, what files add V_F - V_R, what remains V_R; a part below zero counts as
    zero. So V = V_S + V_F - V_R with both, and the degrees of freedom are Satterthwaite's:
    V^2 / (V_S^2 / (S - 1) + V_F^2 / (G - 1) + V_R^2 / ((S - 1)(G - 1))), where G = 1 / sum q^2 is the effective number
    of files, at least two. With one network V = V_F: it is about files, and about just this network.

    Sources: Satterthwaite 1946, An approximate distribution of estimates of variance components; Searle, Casella and
    McCulloch 1992, Variance Components, chapter 4; Clark 1973, The language-as-fixed-effect fallacy, for the ratio
    that this is; Cameron, Gelbach and Miller 2011, Robust inference with multiway clustering, for the linearised form;
    Carter, Schnepel and Steigerwald 2017, Asymptotic behavior of a t test robust to cluster heterogeneity, for G.
    """
    names, seeds = np.unique(np.concatenate([files for _, files in samples])), len(samples)
    places = [np.searchsorted(names, files) for _, files in samples]
    count = len(names)
    share = np.array([np.bincount(at, minlength=count) / len(at) for at in places])  # (seeds, files)
    total = np.array(
        [np.bincount(at, y, count) / len(at) for at, (y, _) in zip(places, samples, strict=True)]
    )  # (seeds, files)
    value = float(total.sum(1).mean())
    added, q = (total - share * value) / seeds, share.mean(0)
    squares, cubes = float((q**2).sum()), float((q**3).sum())
    # E sum (q (b - mean b))^2 is var b * sum q^2 over this, for independent b: F / (F - 1) of files of one size.
    small, freedom = 1 / (1 - 2 * cubes / squares + squares), max(1.0, 1 / squares - 1)
    of_files = small * float((added.sum(0) ** 2).sum())
    if seeds == 1:
        return value, of_files, freedom, count
    few = seeds / (seeds - 1)
    of_seeds = few * float((added.sum(1) ** 2).sum())
    rest = added - q * added.sum(1, keepdims=True) - added.sum(0) / seeds
    of_rest = few * small * float((rest**2).sum())
    parts = [(of_seeds, seeds - 1.0), (of_files, freedom), (of_rest, (seeds - 1) * freedom)]
    if min(of_seeds, of_files) <= of_rest:
        return value, *max(parts), count
    variance = of_seeds + of_files - of_rest
    return value, variance, variance**2 / sum(part**2 / df for part, df in parts), count


def student(freedom: float) -> float:
    """95 % of Student's distribution lie within so much.

    >>> round(student(2), 3), round(student(1e9), 3)
    (4.303, 1.96)
    """
    from scipy.special import stdtrit  # comes with scikit-learn

    return float(stdtrit(freedom, (1 + LEVEL) / 2))
