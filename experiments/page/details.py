"""What stands below the table: trivial rules, pictures, newer results, all numbers, and how it was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.cells import Compared, Comparison
from experiments.page.curves import picture
from experiments.page.document import Block, Code, Items, Paragraph, Picture, Pictures, Table
from experiments.published import Published, published
from regulargpt.cli.output import percent
from regulargpt.storage import atomic
from regulargpt.sweep.names import plain


@dataclass(frozen=True)
class Made:
    """How the runs were made: the command, seconds of each sitting, and environments with how many runs each made."""

    command: str
    sittings: tuple[float, ...]
    environments: tuple[tuple[Mapping[str, Any], int], ...]


def pictures(found: Comparison) -> list[Block]:
    """A picture each row, of the runs' own tests."""
    drawn = [drawing for row in found.cells if (drawing := picture(row)) is not None]
    if not drawn:
        return []
    text = "Lines are means over the runs of a column, bands reach from the worst run to the best."
    return [Paragraph(text), Pictures(tuple(drawn))]


def rules(found: Comparison) -> list[Block]:
    """What trivial rules score on the words of each score."""
    panels = {(cell.row, cell.panel.words): cell.panel for cell in found.all if cell.panel}
    if not panels:
        return []
    names = list(next(iter(panels.values())).scores)
    rows = ((f"{row}, {words}", *map(percent, panel.scores.values())) for (row, words), panel in panels.items())
    text = (
        "Logistic regression on features that need no automaton, fitted to words drawn as the training words are and "
        "tested on words drawn as the test words are. A network that scores no more than a rule may have learned it."
    )
    return [Paragraph(text), Table("All rules, in percent", ("words", *names), tuple(rows), folded=True)]


def looks(found: Comparison) -> list[Block]:
    """The pictures of a figure's analysis."""
    drawn = [
        Picture(
            f"{cell.row}, {cell.column.title}",
            f"pictures/{plain(cell.row)}-{cell.column.name}.png",
            atomic.read_bytes(cell.found[0].picture),
            "; ".join(cell.found[0].sentences),
        )
        for cell in found.all
        if cell.found and cell.found[0].picture
    ]
    return [Pictures(tuple(drawn))] if drawn else []


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


def numbers(found: Comparison) -> Table:
    """Every cell with all its statistics."""
    header = (
        "cell",
        "runs",
        "done",
        "max",
        "mean",
        "sd",
        "95 % of the mean",
        "first below 99 %",
        "steps",
        "training, s",
    )
    return Table("Statistics over the runs of each cell", header, tuple(map(number_row, found.all)), folded=True)


def number_row(cell: Compared) -> tuple[str, ...]:
    """A row of that table."""
    name = f"{cell.row}, {cell.column.title}"
    runs, group = (str(len(cell.names)), str(cell.done)), cell.group
    if not cell.done or group is None or group.max is None or group.mean is None:
        return (name, *runs, *["none"] * 7)
    assert group.low is not None
    assert group.high is not None
    steps = "unknown" if cell.steps is None else "..".join(f"{n:,}" for n in dict.fromkeys(cell.steps))
    return (
        name,
        *runs,
        percent(group.max),
        percent(group.mean),
        "one run" if group.sd is None else f"{group.sd:.2f}",
        f"{percent(group.low)} to {percent(group.high)}",
        "none" if group.first_below_99 is None else f"{group.first_below_99}",
        steps,
        f"{cell.seconds:.1f}",
    )


def gone(found: Comparison) -> list[Block]:
    """Names and reasons."""
    if not found.failures and not found.missing:
        return [Paragraph("None.")]
    items = [f"{name}: failed, {reason}" for name, reason in sorted(found.failures.items())]
    items += [f"{name}: missing" for name in found.missing]
    return [
        Items(tuple(items)),
        Paragraph("The same command runs those that are missing; with --retry, those that failed too."),
    ]


def how(made: Made, found: Comparison) -> list[Block]:
    """Command, time and environment."""
    trained = sum({row.run: row.train_seconds or 0.0 for cell in found.all for row in cell.rows}.values())
    sat = f"{duration(sum(made.sittings))} in {len(made.sittings)} sitting{'s' * (len(made.sittings) != 1)}"
    lines = [f"Time: {sat if made.sittings else 'not known'}; training alone {duration(trained)}, all runs added up."]
    items = [f"{environment(known)}: {count} run{'s' * (count != 1)}" for known, count in made.environments]
    blocks: list[Block] = [Code(made.command), Paragraph(" ".join(lines))]
    return [*blocks, Items(tuple(items))] if items else blocks


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
