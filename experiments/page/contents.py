"""What a record says, as Markdown: the table first. Every function gives paragraphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from experiments.page import details
from experiments.page.markdown import items, pictures, safe, table
from experiments.page.record import Made, Record
from experiments.page.verdicts import verdicts
from experiments.page.wording import entry

# Columns side by side: more are another table below.
MAX_COLUMNS = 5


def page(found: Record) -> str:
    """page.md."""
    sections = {
        found.title: tables(found),
        "Ours against published, by column": verdicts(found),
        "What differs in the conditions": conditions(found),
        "Rules without an automaton": details.rules(found),
        "What was found": pictures(found.pictures),
        "Accuracy by length": details.curves(found),
        "Newer results, under other protocols": details.newer(found.related),
        "Every cell in numbers": [details.numbers(found)],
        "Runs that failed or are missing": details.unfinished(found),
        "How it was made": details.origin(found),
    }
    return joined(found, sections)


def joined(found: Made, sections: Mapping[str, Sequence[str]]) -> str:
    """Heading, first sentences, and the sections that are not empty."""
    parts = [f"# {safe(found.heading)}", *map(safe, found.lead)]
    parts += [part for title, blocks in sections.items() if blocks for part in (f"## {safe(title)}", *blocks)]
    return "\n\n".join(parts) + "\n"


def tables(found: Record) -> list[str]:
    """The table, in parts that fit side by side, and how to read it."""
    titles = list(dict.fromkeys(cell.title for cell in found.cells))
    parts = -(-len(titles) // MAX_COLUMNS)
    width = -(-len(titles) // parts)
    blocks = [safe(reading(found))]
    for at in range(0, len(titles), width):
        rows = [(row[0].row, *(entry(cell, found.everywhere) for cell in row[at : at + width])) for row in found.rows]
        blocks.append(table(("", *titles[at : at + width]), rows))
    return blocks


def reading(found: Record) -> str:
    """How to read an entry."""
    statistics, lines = " / ".join(found.statistics), []
    compared = any(cell.is_published for cell in found.cells)
    if found.percent:
        lines.append(
            f"In each cell, from above: published, ours, and the difference in percentage points ({statistics})."
            if compared
            else f"In each cell: {statistics} over its runs, in percent."
        )
        if "max" in found.statistics or found.is_published:
            lines.append("Maximum and mean are over the runs of the cell, seeds and learning rates together.")
        if any(cell.shows.what == "seconds" for cell in found.cells):
            lines.append("Seconds are the mean wall time of a training, on a core that may have had other work.")
    else:
        lines.append("In each cell, one below the other: what was published, and what was found here.")
    if any(cell.shows.what == "proven" for cell in found.cells):
        lines.append(
            "Proven is a run whose certificate the checker accepted when the runs were gathered, of the row's own "
            "language and in real arithmetic."
        )
    if any(cell.shortcuts for cell in found.cells):
        lines.append("Last: the best rule without an automaton, on words drawn the same way.")
    if compared and not all(cell.is_published for cell in found.cells):
        lines.append("What has no published line was not published.")
    return " ".join(lines)


def conditions(found: Record) -> list[str]:
    """The notes, and what holds of every cell."""
    blocks = []
    if found.everywhere:
        numbers = ", ".join(map(str, found.everywhere))
        which = "with a published value" if found.is_published else "that shows an accuracy"
        blocks.append(safe(f"True of every cell {which}: {numbers}. Others have their numbers."))
    if found.notes:
        blocks.append("\n".join(f"{number}. {safe(note)}" for number, note in enumerate(found.notes, 1)))
    if found.protocols:
        blocks += ["Protocols of the tests:", items(found.protocols)]
    ours = sorted({f"PyTorch {known.get('torch')}, {known.get('device_name')}" for known in found.environments})
    if found.is_published and ours:
        computed = f"Everywhere: computed by {'; '.join(ours)}"
        blocks.append(safe(f"{computed}. The published code is JAX and Haiku, and its seeds are not ours."))
    return blocks
