"""A document as one HTML file with nothing to fetch: styles and pictures are in it, and there is no script."""

from __future__ import annotations

import base64
from importlib import resources
from string import Template

from experiments.page.document import (
    Block,
    Code,
    Document,
    Entry,
    Items,
    Line,
    Notes,
    Paragraph,
    Picture,
    Pictures,
    Section,
    Table,
)
from regulargpt.report.svg import tag, text


def render(page: Document) -> str:
    """The page as text."""
    files = resources.files("experiments.page")
    return Template((files / "page.html").read_text("utf-8")).substitute(
        title=text(page.title),
        style=(files / "page.css").read_text("utf-8"),
        lead="\n".join(tag("p", text(sentence)) for sentence in page.lead),
        sections="\n".join(section(found, i) for i, found in enumerate(page.sections)),
    )


def section(found: Section, i: int) -> str:
    """A heading and its blocks."""
    heading = tag("h2", text(found.title), id=f"section-{i}")
    return tag("section", heading, *map(block, found.blocks), aria_labelledby=f"section-{i}")


def block(found: Block) -> str:
    """One block."""
    match found:
        case Paragraph(words):
            return tag("p", text(words))
        case Table():
            return table(found)
        case Notes(items):
            return tag(
                "ol", *(tag("li", text(item), id=f"note-{n}") for n, item in enumerate(items, 1)), class_="notes"
            )
        case Items(items):
            return tag("ul", *(tag("li", text(item)) for item in items))
        case Code(words):
            return tag("pre", tag("code", text(words)))
        case Pictures(items):
            return tag("div", *map(picture, items), class_="pictures")


def table(found: Table) -> str:
    """A table; on a narrow screen a row is a card, so that roles are said and cells know their columns."""
    head = tag("tr", *(tag("th", text(name), scope="col", role="columnheader") for name in found.header), role="row")
    rows = [row(found.header, cells) for cells in found.rows]
    parts = tag("thead", head, role="rowgroup"), tag("tbody", *rows, role="rowgroup")
    kind = "cells" if found.folded else "cells wide"
    whole = tag("table", *parts, role="table", class_=kind)
    if found.folded:
        return tag("details", tag("summary", text(found.title)), whole)
    return (tag("h3", text(found.title)) if found.title else "") + whole


def row(header: tuple[str, ...], cells: tuple[str | Entry, ...]) -> str:
    """A row: its name, then its cells."""
    name, *rest = cells
    assert isinstance(name, str)
    parts = [tag("th", text(name).replace("/", "/<wbr>"), scope="row", role="rowheader")]
    for column, found in zip(header[1:], rest, strict=True):
        inner = text(found) if isinstance(found, str) else entry(found)
        parts.append(tag("td", tag("div", inner), role="cell", data_column=column))
    return tag("tr", *parts, role="row")


def entry(found: Entry) -> str:
    """The lines of a cell and its notes."""
    links = " ".join(tag("a", text(n), href=f"#note-{n}") for n in found.notes)
    notes = tag("span", tag("span", "notes ", class_="hidden"), links, class_="marks") if links else ""
    return "".join(map(line, found.lines)) + notes


SAID = {"published": "published ", "ours": "ours ", "difference": "difference ", "rule": "best rule "}


def line(found: Line) -> str:
    """A line of a cell, with what it is for those who do not see where it stands."""
    said = SAID.get(found.kind, "")
    return tag(
        "span",
        tag("span", said, class_="hidden") if said else "",
        text(found.text),
        class_=f"line {found.kind}".strip(),
    )


def picture(found: Picture) -> str:
    """SVG as it is, PNG as data."""
    if isinstance(found.data, str):
        drawn = found.data
    else:
        data = base64.b64encode(found.data).decode()
        drawn = tag("img", src=f"data:image/png;base64,{data}", alt=found.text)
    return tag("figure", tag("figcaption", text(found.title)), drawn)
