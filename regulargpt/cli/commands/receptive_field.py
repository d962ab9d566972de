"""`regulargpt receptive-field RUN`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from regulargpt.cli.output import emit, say, table
from regulargpt.cli.subject import finished, looks_at, sees

PARTS = 10


@click.command()
@looks_at("receptive-field", 1, "32; 48 segments of a text", "the longest up to 500; of a text 8 times the training's")
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
    """Measure how far back a trained model's prediction depends on the word, or on the text before it.

    Differentiated is the margin of the answer that the model gives, of a text that of the symbol that comes next.
    """
    run_folder = finished(folder)

    from regulargpt.measurements.receptive_field_report import receptive_field_report

    report = receptive_field_report(run_folder, length=length, words=words, seed=seed, out=out, attention=attention)
    emit(report) if as_json else say(text(report))


def text(report: dict[str, Any]) -> str:
    """c_m at every tenth of the word, of a text at powers of two, and the receptive field in words."""
    looked = f"{report['words']} words" if "words" in report else f"{report['segments']} segments"
    heading = f"{report['language']}, {report['model']}: gradients on {looked}"
    c, length = report["c"], report["length"]
    tenths = {-(-length * part // PARTS) for part in range(1, PARTS + 1)}
    at = sorted(tenths if report["target"] == "predicted" else powers(length)) if c else []
    rows = [(str(m), *(f"{report[name][m - 1]:.3f}" for name in ("c", "low", "high"))) for m in at]
    bound = report["theoretical"]
    reach = [] if bound is None else [f"windows: no symbol beyond the last {bound:,} can count"]
    return "\n".join([heading, table(rows, ("m", "c_m", "5 %", "95 %")), report["summary"], *reach])


def powers(length: int) -> set[int]:
    """1, 2, 4, ... and the length.

    >>> sorted(powers(11))
    [1, 2, 4, 8, 11]
    """
    return {length, *(1 << i for i in range(length.bit_length()) if 1 << i <= length)}
