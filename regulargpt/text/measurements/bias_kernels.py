"""The bias of an encoding as a kernel, head by head, as it is before training, or of a run before and after it.

Sections 3.3 and 3.7.5 of the thesis; the formulas are in `kernels` and `effective_length`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from languages.errors import UserError, shown
from regulargpt import encodings, plots
from regulargpt.config.schema import value_of
from regulargpt.encodings.base import Encoding, Positions
from regulargpt.evaluation.interval import Interval
from regulargpt.findings import Axis, Curves, Data, Finding, Picture
from regulargpt.models.base import Model
from regulargpt.models.transformer import Transformer
from regulargpt.plots import Line
from regulargpt.runs.load import load_drawn
from regulargpt.runs.opened import OpenedRun
from regulargpt.tables import Table
from regulargpt.text.measurements.effective_length import (
    LONGEST,
    THRESHOLD,
    EffectiveLength,
    effective_lengths,
    heads_within,
)
from regulargpt.text.measurements.kernels import Shift, definiteness, shift_error, smallest_shift, softmax_change
from regulargpt.text.measurements.options import KernelMeasurementOptions

HEADS, POSITIONS = 8, 128
D_HEAD = 8  # a bias that looks at no input does not depend on it
MOST_ENTRIES = 1 << 24  # of the matrices of all heads: 128 MiB
MOST_SHIFTED = 128  # positions that are shifted: each shift is another matrix a head
MOST_SHOWN = 1024  # distances of a run
INVARIANT = 1e-12  # relative, in float64
WHEN = ("before", "after")
# Points that a curve has in a training length, where a claim is about it.
POINTS = 16


def measure(subject: OpenedRun | str, options: KernelMeasurementOptions) -> Finding:
    """The kernels of a run before and after training, or those of an encoding as it is written.

    Raises UserError for a run of no Transformer, an encoding without a bias, or with a bias that depends on what is
    read, and for matrices beyond memory.

    >>> finding = measure("alibi", KernelMeasurementOptions(heads=8, length=32))
    >>> finding.values["heads"][0]["shift"]["smallest_c"], finding.values["heads"][0]["effective_length"]["text"]
    ({'2': 0.25, '8': 1.75, '32': 7.75}, '5')
    """
    if isinstance(subject, OpenedRun):
        return of_run(subject, options.length)
    return of_written(subject, options.heads or HEADS, options.length or POSITIONS, options.seed or 0)


def of_written(text: str, n_heads: int, length: int, seed: int) -> Finding:
    """An encoding as it is before training: a row of the CSV a head and distance."""
    if n_heads * length**2 > MOST_ENTRIES:
        raise UserError(f"{n_heads} heads on {length} positions: too large; choose fewer heads or a shorter length")
    generator = torch.Generator().manual_seed(seed)
    encoding = encodings.build(text, d_model=n_heads * D_HEAD, n_heads=n_heads, generator=generator).double().eval()
    values = plain(of_encoding(encoding, text, length))
    bias, heads = values["bias"], values["heads"]
    lines = [Line(f"head {head}", *lowered(row)) for head, row in enumerate(bias, 1)]
    levels = {"ends the effective length": THRESHOLD}
    curves = Curves(lines, Axis("distance m - n"), Axis("bias(x) - bias(0)"), levels=levels)
    constants = (f"c, n = {n}" for n in heads[0]["shift"]["smallest_c"])
    header = ("head", "CPD", "PD", "smallest on sum 0", *constants, "effective length")
    rows = [(head, x, value) for head, row in enumerate(bias, 1) for x, value in enumerate(row)]
    return Finding(
        name="kernels",
        title=f"{text}: the bias of {n_heads} heads on {length} positions",
        facts={"encoding": text, "n_heads": n_heads, "length": length, "seed": seed},
        values=values,
        data=Data(("head", "distance", "bias"), rows),
        picture=Picture([curves], f"{text}, {n_heads} heads"),
        tables=[Table(header, [shown_head(head) for head in heads])],
        notes=[*properties(values)],
    )


def shown_head(head: Mapping[str, Any]) -> tuple[str, ...]:
    """A head's row for people."""
    kernel = head["definiteness"]
    constants = (number(c, "none") for c in head["shift"]["smallest_c"].values())
    signs = (yes(kernel["is_cpd"]), yes(kernel["is_pd"]), number(kernel["smallest_on_sum_zero"], "-inf"))
    return (str(head["head"]), *signs, *constants, head["effective_length"]["text"])


def properties(values: Mapping[str, Any]) -> list[str]:
    """What holds for all heads, in sentences."""
    invariance, trends = values["shift_invariance"], {}
    for head in values["heads"]:
        trends.setdefault(head["shift"]["trend"], []).append(str(head["head"]))
    where = {trend: f"heads {', '.join(which)}" if len(trends) > 1 else "all heads" for trend, which in trends.items()}
    seen = "not seen" if values["softmax_ignores_a_constant"] else "seen"
    return [
        f"shift invariant: {yes(invariance['is_invariant'])}; "
        f"largest difference {number(invariance['largest_difference'], '-inf')}",
        *(f"the smallest c that makes c + f positive definite {trend}, in {place}" for trend, place in where.items()),
        f"a constant added to the bias is {seen} by softmax",
        *["the encoding also multiplies the logits, which is not looked at"] * values["also_multiplies_logits"],
    ]


def yes(value: bool) -> str:
    """A truth value in English.

    >>> yes(True), yes(False)
    ('yes', 'no')
    """
    return "yes" if value else "no"


def number(value: float | None, missing: str) -> str:
    """Three digits.

    >>> number(0.50123, "-inf"), number(None, "none")
    ('0.501', 'none')
    """
    return missing if value is None else f"{value:.3g}"


def lowered(values: Sequence[float | None]) -> tuple[range, list[float]]:
    """A head's curve up to where it is -inf, less that at distance 0, and its distances.

    >>> lowered([1.0, 0.5, None])
    (range(0, 2), [0.0, -0.5])
    """
    end = values.index(None) if None in values else None
    finite = [value for value in values[:end] if value is not None]
    return range(len(finite)), [value - finite[0] for value in finite]


def of_encoding(encoding: Encoding, name: str, length: int, layer: int = 0) -> dict[str, Any]:
    """The report of an encoding at hand, a trained encoding too."""
    at = np.arange(length, dtype=float)
    bias = bias_between(encoding, name, at, at, layer)  # (n_heads, length, length)
    seen = np.tri(length, dtype=bool)
    difference = shift_error(lambda m, n: bias_between(encoding, name, m, n, layer), min(length, MOST_SHIFTED))
    far = np.arange(LONGEST + 1, dtype=float)
    by_distance = bias_between(encoding, name, far[-1:], far, layer)[:, 0, ::-1]  # (n_heads, LONGEST + 1)
    finite = bias[:, seen][np.isfinite(bias[:, seen])]
    is_invariant = difference <= INVARIANT * max(1.0, float(np.abs(finite).max(initial=0.0)))
    effective = effective_lengths(by_distance)
    return {
        "shift_invariance": {"largest_difference": difference, "is_invariant": is_invariant},
        "also_multiplies_logits": encoding.changes_score,
        "softmax_ignores_a_constant": softmax_change(bias[:, -1], 10.0) < INVARIANT,
        "heads": [
            {"head": head, **of_kernel(mirrored(bias[head - 1])), "effective_length": end.as_json()}
            for head, end in enumerate(effective, 1)
        ],
        "bias": by_distance[:, :length].tolist(),
    }


def of_kernel(K: Float[ndarray, "n n"]) -> dict[str, Any]:
    """Definiteness on all points, and the smallest constant on the first n of them for three n."""
    length = len(K)
    lengths = sorted({max(2, length // 16), max(2, length // 4), length})
    shift = Shift({n: smallest_shift(K[:n, :n]) for n in lengths})
    return {"definiteness": definiteness(K).as_json(), "shift": shift.as_json()}


def mirrored(bias: Float[ndarray, "n n"]) -> Float[ndarray, "n n"]:
    """What a causal bias says of m >= n, in the other half too: k(m, n) = k(n, m), as the thesis extends it.

    >>> mirrored(np.array([[0.0, 9.0], [-1.0, 0.0]])).tolist()
    [[0.0, -1.0], [-1.0, 0.0]]
    """
    lower = np.tri(len(bias), dtype=bool)
    return np.where(lower, bias, bias.T)


@torch.no_grad()
def bias_between(
    encoding: Encoding, name: str, m: Float[ndarray, "queries"], n: Float[ndarray, "keys"], layer: int
) -> Float[ndarray, "n_heads queries keys"]:
    """The bias between queries and keys at these positions. Raises UserError if there is none, or it reads the input.

    It is asked twice, for queries, keys and inputs of zeros and at random: what differs depends on more than positions.
    """
    generator = torch.Generator().manual_seed(0)
    answers = [_bias(encoding, m, n, layer, generator, scale) for scale in (0.0, 1.0)]
    if answers[0] is None or answers[1] is None:
        raise UserError(f"{name} adds no bias to the logits; choose an encoding that does, such as alibi")
    if not torch.equal(answers[0], answers[1]):
        raise UserError(f"the bias of {name} depends on what is read, not on positions alone; it is no kernel of them")
    return answers[0].numpy()


def _bias(
    encoding: Encoding, m: ndarray, n: ndarray, layer: int, generator: torch.Generator, scale: float
) -> torch.Tensor | None:
    def drawn(*shape: int) -> torch.Tensor:
        return scale * torch.randn(*shape, generator=generator, dtype=torch.float64)

    state = encoding.prepare(drawn(1, len(n), encoding.d_model), layer)
    q, k = (drawn(1, encoding.n_heads, len(points), encoding.d_head) for points in (m, n))
    bias = encoding.bias(q, k, Positions(torch.from_numpy(m), torch.from_numpy(n), layer, state))
    return None if bias is None else bias[0].double().expand(encoding.n_heads, len(m), len(n))  # (n_heads, m, n)


def plain(value: Any) -> Any:
    """What JSON can say: six significant digits, 0 for what is rounding, null for what is infinite.

    >>> plain({"a": [-math.inf, 0.123456789, 1e-17], "b": "text"})
    {'a': [None, 0.123457, 0.0], 'b': 'text'}
    """
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return None
    return 0.0 if abs(value) < INVARIANT else float(f"{value:.6g}")


@dataclass(frozen=True)
class Kernels:
    """The bias of every head at the distances 0, 1, ..., LONGEST in one layer, before training and after."""

    layer: int
    bias: dict[str, Float[ndarray, "n_heads distances"]]

    @property
    def effective(self) -> dict[str, list[EffectiveLength]]:
        """The effective length of each head."""
        return {when: effective_lengths(values) for when, values in self.bias.items()}


def of_run(run: OpenedRun, length: int | None) -> Finding:
    """The learned kernels of a finished run, beside those that its seed drew: a row of the CSV a layer, head, distance.

    A bias is that of a query at position 20,480, which matters for those alone that are not shift-invariant, as fire.
    An encoding that is the same in all layers is reported once, as layer 0. There are up to `length` distances, by
    default 8 times the training length.
    """
    networks = dict(zip(WHEN, (load_drawn(run.folder, run.config.seed), run.model), strict=True))
    biases = {when: encoding_of(run, model) for when, model in networks.items()}
    length = min(8 * run.train_len, MOST_SHOWN) if length is None else length
    after, name = biases["after"], name_of(run)
    layers = [kernels_of(biases, name, layer) for layer in range(1 if after.shared_bias else after.n_layers)]
    facts = {
        **{"run_dir": str(run.path), "encoding": name, "n_heads": after.n_heads, "n_layers": after.n_layers},
        **{"train_len": run.train_len, "length": length, "seed": run.config.seed},
    }
    reports = [of_layer(after, name, kernels, length) for kernels in layers]
    values = plain({"layers": reports, "summary": sentence(layers, run.train_len)})
    shared = ", one bias for all layers" if len(layers) < after.n_layers else ""
    rows = [
        (layer["layer"], head, x, *pair)
        for layer in values["layers"]
        for head, both in enumerate(zip(*(layer["bias"][when] for when in WHEN), strict=True), 1)
        for x, pair in enumerate(zip(*both, strict=True))
    ]
    ends = [
        (layer, head, [head[f"effective_length_{w}"]["text"] for w in WHEN])
        for layer in values["layers"]
        for head in layer["heads"]
    ]
    shown = [
        (str(layer["layer"]), str(head["head"]), yes(head["definiteness"]["is_cpd"]), *end) for layer, head, end in ends
    ]
    return Finding(
        name="kernels",
        title=f"{name}: the bias of {after.n_heads} heads in {after.n_layers} layers{shared}",
        facts=facts,
        values=values,
        data=Data(("layer", "head", "distance", *WHEN), rows),
        picture=picture(values["layers"], facts, f"{plots.title(run.config)}, {name}"),
        tables=[Table(("layer", "head", "CPD", "effective length before", "after training"), shown, names=2)],
        sentence=values["summary"],
    )


def name_of(run: OpenedRun) -> str:
    """The encoding of a run, by its name."""
    return str(value_of(run.config, "model.encoding.name"))


def encoding_of(run: OpenedRun, model: Model) -> Encoding:
    """The encoding of a Transformer, in float64; UserError for another model."""
    if not isinstance(model, Transformer):
        name = run.config.model.name
        raise UserError(f"{shown(run.path)} is a run of {name}, not of a transformer; choose a transformer's")
    return model.encoding.double().eval()


def kernels_of(biases: Mapping[str, Encoding], name: str, layer: int) -> Kernels:
    """The biases of a layer up to the distance LONGEST."""
    far = np.arange(LONGEST + 1, dtype=float)
    return Kernels(
        layer,
        {when: bias_between(e, name, far[-1:], far, layer)[:, 0, ::-1] for when, e in biases.items()},
    )


def of_layer(encoding: Encoding, name: str, kernels: Kernels, length: int) -> dict[str, Any]:
    """A layer's curves and effective lengths, and what kernel the learned bias is on the first positions."""
    known = of_encoding(encoding, name, min(length, 128), kernels.layer)
    effective = kernels.effective
    return {
        "layer": kernels.layer,
        "heads": [
            {"head": head, "definiteness": kernel["definiteness"], "shift": kernel["shift"]}
            | {f"effective_length_{when}": effective[when][head - 1].as_json() for when in WHEN}
            for head, kernel in enumerate(known["heads"], 1)
        ],
        "largest_change": change(kernels),
        "bias": {when: values[:, : length + 1].tolist() for when, values in kernels.bias.items()},
    }


def change(kernels: Kernels) -> float:
    """How far training has moved the bias at most, with that at distance 0 subtracted, where both are finite."""
    before, after = (kernels.bias[when] - kernels.bias[when][:, :1] for when in WHEN)
    both = np.isfinite(before) & np.isfinite(after)
    return float(np.abs(after[both] - before[both]).max(initial=0.0))


def sentence(layers: Sequence[Kernels], train_len: int) -> str:
    """How many heads end within the training length, before and after."""
    effective = {when: [end for kernels in layers for end in kernels.effective[when]] for when in WHEN}
    counts = {when: sum(e.value is not None and e.value <= train_len for e in ends) for when, ends in effective.items()}
    total = len(effective["after"])
    return (
        f"{counts['before']} of {total} heads had an effective length within the training length {train_len} "
        f"before training, {counts['after']} after; the bias moved by {max(map(change, layers)):.3g} at most"
    )


def picture(layers: Sequence[Mapping[str, Any]], facts: Mapping[str, Any], title: str) -> Picture:
    """A row a layer: on the left the bias of each head, dotted as it was drawn; on the right the heads within x."""
    marks, panels, far = {"training length": facts["train_len"]}, [], range(1, LONGEST + 1)
    for layer in layers:
        heads = [
            Line(f"head {head + 1}" if when == "after" else "", *lowered(values), like=head, dash=dash)
            for when, dash in zip(WHEN, (":", "-"), strict=True)
            for head, values in enumerate(layer["bias"][when])
        ]
        ends = {
            when: [
                EffectiveLength(head[f"effective_length_{when}"]["value"], LONGEST, False) for head in layer["heads"]
            ]
            for when in WHEN
        }
        within = [
            Line(f"{when} training", far, heads_within(ends[when])[1:].tolist(), like=0, dash=dash)
            for when, dash in zip(WHEN, (":", "-"), strict=True)
        ]
        bias, count = Axis(f"layer {layer['layer']}: bias(x) - bias(0)"), Axis("heads with effective length <= x")
        panels += [
            Curves(heads, Axis("distance m - n (dotted: before training)"), bias, marks, {"ends a head": THRESHOLD}),
            Curves(within, Axis("distance x", True), replace(count, low=0, high=facts["n_heads"]), marks),
        ]
    return Picture(panels, title, across=2, size=(4.5, 3.2))


@lru_cache(maxsize=1)
def learned_bias(run: OpenedRun) -> Float[ndarray, "n_heads distances"]:
    """The learned bias of each head, which all layers share, by distance."""
    return kernels_of({"after": encoding_of(run, run.model)}, name_of(run), 0).bias["after"]


def by_distance(run: OpenedRun, values: Sequence[float] | ndarray) -> Mapping[int, Interval]:
    """Values at the distances 0, 1, ..., as far as the run is tested, at some of them; they are exact."""
    step = max(1, run.train_len // POINTS)
    return {x: Interval.exactly(float(values[x])) for x in range(step, run.config.tested[-1] + 1, step)}


def heads_by_reach(run: OpenedRun) -> Mapping[int, Interval]:
    """How many heads have an effective length of at most x: section 3.7.5 of the thesis, Figure 3.6."""
    return by_distance(run, heads_within(effective_lengths(learned_bias(run))))


def over_heads(combined: Callable[[ndarray], ndarray]) -> Callable[[OpenedRun], Mapping[int, Interval]]:
    """The bias by distance, that at distance 0 subtracted, as one number of all heads."""
    return lambda run: by_distance(run, combined(learned_bias(run) - learned_bias(run)[:, :1]))


mean_kernel = over_heads(lambda bias: bias.mean(0))
flattest_kernel = over_heads(lambda bias: bias.max(0))  # of the head that has lost least
steepest_kernel = over_heads(lambda bias: bias.min(0))  # of the head that has lost most
