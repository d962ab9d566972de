"""`regulargpt kernels ENCODING`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from regulargpt.cli.output import emit, printed, say, table
from regulargpt.cli.types import PATH

MOST_HEADS, LONGEST = 64, 512  # matrices of 128 MiB


@click.command()
@click.argument("encoding")
@click.option("--heads", type=click.IntRange(1, MOST_HEADS), default=8, show_default=True, help="How many heads.")
@click.option(
    "--length", type=click.IntRange(2, LONGEST), default=128, show_default=True, help="Positions of the kernel matrix."
)
@click.option(
    "--seed", type=click.IntRange(min=0, max=2**63 - 1), default=0, show_default=True, help="Draws learned parameters."
)
@click.option("--out", type=PATH, help="Folder for kernels.json, .csv and .png.")
@printed
def command(encoding: str, heads: int, length: int, seed: int, out: Path | None, as_json: bool) -> None:
    """Say what kernel an encoding's bias is: definiteness, the constant that repairs it, its effective length.

    Learned biases are taken as they are before training.
    """
    from regulargpt.encodings import ENCODINGS

    ENCODINGS.options(encoding, "encoding")  # refused before torch is imported

    from regulargpt.analysis.kernel_report import kernel_report

    report = kernel_report(encoding, n_heads=heads, length=length, seed=seed, out=out)
    emit(report) if as_json else say(text(report))


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
