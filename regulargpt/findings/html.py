"""A finding as a section of a page."""

from __future__ import annotations

from regulargpt.findings.finding import Curves, Finding
from regulargpt.findings.markup import scrolling, section, tag, text
from regulargpt.findings.svg import svg
from regulargpt.tables import Table


def html(finding: Finding, heading: str = "", level: int = 3, *, kind: str = "", folded: bool = True) -> str:
    """A heading, the curves, the sentence, the tables, which open by a click if `folded`, the notes.

    `kind` is what an address calls the section, if that is not the name of the finding.
    """
    title = heading or finding.title
    curves = (svg(panel) for panel in finding.picture.panels if isinstance(panel, Curves))
    words = [tag("p", text(line)) for line in (finding.sentence, *finding.notes) if line]
    tables = [table(each) for each in finding.tables]
    if folded:
        names = (tag("summary", text(each.caption or "Numbers")) for each in finding.tables)
        tables = [tag("details", *pair) for pair in zip(names, tables, strict=True)]
    return section(kind or finding.name, title, *curves, *words, *tables, level=level)


def table(shown: Table) -> str:
    """A table that scrolls by itself where it is too wide; its first columns are headings of their rows."""
    head = tag("tr", *(tag("th", text(word), scope="col") for word in shown.header))
    rows = [tag("tr", *(cell(word, is_name=at < shown.names) for at, word in enumerate(row))) for row in shown.rows]
    whole = tag("table", tag("thead", head), tag("tbody", *rows), class_="numbers")
    return scrolling(shown.caption or "Numbers", whole) + "".join(tag("p", text(note)) for note in shown.notes)


def cell(word: str, is_name: bool) -> str:
    """A cell of the body."""
    return tag("th", text(word), scope="row") if is_name else tag("td", text(word))
