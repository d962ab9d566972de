"""`regulargpt position-variance` and `regulargpt position-variance RUN`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from languages.errors import UserError
from regulargpt.cli.output import emit, printed, progress_to_stderr, say, table
from regulargpt.cli.subject import finished
from regulargpt.cli.types import PATH

PRESETS = ("quick", "thesis")
MOST_UPDATES = 1_000_000


@click.command()
@click.argument("folder", metavar="[RUN]", type=PATH, required=False)
@click.option("--preset", type=click.Choice(PRESETS), help="Sizes and draws of a simulation.  [default: quick]")
@click.option("--length", type=click.IntRange(min=2), help="Positions of a run.  [default: its training length]")
@click.option(
    "--updates",
    type=click.IntRange(0, MOST_UPDATES),
    help="Of the probe; 0 leaves it out.  [default: the preset's; of a run 500]",
)
@click.option("--seed", type=click.IntRange(min=0, max=2**63 - 1), help="Draws it all.  [default: 0; of a run its own]")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), help="Where a simulation's probe trains.  [default: cpu]")
@click.option(
    "--out",
    type=PATH,
    help="Folder for position-variance.json, .csv and .png.  [default: of a run RUN/position-variance]",
)
@printed
def command(
    folder: Path | None,
    preset: str | None,
    length: int | None,
    updates: int | None,
    seed: int | None,
    device: str | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Simulate how a random model without encodings knows positions, and probe its layers for them.

    Each lemma of chapter 2 stands beside what is measured. quick takes a minute; the probe of thesis wants a GPU. With
    a RUN on a text, trained with --encoding none, its own layers are measured and probed.
    """
    if folder is None and length is not None:
        raise UserError("--length is of a run; name one, or choose a --preset")
    if folder is not None and (preset is not None or device is not None):
        raise UserError("--preset and --device are of a simulation; leave them out, or leave out the run")
    bar = Bar()
    try:
        if folder is None:
            report = simulated(preset or "quick", seed or 0, updates, device or "cpu", out, bar)
        else:
            report = measured(folder, length, seed, updates, out, bar)
    finally:
        bar.close()
    shown = text if folder is None else run_text
    emit(report) if as_json else say(shown(report))


def simulated(
    preset: str, seed: int, updates: int | None, device: str, out: Path | None, progress: Bar
) -> dict[str, Any]:
    """The report of a simulation."""
    from regulargpt.measurements.position_variance_report import position_variance_report

    return position_variance_report(preset, seed=seed, updates=updates, device=device, out=out, progress=progress)


def measured(
    folder: Path, length: int | None, seed: int | None, updates: int | None, out: Path | None, progress: Bar
) -> dict[str, Any]:
    """The report of a run."""
    run_folder = finished(folder)

    from regulargpt.measurements.trained_variance_report import UPDATES, trained_variance_report

    updates = UPDATES if updates is None else updates
    return trained_variance_report(run_folder, length=length, seed=seed, updates=updates, out=out, progress=progress)


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
        (row["name"], *(f"{row[key]:.4g}" for key in ("printed", "corrected", "measured"))) for row in report["lemmas"]
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


def run_text(report: dict[str, Any]) -> str:
    """The variance behind each layer of a run at a few positions, the slopes, then the probe."""
    after = report["variance"]["after"]
    layers = [f"layer {layer}" for layer in range(len(after))]
    rows = variances(dict(zip(layers, after, strict=True)))
    parts = [
        f"{report['language']}, {report['model']} without encodings: {report['segments']} segments",
        table(rows, ("position", *layers)),
        report["summary"],
    ]
    probe = report["probe"] and {**report["probe"], "length": report["length"]}
    return "\n".join([*parts, *probe_lines(probe)])


def variances(variance: dict[str, list[float]]) -> list[tuple[str, ...]]:
    """The variance of the output at 1, 2, 8, 64, ... and the last position.

    >>> variances({"lemma": [1.0, 0.5, 0.25]})
    [('1', '1'), ('2', '0.5'), ('3', '0.25')]
    """
    last = len(next(iter(variance.values())))
    at = sorted({m for m in (1, 2, 8, 64, last) if m <= last})
    return [(str(m), *(f"{values[m - 1]:.4g}" for values in variance.values())) for m in at]


def probe_lines(probe: dict[str, Any] | None) -> list[str]:
    """The probe's error by layer."""
    if probe is None:
        return []
    rows = [(str(row["layer"]), f"{row['mae_argmax']:.1f}", f"{row['mae_mean']:.1f}") for row in probe["layers"]]
    lead = f"mean absolute error of positions up to {probe['length']}; always the middle: {probe['middle']:.1f}"
    return [lead, table(rows, ("layer", "most likely", "expected"))]
