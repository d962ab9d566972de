"""`regulargpt position-variance`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from regulargpt.cli.output import emit, printed, progress_to_stderr, say, table
from regulargpt.cli.types import PATH

PRESETS = ("quick", "thesis")
MOST_UPDATES = 1_000_000


@click.command()
@click.option("--preset", type=click.Choice(PRESETS), default="quick", show_default=True, help="Sizes and draws.")
@click.option(
    "--updates", type=click.IntRange(0, MOST_UPDATES), help="Of the probe; 0 leaves it out.  [default: the preset's]"
)
@click.option("--seed", type=click.IntRange(min=0, max=2**63 - 1), default=0, show_default=True, help="Draws it all.")
@click.option(
    "--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True, help="Where the probe is trained."
)
@click.option("--out", type=PATH, help="Folder for position-variance.json, .csv and .png.")
@printed
def command(preset: str, updates: int | None, seed: int, device: str, out: Path | None, as_json: bool) -> None:
    """Simulate how a random model without encodings knows positions, and probe its layers for them.

    Each lemma of chapter 2 stands beside what is measured. quick takes a minute; the probe of thesis wants a GPU.
    """
    from regulargpt.analysis import position_report

    bar = Bar()
    try:
        report = position_report.position_report(
            preset, seed=seed, updates=updates, device=device, out=out, progress=bar
        )
    finally:
        bar.close()
    emit(report) if as_json else say(text(report))


class Bar:
    """How far the probe has come, where somebody watches stderr."""

    def __init__(self) -> None:
        self.bar: Any = None

    def __call__(self, done: int, count: int) -> None:
        """So many updates are done."""
        if not progress_to_stderr():
            return
        from tqdm import tqdm

        self.bar = self.bar or tqdm(total=count, desc="probe", unit="update", leave=False, dynamic_ncols=True)
        self.bar.update(done - self.bar.n)

    def close(self) -> None:
        """Leave the terminal tidy."""
        if self.bar is not None:
            self.bar.close()


def text(report: dict[str, Any]) -> str:
    """The lemmas, the variance at a few positions, then the probe."""
    sizes = report["simulated"]
    lead = "d = {d_model}, H = {n_heads}, L = {length}, s = {sigma}, {draws} draws".format_map(sizes)
    lemmas = [
        (row["name"], *(number(row[key]) for key in ("printed", "corrected", "measured"))) for row in report["lemmas"]
    ]
    parts = [
        f"a random layer without encodings: {lead}",
        table(lemmas, ("lemma", "printed", "right", "measured")),
        table(variances(report["variance"]), ("position", "lemma 2.3", "causal", "uniform", "bidirectional")),
        *(
            f"s = {row['sigma']:g}: the variance falls as m^{row['slope']:.2f}, at the last position "
            f"{row['ratio_at_last']:.3g} times the lemma's"
            for row in report["by_sigma"]
        ),
        f"attention of the last query is off a straight line by {report['cumulative_off_line']:.1e}",
        "lemma 2.4 at m = 2 is off by {printed:.1%} as printed, by {with_term:.1%} with its missing term; "
        "noise is {noise:.1%}".format_map(report["after_norm"]),
    ]
    return "\n".join([*parts, *probe_lines(report["probe"])])


def variances(variance: dict[str, list[float]]) -> list[tuple[str, ...]]:
    """The variance of the output at 1, 2, 8, 64, ... and the last position.

    >>> variances({"lemma": [1.0, 0.5, 0.25]})
    [('1', '1'), ('2', '0.5'), ('3', '0.25')]
    """
    last = len(variance["lemma"])
    at = sorted({m for m in (1, 2, 8, 64, last) if m <= last})
    return [(str(m), *(number(values[m - 1]) for values in variance.values())) for m in at]


def probe_lines(probe: dict[str, Any] | None) -> list[str]:
    """The probe's error by layer."""
    if probe is None:
        return []
    rows = [(str(row["layer"]), f"{row['mae_argmax']:.1f}", f"{row['mae_mean']:.1f}") for row in probe["layers"]]
    lead = f"mean absolute error of positions up to {probe['length']}; always the middle: {probe['middle']:.1f}"
    return [lead, table(rows, ("layer", "most likely", "expected"))]


def number(value: float) -> str:
    """Four digits.

    >>> number(0.0943704), number(6.04123)
    ('0.09437', '6.041')
    """
    return f"{value:.4g}"
