"""`regulargpt position-variance RUN`: chapter 2 for a trained Transformer without encodings.

Lemma 2.3 says of a random model that the variance of an attention output falls as 1/m. Here it is measured behind each
layer of a trained one (Figure 2.7), and a classifier reads the position from its residual stream (section 2.2).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from languages.errors import UserError
from regulargpt import plots
from regulargpt.config.schema import value_of
from regulargpt.data.base import Words
from regulargpt.evaluation.by_length import words_at_once
from regulargpt.measurements.position_probe import LayerError, ProbeSetting, Progress, middle_error, probe_streams
from regulargpt.measurements.position_variance import Setting, layer_norm, log_slope
from regulargpt.measurements.position_variance_report import draw_probe
from regulargpt.measurements.text_subject import TextSubject, text_subject
from regulargpt.models.hooks import HookPoint, hooks, run_with_cache
from regulargpt.models.transformer import Transformer
from regulargpt.objectives.answers import to_tensor
from regulargpt.runs.load import load_drawn
from regulargpt.storage import atomic
from regulargpt.storage.folder import RunFolder

FOLDER = "position-variance"
SEGMENTS, UPDATES, BATCH = 256, 500, 16
CPU = torch.device("cpu")


def trained_variance_report(
    folder: RunFolder,
    *,
    length: int | None = None,
    segments: int = SEGMENTS,
    updates: int = UPDATES,
    seed: int | None = None,
    out: Path | None = None,
    progress: Progress = lambda done, count: None,
) -> dict[str, Any]:
    """Measure the variance of the attention outputs by position, and train the probes for so many updates.

    position-variance.json, .csv and .png are written. Without a length, the training length. Raises UserError, before
    anything is written, as `text_subject` does, and for a model that is no Transformer or is told its positions.
    """
    run = text_subject(folder, FOLDER, length=length, segments=segments, seed=seed, out=out, times=(1,))
    model = run.transformer
    if (encoding := value_of(run.config, "model.encoding.name")) != "none":
        place = atomic.shown(run.run)
        raise UserError(
            f"{place} has the encoding {encoding}, which tells positions; choose a run with --encoding none"
        )
    if run.length < 2:
        raise UserError(f"--length {run.length}: a slope needs at least 2 positions; choose a longer one")
    before = load_drawn(folder, run.config.seed)
    assert isinstance(before, Transformer)
    read = run.segments[:, :-1]
    variance = {"before": output_variance(before, read), "after": output_variance(model, read)}
    report = {
        **run.facts,
        "variance": {when: values.tolist() for when, values in variance.items()},
        "slopes": {when: [log_slope(layer) for layer in values] for when, values in variance.items()},
        "probe": probe_of(run, model, updates, progress),
    }
    report = {**report, "summary": sentence(report)}
    write(run, report)
    return report


@torch.no_grad()
def output_variance(model: Transformer, words: Words) -> Float[ndarray, "layers length"]:
    """The variance of each component of the attention output at each position over the words, its mean over components.

    Around the mean over words: unlike a random model's, the outputs of a trained one do not have the mean 0. The sums
    are float64.

    >>> model = Transformer(2, 2, d_model=4, n_heads=2, d_ff=4, n_layers=3, encoding="none")
    >>> output_variance(model, np.array([[0, 1, 1], [0, 1, 1]])).round(6).tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    shape = (len(model.blocks), words.shape[1], model.embedding.embedding_dim)
    sums, squares = (torch.zeros(shape, dtype=torch.float64) for _ in range(2))
    # Around the first word: squares of what is far from 0 would lose the digits that differ.
    origin: dict[str, Tensor] = {}

    def hear(value: Tensor, hook: HookPoint) -> None:
        layer, value = int(hook.name.split(".")[1]), value.double()
        moved = value - origin.setdefault(hook.name, value[:1])
        sums[layer] += moved.sum(0)
        squares[layer] += moved.square().sum(0)

    names = [f"blocks.{layer}.hook_attn_out" for layer in range(shape[0])]
    at_once = words_at_once(model.eval(), words.shape[1])
    with hooks(model, [(names, hear)]):
        for at in range(0, len(words), at_once):
            model(to_tensor(words[at : at + at_once], CPU), readout="all")
    variance = squares / len(words) - (sums / len(words)).square()
    return variance.clamp(min=0).mean(-1).numpy()


def probe_of(run: TextSubject, model: Transformer, updates: int, progress: Progress) -> dict[str, Any] | None:
    """The mean absolute error of the position read behind each layer, of text it was not trained to read it from."""
    if updates == 0:
        return None
    n_layers, width = len(model.blocks), model.embedding.embedding_dim
    setting = ProbeSetting(Setting(width, n_heads=1, length=run.length, n_layers=n_layers), updates, BATCH)

    def drawn(purpose: str, step: int) -> Iterator[Tensor]:
        return streams(model, segments_of(run, purpose, step))

    layers: list[LayerError] = probe_streams(setting, run.seed, drawn, CPU, progress)
    middle = middle_error(run.length)
    return {"updates": updates, "middle": middle, "layers": [layer.as_json() for layer in layers]}


def segments_of(run: TextSubject, purpose: str, step: int) -> Words:
    """Segments of the training part to train probes on, those of the test part in turn to test them on."""
    if purpose == "probe inputs":
        return run.data.batch(run.seed, purpose, step, [run.length], BATCH)[:, :-1]
    at = np.arange(step * BATCH, (step + 1) * BATCH) % len(run.segments)
    return run.segments[at, :-1]


def streams(model: Transformer, words: Words) -> Iterator[Tensor]:
    """What the probes read, each (batch, length, d_model): the embeddings, then the residual stream of each layer."""
    names = ["hook_embed", *(f"blocks.{layer}.hook_resid_post" for layer in range(len(model.blocks)))]
    with torch.no_grad():
        _, cache = run_with_cache(model, to_tensor(words, CPU), names_filter=names)
    for name in names:
        yield layer_norm(cache[name])


def sentence(report: dict[str, Any]) -> str:
    """The slopes beside the lemma's, after training and before it.

    >>> sentence({"slopes": {"after": [-0.951, -0.2], "before": [-0.9, -0.7]}})
    'the variance of the attention output falls as m^-0.95, m^-0.20 by layer (before training m^-0.90, m^-0.70); ...'
    """
    after, before = (", ".join(f"m^{slope:.2f}" for slope in report["slopes"][when]) for when in ("after", "before"))
    said = "Lemma 2.3 says m^-1 of independent inputs and even attention"
    return f"the variance of the attention output falls as {after} by layer (before training {before}); {said}"


def write(run: TextSubject, report: dict[str, Any]) -> None:
    """A row a position."""
    layers = range(len(report["slopes"]["after"]))
    columns = ("position", *(f"{when}, layer {layer}" for when in ("before", "after") for layer in layers))
    values = [of_layer for when in ("before", "after") for of_layer in report["variance"][when]]
    rows = zip(range(1, run.length + 1), *values, strict=True)
    run.write(report, [columns, *rows], picture)


def picture(path: Path, report: dict[str, Any], title: str) -> None:
    """Figure 2.7, the variance of each layer by position beside 1/m, and Figure 2.2 if there was a probe."""
    figure = plots.new_figure(10, 4)
    left, right = figure.subplots(1, 2)
    m, slopes = np.arange(1, report["length"] + 1), report["slopes"]["after"]
    for layer, slope in enumerate(slopes):
        colour = plots.COLOURS[layer % len(plots.COLOURS)]
        left.plot(m, report["variance"]["before"][layer], ":", color=colour)
        left.plot(m, report["variance"]["after"][layer], color=colour, label=f"layer {layer}, slope {slope:.2f}")
    left.plot(m, report["variance"]["after"][0][0] / m, "--", color=plots.GREY, label="1/m")
    left.set(xscale="log", yscale="log", xlabel="position m (dotted: before training)")
    left.set(ylabel="variance of the attention output")
    left.legend(frameon=False)
    if report["probe"] is None:
        right.remove()
    else:
        draw_probe(right, report["probe"])
    figure.suptitle(title, fontsize=10, parse_math=False)
    plots.save(path, figure)
