"""What a page is made of: sections of paragraphs, tables, notes and pictures, the same for HTML and Markdown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["", "published", "ours", "difference", "rule", "state"]


@dataclass(frozen=True)
class Line:
    """A line of an entry, and what it says."""

    text: str
    kind: Kind = ""


@dataclass(frozen=True)
class Entry:
    """A cell of a table: lines, and the numbers of its notes."""

    lines: tuple[Line, ...]
    notes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table whose first column names the rows. A folded one is opened by a click."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str | Entry, ...], ...]
    folded: bool = False


@dataclass(frozen=True)
class Paragraph:
    """Sentences."""

    text: str


@dataclass(frozen=True)
class Notes:
    """The notes that entries refer to, numbered from 1."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Items:
    """A list."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Code:
    """A command."""

    text: str


@dataclass(frozen=True)
class Picture:
    """A picture as it lies in `file`, relative to the page: SVG as text, PNG as bytes; `text` says what it shows."""

    title: str
    file: str
    data: str | bytes
    text: str


@dataclass(frozen=True)
class Pictures:
    """Pictures side by side."""

    items: tuple[Picture, ...]


Block = Paragraph | Table | Notes | Items | Code | Pictures


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Document:
    """A page; `lead` are the first sentences."""

    title: str
    lead: tuple[str, ...]
    sections: tuple[Section, ...]

    @property
    def pictures(self) -> list[Picture]:
        """All pictures, which lie beside the Markdown."""
        blocks = [block for section in self.sections for block in section.blocks]
        return [picture for block in blocks if isinstance(block, Pictures) for picture in block.items]
