"""`regulargpt positions`: nats by position, with the reference that sees the training length only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from languages.errors import UserError
from regulargpt import objectives, plots
from regulargpt.evaluation.interval import Interval
from regulargpt.measurements.positions import Bin, beyond, bins, losses
from regulargpt.measurements.rounding import rounded
from regulargpt.measurements.text_subject import TextSubject, text_subject
from regulargpt.objectives.language_model import LanguageModel
from regulargpt.objectives.measures import measure
from regulargpt.storage import atomic
from regulargpt.storage.folder import RunFolder

FOLDER = "positions"
FIRST_SHOWN = 8
COLUMNS = ("position", "nll", "reference")


def positions_report(
    folder: RunFolder,
    *,
    length: int | None = None,
    segments: int,
    seed: int | None = None,
    out: Path | None = None,
) -> dict[str, Any]:
    """Measure the nats at each position of test segments and write positions.json, .csv and .png.

    Raises UserError, before anything is written, as `text_subject` does.
    """
    run = text_subject(folder, FOLDER, length=length, segments=segments, seed=seed, out=out)
    objective = objectives.build(run.config.objective, run.data)
    if not isinstance(objective, LanguageModel):
        raise UserError(f"{atomic.shown(run.run)} was not trained to tell the next symbol; choose a language model")
    nats, attention = losses(run.model, objective, run.segments), reference_of(run)
    report: dict[str, Any] = {
        **run.facts,
        "scoring": "position",
        "nll": nats.mean(0).tolist(),
        "bins": [as_json(part) for part in bins(nats, run.files)],
        "reference": None,
        "difference": [],
        "beyond": None,
    }
    found = None
    if attention is not None:
        with run.seen(attention):
            other = losses(run.model, objective, run.segments)
        found = beyond(nats, other, run.train_len, run.files)
        of_reference = {"nll": other.mean(0).tolist(), "bins": [as_json(part) for part in bins(other, run.files)]}
        report |= {
            "reference": {"attention": attention, **of_reference},
            "difference": [as_json(part) for part in bins(nats - other, run.files)],
            "beyond": None if found is None else {end: getattr(found, end) for end in ("value", "low", "high")},
        }
    report = rounded({**report, "summary": sentence(found, run, attention)})
    write(run, report)
    return report


def reference_of(run: TextSubject) -> str | None:
    """The attention of the reference; None for a model that has none that could be restricted."""
    return None if run.config.model.no_views() is not None else f"sliding:{run.train_len}"


def as_json(part: Bin) -> dict[str, Any]:
    """A bin's numbers."""
    return {"first": part.first, "last": part.last, "nll": part.nats.value, "interval": [part.nats.low, part.nats.high]}


def sentence(found: Interval | None, run: TextSubject, attention: str | None) -> str:
    """Whether context beyond the training length helps, by the paired interval."""
    if attention is None:
        return f"{run.config.model.title} has no attention that could be restricted: there is no reference"
    if found is None:
        return f"no position lies beyond the training length {run.train_len}"
    interval = f"95 % interval {found.low:+.4f} to {found.high:+.4f}"
    lead = f"beyond position {run.train_len}, attention to more than the last {run.train_len} symbols"
    if found.low <= 0 <= found.high:
        return f"{lead} changes nothing that can be told: {found.value:+.4f} nats a symbol ({interval}, paired)"
    verb = "hurts" if found.value > 0 else "helps"
    return f"{lead} {verb} by {abs(found.value):.4f} nats a symbol ({interval}, paired)"


def write(run: TextSubject, report: dict[str, Any]) -> None:
    """A row a position."""
    reference = report["reference"]["nll"] if report["reference"] else [""] * run.length
    rows = zip(range(1, run.length + 1), report["nll"], reference, strict=True)
    run.write(report, [COLUMNS, *rows], picture)


def picture(path: Path, report: dict[str, Any], title: str) -> None:
    """Figures 3.5 and 3.7: the bins as lines with their intervals, each at its last position; then their difference.

    The first symbols are left out where there are others: they cost so much that the rest would be flat.
    """
    kept = slice(sum(part["last"] < min(FIRST_SHOWN, report["length"]) for part in report["bins"]), None)
    found = {"all context": report["bins"][kept]}
    if report["reference"]:
        found[f"the last {report['train_len']}"] = report["reference"]["bins"][kept]
    parts = {"nats per symbol": found}
    if report["difference"]:
        parts["all context minus the last symbols, paired"] = {"": report["difference"][kept]}
    figure = plots.new_figure(6 * len(parts), 4)
    for axes, (label, lines) in zip(figure.subplots(1, len(parts), squeeze=False)[0], parts.items(), strict=True):
        drawn = [line(name, values) for name, values in lines.items()]
        plots.prepare(axes, drawn, measure("nll"), long=1)
        for at, each in enumerate(drawn):
            plots.draw(axes, each, at, len(drawn) - at - 1)
            axes.plot([], [], color=plots.COLOURS[at], label=each.name)
        axes.axvline(report["train_len"], color=plots.VERMILION, linestyle="--", linewidth=1, label="training length")
        axes.set(xlabel="position", ylabel=label)
        axes.legend(frameon=False)
    figure.suptitle(title, fontsize=10, parse_math=False)
    plots.save(path, figure)


def line(name: str, found: list[dict[str, Any]]) -> plots.Line:
    """Bins as a line."""
    low, high = zip(*(part["interval"] for part in found), strict=True)
    return plots.Line(name, [part["last"] for part in found], [part["nll"] for part in found], low, high)
