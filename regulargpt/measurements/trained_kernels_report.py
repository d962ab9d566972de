"""`regulargpt kernels RUN`: the biases of a trained Transformer by distance, as they were drawn and as they are now."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from languages.errors import UserError
from regulargpt import plots
from regulargpt.config.schema import RunConfig
from regulargpt.encodings.base import Encoding
from regulargpt.measurements import files
from regulargpt.measurements.effective_length import (
    LONGEST,
    THRESHOLD,
    EffectiveLength,
    effective_lengths,
    heads_within,
)
from regulargpt.measurements.kernels_report import bias_between, of_encoding, plain
from regulargpt.measurements.subject import refuse_file
from regulargpt.models.base import Model
from regulargpt.models.transformer import Transformer
from regulargpt.runs.load import load_drawn, load_reader
from regulargpt.storage import atomic
from regulargpt.storage.folder import RunFolder

FOLDER = "kernels"
COLUMNS = ("layer", "head", "distance", "before", "after")
WHEN = ("before", "after")
MOST_SHOWN = 1024


@dataclass(frozen=True)
class Kernels:
    """The bias of every head at the distances 0, 1, ..., LONGEST in one layer, before training and after."""

    layer: int
    bias: dict[str, Float[ndarray, "n_heads distances"]]

    @property
    def effective(self) -> dict[str, list[EffectiveLength]]:
        """The effective length of each head."""
        return {when: effective_lengths(values) for when, values in self.bias.items()}


def trained_kernels_report(folder: RunFolder, *, length: int | None = None, out: Path | None = None) -> dict[str, Any]:
    """The learned kernels of a finished run, beside those that its seed drew; kernels.json, .csv and .png.

    A bias is that of a query at position 20,480, which matters for those alone that are not shift-invariant, as fire.
    An encoding that is the same in all layers is reported once, as layer 0. Up to `length` distances are written, by
    default 8 times the training length. The files go to `out`, by default RUN/kernels.

    Raises UserError, before anything is written, for a model that is no Transformer, and where there is no bias or it
    depends on what is read.
    """
    out = refuse_file(folder.path / FOLDER if out is None else out)
    config = RunConfig.parse(folder.config_text)
    folder.load_summary()
    networks = load_drawn(folder, config.seed), load_reader(folder)
    encodings = {when: encoding_of(folder, model) for when, model in zip(WHEN, networks, strict=True)}
    length = min(8 * config.data.train_len, MOST_SHOWN) if length is None else length
    name, train_len = folder.load_model_config()["model"]["encoding"]["name"], config.data.train_len
    after = encodings["after"]
    layers = [kernels_of(encodings, name, layer) for layer in range(1 if after.shared_bias else after.n_layers)]
    report = {
        "run_dir": str(folder.path),
        "encoding": name,
        "n_heads": after.n_heads,
        "n_layers": after.n_layers,
        "train_len": train_len,
        "length": length,
        "seed": config.seed,
        "layers": [of_layer(after, name, kernels, length) for kernels in layers],
        "summary": sentence(layers, train_len),
    }
    report = plain(report)
    write(out, report, plots.title(config))
    return report


def encoding_of(folder: RunFolder, model: Model) -> Encoding:
    """The encoding of a Transformer, in float64; UserError for another model."""
    if not isinstance(model, Transformer):
        name = folder.load_model_config()["model"]["name"]
        raise UserError(f"{atomic.shown(folder.path)} is a run of {name}, not of a transformer; choose a transformer's")
    return model.encoding.double().eval()


def kernels_of(encodings: dict[str, Encoding], name: str, layer: int) -> Kernels:
    """The biases of one layer up to the distance LONGEST."""
    far = np.arange(LONGEST + 1, dtype=float)
    return Kernels(
        layer,
        {when: bias_between(e, name, far[-1:], far, layer)[:, 0, ::-1] for when, e in encodings.items()},
    )


def of_layer(encoding: Encoding, name: str, kernels: Kernels, length: int) -> dict[str, Any]:
    """A layer's curves and effective lengths, and what kernel the learned bias is on the first positions."""
    known = of_encoding(encoding, name, min(length, 128), kernels.layer)
    effective = kernels.effective
    return {
        "layer": kernels.layer,
        "heads": [
            {"head": head, "definiteness": found["definiteness"], "shift": found["shift"]}
            | {f"effective_length_{when}": effective[when][head - 1].as_json() for when in WHEN}
            for head, found in enumerate(known["heads"], 1)
        ],
        "largest_change": change(kernels),
        "bias": {when: values[:, : length + 1].tolist() for when, values in kernels.bias.items()},
    }


def change(kernels: Kernels) -> float:
    """How far training has moved the bias at most, with that at distance 0 subtracted, where both are finite."""
    before, after = (kernels.bias[when] - kernels.bias[when][:, :1] for when in WHEN)
    both = np.isfinite(before) & np.isfinite(after)
    return float(np.abs(after[both] - before[both]).max(initial=0.0))


def sentence(layers: list[Kernels], train_len: int) -> str:
    """How many heads end within the training length, before and after."""
    effective = {when: [found for kernels in layers for found in kernels.effective[when]] for when in WHEN}
    counts = {
        when: sum(e.value is not None and e.value <= train_len for e in found) for when, found in effective.items()
    }
    total = len(effective["after"])
    return (
        f"{counts['before']} of {total} heads had an effective length within the training length {train_len} "
        f"before training, {counts['after']} after; the bias moved by {max(map(change, layers)):.3g} at most"
    )


def write(out: Path, report: dict[str, Any], title: str) -> None:
    """A row a layer, head and distance."""
    rows = [
        (layer["layer"], head, distance, *pair)
        for layer in report["layers"]
        for head, both in enumerate(zip(*(layer["bias"][when] for when in WHEN), strict=True), 1)
        for distance, pair in enumerate(zip(*both, strict=True))
    ]
    files.write(out, "kernels", report, [COLUMNS, *rows], lambda path: picture(path, report, title))


def picture(path: Path, report: dict[str, Any], title: str) -> None:
    """A row a layer: on the left the bias of each head, dotted as it was drawn; on the right the heads within x."""
    layers = report["layers"]
    figure, x = plots.new_figure(9, 3.2 * len(layers)), range(LONGEST + 1)
    for (left, right), layer in zip(figure.subplots(len(layers), 2, squeeze=False), layers, strict=True):
        for when, style in zip(WHEN, (":", "-"), strict=True):
            for head, values in enumerate(layer["bias"][when]):
                finite = values[: values.index(None)] if None in values else values
                colour = plots.COLOURS[head % len(plots.COLOURS)]
                label = f"head {head + 1}" if when == "after" else None
                left.plot([value - finite[0] for value in finite], style, color=colour, label=label, linewidth=1.2)
            ends = [head[f"effective_length_{when}"]["value"] for head in layer["heads"]]
            within = heads_within([EffectiveLength(end, LONGEST, False) for end in ends])
            right.step(x, within, style, where="post", color=plots.BLUE, label=f"{when} training")
        left.axhline(THRESHOLD, color=plots.GREY, linewidth=0.8)
        for axes in (left, right):
            axes.axvline(report["train_len"], color=plots.VERMILION, linestyle="--", linewidth=1)
            axes.legend(frameon=False, fontsize=7)
        left.set(xlabel="distance m - n (dashed: training length)", ylabel=f"layer {layer['layer']}: bias(x) - bias(0)")
        right.set(xlabel="distance x", ylabel="heads with effective length <= x", ylim=(-0.2, report["n_heads"] + 0.2))
        right.set(xscale="log", xlim=(1, LONGEST))
    figure.suptitle(f"{title}, {report['encoding']}", fontsize=10, parse_math=False)
    plots.save(path, figure)
