"""Measures of trained runs beside the loss, kept in their folders: how far back a prediction looks, and how sharply.

They need torch, which is imported where they are called.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from experiments.text.results import Interval, Unknown, of_mean
from regulargpt import data
from regulargpt.config.schema import RunConfig
from regulargpt.storage.folder import RunFolder

SHARE, RESOLUTION = "share of the gradient within L", "attention resolution"
# The share that an empirical receptive field holds.
HELD = 0.99
# The length that receptive fields are measured at, in training lengths, and of how many segments.
REACH, SEGMENTS = 4, 48


def share_of_gradient(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
    """How much of the gradient of a prediction lies on as many recent symbols as a training segment has.

    The empirical receptive field is within the training length where it is above 0.99.
    """
    from regulargpt.analysis.receptive_field import gradient_norms
    from regulargpt.runs.load import load_reader

    config = RunConfig.parse(folder.config_text)
    length = REACH * config.data.train_len
    words = data.build(config.data).test(config.seed, length, SEGMENTS)[:, :-1]
    norms = gradient_norms(load_reader(folder), words)  # (segments, length)
    total = norms.sum(1)
    whole = (total > 0) & np.isfinite(total)
    if whole.sum() < 2:
        raise Unknown("the prediction depends on no symbol")
    return {length: of_mean(norms[whole, -config.data.train_len :].sum(1) / total[whole])}
