"""What a page says, as plain values: page.json. Pages of scores, texts, checkpoints and the atlas are all such records.

A section has blocks: sentences, lists, tables and pictures. A cell of a table has the lines that people read, and the
numbers behind them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, TypeAlias, TypeVar

from regulargpt.plots import Line as Curve

Kind = Literal["", "published", "ours", "difference", "rule", "state"]
Answer = Literal["holds", "does not", "not reached", "not decidable here"]
Values: TypeAlias = Mapping[str, Any]
Part = TypeVar("Part")


@dataclass(frozen=True)
class CellLine:
    """A line of a cell, and what it says: what was published, ours, their difference, what rules score, or a state."""

    text: str
    kind: Kind = ""


@dataclass(frozen=True)
class Cell:
    """A cell of a table: its lines, the numbers of its notes, and the values behind it."""

    lines: tuple[CellLine, ...]
    notes: tuple[int, ...] = ()
    values: Values = field(default_factory=dict)


@dataclass(frozen=True)
class PageTable:
    """A table whose first column names its rows. One that is `folded` is opened by a click on that title."""

    header: tuple[str, ...]
    rows: tuple[tuple[str | Cell, ...], ...]
    folded: str = ""


@dataclass(frozen=True)
class ItemList:
    """A list."""

    items: tuple[str, ...]
    numbered: bool = False
    folded: str = ""


@dataclass(frozen=True)
class PagePicture:
    """A picture: its file beside the page, its title, and what it shows in words.

    `lines` are what is drawn: curves of a `measure` (or what `label` calls it) over an `axis`, with `marks` on it, by
    doublings ("log") or evenly ("even"), if not as usual. Without lines the file is all there is. Lines that were read
    back `from_drawing` have the points where the drawn line bends, to half a point of the drawing, and are straight in
    between.
    """

    title: str
    file: str
    text: str
    lines: tuple[Curve, ...] = ()
    measure: str = "accuracy"
    axis: str = "length T"
    marks: Mapping[str, float] = field(default_factory=dict)
    scale: Literal["", "log", "even"] = ""
    label: str = ""
    from_drawing: bool = False


Block: TypeAlias = str | ItemList | PageTable | PagePicture


@dataclass(frozen=True)
class Section:
    """A heading with what stands below it."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class ClaimVerdict:
    """What results say of a claim: the figure that decides, why, and of how many seeds each figure is at least.

    `seeds` is 0 where that was not noted. `rules` test the claim, and `published` are the figures in print. `steps` are
    the most that any network behind it had, where more might change the answer; else 0.
    """

    answer: Answer
    figure: str = ""
    why: str = ""
    seeds: int = 0
    sentence: str = ""
    source: str = ""
    rules: tuple[str, ...] = ()
    published: str = ""
    steps: int = 0

    @property
    def text(self) -> str:
        """The answer, and in how many steps, if it is said of these alone.

        >>> ClaimVerdict("not reached", steps=4000).text, ClaimVerdict("holds").text
        ('not reached in 4,000 steps', 'holds')
        """
        return f"{self.answer} in {self.steps:,} steps" if self.steps else self.answer


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page: what it is of, its first sentences, the claims, the sections, and how it was made.

    `judged` says what verdicts mean here. `facts` are what programs want to know of the whole page. `session_seconds`
    has a number for each call of the command, `environments` are those in which runs were made, with how many.
    `remarks` say how the page came to be. The sections of a page with a `layout` follow from its `parts`.
    """

    experiment: str
    scale: str
    heading: str
    lead: tuple[str, ...]
    sections: tuple[Section, ...]
    claims: tuple[ClaimVerdict, ...] = ()
    judged: str = ""
    facts: Values = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    failed: tuple[Mapping[str, str], ...] = ()
    missing: tuple[str, ...] = ()
    command: str = ""
    session_seconds: tuple[float, ...] = ()
    train_seconds: float | None = None
    environments: tuple[Values, ...] = ()
    remarks: tuple[str, ...] = ()
    layout: str = ""
    parts: Values = field(default_factory=dict)

    @property
    def cells(self) -> Iterator[Values]:
        """The values of every cell that has some."""
        for section in self.sections:
            for block in section.blocks:
                if isinstance(block, PageTable):
                    yield from (cell.values for row in block.rows for cell in row if isinstance(cell, Cell))

    @property
    def pictures(self) -> list[PagePicture]:
        """All pictures."""
        return [block for section in self.sections for block in section.blocks if isinstance(block, PagePicture)]


def to_json(page: Page) -> dict[str, Any]:
    """A page with all its sections as plain values; what is as usual in a block is left out."""
    sections = [{"title": s.title, "blocks": [*map(block_values, s.blocks)]} for s in page.sections]
    values = vars(page) | {"claims": [*map(asdict, page.claims)], "sections": sections}
    return {key: value for key, value in values.items() if key not in ("layout", "parts")}


def _short(block: Any) -> dict[str, Any]:
    usual = {f.name: f.default_factory() if callable(f.default_factory) else f.default for f in fields(block)}
    return {key: value for key, value in asdict(block).items() if value != usual[key]}


def block_values(block: Block) -> Any:
    """A block as plain values."""
    if isinstance(block, PageTable):
        rows = [[cell if isinstance(cell, str) else _short(cell) for cell in row] for row in block.rows]
        return _short(block) | {"rows": rows}
    if isinstance(block, PagePicture):
        return _short(block) | {"lines": [_short(line) for line in block.lines]}
    return block if isinstance(block, str) else _short(block)


def from_json(values: Values) -> Page:
    """The page of plain values, whose sections may be made already; KeyError or TypeError for others."""
    sections = (
        section if isinstance(section, Section) else Section(section["title"], tuple(map(block_of, section["blocks"])))
        for section in values["sections"]
    )
    claims = (
        claim if isinstance(claim, ClaimVerdict) else part(ClaimVerdict, claim) for claim in values.get("claims", ())
    )
    return part(Page, {**values, "sections": tuple(sections), "claims": tuple(claims)})


def block_of(values: Any) -> Block:
    """The block of plain values."""
    if isinstance(values, str):
        return values
    if "items" in values:
        return part(ItemList, values)
    if "rows" in values:
        return part(PageTable, {**values, "rows": tuple(tuple(map(_cell_of, row)) for row in values["rows"])})
    return part(PagePicture, {**values, "lines": tuple(part(Curve, curve) for curve in values["lines"])})


def _cell_of(values: Any) -> str | Cell:
    if isinstance(values, str):
        return values
    return part(Cell, {**values, "lines": tuple(part(CellLine, line) for line in values["lines"])})


def part(kind: type[Part], values: Values) -> Part:
    """A dataclass from the values of its fields, lists as tuples; TypeError for others."""
    return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in values.items()})
