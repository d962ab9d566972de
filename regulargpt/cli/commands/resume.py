"""`regulargpt resume DIR`."""

from __future__ import annotations

from pathlib import Path

import click

from regulargpt.cli.output import printed
from regulargpt.cli.types import PATH


@click.command()
@click.argument("folder", type=PATH)
@printed
def command(folder: Path, as_json: bool) -> int:
    """Go on with an interrupted run, exactly where it stopped; of a finished run, print its result again."""
    from regulargpt.runs.configured import config_of
    from regulargpt.storage.folder import RunFolder

    config = config_of(RunFolder.open(folder))

    from regulargpt.cli.running import supervised
    from regulargpt.runs import run

    return supervised(lambda watch: run.resume(folder, watch), config, folder, as_json)
