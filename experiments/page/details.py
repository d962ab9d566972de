"""What stands below the table: trivial rules, pictures, newer results, all numbers, and how it was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.page.document import Block, Code, Items, Paragraph, Picture, Pictures, Table
from experiments.page.record import Cell, Record, Shown
from experiments.page.wording import span
from experiments.published import Published, published
from regulargpt.cli.output import percent
from regulargpt.results.render import INTERVAL

Files = Mapping[str, str | bytes]


def pictures(found: Record, files: Files) -> list[Block]:
    """A picture each row, of the runs' own tests."""
    text = "Lines are means over the runs of a column, bands their range, from the worst run to the best."
    return [Paragraph(text), drawn(found.curves, files)] if found.curves else []


def looks(found: Record, files: Files) -> list[Block]:
    """The pictures of a figure's analysis."""
    return [drawn(found.looks, files)] if found.looks else []


def drawn(found: Sequence[Shown], files: Files) -> Pictures:
    """Pictures with what is drawn."""
    return Pictures(tuple(Picture(one.title, one.file, files[one.file], one.text) for one in found))


def rules(found: Record) -> list[Block]:
    """What trivial rules score on the words of each score."""
    panels: dict[tuple[str, str], dict[tuple[float, ...], Cell]] = {}
    for cell in found.cells:
        if cell.shortcuts:
            panels.setdefault((cell.row, cell.words), {}).setdefault(tuple(cell.shortcuts.values()), cell)
    if not panels:
        return []
    names = next(cell.shortcuts for cell in found.cells if cell.shortcuts)
    # Words that are named alike may still be drawn otherwise in each column.
    rows = (
        (", ".join([row, *[cell.title] * (len(alike) > 1), words]), *map(percent, scores))
        for (row, words), alike in panels.items()
        for scores, cell in alike.items()
    )
    text = (
        "Logistic regression on features that need no automaton, fitted to words drawn as the training words are and "
        "tested on words drawn as the test words are. A network that scores no more than a rule may have learned it."
    )
    return [Paragraph(text), Table("All rules, in percent", ("words", *names), tuple(rows), folded=True)]


def newer(names: Sequence[str]) -> list[Block]:
    """What others published since: no columns of the table, for their words, lengths and choices are others."""
    blocks: list[Block] = []
    for printed in map(published, names):
        rows = tuple(
            (row.label, *(" ± ".join(map(str, row.values[c])) if c in row.values else "-" for c in printed.columns))
            for row in printed.rows
        )
        blocks.append(Paragraph(f"{source(printed)} {said(printed)}".strip()))
        if printed.unit == "percent":
            title = f"{' ± '.join(printed.statistics)}, percent"
            blocks.append(Table(title, ("", *printed.columns.values()), rows, folded=True))
        else:
            blocks += [Paragraph(row.line) for row in printed.rows]
    return blocks


def said(printed: Published) -> str:
    """The conditions of a table of others, which are the same for all of its rows."""
    found = next(iter(printed.conditions.values()), {})
    if not found:
        return ""
    first = f"trained on lengths {found['task.train_from']}..{found['task.train_len']}"
    second = f"tested on {found['evaluation.test_from']}..{found['evaluation.test_len']}"
    return f"Other conditions: {first}, {second}, {found['seeds']} seeds, checkpoint: {found['checkpoint']}."


def numbers(found: Record) -> Table:
    """Every cell with all its statistics; the interval of the median only where a cell has one."""
    some = any(cell.low is not None for cell in found.cells)
    interval = [INTERVAL] * some
    header = ("cell", "runs", "done", "max", "mean", "sd", "range", *interval)
    header += ("first below 99 %", "steps", "training, s")
    rows = tuple(number_row(cell, some) for cell in found.cells)
    return Table("Statistics over the runs of each cell", header, rows, folded=True)


def number_row(cell: Cell, interval: bool) -> tuple[str, ...]:
    """A row of that table."""
    name = f"{cell.row}, {cell.title}"
    runs = (str(cell.runs), str(cell.done))
    if not cell.done or cell.max is None or cell.mean is None:
        return (name, *runs, *["none"] * (7 + interval))
    return (
        name,
        *runs,
        percent(cell.max),
        percent(cell.mean),
        "one run" if cell.sd is None else f"{cell.sd:.2f}",
        span(cell.min, cell.max),
        *[span(cell.low, cell.high)] * interval,
        "none" if cell.first_below_99 is None else f"{cell.first_below_99}",
        "unknown" if cell.steps is None else "..".join(f"{n:,}" for n in dict.fromkeys(cell.steps)),
        "unknown" if cell.train_seconds is None else f"{cell.train_seconds:.1f}",
    )


def gone(found: Record) -> list[Block]:
    """Names and reasons."""
    if not found.failed and not found.missing:
        return [Paragraph("None.")]
    items = [f"{failure['run']}: failed, {failure['reason']}" for failure in found.failed]
    items += [f"{name}: missing" for name in found.missing]
    return [
        Items(tuple(items)),
        Paragraph("The same command runs those that are missing; with --retry, those that failed too."),
    ]


def how(found: Record) -> list[Block]:
    """Command, time and environment."""
    sat = f"{duration(sum(found.seconds))} in {len(found.seconds)} sitting{'s' * (len(found.seconds) != 1)}"
    trained = f"training alone {duration(found.train_seconds)}, all runs added up."
    items = [f"{environment(known)}: {known['runs']} run{'s' * (known['runs'] != 1)}" for known in found.environments]
    blocks: list[Block] = [Code(found.command), Paragraph(f"Time: {sat if found.seconds else 'not known'}; {trained}")]
    return [*blocks, *[Items(tuple(items))] * bool(items), *map(Paragraph, found.remarks)]


def environment(known: Mapping[str, Any]) -> str:
    """Where runs were made, in a line."""
    source = f"source {known['source']}" if known.get("source") else "no commit known"
    commit = f"commit {known['commit']}" if known.get("commit") else source
    software = f"Python {known.get('python')}, PyTorch {known.get('torch')}, NumPy {known.get('numpy')}"
    machine = f"{known.get('device_name')} ({known.get('device')}), {known.get('cpu_count')} CPU cores"
    return f"{commit}, {software}, {machine}, {known.get('system')}"


def duration(seconds: float) -> str:
    """Seconds, minutes or hours.

    >>> duration(3.21), duration(90), duration(7230)
    ('3.2 s', '1 min 30 s', '2 h 0 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60)} min"


def source(printed: Published) -> str:
    """Where it was published."""
    work = printed.work
    place = f"{printed.printed}, section {printed.section}" if printed.section else printed.printed
    return f"Published: {place} of {work.author}, {work.title}, {work.where}, {work.year}."
