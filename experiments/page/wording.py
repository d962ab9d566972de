"""A cell in words: what was published, what came out, by how much it differs, and what is not there."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from experiments.page.record import Cell
from experiments.published import Number
from regulargpt.tables import percent

Kind = Literal["", "published", "ours", "difference", "rule", "state"]

# Published values have one decimal: what is nearer than half of its last digit is the same.
HALF = 0.05


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


def entry(cell: Cell, everywhere: Collection[int] = ()) -> Entry:
    """The cell of the table: published, ours, difference, and the state of its runs; never blank.

    Notes that hold `everywhere` are not repeated.
    """
    if not cell.runs:
        return Entry((Line("does not apply", "state"),))
    if cell.shows.what != "accuracy":
        # The depth follows from the length: it needs no run.
        found = (Line(MEASURES[cell.shows.what](cell), "ours"),) if cell.done or cell.shows.what == "depth" else ()
        return Entry((*found, *state(cell)))
    lines = [Line(text_of(cell.published.values()), "published")] if cell.is_published else []
    if known(cell.ours.values()):
        lines.append(Line(text_of(cell.ours.values(), ours=True), "ours"))
    elif cell.done:
        lines.append(
            Line(f"not tested at {cell.shows.length:,} symbols" if cell.shows.length else "not tested", "state")
        )
    if known(cell.difference.values()):
        lines.append(Line(" / ".join(map(signed, cell.difference.values())), "difference"))
    if cell.shortcuts:
        name, score = max(cell.shortcuts.scores.items(), key=lambda item: item[1])
        lines.append(Line(f"{name} {percent(score)}", "rule"))
    lines += [Line(sentence) for sentence in cell.found]
    return Entry((*lines, *state(cell)), tuple(note for note in cell.notes if note not in everywhere))


def texts(found: Cell) -> dict[str, str]:
    """Published, ours and difference as the page has them; for what is not there, why."""
    lines = entry(found).lines
    of = {kind: [line.text for line in lines if line.kind == kind] for kind in ("published", "difference")}
    ours = [line.text for line in lines if line.kind in ("ours", "state")]
    return {"published": " ".join(of["published"]), "ours": ", ".join(ours), "difference": " ".join(of["difference"])}


def known(values: Iterable[Number | None]) -> bool:
    """Whether there is any value."""
    return any(value is not None for value in values)


def text_of(values: Iterable[Number | None], ours: bool = False) -> str:
    """Values between slashes: published ones with their one decimal, ours never rounded up to 100.

    >>> text_of((100.0, 89.3)), text_of((100.0, 99.999), ours=True), text_of((99.5, None), ours=True)
    ('100.0 / 89.3', '100 / 99.99', '99.50 / ?')
    """
    return " / ".join(one(value, ours) for value in values)


def one(value: Number | None, ours: bool) -> str:
    """A value."""
    if value is None:
        return "?"
    if isinstance(value, str | int):
        return str(value)
    return percent(value) if ours else f"{value:.1f}"


def signed(value: Number | None) -> str:
    """A difference in percentage points.

    >>> signed(10.41), signed(-0.26), signed(-0.03), signed(0.0)
    ('+10.4', '−0.3', '±0.0', '±0.0')
    """
    if not isinstance(value, int | float):
        return "?"
    if abs(value) < HALF:
        return "±0.0"
    return f"{'+' if value > 0 else '−'}{abs(value):.1f}"


def proven(cell: Cell) -> str:
    """How many runs are proven."""
    group = cell.group
    return f"{group.n_proven} of {cell.runs} proven" if group and group.n_asked else "no proof asked"


def seconds(cell: Cell) -> str:
    """The mean time of a training."""
    return "unknown" if cell.train_seconds is None else f"{cell.train_seconds / cell.done:.1f} s"


def levels(cell: Cell) -> str:
    """How many levels a word of that length has."""
    return f"{cell.levels} levels at T = {cell.shows.length}"


MEASURES = {"proven": proven, "seconds": seconds, "depth": levels}


def state(cell: Cell) -> list[Line]:
    """What is missing of the runs, if anything is."""
    if cell.shows.what == "depth":
        return []
    if cell.missing == cell.runs:
        return [Line("no run finished", "state")]
    failed = [f"{cell.failed} of {cell.runs} failed"] if cell.failed else []
    missing = [f"{cell.missing} of {cell.runs} missing"] if cell.missing else []
    return [Line(", ".join([*failed, *missing]), "state")] if failed or missing else []
