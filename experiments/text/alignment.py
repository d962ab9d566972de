"""How attention flattens with the length, and the temperatures that mend it, of trained runs (thesis, chapter 5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
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


@lru_cache(maxsize=4)
def parts_of(folder: RunFolder, length: int) -> list[Setting]:
    """The run at a longer length, with a part of the segments each."""
    from regulargpt.analysis.alignment.setting import setting_of

    whole = setting_of(folder, length, WORDS)
    return [replace(whole, short=whole.short[at::PARTS], long=whole.long[at::PARTS]) for at in range(PARTS)]


def by_length(folder: RunFolder, of: Callable[[Setting], float]) -> dict[int, Interval]:
    """A number at each longer length, with the interval of its mean over parts."""
    config = RunConfig.parse(folder.config_text)
    longer = [length for length in config.tested if length > config.data.train_len]
    return {length: of_mean(np.array([of(part) for part in parts_of(folder, length)])) for length in longer}


def dispersion(name: str) -> Callable[[RunFolder, str], Mapping[int, Interval]]:
    """P_max or the entropy at the training length and beyond, as the mean over heads."""

    def measured(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
        longer = by_length(folder, lambda setting: getattr(setting.before["long"], name).mean())
        # The short segments are the same beside every longer length.
        parts = parts_of(folder, min(longer))
        short = of_mean(np.array([getattr(part.before["short"], name).mean() for part in parts]))
        return {parts[0].lengths[0]: short, **longer}

    return measured


def temperature(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
    """The temperature of the whole model that restores P_max."""
    from regulargpt.analysis.alignment.setting import find

    return by_length(folder, lambda setting: find(setting, "p_max").tau[0][0])


def gap(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
    """How much lower the temperature by entropy is, segment for segment."""
    from regulargpt.analysis.alignment.setting import find

    return by_length(folder, lambda s: find(s, "entropy").tau[0][0] - find(s, "p_max").tau[0][0])
