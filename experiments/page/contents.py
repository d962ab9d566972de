"""What a record says, as a document: the table first."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.page import details
from experiments.page.document import Block, Document, Items, Notes, Paragraph, Section, Table
from experiments.page.record import Record
from experiments.page.verdicts import verdicts
from experiments.page.wording import entry

# Columns side by side: more are another table below.
MOST_COLUMNS = 5


def document(found: Record, files: Mapping[str, str | bytes]) -> Document:
    """The page; `files` are the pictures' data by file."""
    sections = [
        Section(found.title, tuple(tables(found))),
        Section("Ours against published, by column", tuple(verdicts(found))),
        Section("What differs in the conditions", tuple(conditions(found))),
        Section("Rules without an automaton", tuple(details.rules(found))),
        Section("What was found", tuple(details.looks(found, files))),
        Section("Accuracy by length", tuple(details.pictures(found, files))),
        Section("Newer results, under other protocols", tuple(details.newer(found.related))),
        Section("Every cell in numbers", (details.numbers(found),)),
        Section("Runs that failed or are missing", tuple(details.gone(found))),
        Section("How it was made", tuple(details.how(found))),
    ]
    filled = tuple(section for section in sections if section.blocks)
    return Document(found.heading, found.lead, filled)


def tables(found: Record) -> list[Block]:
    """The table, in parts that fit side by side, and how to read it."""
    titles = dict.fromkeys(cell.title for cell in found.cells)
    parts = -(-len(titles) // MOST_COLUMNS)
    width = -(-len(titles) // parts)
    blocks: list[Block] = [Paragraph(reading(found))]
    for at in range(0, len(titles), width):
        header = ("", *list(titles)[at : at + width])
        rows = tuple(
            (row[0].row, *(entry(cell, found.everywhere) for cell in row[at : at + width])) for row in found.rows
        )
        blocks.append(Table("", header, rows))
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
        lines.append("Maximum and mean are over the runs of the cell, seeds and learning rates together.")
        if any(cell.shows == "seconds" for cell in found.cells):
            lines.append("Seconds are the mean wall time of a training, on a core that may have had other work.")
    else:
        lines.append("In each cell, one below the other: what was published, and what was found here.")
    if any(cell.shortcuts for cell in found.cells):
        lines.append("Last: the best rule without an automaton, on words drawn the same way.")
    if compared and not all(cell.is_published for cell in found.cells):
        lines.append("What has no published line was not published.")
    return " ".join(lines)


def conditions(found: Record) -> list[Block]:
    """The notes, and what holds of every cell."""
    blocks: list[Block] = []
    if found.everywhere:
        numbers = ", ".join(map(str, found.everywhere))
        which = "with a published value" if found.is_published else "that shows an accuracy"
        blocks.append(Paragraph(f"True of every cell {which}: {numbers}. Others have their numbers."))
    if found.notes:
        blocks.append(Notes(found.notes))
    blocks += protocols(found)
    ours = sorted({f"PyTorch {known.get('torch')}, {known.get('device_name')}" for known in found.environments})
    if found.is_published and ours:
        computed = f"Everywhere: computed by {'; '.join(ours)}"
        blocks.append(Paragraph(f"{computed}. The published code is JAX and Haiku, and its seeds are not ours."))
    return blocks


def protocols(found: Record) -> list[Block]:
    """The protocols that cells were tested under, in words."""
    return [Paragraph("Protocols of the tests:"), Items(found.protocols)] if found.protocols else []
