"""`regulargpt needles`: exact match by length and depth as numbers, a table and a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from languages.errors import UserError, shown
from regulargpt import data, plots
from regulargpt.config.schema import RunConfig
from regulargpt.data import noun_of
from regulargpt.data.retrieval import RetrievalData
from regulargpt.evaluation.interval import Interval
from regulargpt.evaluation.temperature import Temperature
from regulargpt.measurements.alignment.setting import LONGEST
from regulargpt.measurements.needles import ByDepth, edges, found_at
from regulargpt.measurements.rounding import rounded
from regulargpt.measurements.subject import Looked, config_of, refuse_file, refuse_many
from regulargpt.objectives.measures import measure
from regulargpt.objectives.retrieval import Retrieve
from regulargpt.runs.again import refuse_other_symbols
from regulargpt.runs.load import load_reader
from regulargpt.runs.run import prepare
from regulargpt.storage.folder import RunFolder
from regulargpt.tables import percent

FOLDER = "needles"
WORDS, BINS = 128, 10
MOST_LENGTHS = 100
COLUMNS = ("length", "depth_from", "depth_to", "needles", "found", "exact_match", "low", "high")
MOST_NUMBERS = 12  # bins, and lengths, whose values are written into the picture


@dataclass(frozen=True)
class Asked(Looked):
    """With its retrieval task, and the lengths that it is asked at."""

    data: RetrievalData
    lengths: tuple[int, ...]


def needles_report(
    folder: RunFolder,
    *,
    lengths: Sequence[int] | None = None,
    bins: int = BINS,
    words: int = WORDS,
    temperature: Temperature | None = None,
    seed: int | None = None,
    out: Path | None = None,
) -> dict[str, Any]:
    """Count what a finished run on a retrieval task finds at each depth; write needles.json, .csv and .png.

    The words are those of the run's test where the seed is the run's; without lengths, its lengths too. Files go to
    `out`, by default RUN/needles. What is returned is what the JSON holds.

    Raises UserError, before anything is written, for a run that is not finished or on no retrieval task, a length that
    the task or the model does not allow, too many symbols, a temperature that the model cannot have, or an `out` that
    is a file.
    """
    run = asked_of(folder, lengths, words, seed, out)
    if temperature is not None:
        temperature.set_on(run.model)
    objective = Retrieve(run.data)
    with run.seen():
        found = {T: found_at(objective, run.model, run.data.test(run.seed, T, words), bins) for T in run.lengths}
    task = run.data.task
    report = {
        "run_dir": str(run.run),
        "language": task.name,
        "model": run.config.model.title,
        "train_len": run.train_len,
        "attention": run.attention,
        "temperature": None if temperature is None else str(temperature),
        "words": words,
        "seed": run.seed,
        "measure": "exact_match",
        "chance": 100 * task.chance,
        "together": task.together,
        "depths": edges(bins).tolist(),
        "by_length": {str(T): of_length(one) for T, one in found.items()},
    }
    report = rounded({**report, "summary": sentence(report)})
    run.write(report, [COLUMNS, *rows(report)], picture)
    return report


def asked_of(folder: RunFolder, lengths: Sequence[int] | None, words: int, seed: int | None, out: Path | None) -> Asked:
    """The run, once nothing speaks against these lengths; UserError otherwise."""
    out = refuse_file(folder.path / FOLDER if out is None else out)
    config = RunConfig.parse(folder.config_text)
    config = config_of(folder, config.evaluation.attention)
    folder.load_summary()
    source = source_of(folder, config)
    refuse_other_symbols(folder, source)
    wanted = [T for T in config.tested if source.has_length(T)] if lengths is None else lengths
    if len(wanted) > MOST_LENGTHS:
        raise UserError(f"--lengths: {len(wanted)} of them; choose at most {MOST_LENGTHS}")
    for length in wanted:
        refuse_length(config, source, length)
        refuse_many(length, words, "words")
    prepare(config)
    seed = config.seed if seed is None else seed
    return Asked(folder.path, config, load_reader(folder), seed, out, FOLDER, source, tuple(wanted))


def source_of(folder: RunFolder, config: RunConfig) -> RetrievalData:
    """The run's retrieval task; UserError for a run on something else."""
    name = config.data.name
    if not data.is_retrieval(name):
        place, noun = shown(folder.path), noun_of(name)
        raise UserError(f"{place} is a run on the {noun} {name}; choose a run on a retrieval task: retrieval:line")
    source = data.build(config.data)
    assert isinstance(source, RetrievalData)
    return source


def refuse_length(config: RunConfig, source: RetrievalData, length: int) -> None:
    """UserError for a length that the task or the model does not allow."""
    if reason := source.describe_length(length):
        raise UserError(reason)
    if (reason := config.network.too_long(length)) is not None:
        raise UserError(f"length {length}: {reason}")
    if config.model.quadratic and length > LONGEST:
        raise UserError(f"length {length}: at most {LONGEST:,} for {config.model.label}; choose a shorter one")


def of_length(found: ByDepth) -> dict[str, Any]:
    """A length for the report: all needles, and those of each bin."""
    parts = zip(found.values, found.found, found.needles, strict=True)
    return {
        "all": of_value(found.value, sum(found.found), sum(found.needles)),
        "bins": [of_value(*part) for part in parts],
    }


def of_value(value: Interval | None, found: int, needles: int) -> dict[str, Any]:
    """A share in percent with its interval; None where no needle stands."""
    numbers = (None, None, None) if value is None else (value.value, value.low, value.high)
    return {"needles": needles, "found": found, **dict(zip(("value", "low", "high"), numbers, strict=True))}


def rows(report: dict[str, Any]) -> list[tuple[Any, ...]]:
    """A row a length and bin."""
    ends = report["depths"]
    return [
        (T, low, high, *(one[key] for key in ("needles", "found", "value", "low", "high")))
        for T, found in report["by_length"].items()
        for (low, high), one in zip(pairwise(ends), found["bins"], strict=True)
    ]


def sentence(report: dict[str, Any]) -> str:
    """What is found at the shortest and the longest length, and where in the latter it is found least.

    >>> one = {"needles": 9, "value": 100.0}
    >>> bins = [{"needles": 5, "value": 25.0}, {"needles": 0, "value": None}, {"needles": 4, "value": 0.0}]
    >>> long = {"all": {"value": 12.5}, "bins": bins}
    >>> by_length = {"96": {"all": one, "bins": [one]}, "384": long}
    >>> sentence({"by_length": by_length, "depths": [0, 30, 60, 90], "chance": 6.25})
    'exact match 100 % at length 96, 12.50 % at 384 (least from depth 60 to 90 %: 0.00 %); chance 6.25 %'
    """
    (first, short), *_, (last, long) = [*report["by_length"].items()] * 2
    text = f"exact match {percent(short['all']['value'])} % at length {int(first):,}"
    if last != first:
        text += f", {percent(long['all']['value'])} % at {int(last):,}"
    present = [(one["value"], at) for at, one in enumerate(long["bins"]) if one["needles"]]
    value, at = min(present)
    if value < max(present)[0]:
        low, high = report["depths"][at : at + 2]
        text += f" (least from depth {low:g} to {high:g} %: {percent(value)} %)"
    return f"{text}; chance {report['chance']:.3g} %"


def picture(path: Path, report: dict[str, Any], title: str) -> None:
    """A heat map: a row a length, a column a bin; chance is a line on the scale, a temperature is in the title."""
    found, ends = report["by_length"], report["depths"]
    values = np.array([[np.nan if one["value"] is None else one["value"] for one in T["bins"]] for T in found.values()])
    figure = plots.new_figure(8, min(8.0, 1.9 + 0.42 * len(found)))
    axes = figure.add_subplot()
    axes.set_facecolor(plots.LIGHT_GREY)  # where no needle stands
    low, high = measure(report["measure"]).low, measure(report["measure"]).high
    mesh = axes.pcolormesh(ends, np.arange(len(found) + 1), values, cmap="viridis", vmin=low, vmax=high)
    if max(values.shape) <= MOST_NUMBERS:
        for row, column in np.argwhere(np.isfinite(values)):
            value = float(values[row, column])
            middle = (ends[column] + ends[column + 1]) / 2
            colour = "white" if value < 60 else "black"
            axes.text(middle, row + 0.5, f"{value:.0f}", ha="center", va="center", color=colour, fontsize=8)
    trained = sum(int(T) <= report["train_len"] for T in found)
    if 0 < trained < len(found):
        axes.axhline(trained, color=plots.VERMILION, linestyle="--", label="below: longer than training words")
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), frameon=False, fontsize=8, borderaxespad=0)
    every = -(-len(found) // MOST_NUMBERS)
    axes.set_yticks(np.arange(len(found))[::every] + 0.5, [f"{int(T):,}" for T in found][::every])
    axes.invert_yaxis()
    axes.set(xlabel="depth in the document (%)", ylabel="length T")
    scale = figure.colorbar(mesh, ax=axes, label=measure(report["measure"]).label)
    scale.ax.axhline(report["chance"], color=plots.VERMILION)
    sharpened = "" if report["temperature"] is None else f", temperature {report['temperature']}"
    figure.suptitle(title + sharpened, fontsize=10, parse_math=False)
    plots.save(path, figure)
