"""`regulargpt resolution RUN`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from regulargpt.cli.output import emit, say, table
from regulargpt.cli.subject import finished, looks_at_segments, sees

SEGMENTS = 8


@click.command()
@looks_at_segments("resolution", SEGMENTS)
@sees
def command(
    folder: Path,
    length: int | None,
    words: int | None,
    seed: int | None,
    attention: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """Measure how well a trained Transformer's attention tells distances apart (attention resolution).

    R is computed from the mean logits at each distance, head by head, at the training length and its doubles.
    """
    run_folder = finished(folder)

    from regulargpt.measurements.resolution_report import resolution_report

    report = resolution_report(
        run_folder, length=length, segments=words or SEGMENTS, seed=seed, attention=attention, out=out
    )
    emit(report) if as_json else say(text(report))


def text(report: dict[str, Any]) -> str:
    """A row a length, a column a layer, then what the figure is."""
    found = report["by_length"]
    layers = range(len(next(iter(found.values()))["by_layer"]))
    rows = [
        (f"{int(T):,}", *(f"{value:.4f}" for value in (f["mean"], *f["by_layer"])), f"x {f['over_first']:.3f}")
        for T, f in found.items()
    ]
    header = ("length", "mean R", *(f"layer {layer}" for layer in layers), "to the first")
    looked = f"attention {report['attention']}, {report['segments']} segments"
    heading = f"{report['language']}, {report['model']}: attention resolution, {looked}"
    return "\n".join([heading, table(rows, header), report["summary"], report["note"]])
