"""The options of the verbs that look at a finished run with words of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from regulargpt.cli.output import printed
from regulargpt.cli.types import PATH

Command = Callable[..., Any]


def looks_at_words(folder: str, fewest: int) -> Callable[[Command], Command]:
    """RUN, --length, --words (at least `fewest`), --seed, --out (by default RUN/`folder`) and --json."""
    parts = [
        click.argument("folder", metavar="RUN", type=PATH),
        click.option(
            "--length", type=click.IntRange(min=1), help="Length of the words.  [default: the longest up to 500]"
        ),
        click.option("--words", type=click.IntRange(min=fewest), default=32, show_default=True, help="How many words."),
        click.option("--seed", type=click.IntRange(min=0), help="Seed of the words.  [default: the run's]"),
        click.option("--out", type=PATH, help=f"Folder of the results.  [default: RUN/{folder}]"),
        printed,
    ]

    def decorate(command: Command) -> Command:
        for part in reversed(parts):
            command = part(command)
        return command

    return decorate
