"""`regulargpt needles RUN --lengths 64,256`."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import click

from regulargpt.cli.output import emit, printed, say, table
from regulargpt.cli.subject import finished
from regulargpt.cli.types import PATH
from regulargpt.tables import percent


@click.command()
@click.argument("folder", metavar="RUN", type=PATH)
@click.option("--lengths", help="Lengths and ranges, as in 64,128,256.  [default: those of the run's test]")
@click.option("--bins", type=click.IntRange(1, 100), default=10, show_default=True, help="Parts of a document.")
@click.option("--words", type=click.IntRange(min=1), default=128, show_default=True, help="Documents a length.")
@click.option("--temperature", type=PATH, help="File of `regulargpt align`: sharpen attention so.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the documents.  [default: the run's]")
@click.option("--out", type=PATH, help="Folder of the results.  [default: RUN/needles]")
@printed
def command(
    folder: Path,
    lengths: str | None,
    bins: int,
    words: int,
    temperature: Path | None,
    seed: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Say how often a network finds what it is asked for, by the length of the document and the depth in it.

    RUN is a run on a retrieval task. With its seed the documents are those of its own test.
    """
    from regulargpt.evaluation.temperature import read, weights_of
    from regulargpt.options.lengths import read_lengths

    given = None if lengths is None else read_lengths(lengths)
    run_folder = finished(folder)
    found = None if temperature is None else read(temperature, weights_of(run_folder))

    from regulargpt.measurements.needles_report import needles_report

    report = needles_report(run_folder, lengths=given, bins=bins, words=words, temperature=found, seed=seed, out=out)
    emit(report) if as_json else say(text(report))


def text(report: dict[str, Any]) -> str:
    """A row a length: all needles with their interval, then those of each depth."""
    from regulargpt.cli.running import sharpened

    ends = report["depths"]
    header = (
        "length",
        "all",
        "95 % interval",
        *(f"{low:.3g}-{high:.3g}" for low, high in pairwise(ends)),
    )
    rows = [row(T, found) for T, found in report["by_length"].items()]
    seen = "" if report["attention"] == "full" else f", attention {report['attention']}"
    looked = f"{report['words']} documents a length{seen}{sharpened(report)}"
    heading = f"{report['language']}, {report['model']}: exact match (%) by depth (%), {looked}"
    return "\n".join([heading, table(rows, header), report["summary"]])


def row(length: str, found: dict[str, Any]) -> tuple[str, ...]:
    """A length's line; a dash where no needle stands."""
    every = found["all"]
    shares = ("-" if one["value"] is None else percent(one["value"]) for one in found["bins"])
    return (f"{int(length):,}", percent(every["value"]), f"{percent(every['low'])}-{percent(every['high'])}", *shares)
