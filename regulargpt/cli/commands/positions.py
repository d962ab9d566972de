"""`regulargpt positions RUN`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from regulargpt.cli.output import emit, say, table
from regulargpt.cli.subject import finished, looks_at_segments

SEGMENTS = 128


@click.command()
@looks_at_segments("positions", SEGMENTS)
def command(
    folder: Path, length: int | None, words: int | None, seed: int | None, out: Path | None, as_json: bool
) -> None:
    """Measure what a symbol costs by its position, and whether context beyond the training length helps.

    A Transformer is compared with itself, restricted to the last symbols of the training length.
    """
    run_folder = finished(folder)

    from regulargpt.measurements.positions_report import positions_report

    report = positions_report(run_folder, length=length, segments=words or SEGMENTS, seed=seed, out=out)
    emit(report) if as_json else say(text(report))


def text(report: dict[str, Any]) -> str:
    """A row a bin of positions, then the sentence."""
    reference = report["reference"]
    others = reference["bins"] if reference else [None] * len(report["bins"])
    rows = [row(part, other) for part, other in zip(report["bins"], others, strict=True)]
    header = ("position", "nats a symbol", *([f"the last {report['train_len']}"] if reference else []))
    heading = f"{report['language']}, {report['model']}: scoring position, {report['segments']} segments"
    return "\n".join([heading, table(rows, header), report["summary"]])


def row(part: dict[str, Any], other: dict[str, Any] | None) -> tuple[str, ...]:
    """A bin's line, with the reference beside it if there is one."""
    first, last = part["first"], part["last"]
    place = f"{first:,}" if first == last else f"{first:,}-{last:,}"
    found = [part] if other is None else [part, other]
    return (place, *("{:.3f} ({:.3f}-{:.3f})".format(each["nll"], *each["interval"]) for each in found))
