"""How attention flattens with the length, and the temperatures that mend it, of trained runs (thesis, chapter 5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from experiments.text.results import Interval, of_mean
from regulargpt.config.schema import RunConfig
from regulargpt.storage.folder import RunFolder

if TYPE_CHECKING:
    from regulargpt.analysis.alignment.setting import Setting

P_MAX, ENTROPY = "P_max", "entropy of attention in nats"
TAU, GAP = "temperature by P_max", "temperature by entropy minus that by P_max"
# Segments, in so many parts: intervals are those of the mean over parts.
WORDS, PARTS = 8, 4


def by_length(folder: RunFolder, of: Callable[[Setting], float]) -> Mapping[int, Interval]:
    """A number at each longer length, of so many parts of the segments."""
    from regulargpt.analysis.alignment.setting import setting_of

    config, found = RunConfig.parse(folder.config_text), {}
    for length in (length for length in config.tested if length > config.data.train_len):
        whole = setting_of(folder, length, WORDS)
        parts = (replace(whole, short=whole.short[at::PARTS], long=whole.long[at::PARTS]) for at in range(PARTS))
        found[length] = of_mean(np.array([of(part) for part in parts]))
    return found


def dispersion(name: str) -> Callable[[RunFolder, str], Mapping[int, Interval]]:
    """P_max or the entropy at the training length and beyond, as the mean over heads."""

    def measured(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
        from regulargpt.analysis.alignment.statistics import sharpness

        config = RunConfig.parse(folder.config_text)
        short = by_length(folder, lambda s: float(getattr(sharpness(s.model, s.short), name).mean()))
        longer = by_length(folder, lambda s: float(getattr(sharpness(s.model, s.long), name).mean()))
        return {config.data.train_len: next(iter(short.values())), **longer}

    return measured


def temperature(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
    """The temperature of the whole model that restores P_max."""
    from regulargpt.analysis.alignment.setting import find

    return by_length(folder, lambda setting: find(setting, "p_max").tau[0][0])


def gap(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
    """How much lower the temperature by entropy is, segment for segment."""
    from regulargpt.analysis.alignment.setting import find

    return by_length(folder, lambda s: find(s, "entropy").tau[0][0] - find(s, "p_max").tau[0][0])
