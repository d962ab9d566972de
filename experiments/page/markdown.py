"""A document as Markdown, as GitHub shows it; pictures are files beside it."""

from __future__ import annotations

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
from regulargpt.results.render import MARKDOWN, escaped


def render(page: Document) -> str:
    """The page as text."""
    parts = [f"# {safe(page.title)}", *map(safe, page.lead), *map(section, page.sections)]
    return "\n\n".join(parts) + "\n"


def section(found: Section) -> str:
    """A heading and its blocks."""
    return "\n\n".join([f"## {safe(found.title)}", *map(block, found.blocks)])


def block(found: Block) -> str:
    """One block."""
    match found:
        case Paragraph(text):
            return safe(text)
        case Table():
            return table(found)
        case Notes(items):
            return "\n".join(f"{number}. {safe(item)}" for number, item in enumerate(items, 1))
        case Items(items):
            return "\n".join(f"- {safe(item)}" for item in items)
        case Code(text):
            return f"    {text}"
        case Pictures(items):
            return "\n\n".join(map(picture, items))


def table(found: Table) -> str:
    """Pipes; a folded one in a block that opens."""
    lines = [found.header, ("---",) * len(found.header)]
    body = [tuple(map(cell, row)) for row in found.rows]
    header = tuple(map(safe, lines[0]))
    text = "\n".join(f"| {' | '.join(line)} |" for line in (header, lines[1], *body))
    if not found.folded:
        return f"{safe(found.title)}\n\n{text}" if found.title else text
    return f"<details><summary>{safe(found.title)}</summary>\n\n{text}\n\n</details>"


def cell(found: str | Entry) -> str:
    """A cell: its lines below each other, ours in bold, then the notes."""
    if isinstance(found, str):
        return safe(found)
    notes = f"<br><sub>notes {', '.join(map(str, found.notes))}</sub>" if found.notes else ""
    return "<br>".join(map(line, found.lines)) + notes


def line(found: Line) -> str:
    """A line of a cell."""
    text = safe(found.text)
    if found.kind == "ours":
        return f"**{text}**"
    return f"*{text}*" if found.kind == "state" else text


def picture(found: Picture) -> str:
    """A picture with its title."""
    return f"**{safe(found.title)}**\n\n![{safe(found.text)}]({found.file})"


def safe(text: str) -> str:
    """Text in which nothing is markup."""
    return escaped(text, MARKDOWN)
