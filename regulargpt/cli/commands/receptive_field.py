"""`regulargpt receptive-field RUN`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from regulargpt.cli.output import emit, say, table
from regulargpt.cli.subject import looks_at_words

SHARES = 10


@click.command()
@looks_at_words("receptive-field", fewest=1)
def command(folder: Path, length: int | None, words: int, seed: int | None, out: Path | None, as_json: bool) -> None:
    """Measure how far back a trained model's prediction depends on the word."""
    from regulargpt.storage.folder import RunFolder

    run_folder = RunFolder.open(folder)
    run_folder.load_summary()

    from regulargpt.analysis.dependence import receptive_field_report

    report = receptive_field_report(run_folder, length=length, words=words, seed=seed, out=out)
    emit(report) if as_json else say(text(report))


def text(report: dict[str, Any]) -> str:
    """c_m at every tenth of the word, and the receptive field in words."""
    heading = f"{report['language']}, {report['model']}: gradients on {report['words']} words"
    c, length = report["c"], report["length"]
    at = sorted({-(-length * part // SHARES) for part in range(1, SHARES + 1)}) if c else []
    rows = [(str(m), *(f"{report[name][m - 1]:.3f}" for name in ("c", "low", "high"))) for m in at]
    return "\n".join([heading, table(rows, ("m", "c_m", "5 %", "95 %")), report["summary"]])
