"""`regulargpt report RUN... --out report.html`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from languages.errors import shown
from regulargpt.cli.output import CheckBar, as_json, emit
from regulargpt.cli.types import PATH, NewFileType

NAME = "report.html"


@click.command()
@click.argument("folders", metavar="RUN...", nargs=-1, required=True, type=PATH)
@click.option("--out", type=NewFileType(NAME), help="The page.  [default: RUN/report.html; of several, here]")
@as_json
def command(folders: tuple[Path, ...], out: Path | None, as_json: bool) -> None:
    """Write a page that shows what a network learned; several runs side by side."""
    from regulargpt.classroom import data, page
    from regulargpt.classroom.crowded import crowded

    with closing(CheckBar()) as progress:
        gathered = [data.gather(folder, progress) for folder in folders]
    runs = [crowded(run) if isinstance(run, data.PageRun) else run for run in gathered]
    path = out or (folders[0] / NAME if len(folders) == 1 else Path(NAME))
    size = page.write(runs, path)
    of_words = [run for run in runs if isinstance(run, data.PageRun) and run.is_on_language]
    certified = [str(run.path) for run in of_words if run.is_proven]
    others = [str(run.path) for run in of_words if run.is_another or run.is_refuted_of_another]
    result = {"out": str(path), "bytes": size, "runs": [str(run.path) for run in runs], "certified": certified}
    proven = f", {len(certified)} of {len(of_words)} certified" if of_words else ""
    proven += f", {len(others)} of another automaton than its language's" if others else ""
    emit(result | {"of_another": others}) if as_json else click.echo(f"{shown(path)}: {size:,} bytes{proven}")
