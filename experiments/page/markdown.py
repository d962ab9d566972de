"""Markdown as GitHub shows it: paragraphs, lists, tables and pictures, in which no text is markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from experiments.page.record import Picture
from experiments.page.wording import Entry, Line
from regulargpt.tables import MARKDOWN, escaped, piped


def safe(text: str) -> str:
    """Text in which nothing is markup."""
    return escaped(text, MARKDOWN)


def items(texts: Iterable[str]) -> str:
    """A list."""
    return "\n".join(f"- {safe(text)}" for text in texts)


def table(header: Sequence[str], rows: Iterable[Sequence[str | Entry]], folded: str = "") -> str:
    """A table whose first column names the rows. A folded one is opened by a click on its title."""
    lines = piped([[*map(safe, header)], ["---"] * len(header), *([*map(cell, row)] for row in rows)])
    return f"<details><summary>{safe(folded)}</summary>\n\n{lines}\n\n</details>" if folded else lines


def cell(found: str | Entry) -> str:
    """A cell: its lines below each other, ours in bold, then the notes."""
    if isinstance(found, str):
        return safe(found)
    notes = f"<br><sub>notes {', '.join(map(str, found.notes))}</sub>" if found.notes else ""
    return "<br>".join(map(line, found.lines)) + notes


def line(found: Line) -> str:
    """A line of a cell."""
    marks = {"ours": "**", "state": "*"}.get(found.kind, "")
    return f"{marks}{safe(found.text)}{marks}"


def pictures(found: Iterable[Picture]) -> list[str]:
    """Pictures with their titles."""
    return [f"**{safe(one.title)}**\n\n![{safe(one.text)}]({one.file})" for one in found]
