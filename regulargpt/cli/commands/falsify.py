"""`regulargpt falsify RUN`."""

from __future__ import annotations

from contextlib import closing
from math import inf
from pathlib import Path

import click

from regulargpt.cli.output import CheckBar, emit, printed, say
from regulargpt.cli.types import PATH, FiniteRange, WholeRange

WORDS, SECONDS = 1_000_000, 120.0


@click.command()
@click.argument("folder", metavar="RUN", type=PATH)
@click.option(
    "--words",
    type=WholeRange(min=1),
    default=WORDS,
    show_default=True,
    help="Most words; a longer one counts as one for each 8 symbols, more where attention is quadratic.",
)
@click.option(
    "--seconds",
    type=FiniteRange(min=0),
    default=SECONDS,
    show_default=True,
    help="Most seconds of processor time, of the words, and again of a proof; loading does not count. 0: no end.",
)
@click.option("--seed", type=WholeRange(min=0), help="Seed of the words that are drawn.  [default: the run's]")
@printed
def command(folder: Path, words: int, seconds: float, seed: int | None, as_json: bool) -> None:
    """Look for words that a trained network answers wrongly: the shortest, and families of ever longer ones.

    What was wrong before is asked first. The result is in RUN/falsified.json. Equal words give equal results, as long
    as the seconds last.
    """
    from regulargpt.runs.opened import open_run
    from regulargpt.storage.folder import RunFolder

    run = open_run(RunFolder.open(folder), on=("words",))

    from regulargpt.certificate.verdict import as_it_is
    from regulargpt.falsification.sentences import lines
    from regulargpt.runs.falsify import falsified

    with closing(CheckBar("trying", "word")) as progress:
        seed = run.config.seed if seed is None else seed
        report = falsified(run, words, seconds or inf, seed, progress)
    if as_json:
        emit({**run.facts(), **report})
    else:
        say("\n".join(lines(report, as_it_is(run.folder, run.data.name))))
