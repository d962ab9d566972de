"""`regulargpt kernels ENCODING` and `regulargpt kernels RUN`."""

from __future__ import annotations

import os
from collections.abc import Container
from pathlib import Path
from typing import Any

import click

from languages.errors import UserError
from regulargpt.cli.output import emit, printed, say, table
from regulargpt.cli.subject import finished
from regulargpt.cli.types import PATH

HEADS, POSITIONS = 8, 128
MOST_HEADS, LONGEST = 64, 1024


@click.command()
@click.argument("encoding", metavar="ENCODING|RUN")
@click.option("--heads", type=click.IntRange(1, MOST_HEADS), help="How many heads; a run has its own.  [default: 8]")
@click.option(
    "--length",
    type=click.IntRange(2, LONGEST),
    help="Positions of the kernel matrix, distances of a run.  [default: 128; 8 times the training length]",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0, max=2**63 - 1),
    help="Draws learned parameters; a run has its own.  [default: 0]",
)
@click.option("--out", type=PATH, help="Folder for kernels.json, .csv and .png.  [default: of a run RUN/kernels]")
@printed
def command(
    encoding: str, heads: int | None, length: int | None, seed: int | None, out: Path | None, as_json: bool
) -> None:
    """Say what kernel an encoding's bias is: definiteness, the constant that repairs it, its effective length.

    Learned biases are taken as they are before training; of a run, before and after it.
    """
    from regulargpt.encodings import ENCODINGS

    if is_run(encoding, ENCODINGS):
        if heads is not None or seed is not None:
            raise UserError(f"{encoding} is a run, with heads and a seed of its own; leave out --heads and --seed")
        report = of_run(Path(encoding), length, out)
        emit(report) if as_json else say(run_text(report))
        return
    ENCODINGS.options(encoding, "encoding")  # refused before torch is imported

    from regulargpt.measurements.kernels_report import kernels_report

    report = kernels_report(encoding, n_heads=heads or HEADS, length=length or POSITIONS, seed=seed or 0, out=out)
    emit(report) if as_json else say(text(report))


def is_run(text: str, known: Container[str]) -> bool:
    """Whether a folder is meant: an encoding has no slash in its name, and goes before a folder of its name.

    >>> is_run("alibi", {"alibi"}), is_run("runs/alibi", {"alibi"})
    (False, True)
    """
    name = text.partition(":")[0]
    return bool(name) and name not in known and (os.sep in name or Path(text).is_dir())


def of_run(folder: Path, length: int | None, out: Path | None) -> dict[str, Any]:
    """The report of a finished run."""
    run_folder = finished(folder)

    from regulargpt.measurements.trained_kernels_report import trained_kernels_report

    return trained_kernels_report(run_folder, length=length, out=out)


def run_text(report: dict[str, Any]) -> str:
    """A row a head of each layer, then what training has changed."""
    rows = [
        (
            *(str(number) for number in (layer["layer"], head["head"])),
            yes(head["definiteness"]["is_cpd"]),
            *(head[f"effective_length_{when}"]["text"] for when in ("before", "after")),
        )
        for layer in report["layers"]
        for head in layer["heads"]
    ]
    header = ("layer", "head", "CPD", "effective length before", "after training")
    shared = ", one bias for all layers" if len(report["layers"]) < report["n_layers"] else ""
    heading = f"{report['encoding']}: the bias of {report['n_heads']} heads in {report['n_layers']} layers{shared}"
    return "\n".join([heading, table(rows, header), report["summary"]])


def text(report: dict[str, Any]) -> str:
    """A row a head, then what holds for all."""
    lengths = list(report["heads"][0]["shift"]["smallest_c"])
    header = ("head", "CPD", "PD", "smallest on sum 0", *(f"c, n = {n}" for n in lengths), "effective length")
    rows = [row(head) for head in report["heads"]]
    invariance = report["shift_invariance"]
    difference = invariance["largest_difference"]
    seen = "not seen" if report["softmax_ignores_a_constant"] else "seen"
    lines = [
        f"{report['encoding']}: the bias of {report['n_heads']} heads on {report['length']} positions",
        table(rows, header),
        f"shift invariant: {yes(invariance['is_invariant'])}; largest difference {number(difference)}",
        *trends(report["heads"]),
        f"a constant added to the bias is {seen} by softmax",
        *["the encoding also multiplies the logits, which is not looked at"] * report["also_multiplies_logits"],
    ]
    return "\n".join(lines)


def row(head: dict[str, Any]) -> tuple[str, ...]:
    """A head's line."""
    found = head["definiteness"]
    constants = (number(c, "none") for c in head["shift"]["smallest_c"].values())
    smallest = number(found["smallest_on_sum_zero"])
    signs = (yes(found["is_cpd"]), yes(found["is_pd"]))
    return (str(head["head"]), *signs, smallest, *constants, head["effective_length"]["text"])


def trends(heads: list[dict[str, Any]]) -> list[str]:
    """What becomes of c with the length, and in which heads.

    >>> trends([{"head": 1, "shift": {"trend": "settles"}}, {"head": 2, "shift": {"trend": "settles"}}])
    ['the smallest c that makes c + f positive definite settles, in all heads']
    """
    by_trend: dict[str, list[str]] = {}
    for head in heads:
        by_trend.setdefault(head["shift"]["trend"], []).append(str(head["head"]))
    lead = "the smallest c that makes c + f positive definite"
    where = {
        trend: f"heads {', '.join(which)}" if len(by_trend) > 1 else "all heads" for trend, which in by_trend.items()
    }
    return [f"{lead} {trend}, in {place}" for trend, place in where.items()]


def yes(value: bool) -> str:
    """A truth value in English.

    >>> yes(True), yes(False)
    ('yes', 'no')
    """
    return "yes" if value else "no"


def number(value: float | None, missing: str = "-inf") -> str:
    """Three digits.

    >>> number(0.50123), number(None), number(None, "none")
    ('0.501', '-inf', 'none')
    """
    return missing if value is None else f"{value:.3g}"
