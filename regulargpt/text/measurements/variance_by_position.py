"""Chapter 2 of the thesis: positions in the variance of a Transformer without encodings, simulated or of a run.

Lemma 2.3 says of a random model that the variance of an attention output falls as 1/m with the position m. It is
measured in simulated layers, lemma by lemma (`position_variance`), or behind each layer of a trained model (Figure
2.7); a classifier reads the position from the residual stream (`position_probe`, section 2.2).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from languages.errors import UserError, shown
from regulargpt import plots
from regulargpt.config.schema import value_of
from regulargpt.data.base import Words
from regulargpt.evaluation.by_length import words_at_once
from regulargpt.evaluation.interval import Interval, student
from regulargpt.findings import Axis, Curves, Data, Finding, Picture
from regulargpt.measurements.sample import Sample, segments_of, transformer_of
from regulargpt.models.hooks import HookPoint, hooks, run_with_cache
from regulargpt.models.transformer import Transformer
from regulargpt.objectives.answers import to_tensor
from regulargpt.plots import Line
from regulargpt.runs.load import load_drawn
from regulargpt.runs.opened import OpenedRun
from regulargpt.tables import Table
from regulargpt.text.measurements.options import PositionVarianceOptions
from regulargpt.text.measurements.position_probe import (
    LayerError,
    ProbeSetting,
    Progress,
    middle_error,
    probe_positions,
    probe_streams,
)
from regulargpt.text.measurements.position_variance import (
    Attention,
    Lemmas,
    RandomModel,
    after_norm,
    layer_norm,
    log_slope,
    simulate,
)

KINDS: tuple[Attention, ...] = ("causal", "uniform", "bidirectional")
FACTORS = (0.1, 1.0, 10.0)
"""Figure 2.5 takes s = 0.002, 0.02 and 0.2."""
SAMPLES = 1000  # of Lemma 2.4, where a variance then has a standard error of 4.5 %
SEGMENTS, UPDATES, BATCH = 256, 500, 16
# Of how many segments the variances of a claim are, and how many parts are left out in turn for their intervals.
VARIED, PARTS = 512, 16
CPU = torch.device("cpu")
M, VARIANCE = Axis("position m", True), Axis("variance of the attention output", True)
Values = dict[str, Any]
ByLayer = Float[ndarray, "layers length"]


@dataclass(frozen=True)
class Preset:
    """The simulated layer, and the frozen model that is probed."""

    simulated: RandomModel
    probed: ProbeSetting


# The thesis has 500 draws and 5 probes, ours fewer draws and one probe: the standard errors are 1 % and less.
PRESETS = {
    "quick": Preset(
        RandomModel(d_model=128, n_heads=4, length=128, draws=100),
        ProbeSetting(RandomModel(d_model=128, n_heads=4, length=128, n_layers=4), updates=500, batch_size=16),
    ),
    "thesis": Preset(RandomModel(draws=50), ProbeSetting(RandomModel(n_layers=12))),
}


def measure(
    run: OpenedRun | None, options: PositionVarianceOptions, progress: Progress = lambda done, count: None
) -> Finding:
    """The lemmas simulated, or of a run the variance of its attention outputs; then the probes, if there are updates.

    Raises UserError, before anything is computed, for a device that is not there, and for a run of no Transformer or
    of a network that is told its positions.
    """
    if run is None:
        return simulated(options, progress)
    return of_run(run, options, progress)


def simulated(options: PositionVarianceOptions, progress: Progress) -> Finding:
    """The simulation of a preset: a row of the CSV a position."""
    preset, seed, device = options.preset or "quick", options.seed or 0, options.device or "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise UserError("--device cuda: this machine has no GPU that torch can use; choose --device cpu")
    setting, lemmas = PRESETS[preset].simulated, Lemmas.from_setting(PRESETS[preset].simulated)
    drawn = {kind: simulate(setting, seed, kind) for kind in KINDS}
    outputs, causal = {kind: drawn[kind].output[0] for kind in KINDS}, drawn["causal"]
    line = np.arange(1, setting.length + 1) / setting.length
    variance = {"lemma": lemmas.output.tolist(), **{kind: outputs[kind].tolist() for kind in KINDS}}
    values = {
        "lemmas": [
            row("2.1: variance of v_m", lemmas.vector, lemmas.vector, causal.vector),
            row("2.2: variance of l_mn", lemmas.logit_printed, lemmas.logit, causal.logit),
            row("2.2: scaled by sqrt(d/H)", lemmas.scaled_printed, lemmas.scaled, causal.scaled),
        ],
        "slopes": {kind: log_slope(output) for kind, output in outputs.items()},
        "by_sigma": [at_sigma(replace(setting, sigma=factor * setting.sigma), seed) for factor in FACTORS],
        "cumulative_off_line": float(np.abs(causal.cumulative - line).max()),
        "after_norm": norm_errors(setting, seed),
        "variance": variance,
        **probe_rows(PRESETS[preset].probed, options.updates, seed, device, progress),
    }
    lines = [
        Line(name, range(1, setting.length + 1), rows, dash="--" * (name == "lemma")) for name, rows in variance.items()
    ]
    return Finding(
        name="position-variance",
        title="a random layer without encodings: "
        "d = {d_model}, H = {n_heads}, L = {length}, s = {sigma}, {draws} draws".format_map(sizes(setting)),
        facts={"preset": preset, "seed": seed, "simulated": sizes(setting)},
        values=values,
        data=by_position(variance),
        picture=picture(lines, values["probe"]),
        tables=[
            Table(("lemma", "printed", "right", "measured"), [shown_lemma(lemma) for lemma in values["lemmas"]]),
            replace(shown_variance(variance), notes=said(values)),
            *probe_table(values["probe"], PRESETS[preset].probed.model.length),
        ],
    )


def said(values: Values) -> list[str]:
    """What the simulation says beside its tables."""
    return [
        *(
            f"s = {at_sigma['sigma']:g}: the variance falls as m^{at_sigma['slope']:.2f}, at the last position "
            f"{at_sigma['ratio_at_last']:.3g} times the lemma's"
            for at_sigma in values["by_sigma"]
        ),
        f"attention of the last query is off a straight line by {values['cumulative_off_line']:.1e}",
        "lemma 2.4 at m = 2 is off by {printed:.1%} as printed, by {with_term:.1%} with its missing term; "
        "noise is {noise:.1%}".format_map(values["after_norm"]),
    ]


def sizes(setting: RandomModel) -> dict[str, Any]:
    """A setting as JSON."""
    return {key: value for key, value in asdict(setting).items() if key != "dtype"}


def row(name: str, printed: float, corrected: float, measured: float) -> dict[str, Any]:
    """What the thesis prints, what is right, and what was measured."""
    return {"name": name, "printed": printed, "corrected": corrected, "measured": measured}


def at_sigma(setting: RandomModel, seed: int) -> dict[str, float]:
    """How the output's variance falls at another s: the slope, and the ratio to Lemma 2.3 at the last position."""
    output = simulate(setting, seed).output[0]
    last = output[-1] / Lemmas.from_setting(setting).output[-1]
    return {"sigma": setting.sigma, "slope": log_slope(output), "ratio_at_last": float(last)}


def norm_errors(setting: RandomModel, seed: int) -> dict[str, float]:
    """How far Lemma 2.4 is off at position 2, as printed and with the term that it leaves out: relative, over j."""
    measured, printed, with_term = after_norm(setting, seed, [2], SAMPLES)
    noise = (2 / SAMPLES) ** 0.5  # the relative standard error of a variance
    return {"printed": relative(measured, printed), "with_term": relative(measured, with_term), "noise": noise}


def relative(measured: Float[ndarray, "*shape"], predicted: Float[ndarray, "*shape"]) -> float:
    """The root mean square of the relative error.

    >>> relative(np.array([1.1, 0.9]), np.ones(2))
    0.1
    """
    return round(float(np.sqrt(np.mean((measured / predicted - 1) ** 2))), 12)


def probe_rows(probed: ProbeSetting, updates: int | None, seed: int, device: str, progress: Progress) -> dict[str, Any]:
    """The probe's setting, its error by layer, and the error of naming the middle."""
    if updates == 0:
        return {"probe": None}
    probed = probed if updates is None else replace(probed, updates=updates)
    errors = probe_positions(probed, seed, torch.device(device), progress)
    setting = {**sizes(probed.model), "updates": probed.updates, "batch_size": probed.batch_size}
    middle = middle_error(probed.model.length)
    return {"probe": {**setting, "middle": middle, "layers": [error.as_json() for error in errors]}}


def shown_lemma(lemma: Mapping[str, Any]) -> tuple[str, ...]:
    """A lemma's row for people."""
    return (lemma["name"], *(f"{lemma[key]:.4g}" for key in ("printed", "corrected", "measured")))


def by_position(variance: Mapping[str, Sequence[float]]) -> Data:
    """A row a position."""
    return Data(("position", *variance), list(zip(itertools.count(1), *variance.values(), strict=False)))


def shown_variance(variance: Mapping[str, Sequence[float]]) -> Table:
    """The variance of the output at 1, 2, 8, 64, ... and the last position.

    >>> shown_variance({"lemma": [1.0, 0.5, 0.25]}).rows
    [('1', '1'), ('2', '0.5'), ('3', '0.25')]
    """
    last = len(next(iter(variance.values())))
    at = sorted({m for m in (1, 2, 8, 64, last) if m <= last})
    return Table(("position", *variance), [(str(m), *(f"{row[m - 1]:.4g}" for row in variance.values())) for m in at])


def probe_table(probe: Values | None, length: int) -> list[Table]:
    """The probe's error by layer, if any."""
    if probe is None:
        return []
    rows = [(str(row["layer"]), f"{row['mae_argmax']:.1f}", f"{row['mae_mean']:.1f}") for row in probe["layers"]]
    lead = f"mean absolute error of positions up to {length}; always the middle: {probe['middle']:.1f}"
    return [Table(("layer", "most likely", "expected"), rows, caption=lead)]


def picture(lines: Sequence[Line], probe: Values | None, title: str = "", label: str = M.label) -> Picture:
    """Figures 2.4 and 2.7, the variance by position, and Figure 2.2, the error of the probe, if there was one."""
    panels = [Curves(lines, replace(M, label=label), VARIANCE)]
    if probe is not None:
        at = [layer["layer"] for layer in probe["layers"]]
        names = {"most likely position": "mae_argmax", "expected position": "mae_mean"}
        errors = [Line(name, at, [layer[key] for layer in probe["layers"]]) for name, key in names.items()]
        x, y = Axis("layer", False, ticks=at), Axis("mean absolute error of the position")
        panels.append(Curves(errors, x, y, levels={"always the middle": probe["middle"]}))
    return Picture(panels, title, across=2, size=(5, 4))


def of_run(run: OpenedRun, options: PositionVarianceOptions, progress: Progress) -> Finding:
    """The variances of a run by layer, before training and after: a row of the CSV a position."""
    sample = segments_of(run, options.length, SEGMENTS, options.seed, times=(1,))
    model = transformer_of(run)
    if (encoding := value_of(run.config, "model.encoding.name")) != "none":
        told = f"{shown(run.path)} has the encoding {encoding}, which tells positions"
        raise UserError(f"{told}; choose a run with --encoding none")
    if sample.length < 2:
        raise UserError(f"--length {sample.length}: a slope needs at least 2 positions; choose a longer one")
    before = load_drawn(run.folder, run.config.seed)
    assert isinstance(before, Transformer)
    measured = {"before": output_variance(before, sample.read), "after": output_variance(model, sample.read)}
    variance = {when: layers.tolist() for when, layers in measured.items()}
    values: Values = {
        "variance": variance,
        "slopes": {when: [log_slope(layer) for layer in layers] for when, layers in measured.items()},
        "probe": probe_of(sample, model, UPDATES if options.updates is None else options.updates, progress),
    }
    values["summary"] = sentence(values)
    layers = [f"layer {layer}" for layer in range(len(variance["after"]))]
    columns = {
        f"{when}, {name}": row for when, rows in variance.items() for name, row in zip(layers, rows, strict=True)
    }
    return Finding(
        name="position-variance",
        title=f"{run.data.name}, {run.config.model.title} without encodings: {len(sample.words)} segments",
        facts=sample.facts,
        values=values,
        data=by_position(columns),
        picture=picture(
            lines_of(values), values["probe"], plots.title(run.config), f"{M.label} (dotted: before training)"
        ),
        tables=[
            shown_variance(dict(zip(layers, variance["after"], strict=True))),
            *probe_table(values["probe"], sample.length),
        ],
        sentence=values["summary"],
    )


def lines_of(values: Values) -> list[Line]:
    """The variance of each layer, dotted as it was before training, and 1/m."""
    before, after = values["variance"]["before"], values["variance"]["after"]
    m = range(1, len(after[0]) + 1)
    names = [f"layer {layer}, slope {slope:.2f}" for layer, slope in enumerate(values["slopes"]["after"])]
    lines = [Line(name, m, row, like=layer) for layer, (name, row) in enumerate(zip(names, after, strict=True))]
    lines += [Line("", m, row, like=layer, dash=":") for layer, row in enumerate(before)]
    return [*lines, Line("1/m", m, [after[0][0] / at for at in m], like=len(after), dash="--")]


@torch.no_grad()
def output_variance(model: Transformer, words: Words) -> Float[ndarray, "layers length"]:
    """The variance of each component of the attention output at each position over the words, its mean over components.

    Around the mean over words: unlike a random model's, the outputs of a trained model do not have the mean 0. The sums
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


def probe_of(sample: Sample, model: Transformer, updates: int, progress: Progress) -> dict[str, Any] | None:
    """The mean absolute error of the position read behind each layer, of text it was not trained to read it from."""
    if updates == 0:
        return None
    n_layers, width = len(model.blocks), model.embedding.embedding_dim
    setting = ProbeSetting(RandomModel(width, n_heads=1, length=sample.length, n_layers=n_layers), updates, BATCH)

    def drawn(purpose: str, step: int) -> Iterator[Tensor]:
        return streams(model, batch_of(sample, purpose, step))

    layers: list[LayerError] = probe_streams(setting, sample.seed, drawn, CPU, progress)
    middle = middle_error(sample.length)
    return {"updates": updates, "middle": middle, "layers": [layer.as_json() for layer in layers]}


def batch_of(sample: Sample, purpose: str, step: int) -> Words:
    """Segments of the training part to train probes on, those of the test part in turn to test them on."""
    if purpose == "probe inputs":
        return sample.run.data.batch(sample.seed, purpose, step, [sample.length], BATCH)[:, :-1]
    at = np.arange(step * BATCH, (step + 1) * BATCH) % len(sample.words)
    return sample.read[at]


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


@lru_cache(maxsize=1)
def variances(run: OpenedRun) -> list[ByLayer]:
    """The variances of the attention outputs over all segments, then without each of their parts in turn."""
    model, words = transformer_of(run), run.data.test(run.config.seed, run.train_len, VARIED)[:, :-1]
    parts = np.arange(VARIED) % PARTS
    return [output_variance(model, words), *(output_variance(model, words[parts != part]) for part in range(PARTS))]


def left_out(run: OpenedRun, of: Callable[[ByLayer], ndarray]) -> list[Interval]:
    """What `of` makes of these variances, number by number (Lemma 2.3, Figure 2.7); intervals are the jackknife's."""
    value, *each = map(of, variances(run))
    half = student(PARTS - 1) * np.sqrt((PARTS - 1) * np.array(each).var(0))
    return [Interval(v, v - h, v + h, {"parts": PARTS}) for v, h in zip(value.tolist(), half.tolist(), strict=True)]


def first_layer(run: OpenedRun) -> Mapping[int, Interval]:
    """How the variance of layer 0 falls with the position; 1/m in Lemma 2.3."""
    return dict(enumerate(left_out(run, lambda variance: variance[0] / variance[0, 0]), 1))


def slope(run: OpenedRun) -> Mapping[int, Interval]:
    """The slope of the logarithm of the variance by that of the position, in layer 0; -1 in Lemma 2.3."""
    return {run.train_len: left_out(run, lambda variance: np.array([log_slope(variance[0])]))[0]}


def higher_slope(run: OpenedRun) -> Mapping[int, Interval]:
    """How much flatter the last layer is than layer 0."""
    flatter = left_out(run, lambda variance: np.array([log_slope(variance[-1]) - log_slope(variance[0])]))
    return {run.train_len: flatter[0]}
