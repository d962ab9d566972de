"""What stands below the table: trivial rules, pictures, newer results, all numbers, and how it was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.page.markdown import items, pictures, safe, table
from experiments.page.record import Cell, Made, Record
from experiments.published import Published, published
from regulargpt.results.render import ACCURACY, BELOW, INTERVAL, figures
from regulargpt.tables import percent


def curves(found: Record) -> list[str]:
    """A picture each row, of the runs' own tests."""
    text = "Lines are means over the runs of a column, bands their range, from the worst run to the best."
    return [text, *pictures(found.curves)] if found.curves else []


def rules(found: Record) -> list[str]:
    """What trivial rules score on the words of each score."""
    tables: dict[tuple[str, str], dict[tuple[float, ...], Cell]] = {}
    for cell in found.cells:
        if cell.shortcuts:
            tables.setdefault((cell.row, cell.shortcuts.words), {}).setdefault(
                tuple(cell.shortcuts.scores.values()), cell
            )
    if not tables:
        return []
    names = next(cell.shortcuts.scores for cell in found.cells if cell.shortcuts)
    # Words that are named alike may still be drawn otherwise in each column.
    rows = (
        (", ".join([row, *[cell.title] * (len(alike) > 1), words]), *map(percent, scores))
        for (row, words), alike in tables.items()
        for scores, cell in alike.items()
    )
    text = (
        "Logistic regression on features that need no automaton, fitted to words drawn as the training words are and "
        "tested on words drawn as the test words are. A network that scores no more than a rule may have learned it."
    )
    return [safe(text), table(("words", *names), rows, folded="All rules, in percent")]


def newer(names: Sequence[str]) -> list[str]:
    """What others published since: no columns of the table, for their words, lengths and choices are others."""
    blocks: list[str] = []
    for printed in map(published, names):
        rows = tuple(
            (row.label, *(" ± ".join(map(str, row.values[c])) if c in row.values else "-" for c in printed.columns))
            for row in printed.rows
        )
        blocks.append(safe(f"{source(printed)} {other_conditions(printed)}".strip()))
        if printed.unit == "percent":
            title = f"{' ± '.join(printed.statistics)}, percent"
            blocks.append(table(("", *printed.columns.values()), rows, folded=title))
        else:
            blocks += [safe(row.line) for row in printed.rows]
    return blocks


def other_conditions(printed: Published) -> str:
    """The conditions of a table of others, which are the same for all of its rows."""
    found = next(iter(printed.conditions.values()), {})
    if not found:
        return ""
    first = f"trained on lengths {found['data.train_from']}..{found['data.train_len']}"
    second = f"tested on {found['evaluation.test_from']}..{found['evaluation.test_len']}"
    return f"Other conditions: {first}, {second}, {found['seeds']} seeds, checkpoint: {found['checkpoint']}."


def numbers(found: Record) -> str:
    """Every cell with all its statistics; the interval of the median only where a cell has one."""
    has_interval = any(cell.group and cell.group.low is not None for cell in found.cells)
    names = ("max", "mean", "sd", "range", *[INTERVAL] * has_interval, BELOW)
    header = ("cell", "runs", "done", *names, "steps", "training, s")
    return table(
        header, (number_row(cell, names) for cell in found.cells), folded="Statistics over the runs of each cell"
    )


def number_row(cell: Cell, names: Sequence[str]) -> tuple[str, ...]:
    """A row of that table: the statistics of these names, and a dash for what there is not."""
    values = figures(cell.group, ACCURACY) if cell.group else {}
    steps = "..".join(f"{n:,}" for n in dict.fromkeys(cell.steps or ()))
    seconds = f"{cell.train_seconds:.1f}" if cell.done and cell.train_seconds is not None else ""
    row = (f"{cell.row}, {cell.title}", str(cell.runs), str(cell.done), *map(values.get, names), steps, seconds)
    return tuple(text or "–" for text in row)


def unfinished(found: Made) -> list[str]:
    """Names and reasons."""
    if not found.failed and not found.missing:
        return ["None."]
    failed = [f"{failure['run']}: failed, {failure['reason']}" for failure in found.failed]
    again = "The same command runs those that are missing; with --retry, those that failed too."
    return [items([*failed, *(f"{name}: missing" for name in found.missing)]), again]


def origin(found: Made) -> list[str]:
    """Command, time and environment."""
    seconds = found.session_seconds
    spent = f"{duration(sum(seconds))} in {len(seconds)} session{'s' * (len(seconds) != 1)}"
    trained = f"training alone {duration(found.train_seconds)}, all runs added up."
    made = [f"{environment(known)}: {known['runs']} run{'s' * (known['runs'] != 1)}" for known in found.environments]
    blocks = [f"    {found.command}", safe(f"Time: {spent if seconds else 'not known'}; {trained}")]
    return [*blocks, *[items(made)] * bool(made), *map(safe, found.remarks)]


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
