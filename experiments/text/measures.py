"""Measures of trained runs beside the loss, kept in their folders: how far back a prediction looks, and how sharply.

They need torch, which is imported where they are called.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import numpy as np

from experiments.text.results import Interval, Unknown, of_mean
from regulargpt import data
from regulargpt.config.schema import RunConfig
from regulargpt.storage.folder import RunFolder

if TYPE_CHECKING:
    from regulargpt.models.transformer import Transformer

SHARE, RESOLUTION = "share of the gradient within L", "attention resolution"
# The share that an empirical receptive field holds.
HELD = 0.99
# The length that receptive fields are measured at, in training lengths, and of how many segments.
REACH, SEGMENTS = 4, 48


def share_of_gradient(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
    """How much of the gradient of the true next symbol lies on as many recent symbols as a training segment has.

    The empirical receptive field is within the training length where it is above 0.99.
    """
    from regulargpt.analysis.receptive_field import gradient_norms
    from regulargpt.evaluation.by_length import seen_through
    from regulargpt.runs.load import load_reader

    config = RunConfig.parse(folder.config_text)
    length = REACH * config.data.train_len
    words = data.build(config.data).test(config.seed, length, SEGMENTS)
    model = load_reader(folder)
    with seen_through(model, attention, config.data.train_len):
        norms = gradient_norms(model, words[:, :-1], targets=words[:, -1])  # (segments, length)
    total = norms.sum(1)
    whole = (total > 0) & np.isfinite(total)
    if whole.sum() < 2:
        raise Unknown("the prediction depends on no symbol")
    return {length: of_mean(norms[whole, -config.data.train_len :].sum(1) / total[whole])}


def attention_resolution(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
    """How well mean attention logits tell distances apart at L and 2 L: a mean over layers and heads, text by text."""
    from regulargpt.analysis.attention_logits import mean_logits
    from regulargpt.analysis.resolution import resolution_of_heads
    from regulargpt.evaluation.by_length import seen_through
    from regulargpt.runs.load import load_reader

    config, model = RunConfig.parse(folder.config_text), cast("Transformer", load_reader(folder))
    text, train_len, found = data.build(config.data), config.data.train_len, {}
    with seen_through(model, attention, train_len):
        for length in (train_len, 2 * train_len):
            words = text.test(config.seed, length, SEGMENTS)[:, :-1]
            each = [resolution_of_heads(mean_logits(model, words[at : at + 1])).mean for at in range(len(words))]
            found[length] = of_mean(np.array(each))
    return found
