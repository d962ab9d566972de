"""`regulargpt verify RUN`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import click

from regulargpt.cli.output import CheckBar, emit, say, table
from regulargpt.cli.subject import finished_on_words, looks_at_words

WORDS = 32
HEADER = ("depth", "rows", "elements", "clusters", "gap", "ARI", "purity", "silh.", "probe", "control", "spread")


@click.command()
@looks_at_words("verify", fewest=2)
def command(
    folder: Path, length: int | None, words: int | None, seed: int | None, out: Path | None, as_json: bool
) -> None:
    """Find the language's monoid elements in a model's hidden states, and certify it for every length.

    The certificate is written into RUN, as certificate.json; uncertified.json says why there is none.
    """
    run_folder = finished_on_words(folder)

    from regulargpt.certificate.sentences import sentences
    from regulargpt.measurements.verify import verify

    with closing(CheckBar()) as progress:
        report = verify(run_folder, length=length, words=words or WORDS, seed=seed, out=out, progress=progress)
    emit(report) if as_json else say("\n".join([text(report), *sentences(report["certificate"])]))


def text(report: dict[str, Any]) -> str:
    """A row overall, a row for each depth, and what was found in words."""
    rows = [row_text({"depth": "all", **report["overall"]}), *map(row_text, report["depths"])]
    shares = report["overall"]["explained_variance"]
    lines = [
        f"{report['language']}, {report['model']}: states on {report['words']} words of length {report['length']}",
        table(rows, (*HEADER, "distance")),
        f"two principal components hold {100 * sum(shares):.1f} % of the variance",
        report["summary"],
    ]
    return "\n".join(lines)


def row_text(row: dict[str, Any]) -> tuple[str, ...]:
    """One line of the table."""
    measured = ("ari", "purity", "silhouette", "probe", "control")
    return (
        *(str(row[name]) for name in ("depth", "rows", "elements", "clusters")),
        number(row["gap"], 2),
        *(number(row[name], 3) for name in measured),
        *(number(row[name], 2) for name in ("spread", "distance")),
    )


def number(value: float | None, digits: int) -> str:
    """A number, or a dash where there is none.

    >>> number(0.12345, 3), number(None, 3)
    ('0.123', '-')
    """
    return "-" if value is None else f"{value:.{digits}f}"
