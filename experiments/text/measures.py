"""Measures of trained runs beside the loss, kept in their folders: how far back a prediction looks, and how sharply.

They need torch, which is imported where they are called. What several of them share is kept for the last run that was
asked for, by its object: a finished run does not change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, cast

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from experiments.text.results import Unknown, of_mean
from languages.randomness import rng
from regulargpt import data
from regulargpt.config.schema import FURTHEST, RunConfig, value_of
from regulargpt.evaluation.interval import FILES, Interval, student
from regulargpt.storage.folder import RunFolder

if TYPE_CHECKING:
    from regulargpt.measurements.trained_kernels_report import Kernels

    from regulargpt.models.transformer import Transformer

RESOLUTION, HEADS = "attention resolution", "heads with an effective length up to x"
KERNEL, FLATTEST = "mean bias at distance x", "bias of the flattest head at distance x"
STEEPEST = "bias of the steepest head at distance x"
VARIANCE = "variance of the attention output of layer 0 over that at position 1"
SLOPE, HIGHER = "slope of its logarithm in layer 0", "slope in the last layer minus that in layer 0"
SHARE, GRADIENT = "share of the gradient within L", "share of the gradient on the last x symbols"
FIELD, JUMP = "receptive field over L", "share of the gradient around position L"
# The share that an empirical receptive field holds.
HELD = 0.99
# The length that receptive fields are measured at, in training lengths, and of how many segments.
REACH, SEGMENTS = 4, 48
# A training length has so many points of a curve; intervals of a length are drawn so often from the segments.
POINTS, DRAWS = 16, 400
# Of how many segments variances are, and how many parts are left out in turn for their intervals.
VARIED, PARTS = 512, 16


@lru_cache(maxsize=1)
def gradients(
    folder: RunFolder, attention: str
) -> tuple[Float[ndarray, "segments length"], Int[ndarray, " segments"] | None]:
    """The share of each read symbol in the gradient of the true next one, and the file of each segment.

    Unknown if it depends on none.
    """
    from regulargpt.evaluation.by_length import seen_through
    from regulargpt.measurements.receptive_field import gradient_norms
    from regulargpt.runs.load import load_reader

    config = RunConfig.parse(folder.config_text)
    # Rows of a longer training length are looked at on segments as long as those of the others.
    text, length, model = data.build(config.data), REACH * config.tested[-1] // FURTHEST, load_reader(folder)
    words, files = text.test(config.seed, length, SEGMENTS), text.files(config.seed, length, SEGMENTS)
    with seen_through(model, attention, config.data.train_len):
        norms = gradient_norms(model, words[:, :-1], targets=words[:, -1])  # (segments, length)
    total = norms.sum(1)
    whole = (total > 0) & np.isfinite(total)
    if whole.sum() < 2:
        raise Unknown("the prediction depends on no symbol")
    return norms[whole] / total[whole, None], None if files is None else files[whole]


def share_of_gradient(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
    """How much of the gradient of the true next symbol lies on as many recent symbols as a training segment has.

    The empirical receptive field is within the training length where it is above 0.99.
    """
    (found, files), train_len = gradients(folder, attention), train_len_of(folder)
    return {found.shape[1]: of_mean(found[:, -train_len:].sum(1), files)}


def cumulative_gradient(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
    """The same for any number of recent symbols: the curves c_m of Figures 4.4 to 4.11, read from the last symbol."""
    from regulargpt.measurements.receptive_field import cumulative

    found, files = gradients(folder, attention)
    curves = cumulative(found)  # (segments, length)
    step = max(1, train_len_of(folder) // POINTS)
    return {m: of_mean(curves[:, m - 1], files) for m in range(step, curves.shape[1] + 1, step)}


def field_length(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
    """The fewest recent symbols that hold 99 % of the gradient, over the training length.

    The interval is that of the mean curves of files drawn again and again from those that were looked at.
    """
    from regulargpt.measurements.receptive_field import cumulative, erf

    (found, files), train_len = gradients(folder, attention), train_len_of(folder)
    curves = cumulative(found)  # (segments, length)
    names, of = np.unique(np.arange(len(curves)) if files is None else files, return_inverse=True)
    again = rng(0, "files of an interval").integers(0, len(names), (DRAWS, len(names)))
    weights = np.array([np.bincount(each, minlength=len(names))[of] for each in again])  # (draws, segments)
    low, high = np.quantile([erf(weight @ curves / weight.sum(), HELD) for weight in weights], (0.025, 0.975))
    found = Interval(erf(curves.mean(0), HELD), float(low), float(high), {FILES: len(names)})
    return {curves.shape[1]: found.through(lambda length: length / train_len)}


def jump(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
    """How much of the gradient lies on the positions from 3/4 to 5/4 of the training length, counted from the first.

    An even gradient has an eighth there.
    """
    (found, files), train_len = gradients(folder, attention), train_len_of(folder)
    return {found.shape[1]: of_mean(found[:, 3 * train_len // 4 : 5 * train_len // 4].sum(1), files)}


@lru_cache(maxsize=1)
def kernels(folder: RunFolder) -> Kernels:
    """The learned kernels of a run, which its layers share."""
    from regulargpt.measurements.trained_kernels_report import encoding_of, kernels_of

    from regulargpt.runs.load import load_reader

    name = str(value_of(RunConfig.parse(folder.config_text), "model.encoding.name"))
    return kernels_of({"after": encoding_of(folder, load_reader(folder))}, name, 0)


def by_distance(folder: RunFolder, values: Sequence[float] | ndarray) -> Mapping[int, Interval]:
    """Values at the distances 0, 1, ..., as far as the run is tested, at some of them; they are exact."""
    config = RunConfig.parse(folder.config_text)
    longest, step = config.tested[-1], max(1, config.data.train_len // POINTS)
    return {x: Interval.exactly(float(values[x])) for x in range(step, longest + 1, step)}


def heads_within(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
    """How many heads have an effective length of at most x: section 3.7.5 of the thesis, Figure 3.6."""
    from regulargpt.measurements import effective_length

    return by_distance(folder, effective_length.heads_within(kernels(folder).effective["after"]))


def mean_kernel(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
    """The bias by distance, that at distance 0 subtracted, as the mean over heads."""
    bias = kernels(folder).bias["after"]  # (n_heads, distances)
    return by_distance(folder, (bias - bias[:, :1]).mean(0))


def flattest_kernel(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
    """The same of the head that has lost least."""
    bias = kernels(folder).bias["after"]  # (n_heads, distances)
    return by_distance(folder, (bias - bias[:, :1]).max(0))


def steepest_kernel(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
    """The same of the head that has lost most."""
    bias = kernels(folder).bias["after"]  # (n_heads, distances)
    return by_distance(folder, (bias - bias[:, :1]).min(0))


@lru_cache(maxsize=1)
def variances(folder: RunFolder) -> list[Float[ndarray, "layers length"]]:
    """The variances of the attention outputs over all segments, then without each of their parts in turn."""
    from regulargpt.measurements.trained_variance_report import output_variance

    from regulargpt.runs.load import load_reader

    config, model = RunConfig.parse(folder.config_text), cast("Transformer", load_reader(folder))
    words = data.build(config.data).test(config.seed, config.data.train_len, VARIED)[:, :-1]
    parts = np.arange(VARIED) % PARTS
    without = (output_variance(model, words[parts != part]) for part in range(PARTS))
    return [output_variance(model, words), *without]


def left_out(folder: RunFolder, of: Callable[[Float[ndarray, "layers length"]], ndarray]) -> list[Interval]:
    """What `of` makes of these variances, number by number (Lemma 2.3, Figure 2.7); intervals are the jackknife's."""
    value, *each = map(of, variances(folder))
    half = student(PARTS - 1) * np.sqrt((PARTS - 1) * np.array(each).var(0))
    return [Interval(v, v - h, v + h, {"parts": PARTS}) for v, h in zip(value.tolist(), half.tolist(), strict=True)]


def variance_by_position(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
    """How the variance of layer 0 falls with the position; 1/m in Lemma 2.3."""
    found = left_out(folder, lambda variance: variance[0] / variance[0, 0])
    return dict(enumerate(found, 1))


def slope(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
    """The slope of the logarithm of the variance by that of the position, in layer 0; -1 in Lemma 2.3."""
    from regulargpt.measurements.position_variance import log_slope

    return {train_len_of(folder): left_out(folder, lambda variance: np.array([log_slope(variance[0])]))[0]}


def higher_slope(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
    """How much flatter the last layer is than layer 0."""
    from regulargpt.measurements.position_variance import log_slope

    found = left_out(folder, lambda variance: np.array([log_slope(variance[-1]) - log_slope(variance[0])]))
    return {train_len_of(folder): found[0]}


def train_len_of(folder: RunFolder) -> int:
    """The training length of a run."""
    return RunConfig.parse(folder.config_text).data.train_len


def attention_resolution(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
    """How well mean attention logits tell distances apart at L and 2 L: a mean over layers and heads, text by text."""
    from regulargpt.evaluation.by_length import seen_through
    from regulargpt.measurements.attention_logits import mean_logits
    from regulargpt.measurements.resolution import resolution_of_heads
    from regulargpt.runs.load import load_reader

    config, model = RunConfig.parse(folder.config_text), cast("Transformer", load_reader(folder))
    text, train_len, found = data.build(config.data), config.data.train_len, {}
    with seen_through(model, attention, train_len):
        for length in (train_len, 2 * train_len):
            words = text.test(config.seed, length, SEGMENTS)[:, :-1]
            each = [resolution_of_heads(mean_logits(model, words[at : at + 1])).mean for at in range(len(words))]
            found[length] = of_mean(np.array(each), text.files(config.seed, length, SEGMENTS))
    return found
