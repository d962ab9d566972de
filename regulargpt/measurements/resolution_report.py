"""`regulargpt resolution`: how well the attention of a trained Transformer tells distances apart, by length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from regulargpt import plots
from regulargpt.measurements.attention_logits import mean_logits
from regulargpt.measurements.resolution import Resolution, resolution_of_heads
from regulargpt.measurements.rounding import rounded
from regulargpt.measurements.text_subject import TextSubject, text_subject
from regulargpt.objectives.measures import Measure
from regulargpt.storage.folder import RunFolder

FOLDER = "resolution"
COLUMNS = ("length", "layer", "head", "resolution")
NOTE = "The shortest distances decide on R, which is never above 1; compare orders, not published values."


def resolution_report(
    folder: RunFolder,
    *,
    length: int | None = None,
    segments: int,
    seed: int | None = None,
    attention: str = "full",
    out: Path | None = None,
) -> dict[str, Any]:
    """Measure the attention resolution at the training length and its doubles; write resolution.json, .csv and .png.

    A shorter length reads the last symbols of the same segments. Raises UserError, before anything is written, as
    `text_subject` does, and for a model that is no Transformer.
    """
    run = text_subject(folder, FOLDER, length=length, segments=segments, seed=seed, attention=attention, out=out)
    model, by_length = run.transformer, {}
    with run.seen():
        for T in lengths(run.train_len, run.length):
            by_length[T] = resolution_of_heads(mean_logits(model, run.segments[:, -T - 1 : -1]))
    found = {str(T): {**value.as_json(), "over_first": over(value, by_length)} for T, value in by_length.items()}
    report = rounded({**run.facts, "by_length": found, "summary": sentence(by_length), "note": NOTE})
    write(run, report)
    return report


def lengths(train_len: int, longest: int) -> list[int]:
    """The training length and its doubles up to the longest, which is always among them.

    >>> lengths(64, 300), lengths(64, 32)
    ([64, 128, 256, 300], [32])
    """
    doubles = [train_len << i for i in range(32) if train_len << i < longest]
    return [*doubles, longest]


def over(value: Resolution, by_length: dict[int, Resolution]) -> float:
    """The mean over that at the shortest length; 1 where that is 0."""
    first = next(iter(by_length.values())).mean
    return value.mean / first if first else 1.0


def sentence(by_length: dict[int, Resolution]) -> str:
    """The mean at the shortest and the longest length.

    >>> import numpy as np
    >>> sentence({2: Resolution(np.zeros((1, 1)), 0.5, 2)})
    'R = 0.5000 at length 2'
    """
    first, last = min(by_length), max(by_length)
    text = f"R = {by_length[first].mean:.4f} at length {first}"
    return text if first == last else f"{text}, {by_length[last].mean:.4f} at {last}"


def write(run: TextSubject, report: dict[str, Any]) -> None:
    """A row a length, layer and head."""
    rows = [
        (T, layer, head, value)
        for T, found in report["by_length"].items()
        for layer, heads in enumerate(found["by_head"])
        for head, value in enumerate(heads, 1)
    ]
    run.write(report, [COLUMNS, *rows], picture)


def picture(path: Path, report: dict[str, Any], title: str) -> None:
    """R by length: a line a layer, and the mean."""
    found = report["by_length"]
    at = [int(T) for T in found]
    layers = range(len(next(iter(found.values()))["by_layer"]))
    values = {f"layer {layer}": [f["by_layer"][layer] for f in found.values()] for layer in layers}
    values["mean"] = [f["mean"] for f in found.values()]
    lines = [plots.Line(name, at, line, line, line) for name, line in values.items()]
    measure = Measure("resolution", "attention resolution R", "", True, None, None)
    figure = plots.single(lines, measure, marks={"training length": report["train_len"]}, long=4 * report["train_len"])
    figure.axes[0].set_xticks(at, [f"{T:,}" for T in at])
    figure.axes[0].minorticks_off()
    figure.axes[0].set_title(title, parse_math=False)
    plots.save(path, figure)
