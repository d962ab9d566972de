"""Attention resolution (Sun et al. 2022, section 3.1): how well the mean attention logits tell distances apart.

R(s) = sum over i < N of p_i (p_i - p_{i+1}), where p is the softmax of the mean logits s[0..N] by distance (Eq. 4, 13).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from languages.errors import UserError
from regulargpt import plots
from regulargpt.evaluation.interval import Interval
from regulargpt.findings import Axis, Curves, Data, Finding, Picture
from regulargpt.measurements.rounding import rounded
from regulargpt.measurements.sample import SEGMENTS, Sample, segments_of, transformer_of
from regulargpt.plots import Line
from regulargpt.runs.opened import Opened
from regulargpt.tables import Table
from regulargpt.text.measurements.attention_logits import mean_logits
from regulargpt.text.measurements.options import ResolutionOptions

NOTE = "The shortest distances decide on R, which is never above 1; compare orders, not published values."
ByLength = Mapping[int, "Resolution"]


@dataclass(frozen=True)
class Resolution:
    """R of every head of every layer (layers, n_heads), their mean, and how many distances were visible."""

    by_head: Float[ndarray, "layers n_heads"]
    mean: float
    distances: int

    def as_json(self) -> dict[str, Any]:
        """The numbers, and what has to be said beside them."""
        return {
            "mean": self.mean,
            "by_layer": self.by_head.mean(1).tolist(),
            "by_head": self.by_head.tolist(),
            "distances": self.distances,
            "summary": f"R = {self.mean:.4f} over {self.distances} distances; it is at most 1, and the shortest decide",
        }


def mean_by_distance(
    logits: Float[ndarray, "*rows queries keys"], visible: Bool[ndarray, "queries keys"] | None = None
) -> Float[ndarray, "*rows keys"]:
    """s[x], the mean logit over all visible pairs at distance x = 0, 1, ...; nan where there is no such pair (Eq. 13).

    The queries are the last of the keys. Without `visible` a query sees itself and all keys before it.

    >>> mean_by_distance(np.array([[4.0, 9.0], [2.0, 6.0]]))
    array([5., 2.])
    >>> mean_by_distance(np.array([[4.0, 9.0], [2.0, 6.0]]), np.eye(2, dtype=bool))
    array([ 5., nan])
    """
    n_queries, n_keys = logits.shape[-2:]
    distance = np.arange(n_keys - n_queries, n_keys)[:, None] - np.arange(n_keys)[None, :]  # (queries, keys)
    seen = distance >= 0 if visible is None else visible & (distance >= 0)
    at = distance[seen]
    pairs = np.bincount(at, minlength=n_keys)
    rows = logits[..., seen].reshape(-1, len(at))  # (rows, pairs)
    # One row after the other: all at once would copy every logit once more.
    sums = [np.bincount(at, weights=row.astype(np.float64), minlength=n_keys) for row in rows]
    with np.errstate(invalid="ignore"):
        means = np.where(pairs > 0, np.array(sums) / pairs, np.nan)
    return means.reshape(*logits.shape[:-2], n_keys)  # (*rows, keys)


def resolution(s: Float[ndarray, "*rows distances"]) -> Float[ndarray, "*rows"]:
    """R(s) = sum over i < N of p_i (p_i - p_{i+1}), with p the softmax of the mean logits s[0..N] (Eq. 4).

    Distances that no pair of positions has (nan) are left out, and their neighbours then follow each other. Eq. 4 asks
    for s[N + 1], which nobody has; here the last distance is a neighbour only. R does not change with s + c, and is 0
    for a flat s.

    R is never above 1: p_i - p_{i+1} <= p_i, so R <= sum p_i^2 <= (sum p_i)^2 = 1, with equality only where all the
    mass lies on one distance. The 1.08 in Table 3 of the paper is on another scale, which the paper does not state.

    >>> resolution(np.array([0.0, -np.inf, -np.inf])), resolution(np.zeros(9))
    (array(1.), array(0.))
    """
    missing = np.isnan(s).reshape(-1, s.shape[-1])  # (rows, distances)
    kept = ~missing.all(0)
    if missing[:, kept].any():
        raise UserError("some heads have a logit at a distance and others have none; give them the same visible pairs")
    if not kept.any():
        raise UserError("no distance has a visible pair; the resolution needs one at least")
    return _of_softmax(s[..., kept])


def _of_softmax(s: Float[ndarray, "*rows distances"]) -> Float[ndarray, "*rows"]:
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    return np.asarray((p[..., :-1] * (p[..., :-1] - p[..., 1:])).sum(-1))


def resolution_of_heads(s: Float[ndarray, "layers n_heads distances"]) -> Resolution:
    """The resolution of each head from its mean logits by distance, and their mean, as Table 3 averages them.

    >>> resolution_of_heads(np.array([[[0.0, -np.inf], [0.0, 0.0]]])).mean
    0.5
    """
    by_head = resolution(s)
    return Resolution(by_head, float(by_head.mean()), int((~np.isnan(s[0, 0])).sum()))


def expected_logits(
    d_head: int, length: int, *, gamma: float | None = None, base: float = 512.0
) -> Float[ndarray, "length"]:
    """g_z[x] = sum over pairs i of cos(x theta_i) z_i^(x / base), the decay that rotary and xPos bring (Eq. 10).

    With theta_i = 10000^(-2i / d_head) and z_i = (2i / d_head + gamma) / (1 + gamma) for i < d_head / 2, which is xPos
    with gamma = 0.4. Without a gamma z_i = 1: rotary. Eq. 10 writes one term more, i = d_head / 2.

    >>> float(expected_logits(64, 2)[0]), round(float(resolution(expected_logits(64, 256))), 4)
    (32.0, 0.4116)
    >>> round(float(resolution(expected_logits(64, 256, gamma=0.4))), 4)
    0.4207
    """
    i = np.arange(d_head // 2)
    theta = 10_000.0 ** (-2 * i / d_head)
    z = np.ones(len(i)) if gamma is None else (2 * i / d_head + gamma) / (1 + gamma)
    x = np.arange(length)[:, None]  # (length, 1)
    return (np.cos(x * theta) * z ** (x / base)).sum(1)


def measure(run: Opened, options: ResolutionOptions) -> Finding:
    """R at the training length and its doubles. A shorter length reads the last symbols of the same segments."""
    sample = segments_of(run, options.length, options.words, options.seed)
    model = transformer_of(run)
    with run.through():
        by_length = {
            T: resolution_of_heads(mean_logits(model, sample.read[:, -T:]))
            for T in lengths(run.train_len, sample.length)
        }
    return finding_of(sample, by_length)


def lengths(train_len: int, longest: int) -> list[int]:
    """The training length and its doubles up to the longest, which is always among them.

    >>> lengths(64, 300), lengths(64, 32)
    ([64, 128, 256, 300], [32])
    """
    doubles = [train_len << i for i in range(32) if train_len << i < longest]
    return [*doubles, longest]


def finding_of(sample: Sample, by_length: ByLength) -> Finding:
    """The finding: a row of the CSV a length, layer and head; a line of the picture a layer, and the mean."""
    at, first = list(by_length), next(iter(by_length.values()))
    values = {
        str(T): {**resolution.as_json(), "over_first": relative_to_first(resolution, first)}
        for T, resolution in by_length.items()
    }
    values = rounded({"by_length": values, "summary": sentence(by_length), "note": NOTE})
    layers = [f"layer {layer}" for layer in range(len(first.by_head))]
    rows = [
        (T, layer, head, value)
        for T, resolution in values["by_length"].items()
        for layer, heads in enumerate(resolution["by_head"])
        for head, value in enumerate(heads, 1)
    ]
    shown = [
        (
            f"{int(T):,}",
            *(f"{v:.4f}" for v in (resolution["mean"], *resolution["by_layer"])),
            f"x {resolution['over_first']:.3f}",
        )
        for T, resolution in values["by_length"].items()
    ]
    means = [[resolution["mean"], *resolution["by_layer"]] for resolution in values["by_length"].values()]
    lines = [Line(name, at, line) for name, line in zip(["mean", *layers], zip(*means, strict=True), strict=True)]
    run = sample.run
    x = Axis("length T", at[-1] > 4 * run.train_len or None, ticks=at)
    curves = Curves(lines, x, Axis("attention resolution R"), {"training length": run.train_len})
    looked = f"attention {run.attention}, {len(sample.words)} segments"
    return Finding(
        name="resolution",
        title=f"{run.data.name}, {run.config.model.title}: attention resolution, {looked}",
        facts=sample.facts,
        values=values,
        data=Data(("length", "layer", "head", "resolution"), rows),
        picture=Picture([curves], plots.title(run.config)),
        tables=[Table(("length", "mean R", *layers, "to the first"), shown)],
        sentence=values["summary"],
        notes=[NOTE],
    )


def relative_to_first(value: Resolution, first: Resolution) -> float:
    """The mean over that at the shortest length; 1 where that is 0."""
    return value.mean / first.mean if first.mean else 1.0


def sentence(by_length: ByLength) -> str:
    """The mean at the shortest and the longest length.

    >>> sentence({2: Resolution(np.zeros((1, 1)), 0.5, 2)})
    'R = 0.5000 at length 2'
    """
    first, last = min(by_length), max(by_length)
    text = f"R = {by_length[first].mean:.4f} at length {first}"
    return text if first == last else f"{text}, {by_length[last].mean:.4f} at {last}"


def attention_resolution(run: Opened) -> Mapping[int, Interval]:
    """R at L and 2 L, as a mean over layers and heads, text by text."""
    model, resolutions = transformer_of(run), {}
    with run.through():
        for length in (run.train_len, 2 * run.train_len):
            words = run.data.test(run.config.seed, length, SEGMENTS)[:, :-1]
            each = [resolution_of_heads(mean_logits(model, words[at : at + 1])).mean for at in range(len(words))]
            resolutions[length] = Interval.of_mean(np.array(each), run.data.files(run.config.seed, length, SEGMENTS))
    return resolutions
