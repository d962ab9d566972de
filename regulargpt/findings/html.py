"""A finding as a section of a page."""

from __future__ import annotations

from regulargpt.findings.finding import Curves, Finding
from regulargpt.findings.markup import scrolling, section, tag, text
from regulargpt.findings.svg import svg
from regulargpt.tables import Table


def html(finding: Finding, heading: str = "", level: int = 3) -> str:
    """A heading, the curves, the sentence, the tables that open by a click, the notes."""
    title = heading or finding.title
    curves = (svg(panel) for panel in finding.picture.panels if isinstance(panel, Curves))
    words = [tag("p", text(line)) for line in (finding.sentence, *finding.notes) if line]
    tables = (tag("details", tag("summary", text(one.caption or "Numbers")), table(one)) for one in finding.tables)
    return section(finding.name, title, *curves, *words, *tables, level=level)


def table(found: Table, name: str = "") -> str:
    """A table that scrolls by itself where it is too wide; its first columns are headings of their rows."""
    head = tag("tr", *(tag("th", text(word), scope="col") for word in found.header))
    rows = [tag("tr", *(cell(word, is_name=at < found.names) for at, word in enumerate(row))) for row in found.rows]
    whole = tag("table", tag("thead", head), tag("tbody", *rows), class_="numbers")
    return scrolling(name or found.caption or "Numbers", whole) + "".join(tag("p", text(note)) for note in found.notes)


def cell(word: str, is_name: bool) -> str:
    """A cell of the body."""
    return tag("th", text(word), scope="row") if is_name else tag("td", text(word))
