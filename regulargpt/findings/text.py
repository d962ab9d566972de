"""A finding for a terminal."""

from __future__ import annotations

from regulargpt import tables
from regulargpt.findings.finding import Finding


def text(finding: Finding, room: int | None = None) -> str:
    """Its title, its tables no wider than `room` columns, its sentence, its notes."""
    shown = (tables.text(table, room) for table in finding.tables)
    return "\n".join(filter(None, (finding.title, *shown, finding.sentence, *finding.notes)))
