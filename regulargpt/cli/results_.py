"""`regulargpt results DIR... --group-by language,chunk_size`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from languages.errors import UserError
from regulargpt.cli.output import emit, printed, say
from regulargpt.cli.types import PATH
from regulargpt.exits import FAILED

if TYPE_CHECKING:
    from regulargpt.results.row import Row
    from regulargpt.results.rows import Results
    from regulargpt.results.statistics import Group

FORMATS = ("text", "markdown", "latex", "csv")
# So many names of unfinished or failed runs are told; results.csv has all that failed.
MOST = 20


@click.command()
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=PATH)
@click.option("--group-by", metavar="COLUMNS", help="Columns, as in language,chunk_size.  [default: those that vary]")
@click.option("--where", multiple=True, metavar="COLUMN=VALUE", help="Only these; of one column any of the values.")
@click.option("--tested", metavar="PROTOCOL", help="Only the test under this protocol.")
@click.option("--format", "form", type=click.Choice(FORMATS), help="How to print the table.  [default: text]")
@click.option("--plot", type=PATH, metavar="FILE.png", help="Draw accuracy by length too.")
@printed
def command(
    folders: tuple[Path, ...],
    group_by: str | None,
    where: tuple[str, ...],
    tested: str | None,
    form: str | None,
    plot: Path | None,
    as_json: bool,
) -> int:
    """Gather runs into a table, with statistics over seeds and curves by length.

    DIR is a sweep, a folder of run folders, or a run. A sweep's results.csv and results.jsonl are brought up to date.
    The exit code is 1 if no run is whole: all failed or are damaged.
    """
    from regulargpt.results import render, select
    from regulargpt.results.rows import collect
    from regulargpt.results.statistics import groups
    from regulargpt.sweep.folder import is_sweep

    if as_json and form:
        raise UserError("--format and --json exclude each other; give one")
    if plot and plot.suffix != ".png":
        raise UserError(f"--plot {plot}: pictures are PNG; name it {plot.parent / (plot.stem or 'accuracy')}.png")
    by = None if group_by is None else select.columns(group_by)
    wanted = select.conditions(where)
    found = collect(folders)
    rows = chosen(found, wanted, tested)
    by = by or select.varying(rows)
    if tested is None and not {"tested"} & {*by, *wanted}:
        rows = select.under_own(rows)
    table = groups(rows, by)
    if pooled := select.pooled(rows, by):
        say(f"a group has runs that differ in {listed(pooled)}; add the column settings to --group-by", err=True)
    if plot:
        from regulargpt.results.picture import accuracy_png

        accuracy_png(plot, rows, by)
    for folder in filter(is_sweep, folders):
        bring_up_to_date(folder)
    told(found)
    if as_json:
        emit(record(found, table, by, plot))
    else:
        (click.echo if form else say)(render.FORMATS[form or "text"](table, by))
    return 0 if any(row.is_done for row in found.rows) else FAILED


def bring_up_to_date(sweep: Path) -> None:
    """Write a sweep's own table; a sweep that may only be read can still be shown."""
    from regulargpt.results.rows import write
    from regulargpt.storage.atomic import StorageError

    try:
        write(sweep)
    except StorageError as error:
        say(f"warning: {error}", err=True)


def chosen(found: Results, wanted: dict[str, list[Any]], tested: str | None) -> list[Row]:
    """The rows asked for; UserError if there are none."""
    from regulargpt.results import select

    if not found.rows:
        on = "`regulargpt resume` goes on with a run, the command of a sweep with that"
        raise UserError(f"no run is finished: {listed(found.unfinished)}; {on}")
    rows = select.where(found.rows, wanted)
    return rows if tested is None else select.under(rows, tested)


def told(found: Results) -> None:
    """Say on stderr what the table does not: which runs are not finished, and why others failed."""
    if found.unfinished:
        count = len(found.unfinished)
        say(f"{count} run{' is' if count == 1 else 's are'} not finished: {listed(found.unfinished)}", err=True)
    for row in wrong(found)[:MOST]:
        say(f"{row.status}: {row.run}: {row.reason}", err=True)
    if len(wrong(found)) > MOST:
        say(f"and {len(wrong(found)) - MOST} more that failed", err=True)


def wrong(found: Results) -> list[Row]:
    """The rows of runs that failed or are damaged."""
    return [row for row in found.rows if not row.is_done]


def listed(names: Sequence[str]) -> str:
    """Names, not too many.

    >>> listed(["a", "b"])
    'a, b'
    """
    rest = len(names) - MOST
    return ", ".join(names[:MOST]) + (f" and {rest} more" if rest > 0 else "")


def record(found: Results, table: Sequence[Group], by: Sequence[str], plot: Path | None) -> dict[str, Any]:
    """What `--json` prints."""
    groups = [dict(zip(by, group.key, strict=True)) | figures(group) for group in table]
    failed = [{"run": row.run, "status": row.status, "reason": row.reason} for row in wrong(found)]
    picture = {"plot": str(plot)} if plot else {}
    return {"group_by": list(by), "groups": groups, "failed": failed, "unfinished": found.unfinished, **picture}


def figures(group: Group) -> dict[str, Any]:
    """A group without its key."""
    return {name: value for name, value in dataclasses.asdict(group).items() if name != "key"}
