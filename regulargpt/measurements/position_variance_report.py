"""`regulargpt position-variance`: chapter 2 of the thesis, lemma by lemma, and what a probe reads of positions."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from languages.errors import UserError
from regulargpt import plots
from regulargpt.measurements import files
from regulargpt.measurements.position_probe import ProbeSetting, Progress, middle_error, probe_positions
from regulargpt.measurements.position_variance import Attention, Lemmas, Setting, after_norm, log_slope, simulate
from regulargpt.measurements.subject import refuse_file

COLUMNS = ("position", "lemma", "causal", "uniform", "bidirectional")
KINDS: tuple[Attention, ...] = ("causal", "uniform", "bidirectional")
FACTORS = (0.1, 1.0, 10.0)
"""Figure 2.5 takes s = 0.002, 0.02 and 0.2."""
SAMPLES = 1000  # of Lemma 2.4, where a variance then has a standard error of 4.5 %


@dataclass(frozen=True)
class Preset:
    """The simulated layer, and the frozen model that is probed."""

    simulated: Setting
    probed: ProbeSetting


# The thesis has 500 draws and 5 probes, ours fewer draws and one probe: the standard errors are 1 % and less.
PRESETS = {
    "quick": Preset(
        Setting(d_model=128, n_heads=4, length=128, draws=100),
        ProbeSetting(Setting(d_model=128, n_heads=4, length=128, n_layers=4), updates=500, batch_size=16),
    ),
    "thesis": Preset(Setting(draws=50), ProbeSetting(Setting(n_layers=12))),
}


def position_variance_report(
    preset: str,
    *,
    seed: int = 0,
    updates: int | None = None,
    device: str = "cpu",
    out: Path | None = None,
    progress: Progress = lambda done, count: None,
) -> dict[str, Any]:
    """Simulate the lemmas, then train the probes for so many updates, by default the preset's; with 0 there are none.

    With `out`, position-variance.json, .csv and .png are written there. Raises UserError, before anything is computed,
    for an `out` that is a file and a device that is not there.
    """
    if out is not None:
        refuse_file(out)
    if device == "cuda" and not torch.cuda.is_available():
        raise UserError("--device cuda: this machine has no GPU that torch can use; choose --device cpu")
    chosen = PRESETS[preset]
    simulated, lemmas = chosen.simulated, Lemmas.of(chosen.simulated)
    found = {kind: simulate(simulated, seed, kind) for kind in KINDS}
    outputs = {kind: found[kind].output[0] for kind in KINDS}
    line = np.arange(1, simulated.length + 1) / simulated.length
    report = {
        "preset": preset,
        "seed": seed,
        "simulated": sizes(simulated),
        "lemmas": [
            row("2.1: variance of v_m", lemmas.vector, lemmas.vector, found["causal"].vector),
            row("2.2: variance of l_mn", lemmas.logit_printed, lemmas.logit, found["causal"].logit),
            row("2.2: scaled by sqrt(d/H)", lemmas.scaled_printed, lemmas.scaled, found["causal"].scaled),
        ],
        "slopes": {kind: log_slope(output) for kind, output in outputs.items()},
        "by_sigma": [at_sigma(replace(simulated, sigma=factor * simulated.sigma), seed) for factor in FACTORS],
        "cumulative_off_line": float(np.abs(found["causal"].cumulative - line).max()),
        "after_norm": norm_errors(simulated, seed),
        "variance": {"lemma": lemmas.output.tolist(), **{kind: outputs[kind].tolist() for kind in KINDS}},
        **probe_rows(chosen.probed, updates, seed, device, progress),
    }
    if out is not None:
        write(out, report)
    return report


def sizes(setting: Setting) -> dict[str, Any]:
    """A setting as JSON."""
    return {key: value for key, value in asdict(setting).items() if key != "dtype"}


def row(name: str, printed: float, corrected: float, measured: float) -> dict[str, Any]:
    """What the thesis prints, what is right, and what was measured."""
    return {"name": name, "printed": printed, "corrected": corrected, "measured": measured}


def at_sigma(setting: Setting, seed: int) -> dict[str, float]:
    """How the output's variance falls at another s: the slope, and the ratio to Lemma 2.3 at the last position."""
    output = simulate(setting, seed).output[0]
    last = output[-1] / Lemmas.of(setting).output[-1]
    return {"sigma": setting.sigma, "slope": log_slope(output), "ratio_at_last": float(last)}


def norm_errors(setting: Setting, seed: int) -> dict[str, float]:
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


def write(out: Path, report: dict[str, Any]) -> None:
    """A row a position."""
    variance = report["variance"]
    rows = zip(range(1, len(variance["lemma"]) + 1), *(variance[name] for name in COLUMNS[1:]), strict=True)
    files.write(out, "position-variance", report, [COLUMNS, *rows], lambda path: picture(path, report))


def picture(path: Path, report: dict[str, Any]) -> None:
    """Figure 2.4 with its contrasts, and Figure 2.2 if there was a probe."""
    figure = plots.new_figure(10, 4)
    left, right = figure.subplots(1, 2)
    for name, colour, style in zip(COLUMNS[1:], plots.COLOURS, ("--", "-", "-", "-"), strict=False):
        values = report["variance"][name]
        left.plot(range(1, len(values) + 1), values, style, color=colour, label=name)
    left.set(xscale="log", yscale="log", xlabel="position m", ylabel="variance of the attention output")
    left.legend(frameon=False)
    if (probe := report["probe"]) is None:
        right.remove()
    else:
        draw_probe(right, probe)
    plots.save(path, figure)


def draw_probe(axes: Any, probe: dict[str, Any]) -> None:
    """The error by layer, and that of naming the middle."""
    at = [layer["layer"] for layer in probe["layers"]]
    for name, colour in (("mae_argmax", plots.BLUE), ("mae_mean", plots.VERMILION)):
        label = {"mae_argmax": "most likely position", "mae_mean": "expected position"}[name]
        axes.plot(at, [layer[name] for layer in probe["layers"]], "o-", color=colour, label=label)
    axes.axhline(probe["middle"], color=plots.GREY, linestyle=":", label="always the middle")
    axes.set(xlabel="layer", ylabel="mean absolute error of the position", xticks=at)
    axes.legend(frameon=False)
