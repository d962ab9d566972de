"""A finding on a page of Markdown."""

from __future__ import annotations

from regulargpt import tables
from regulargpt.findings.finding import Finding
from regulargpt.tables import MARKDOWN, escaped


def markdown(finding: Finding, picture: str = "") -> str:
    """Its title, its sentence, its picture if it lies in a file, its tables, its notes: paragraphs, no heading."""
    words = [escaped(line, MARKDOWN) for line in (finding.title, finding.sentence)]
    image = f"![{words[1] or words[0]}]({picture})" if picture else ""
    shown = (tables.markdown(table) for table in finding.tables)
    notes = (escaped(note, MARKDOWN) for note in finding.notes)
    return "\n\n".join(filter(None, (f"**{words[0]}**", words[1], image, *shown, *notes)))
