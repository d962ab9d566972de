"""A cell of scores: its values as page.json has them, and in words what was published and what came out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict

from experiments.cells import Compared
from experiments.page.record import Cell, Line, Values, part
from experiments.published import Number
from regulargpt.config.schema import value_of
from regulargpt.results.statistics import Group
from regulargpt.tables import percent

# Published values have one decimal: what is nearer than half of its last digit is the same.
HALF = 0.05
STANDINGS = ("above", "within", "below", "not there")


def values_of(found: Compared, statistics: tuple[str, ...]) -> Values:
    """A cell as values: its place, what it shows, what was published and came out, and what its runs were.

    `train_seconds`, of all runs together, and `steps`, the fewest and the most, are None where they are not known.
    """
    seconds = [row.train_seconds for row in found.rows if row.is_done]
    differences = (None if d is None else round(d, 6) for d in found.differences)
    return {
        "row": found.row,
        "column": found.column.name,
        "title": found.column.title,
        "shows": asdict(found.shows),
        "levels": levels_of(found),
        "published": dict(zip(statistics, found.published, strict=True)),
        "ours": dict(zip(statistics, found.ours, strict=True)),
        "difference": dict(zip(statistics, differences, strict=True)),
        "runs": len(found.names),
        "done": found.done,
        "missing": len(found.missing),
        "group": found.group and asdict(found.group),
        "steps": found.steps,
        "train_seconds": None if None in seconds else round(found.seconds, 3),
        "shortcuts": found.shortcuts and asdict(found.shortcuts),
        "found": [*(sentence for finding in found.found for sentence in finding.sentences), *failing(found)],
        "notes": found.notes,
    }


def failing(found: Compared) -> Iterator[str]:
    """Where a run first fails, in a column that says so."""
    if found.column.fails_at and found.group and found.group.scores:
        first = found.group.first_below_99
        yield f"below 99 % at {first}" if first else "never below 99 %"


def levels_of(found: Compared) -> int | None:
    """How many levels a word has, where a cell shows that."""
    if found.shows.what != "depth" or not found.configs:
        return None
    from regulargpt.models.tree.depth import depth

    assert found.shows.length is not None
    return depth(found.shows.length, value_of(found.configs[0], "model.chunk_size"))


def cell(values: Values, everywhere: Collection[int] = ()) -> Cell:
    """The cell of the table; notes that hold `everywhere` are not repeated."""
    shows_notes = values["runs"] and values["shows"]["what"] == "accuracy"
    notes = (note for note in values["notes"] if note not in everywhere) if shows_notes else ()
    return Cell(tuple(lines(values)), tuple(notes), values)


def lines(values: Values) -> list[Line]:
    """Published, ours, difference, and the state of its runs; never blank."""
    what, length = values["shows"]["what"], values["shows"]["length"]
    if not values["runs"]:
        return [Line("does not apply", "state")]
    if what != "accuracy":
        # The depth follows from the length: it needs no run.
        found = [Line(MEASURES[what](values), "ours")] if values["done"] or what == "depth" else []
        return [*found, *state(values)]
    found = [Line(text_of(values["published"].values()), "published")] if is_published(values) else []
    if known(values["ours"].values()):
        found.append(Line(text_of(values["ours"].values(), ours=True), "ours"))
    elif values["done"]:
        found.append(Line(f"not tested at {length:,} symbols" if length else "not tested", "state"))
    if known(values["difference"].values()):
        found.append(Line(" / ".join(map(signed, values["difference"].values())), "difference"))
    if values["shortcuts"]:
        name, score = max(values["shortcuts"]["scores"].items(), key=lambda item: item[1])
        found.append(Line(f"{name} {percent(score)}", "rule"))
    return [*found, *map(Line, values["found"]), *state(values)]


def is_published(values: Values) -> bool:
    """Whether there is a published value."""
    return known(values["published"].values())


def group_of(values: Values) -> Group | None:
    """The statistics of its runs, None where no run has ended."""
    return values["group"] and part(Group, values["group"])


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


def proven(values: Values) -> str:
    """How many runs are proven."""
    group = values["group"]
    return f"{group['n_proven']} of {values['runs']} proven" if group and group["n_asked"] else "no proof asked"


def mean_seconds(values: Values) -> str:
    """The mean time of a training."""
    seconds = values["train_seconds"]
    return "unknown" if seconds is None else f"{seconds / values['done']:.1f} s"


def levels(values: Values) -> str:
    """How many levels a word of that length has."""
    return f"{values['levels']} levels at T = {values['shows']['length']}"


MEASURES = {"proven": proven, "seconds": mean_seconds, "depth": levels}


def state(values: Values) -> list[Line]:
    """What is missing of the runs, if anything is."""
    runs, missing = values["runs"], values["missing"]
    if values["shows"]["what"] == "depth":
        return []
    if missing == runs:
        return [Line("no run finished", "state")]
    counts = {"failed": runs - values["done"] - missing, "missing": missing}
    told = [f"{count} of {runs} {what}" for what, count in counts.items() if count]
    return [Line(", ".join(told), "state")] if told else []


def standing(values: Values, published: float) -> str:
    """Where our runs are: of single runs, or equal ones, within is what prints the same."""
    group = group_of(values)
    if group is None or group.min is None or group.max is None:
        return "not there"
    if group.min - HALF <= published <= group.max + HALF:
        return "within"
    return "above" if group.min > published else "below"
