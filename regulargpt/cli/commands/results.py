"""`regulargpt results DIR... --group-by language,chunk_size`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from languages.errors import UserError
from regulargpt.cli.output import CheckBar, emit, printed, say, width
from regulargpt.cli.types import PATH, NewFileType
from regulargpt.runs.exits import FAILED

if TYPE_CHECKING:
    from regulargpt.objectives.measures import Measure
    from regulargpt.results.render import Grouped
    from regulargpt.results.row import RunRow
    from regulargpt.results.rows import Results
    from regulargpt.results.statistics import RunGroup

FORMATS = ("text", "markdown", "latex", "csv")
# So many names of unfinished or failed runs are told; results.csv has all that failed.
MOST_NAMED = 20


@click.command()
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=PATH)
@click.option("--group-by", metavar="COLUMNS", help="Columns, as in language,chunk_size.  [default: those that vary]")
@click.option("--pivot", metavar="ROWS,COLUMN", help="Means with rows and columns crossed, as in language,model.")
@click.option("--where", multiple=True, metavar="COLUMN=VALUE", help="Only these; of one column any of the values.")
@click.option("--tested", metavar="PROTOCOL", help="Only the test under this protocol.")
@click.option("--measure", metavar="NAME", help="What to show.  [default: what the runs' scores are of]")
@click.option("--format", "form", type=click.Choice(FORMATS), help="How to print the table.  [default: text]")
@click.option("--caption", default="", metavar="TEXT", help="A caption of the table.")
@click.option(
    "--plot",
    type=NewFileType("accuracy.png"),
    metavar="FILE",
    help="Draw the measure by length too: .png, .svg or .pdf.",
)
@printed
def command(folders: tuple[Path, ...], plot: Path | None, as_json: bool, **options: Any) -> int:
    """Gather runs into a table, with statistics over seeds and curves by length.

    DIR is a sweep, a folder of run folders, a run, or a results.csv. A sweep's results.csv and results.jsonl are
    brought up to date. The exit code is 1 if no run is whole: all failed or are damaged.
    """
    from regulargpt.results.rows import collect
    from regulargpt.runs.sweep.folder import is_sweep

    refuse(as_json, plot, **options)
    with closing(CheckBar()) as progress:
        table = collect(folders, progress)
    shown = choose(table, options)
    if plot:
        from regulargpt.results.curves import picture

        of = shown.grouped
        picture(plot, shown.rows, shown.by, of.names, of.measure, of.beside)
    for folder in filter(is_sweep, folders):
        bring_up_to_date(folder)
    print_unfinished(table)
    if as_json:
        emit(record(table, shown, plot))
    else:
        (click.echo if options["form"] else say)(
            text(shown, options["form"] or "text", options["caption"], options["pivot"])
        )
    return 0 if any(row.is_done for row in table.rows) else FAILED


def refuse(as_json: bool, plot: Path | None, form: str | None, caption: str, **options: Any) -> None:
    """Raise UserError for options that exclude each other, and for a picture of another kind."""
    if as_json and form:
        raise UserError("--format and --json exclude each other; give one")
    if options["group_by"] is not None and options["pivot"] is not None:
        raise UserError("--group-by and --pivot exclude each other; give one")
    if caption and (as_json or form == "csv"):
        raise UserError("--caption: JSON and CSV have none; leave it out")
    if plot and plot.suffix not in (".png", ".svg", ".pdf"):
        named = plot.parent / (plot.stem or "accuracy")
        raise UserError(f"--plot {plot}: pictures are PNG, SVG or PDF; name it {named}.png")


@dataclasses.dataclass(frozen=True)
class Chosen:
    """The rows asked for, the keys that they are grouped by, their groups; `others` the same of further measures."""

    rows: list[RunRow]
    by: tuple[str, ...]
    grouped: Grouped
    others: tuple[Chosen, ...] = ()


def choose(table: Results, options: Mapping[str, Any]) -> Chosen:
    """What is asked for; UserError if there is nothing."""
    from regulargpt.results import columns, select

    wanted = select.conditions(options["where"])
    if not table.rows:
        on = "`regulargpt resume` goes on with a run, the command of a sweep with that"
        raise UserError(f"no run is finished: {listed(table.unfinished)}; {on}")
    keys = columns.known(table.rows)
    names = {key: name for name, key in keys.items()}
    option = "pivot" if options["group_by"] is None else "group_by"
    columns_asked = () if options[option] is None else columns.split(options[option])
    if options["pivot"] is not None and len(columns_asked) < 2:
        raise UserError(f"--pivot {options['pivot']}: name rows and a column, as in --pivot language,model")
    by = tuple(columns.key_of(name, keys, f"--{option.replace('_', '-')}") for name in columns_asked)
    rows = select.where(table.rows, wanted, keys)
    rows = rows if options["tested"] is None else select.under(rows, options["tested"])
    by = by or columns.varying(rows)
    if options["tested"] is None and not {"tested"} & {*by, *wanted}:
        rows = select.under_own(rows)
    measure = select.measured(rows, options["measure"])
    shown = of_measure(rows, by, columns_asked or tuple(names[key] for key in by), names, measure)
    # After all refusals: each of these stands alone.
    if differ := [names[key] for key in columns.unequal(rows, by)]:
        say(f"a group has runs that differ in {listed(differ)}; name that in --group-by to tell them apart", err=True)
    if options["measure"] is not None or options["pivot"] is not None:
        return shown
    others = [of_measure(of, by, shown.grouped.names, names, other) for other, of in select.beside_it(rows, measure)]
    return dataclasses.replace(shown, others=tuple(others))


def of_measure(
    rows: list[RunRow], by: tuple[str, ...], shown: Sequence[str], names: Mapping[str, str], measure: Measure
) -> Chosen:
    """The groups by one measure; an interval over seeds is none where runs differ in more than the seed."""
    from regulargpt.results.beside import beside
    from regulargpt.results.render import Grouped
    from regulargpt.results.statistics import groups

    marks, notes = beside(rows, by, names, measure)
    mixed = {key for key, mark in marks.items() if mark.differ}
    whole = [
        dataclasses.replace(group, low=None, high=None) if group.key in mixed else group
        for group in groups(rows, by, measure)
    ]
    return Chosen(rows, by, Grouped(whole, shown, measure, marks, notes))


def text(shown: Chosen, form: str, caption: str, pivot: str | None) -> str:
    """The table; where nobody chose a measure, a table for each."""
    from regulargpt.results import render
    from regulargpt.tables import text as as_text

    grouped = shown.grouped
    if form == "csv" and pivot:
        for note in grouped.notes:
            say(note, err=True)
        return render.pivot_csv(grouped).removesuffix("\n")
    if form == "csv":
        return render.comma_separated(grouped).removesuffix("\n")
    caption = caption or ("" if grouped.measure.name == "accuracy" and not shown.others else grouped.measure.label)
    table = (render.pivot if pivot else render.table)(grouped, caption)
    lines = as_text(table, width()) if form == "text" else render.FORMATS[form](table)
    return "\n\n".join([lines, *(text(other, form, "", None) for other in shown.others)])


def bring_up_to_date(sweep: Path) -> None:
    """Write a sweep's own table; a sweep that may only be read can still be shown."""
    from regulargpt.results.rows import write
    from regulargpt.storage.atomic import StorageError

    try:
        write(sweep)
    except StorageError as error:
        say(f"warning: {error}", err=True)


def print_unfinished(table: Results) -> None:
    """Say on stderr what the table does not: which runs are not finished, why others failed or are not proven."""
    if table.unfinished:
        count = len(table.unfinished)
        say(f"{count} run{' is' if count == 1 else 's are'} not finished: {listed(table.unfinished)}", err=True)
    for row in wrong(table)[:MOST_NAMED]:
        say(f"{row.status}: {row.run}: {row.reason}", err=True)
    if len(wrong(table)) > MOST_NAMED:
        say(f"and {len(wrong(table)) - MOST_NAMED} more that failed", err=True)
    lost = without_proof(table)
    for run in list(lost)[:MOST_NAMED]:
        say(f"{run}: {lost[run]}", err=True)
    if len(lost) > MOST_NAMED:
        say(f"and {len(lost) - MOST_NAMED} more that are not proven of their language", err=True)


def wrong(table: Results) -> list[RunRow]:
    """The rows of runs that failed or are damaged."""
    return [row for row in table.rows if not row.is_done]


def without_proof(table: Results) -> dict[str, str]:
    """Why runs that ended with a proof are not proven of their language now, by run."""
    return {row.run: row.reason for row in table.rows if row.is_done and row.reason}


def listed(names: Sequence[str]) -> str:
    """Names, not too many.

    >>> listed(["a", "b"])
    'a, b'
    """
    rest = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def record(table: Results, shown: Chosen, plot: Path | None) -> dict[str, Any]:
    """What `--json` prints."""
    failed = [{"run": row.run, "status": row.status, "reason": row.reason} for row in wrong(table)]
    groups = {**of_one(shown.grouped), "others": [of_one(other.grouped) for other in shown.others]}
    unproven = [{"run": run, "reason": reason} for run, reason in without_proof(table).items()]
    rest = {"failed": failed, "not_proven": unproven, "unfinished": table.unfinished}
    return {**groups, **rest, **({"plot": str(plot)} if plot else {})}


def of_one(shown: Grouped) -> dict[str, Any]:
    """The groups of one measure."""
    from regulargpt.results.render import of_beside

    groups = [
        dict(zip(shown.names, group.key, strict=True)) | figures(group) | of_beside(shown.mark(group))
        for group in shown.groups
    ]
    return {"measure": shown.measure.name, "group_by": list(shown.names), "groups": groups, "notes": list(shown.notes)}


def figures(group: RunGroup) -> dict[str, Any]:
    """A group without its key."""
    return {name: value for name, value in dataclasses.asdict(group).items() if name != "key"}
