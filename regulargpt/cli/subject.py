"""The options of the verbs that look at a finished run with words of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regulargpt.cli.output import printed
from regulargpt.cli.types import PATH

if TYPE_CHECKING:
    from regulargpt.storage.folder import RunFolder

Command = Callable[..., Any]


def finished(folder: Path) -> RunFolder:
    """The folder of a finished run; UserError for another one, before torch is imported."""
    from regulargpt.storage.folder import RunFolder

    found = RunFolder.open(folder)
    found.load_summary()
    return found


def finished_on_words(folder: Path) -> RunFolder:
    """The same of a run on a language; UserError also for one on a text or a retrieval task, which has no automaton."""
    from regulargpt.config.schema import RunConfig
    from regulargpt.data import of_words

    found = finished(folder)
    of_words(RunConfig.parse(found.config_text).data)
    return found


def looks_at_words(folder: str, fewest: int) -> Callable[[Command], Command]:
    """RUN, --length, --words (at least `fewest`), --seed, --out (by default RUN/`folder`) and --json."""
    return looks_at(folder, fewest, "32", "the longest up to 500")


def looks_at_segments(folder: str, usual: int) -> Callable[[Command], Command]:
    """The same for runs on a text, of which so many segments are usual."""
    return looks_at(folder, 2, str(usual), "8 times the training length", what="segments")


def looks_at(folder: str, fewest: int, usual: str, length: str, what: str = "words") -> Callable[[Command], Command]:
    """RUN, --length, --words, --seed, --out and --json; None where nobody says otherwise."""
    parts = [
        click.argument("folder", metavar="RUN", type=PATH),
        click.option("--length", type=click.IntRange(min=1), help=f"Length of the {what}.  [default: {length}]"),
        click.option("--words", type=click.IntRange(min=fewest), help=f"How many {what}.  [default: {usual}]"),
        click.option("--seed", type=click.IntRange(min=0), help=f"Seed of the {what}.  [default: the run's]"),
        click.option("--out", type=PATH, help=f"Folder of the results.  [default: RUN/{folder}]"),
        printed,
    ]

    def decorate(command: Command) -> Command:
        for part in reversed(parts):
            command = part(command)
        return command

    return decorate


sees = click.option(
    "--attention",
    default="full",
    show_default=True,
    help="What a position of a Transformer sees: full, bca, sliding:W.",
)
