"""Variants of one computation timed in turn, A B, B A, ..., and compared round by round."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

Seconds = dict[str, list[float]]


@dataclass(frozen=True)
class BenchRow:
    """A figure: of `what` and which `variant`, its median and quartiles in a unit, and the seconds of a call.

    `value` is None where the variant was left out because it needs too much memory; `wanted` is our goal, if any.
    """

    what: str
    variant: str
    value: float | None
    unit: str = ""
    low: float | None = None
    high: float | None = None
    seconds: float | None = None
    wanted: float | None = None


@dataclass(frozen=True)
class Effort:
    """How long one comparison may take: rounds go on until `seconds` are over, but there are at least `rounds`.

    Beyond `at_most` seconds, two rounds are enough.
    In a round, a variant that takes less than `tick` seconds is called as often as fills them.
    """

    rounds: int
    seconds: float
    tick: float = 0.02
    at_most: float = 30.0

    def enough(self, rounds: int, seconds: float) -> bool:
        """Whether to stop after so many rounds and seconds.

        >>> effort = Effort(rounds=5, seconds=4)
        >>> effort.enough(4, 10.0), effort.enough(5, 3.0), effort.enough(5, 4.0), effort.enough(2, 31.0)
        (False, False, True, True)
        """
        return rounds >= (self.rounds if seconds < self.at_most else min(2, self.rounds)) and seconds >= self.seconds


def clock() -> Callable[[], float]:
    """With one thread the processor's time, which other programs do not disturb; with more, the wall's."""
    return time.process_time if torch.get_num_threads() == 1 else time.perf_counter


def in_turn(variants: Mapping[str, Callable[[], object]], effort: Effort) -> Seconds:
    """The seconds a call of each variant takes in each round, after a round that is not counted.

    >>> seconds = in_turn({"a": lambda: None, "b": lambda: None}, Effort(rounds=3, seconds=0, tick=0))
    >>> {name: len(times) for name, times in seconds.items()}
    {'a': 3, 'b': 3}
    """
    now = clock()
    calls = {name: _calls(variant, now, effort.tick) for name, variant in variants.items()}
    seconds: Seconds = {name: [] for name in variants}
    began, done = time.perf_counter(), 0
    while not effort.enough(done, time.perf_counter() - began):
        # There and back: A B, B A, so that nobody always has the same one before it.
        for name in list(variants) if done % 2 == 0 else reversed(list(variants)):
            start = now()
            for _ in range(calls[name]):
                variants[name]()
            seconds[name].append((now() - start) / calls[name])
        done += 1
    return seconds


def _calls(variant: Callable[[], object], now: Callable[[], float], tick: float) -> int:
    seconds = 0.0
    for _ in range(2):  # the first call also loads and reserves
        start = now()
        variant()
        if (seconds := now() - start) >= tick:
            return 1
    return math.ceil(tick / max(seconds, 1e-6))


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """The first quartile, the median and the third.

    >>> quartiles([1.0, 2.0, 3.0, 4.0, 5.0])
    (2.0, 3.0, 4.0)
    """
    low, median, high = np.quantile(values, (0.25, 0.5, 0.75)).tolist()
    return low, median, high


def ratio(what: str, seconds: Seconds, of: str, over: str, wanted: float | None = None) -> BenchRow:
    """How many times as fast `of` is as `over`: the median of the ratios of each round, and their quartiles.

    >>> row = ratio("", {"tree": [1.0, 1.0, 2.0], "dense": [8.0, 9.0, 10.0]}, of="tree", over="dense")
    >>> row.variant, row.value, row.low, row.high, row.seconds
    ('tree over dense', 8.0, 6.5, 8.5, 1.0)
    """
    low, median, high = quartiles([b / a for a, b in zip(seconds[of], seconds[over], strict=True)])
    return BenchRow(what, f"{of} over {over}", median, "times as fast", low, high, quartiles(seconds[of])[1], wanted)


def seconds_at(length: int, variant: str, seconds: float) -> BenchRow:
    """The seconds of a word."""
    return BenchRow(f"T = {length:,}", variant, seconds, "seconds")


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """e of the power law cost = c * size^e that fits best (least squares of the logarithms).

    >>> round(exponent([1, 2, 4], [3, 12, 48]), 6)
    2.0
    """
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])
