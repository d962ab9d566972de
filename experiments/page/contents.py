"""What a comparison says, as a document: the table first."""

from __future__ import annotations

from experiments.cells import Comparison
from experiments.page import details
from experiments.page.details import Made, source
from experiments.page.document import Block, Document, Items, Notes, Paragraph, Section, Table
from experiments.page.verdicts import verdicts
from experiments.page.wording import entry, known
from experiments.published import published
from regulargpt.protocols import PROTOCOLS

# Columns side by side: more are another table below.
MOST_COLUMNS = 5


def document(found: Comparison, made: Made) -> Document:
    """The page."""
    experiment = found.experiment
    sections = [
        Section(experiment.title, tuple(tables(found))),
        Section("Ours against published, by column", tuple(verdicts(found))),
        Section("What differs in the conditions", tuple(conditions(found, made))),
        Section("Rules without an automaton", tuple(details.rules(found))),
        Section("What was found", tuple(details.looks(found))),
        Section("Accuracy by length", tuple(details.pictures(found))),
        Section("Newer results, under other protocols", tuple(details.newer(experiment.related))),
        Section("Every cell in numbers", (details.numbers(found),)),
        Section("Runs that failed or are missing", tuple(details.gone(found))),
        Section("How it was made", tuple(details.how(made, found))),
    ]
    filled = tuple(section for section in sections if section.blocks)
    return Document(heading(found), tuple(lead(found)), filled)


def heading(found: Comparison) -> str:
    """What is reproduced, as it is called in print."""
    printed = found.experiment.published or found.experiment.statements
    return f"{published(printed).printed}, reproduced" if printed else found.experiment.title


def lead(found: Comparison) -> list[str]:
    """The first sentences: the source, and how much of it is here."""
    experiment = found.experiment
    printed = experiment.published or experiment.statements
    lines = [source(published(printed))] if printed else []
    if experiment.statements:
        lines += dict.fromkeys(f"“{row.line}”" for row in published(experiment.statements).rows)
    runs, missing, failed = len(found.names), len(found.missing), len(found.failures)
    there = f"{runs - missing - failed} of {runs} runs are done"
    rest = [f"{failed} failed"] * bool(failed) + [f"{missing} missing"] * bool(missing)
    lines.append(f"Scale {found.scale}: {', '.join([there, *rest])}.")
    if found.scale == "smoke":
        lines.append("At this scale the networks are hardly trained: it shows that everything runs, and nothing else.")
    if found.left_out:
        lines.append(f"Not asked for yet: {', '.join(found.left_out)}.")
    return lines


def tables(found: Comparison) -> list[Block]:
    """The table, in parts that fit side by side, and how to read it."""
    columns = found.experiment.columns
    parts = -(-len(columns) // MOST_COLUMNS)
    width = -(-len(columns) // parts)
    blocks: list[Block] = [Paragraph(reading(found))]
    for at in range(0, len(columns), width):
        header = ("", *(column.title for column in columns[at : at + width]))
        rows = tuple(
            (row[0].row, *(entry(cell, found.everywhere) for cell in row[at : at + width])) for row in found.cells
        )
        blocks.append(Table("", header, rows))
    return blocks


def reading(found: Comparison) -> str:
    """How to read an entry."""
    statistics, lines = " / ".join(found.statistics), []
    compared = any(known(cell.published) for cell in found.all)
    if found.percent:
        lines.append(
            f"In each cell, from above: published, ours, and the difference in percentage points ({statistics})."
            if compared
            else f"In each cell: {statistics} over its runs, in percent."
        )
        lines.append("Maximum and mean are over the runs of the cell, seeds and learning rates together.")
        if any(cell.shows.what == "seconds" for cell in found.all):
            lines.append("Seconds are the mean wall time of a training, on a core that may have had other work.")
    else:
        lines.append("In each cell, one below the other: what was published, and what was found here.")
    if any(cell.panel for cell in found.all):
        lines.append("Last: the best rule without an automaton, on words drawn the same way.")
    if compared and any(not known(cell.published) for cell in found.all):
        lines.append("What has no published line was not published.")
    return " ".join(lines)


def conditions(found: Comparison, made: Made) -> list[Block]:
    """The notes, and what holds of every cell."""
    blocks: list[Block] = []
    if found.everywhere:
        numbers = ", ".join(map(str, found.everywhere))
        which = "with a published value" if found.experiment.published else "that shows an accuracy"
        blocks.append(Paragraph(f"True of every cell {which}: {numbers}. Others have their numbers."))
    if found.notes:
        blocks.append(Notes(found.notes))
    blocks += protocols(found)
    ours = sorted({f"PyTorch {known.get('torch')}, {known.get('device_name')}" for known, _ in made.environments})
    if found.experiment.published and ours:
        computed = f"Everywhere: computed by {'; '.join(ours)}"
        blocks.append(Paragraph(f"{computed}. The published code is JAX and Haiku, and its seeds are not ours."))
    return blocks


def protocols(found: Comparison) -> list[Block]:
    """The protocols that cells were tested under, in words."""
    tested = dict.fromkeys(test.tested for cell in found.all for test in cell.rows if test.is_done and test.tested)
    known = [PROTOCOLS[name] for name in tested if name in PROTOCOLS]
    items = [". ".join([f"{p.id}: {p.summary}", *(f"Unlike its source: {d}" for d in p.departures)]) for p in known]
    return [Paragraph("Protocols of the tests:"), Items(tuple(items))] if items else []
