"""How attention flattens with the length, and the temperatures that mend it, of trained runs (thesis, chapter 5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from regulargpt.evaluation.interval import Interval
from regulargpt.runs.opened import open_run
from regulargpt.storage.folder import RunFolder
from regulargpt.text.experiments.results import of_mean

if TYPE_CHECKING:
    from regulargpt.text.measurements.alignment.setting import Setting
    from regulargpt.text.measurements.alignment.statistics import Logits

TEMPERATURE = "temperature"
ABOVE = "temperature by P_max minus that of Proposition 5.1"
ABOVE_ENTROPY = "temperature by entropy minus that of Proposition 5.2"
LARGEST, GAUSSIAN = "largest entry of the average logit vector", "correlation of its QQ plot"
P_MAX, ENTROPY = "P_max", "entropy of attention in nats"
TAU, GAP = "temperature by P_max", "temperature by entropy minus that by P_max"
# Segments, in so many parts: intervals are those of the mean over parts.
WORDS, PARTS = 8, 4


@lru_cache(maxsize=4)
def parts_of(folder: RunFolder, length: int) -> list[Setting]:
    """The run at a longer length, with a part of the segments each."""
    from regulargpt.text.measurements.alignment.setting import setting_of

    whole = setting_of(folder, length, WORDS)
    return [replace(whole, short=whole.short[at::PARTS], long=whole.long[at::PARTS]) for at in range(PARTS)]


def by_length(folder: RunFolder, of: Callable[[Setting], float]) -> dict[int, Interval]:
    """A number at each longer length, with the interval of its mean over parts."""
    run = open_run(folder)
    longer = [length for length in run.config.tested if length > run.train_len]
    return {length: of_mean(np.array([of(part) for part in parts_of(folder, length)])) for length in longer}


def at_all_lengths(folder: RunFolder, of: Callable[[Setting, str], float]) -> dict[int, Interval]:
    """A number of the `short` words, of the training length, and of the `long` ones of each longer length."""
    longer = by_length(folder, lambda setting: of(setting, "long"))
    # The short segments are the same beside every longer length.
    parts = parts_of(folder, min(longer))
    return {parts[0].lengths[0]: of_mean(np.array([of(part, "short") for part in parts])), **longer}


def dispersion(name: str) -> Callable[[RunFolder, str], Mapping[int, Interval]]:
    """P_max or the entropy at the training length and beyond, as the mean over heads."""

    def measured(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
        return at_all_lengths(folder, lambda setting, words: getattr(setting.before[words], name).mean())

    return measured


def temperature_of(folder: RunFolder, strategy: str) -> Mapping[int, Interval]:
    """The temperature of the whole model that a strategy finds."""
    return by_length(folder, lambda setting: tau(setting, strategy))


def temperature(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
    """The temperature of the whole model that restores P_max."""
    return temperature_of(folder, "p_max")


def gap(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
    """How much lower the temperature by entropy is, segment for segment."""
    return by_length(folder, lambda setting: tau(setting, "entropy") - tau(setting, "p_max"))


def tau(setting: Setting, strategy: str) -> float:
    """The one temperature of the whole model."""
    from regulargpt.text.measurements.alignment.setting import find

    return find(setting, strategy).tau[0][0]


def of_logits(of: Callable[[Logits], float]) -> Callable[[RunFolder, str], Mapping[int, Interval]]:
    """A number of the average logit vector at the training length and beyond."""

    def measured(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
        from regulargpt.text.measurements.alignment.statistics import average_logits

        return at_all_lengths(folder, lambda s, words: of(average_logits(s.model, s.words[words])))

    return measured


largest_logit = of_logits(lambda logits: logits.largest)
gaussian = of_logits(lambda logits: logits.gaussian)


def above_proposition(
    strategy: str, said: Callable[[Setting, float, float], float | None]
) -> Callable[[RunFolder, str], Mapping[int, Interval]]:
    """How far a temperature that is found lies above that of a proposition, where this has any.

    `said` is told the spread of the average logit vector at both lengths.
    """

    def measured(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
        from regulargpt.text.measurements.alignment.statistics import average_logits

        def difference(setting: Setting) -> float:
            short, long = (average_logits(setting.model, words).sigma for words in (setting.short, setting.long))
            expected = said(setting, short, long)
            return np.nan if expected is None else tau(setting, strategy) - expected

        differences = by_length(folder, difference)
        return {length: interval for length, interval in differences.items() if np.isfinite(interval.value)}

    return measured


def of_p_max(setting: Setting, short: float, long: float) -> float | None:
    """Proposition 5.1."""
    from regulargpt.text.measurements.alignment import propositions

    return propositions.of_p_max(*setting.lengths, short, long, float(setting.before["short"].p_max.mean()))


def of_entropy(setting: Setting, short: float, long: float) -> float | None:
    """Proposition 5.2."""
    from regulargpt.text.measurements.alignment import propositions

    return propositions.of_entropy(*setting.lengths, short, long)


above_p_max = above_proposition("p_max", of_p_max)
above_entropy = above_proposition("entropy", of_entropy)
