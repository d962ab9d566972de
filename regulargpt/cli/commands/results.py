"""`regulargpt results DIR... --group-by language,chunk_size`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from languages.errors import UserError
from regulargpt.cli.output import Checking, emit, printed, say, width
from regulargpt.cli.types import PATH
from regulargpt.runs.exits import FAILED

if TYPE_CHECKING:
    from regulargpt.evaluation.measures import Measure
    from regulargpt.results.row import Row
    from regulargpt.results.rows import Results
    from regulargpt.results.statistics import Group

FORMATS = ("text", "markdown", "latex", "csv")
# So many names of unfinished or failed runs are told; results.csv has all that failed.
MOST = 20


@click.command()
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=PATH)
@click.option("--group-by", metavar="COLUMNS", help="Columns, as in language,chunk_size.  [default: those that vary]")
@click.option("--pivot", metavar="ROWS,COLUMN", help="Means with rows and columns crossed, as in language,model.")
@click.option("--where", multiple=True, metavar="COLUMN=VALUE", help="Only these; of one column any of the values.")
@click.option("--tested", metavar="PROTOCOL", help="Only the test under this protocol.")
@click.option("--measure", metavar="NAME", help="What to show.  [default: what the runs' scores are of]")
@click.option("--format", "form", type=click.Choice(FORMATS), help="How to print the table.  [default: text]")
@click.option("--caption", default="", metavar="TEXT", help="A caption of the table.")
@click.option("--plot", type=PATH, metavar="FILE", help="Draw the measure by length too: .png, .svg or .pdf.")
@printed
def command(folders: tuple[Path, ...], plot: Path | None, as_json: bool, **asked: Any) -> int:
    """Gather runs into a table, with statistics over seeds and curves by length.

    DIR is a sweep, a folder of run folders, a run, or a results.csv. A sweep's results.csv and results.jsonl are
    brought up to date. The exit code is 1 if no run is whole: all failed or are damaged.
    """
    from regulargpt.results.rows import collect
    from regulargpt.runs.sweep.folder import is_sweep

    refuse(as_json, plot, **asked)
    with closing(Checking()) as progress:
        found = collect(folders, progress)
    shown = choose(found, asked)
    if plot:
        from regulargpt.results.curves import picture

        picture(plot, shown.rows, shown.by, shown.names, shown.measure)
    for folder in filter(is_sweep, folders):
        bring_up_to_date(folder)
    told(found)
    if as_json:
        emit(record(found, shown, plot))
    else:
        (click.echo if asked["form"] else say)(text(shown, asked["form"] or "text", asked["caption"], asked["pivot"]))
    return 0 if any(row.is_done for row in found.rows) else FAILED


def refuse(as_json: bool, plot: Path | None, form: str | None, caption: str, **asked: Any) -> None:
    """Raise UserError for options that exclude each other, and for a picture of another kind."""
    if as_json and form:
        raise UserError("--format and --json exclude each other; give one")
    if asked["group_by"] is not None and asked["pivot"] is not None:
        raise UserError("--group-by and --pivot exclude each other; give one")
    if caption and (as_json or form == "csv"):
        raise UserError("--caption: JSON and CSV have none; leave it out")
    if plot and plot.suffix not in (".png", ".svg", ".pdf"):
        named = plot.parent / (plot.stem or "accuracy")
        raise UserError(f"--plot {plot}: pictures are PNG, SVG or PDF; name it {named}.png")


@dataclasses.dataclass(frozen=True)
class Chosen:
    """The rows asked for, the columns that they are grouped by, as keys and as names, their groups, and the measure."""

    rows: list[Row]
    by: tuple[str, ...]
    names: tuple[str, ...]
    groups: list[Group]
    measure: Measure


def choose(found: Results, asked: Mapping[str, Any]) -> Chosen:
    """What is asked for; UserError if there is nothing."""
    from regulargpt.results import columns, select
    from regulargpt.results.statistics import groups

    wanted = select.conditions(asked["where"])
    if not found.rows:
        on = "`regulargpt resume` goes on with a run, the command of a sweep with that"
        raise UserError(f"no run is finished: {listed(found.unfinished)}; {on}")
    keys = columns.known(found.rows)
    names = {key: name for name, key in keys.items()}
    option = "pivot" if asked["group_by"] is None else "group_by"
    columns_asked = () if asked[option] is None else columns.split(asked[option])
    if asked["pivot"] is not None and len(columns_asked) < 2:
        raise UserError(f"--pivot {asked['pivot']}: name rows and a column, as in --pivot language,model")
    by = tuple(columns.key_of(name, keys, f"--{option.replace('_', '-')}") for name in columns_asked)
    rows = select.where(found.rows, wanted, keys)
    rows = rows if asked["tested"] is None else select.under(rows, asked["tested"])
    by = by or columns.varying(rows)
    if asked["tested"] is None and not {"tested"} & {*by, *wanted}:
        rows = select.under_own(rows)
    if differ := [names[key] for key in columns.unlike(rows, by)]:
        say(f"a group has runs that differ in {listed(differ)}; name that in --group-by to tell them apart", err=True)
    measure = select.measured(rows, asked["measure"])
    return Chosen(rows, by, columns_asked or tuple(names[key] for key in by), groups(rows, by, measure), measure)


def text(shown: Chosen, form: str, caption: str, pivot: str | None) -> str:
    """The table."""
    from regulargpt.results import render
    from regulargpt.tables import text as as_text

    if form == "csv":
        return (render.pivot_csv if pivot else render.comma_separated)(shown.groups, shown.names).removesuffix("\n")
    caption = caption or ("" if shown.measure.name == "accuracy" else shown.measure.label)
    table = (render.pivot if pivot else render.table)(shown.groups, shown.names, shown.measure, caption)
    return as_text(table, width()) if form == "text" else render.FORMATS[form](table)


def bring_up_to_date(sweep: Path) -> None:
    """Write a sweep's own table; a sweep that may only be read can still be shown."""
    from regulargpt.results.rows import write
    from regulargpt.storage.atomic import StorageError

    try:
        write(sweep)
    except StorageError as error:
        say(f"warning: {error}", err=True)


def told(found: Results) -> None:
    """Say on stderr what the table does not: which runs are not finished, why others failed or are not proven."""
    if found.unfinished:
        count = len(found.unfinished)
        say(f"{count} run{' is' if count == 1 else 's are'} not finished: {listed(found.unfinished)}", err=True)
    for row in wrong(found)[:MOST]:
        say(f"{row.status}: {row.run}: {row.reason}", err=True)
    if len(wrong(found)) > MOST:
        say(f"and {len(wrong(found)) - MOST} more that failed", err=True)
    lost = without_proof(found)
    for run in list(lost)[:MOST]:
        say(f"{run}: {lost[run]}", err=True)
    if len(lost) > MOST:
        say(f"and {len(lost) - MOST} more that are not proven of their language", err=True)


def wrong(found: Results) -> list[Row]:
    """The rows of runs that failed or are damaged."""
    return [row for row in found.rows if not row.is_done]


def without_proof(found: Results) -> dict[str, str]:
    """Why runs that ended with a proof are not proven of their language now, by run."""
    return {row.run: row.reason for row in found.rows if row.is_done and row.reason}


def listed(names: Sequence[str]) -> str:
    """Names, not too many.

    >>> listed(["a", "b"])
    'a, b'
    """
    rest = len(names) - MOST
    return ", ".join(names[:MOST]) + (f" and {rest} more" if rest > 0 else "")


def record(found: Results, shown: Chosen, plot: Path | None) -> dict[str, Any]:
    """What `--json` prints."""
    groups = [dict(zip(shown.names, group.key, strict=True)) | figures(group) for group in shown.groups]
    failed = [{"run": row.run, "status": row.status, "reason": row.reason} for row in wrong(found)]
    asked = {"measure": shown.measure.name, "group_by": list(shown.names), "groups": groups}
    unproven = [{"run": run, "reason": reason} for run, reason in without_proof(found).items()]
    others = {"failed": failed, "not_proven": unproven, "unfinished": found.unfinished}
    return {**asked, **others, **({"plot": str(plot)} if plot else {})}


def figures(group: Group) -> dict[str, Any]:
    """A group without its key."""
    return {name: value for name, value in dataclasses.asdict(group).items() if name != "key"}
