"""A cell in words: what was published, what came out, by how much it differs, and what is not there."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from experiments.cells import Compared
from experiments.page.document import Entry, Line
from experiments.published import Number
from regulargpt.cli.output import percent

# Published values have one decimal: what is nearer than half of its last digit is the same.
HALF = 0.05


def entry(cell: Compared, everywhere: Collection[int] = ()) -> Entry:
    """The cell of the table: published, ours, difference, and the state of its runs; never blank.

    Notes that hold `everywhere` are not repeated.
    """
    if not cell.names:
        return Entry((Line("does not apply", "state"),))
    if cell.shows.what != "accuracy":
        return Entry((Line(MEASURES[cell.shows.what](cell), "ours"), *state(cell)))
    lines = [Line(text_of(cell.published), "published")] if known(cell.published) else []
    if known(cell.ours):
        lines.append(Line(text_of(cell.ours, ours=True), "ours"))
    elif cell.done:
        lines.append(
            Line(f"not tested at {cell.shows.length:,} symbols" if cell.shows.length else "not tested", "state")
        )
    if known(cell.differences):
        lines.append(Line(" / ".join(signed(value) for value in cell.differences), "difference"))
    if cell.panel:
        name, score = cell.panel.best
        lines.append(Line(f"{name} {percent(score)}", "rule"))
    lines += [Line(sentence) for finding in cell.found for sentence in finding.sentences]
    return Entry((*lines, *state(cell)), tuple(note for note in cell.notes if note not in everywhere))


def known(values: Sequence[Number | None]) -> bool:
    """Whether there is any value."""
    return any(value is not None for value in values)


def text_of(values: Sequence[Number | None], ours: bool = False) -> str:
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


def signed(value: float | None) -> str:
    """A difference in percentage points.

    >>> signed(10.41), signed(-0.26), signed(-0.03), signed(0.0)
    ('+10.4', '−0.3', '±0.0', '±0.0')
    """
    if value is None:
        return "?"
    if abs(value) < HALF:
        return "±0.0"
    return f"{'+' if value > 0 else '−'}{abs(value):.1f}"


def proven(cell: Compared) -> str:
    """How many runs are proven."""
    if not cell.done:
        return "-"
    if cell.group is None or not cell.group.n_asked:
        return "no proof asked"
    return f"{cell.group.n_proven} of {len(cell.names)} proven"


def seconds(cell: Compared) -> str:
    """The mean time of a training."""
    return f"{cell.seconds / cell.done:.1f} s" if cell.done else "-"


def levels(cell: Compared) -> str:
    """How many levels a word of that length has."""
    from regulargpt.models.regulargpt.depth import depth

    assert cell.shows.length is not None
    return f"{depth(cell.shows.length, cell.configs[0].model.chunk_size)} levels at T = {cell.shows.length}"


MEASURES = {"proven": proven, "seconds": seconds, "depth": levels}


def state(cell: Compared) -> list[Line]:
    """What is missing of the runs, if anything is."""
    total = len(cell.names)
    if cell.shows.what == "depth":
        return []
    if len(cell.missing) == total:
        return [Line("no run finished", "state")]
    failed = [f"{len(cell.failed)} of {total} failed"] if cell.failed else []
    missing = [f"{len(cell.missing)} of {total} missing"] if cell.missing else []
    return [Line(", ".join([*failed, *missing]), "state")] if failed or missing else []
