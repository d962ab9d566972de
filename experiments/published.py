"""The published numbers, as data: experiments/published/*.json, each with the line of text that it stands in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from importlib import resources
from typing import Any

from languages.errors import UserError, nearest, one_of

Number = float | str  # a few published values are words: "float32", "slanted line"


@dataclass(frozen=True)
class PublishedWork:
    """Where it was published."""

    title: str
    author: str
    where: str
    year: int


@dataclass(frozen=True)
class PublishedRow:
    """A row under this project's name, its `label` and `group` as printed, the `line` verbatim, and its values.

    `values[column]` has one value for each of the table's statistics; of a mean and its deviation the mean may stand
    alone, and a word stands for both. `marks[column]` is the sign beside it: what the caption says of significance.
    `unit` is the row's own, where it is not the table's.
    """

    row: str
    label: str
    group: str
    line: str
    values: Mapping[str, tuple[Number, ...]]
    marks: Mapping[str, str] = field(default_factory=dict)
    unit: str = ""


@dataclass(frozen=True)
class Doubt:
    """Why values are doubtful, and which: those of these rows and columns, of all if none is named."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    why: str

    def covers(self, row: str, column: str) -> bool:
        """Whether the value in this row and column is among them."""
        return row in (self.rows or (row,)) and column in (self.columns or (column,))


@dataclass(frozen=True)
class Published:
    """A table, or the statement that a figure is to show.

    `columns` maps this project's names to the printed ones; `conditions[group]` what is said of how the group was
    measured, by dotted keys of the config where it has them, and `conditions_from` where that is said. `also` is where
    else the same table is printed, `doubts` are values that contradict others.
    """

    name: str
    work: PublishedWork
    printed: str
    section: str
    caption: str
    unit: str
    statistics: tuple[str, ...]
    conditions_from: str
    conditions: Mapping[str, Mapping[str, Any]]
    columns: Mapping[str, str]
    rows: tuple[PublishedRow, ...]
    also: str = ""
    doubts: tuple[Doubt, ...] = ()

    def row(self, name: str) -> PublishedRow | None:
        """The row with this name, if any."""
        return next((row for row in self.rows if row.row == name), None)

    def value(self, row: str, column: str, statistic: str) -> Number | None:
        """A published value; None for what was not published.

        >>> table = published("table-6.1")
        >>> table.value("modular-arithmetic", "regulargpt-C2", "mean"), table.value("parity", "lstm", "mean")
        (82.6, None)
        """
        published = self.row(row)
        if published is None or column not in published.values or statistic not in self.statistics:
            return None
        values = dict(zip(self.statistics, published.values[column], strict=False))
        return values.get(statistic)

    @property
    def steps(self) -> int:
        """The most steps of training that are stated of any group; 0 where none are.

        >>> published("related-pd-ssm").steps, published("related-grazzi").steps
        (100001, 0)
        """
        return most_steps(self.conditions.values())

    def doubt(self, row: str, column: str) -> str:
        """Why a value is doubtful; nothing, as a rule.

        >>> published("table-4.3").doubt("github/512", "alibi")
        'marked as worse than Sandwich, though it is lower'
        """
        return "; ".join(doubt.why for doubt in self.doubts if doubt.covers(row, column))

    def conditions_of(self, row: str) -> Mapping[str, Any]:
        """How a row was measured, as far as it is said.

        >>> published("table-6.1").conditions_of("dyck-12")["evaluation.test_len"]
        100
        """
        published = self.row(row)
        return self.conditions.get(published.group, {}) if published else {}


def most_steps(conditions: Iterable[Mapping[str, Any]]) -> int:
    """The most steps of training that conditions state; 0 where they state none."""
    return max((steps for stated in conditions if isinstance(steps := stated.get("training.steps"), int)), default=0)


def names() -> list[str]:
    """What there is.

    >>> names()[:2]
    ['figure-2.7', 'figure-3.2']
    """
    folder = resources.files("experiments") / "published"
    return sorted(file.name.removesuffix(".json") for file in folder.iterdir() if file.name.endswith(".json"))


@cache
def published(name: str) -> Published:
    """The published numbers of this name; UserError for another, or for a file that is not as it should be.

    >>> published("table-6.5").row("training.lr").values["value"]
    (0.0001, 0.0003, 0.0005)
    >>> published("table-6.6")
    Traceback (most recent call last):
    languages.errors.UserError: nothing published is named 'table-6.6'; did you mean 'table-6.5'?
    """
    if name not in names():
        raise UserError(f"nothing published is named '{name}';{nearest(name, names()) or ' choose ' + one_of(names())}")
    return parse(name, (resources.files("experiments") / "published" / f"{name}.json").read_text("utf-8"))


def parse(name: str, text: str) -> Published:
    """The published numbers behind a file's text; UserError naming file and row for what is not right."""
    data = json.loads(text)
    exactly(name, data, Published)
    exactly(f"{name}: work", data["work"], PublishedWork)
    rows = []
    for number, entry in enumerate(data["rows"]):
        exactly(f"{name}: row {number}", entry, PublishedRow)
        rows.append(PublishedRow(**{**entry, "values": {column: tuple(v) for column, v in entry["values"].items()}}))
    doubts = []
    for number, entry in enumerate(data.get("doubts", ())):
        exactly(f"{name}: doubt {number}", entry, Doubt)
        doubts.append(Doubt(tuple(entry["rows"]), tuple(entry["columns"]), entry["why"]))
    lists = {
        "statistics": tuple(data["statistics"]),
        "rows": tuple(rows),
        "work": PublishedWork(**data["work"]),
        "doubts": tuple(doubts),
    }
    published = Published(**{**data, **lists})
    for problem in problems(name, published):
        raise UserError(f"{name}: {problem}")
    return published


def exactly(place: str, data: Mapping[str, Any], owner: type) -> None:
    """Refuse keys too many or too few."""
    has_default = {f.name: f.default is not MISSING or f.default_factory is not MISSING for f in fields(owner)}
    for key in sorted(set(data) ^ set(has_default)):
        if not has_default.get(key, False):
            raise UserError(f"{place}: '{key}' is {'missing' if key in has_default else 'not a key of it'}")


def problems(name: str, published: Published) -> list[str]:
    """What the types do not say."""
    text = [f"it is named '{published.name}'"] if published.name != name else []
    seen: set[str] = set()
    for row in published.rows:
        if row.row in seen:
            text.append(f"row '{row.row}' is there twice")
        seen.add(row.row)
        if not row.line or not row.values:
            text.append(f"row '{row.row}' has no line or no values")
        text += [
            f"row '{row.row}': unknown column '{column}'" for column in row.values if column not in published.columns
        ]
        text += [
            f"row '{row.row}', {column}: {fault}"
            for column, v in row.values.items()
            if (fault := wrong(published, row, v))
        ]
        text += [f"row '{row.row}': '{column}' has a mark and no value" for column in row.marks.keys() - row.values]
    for doubt in published.doubts:
        text += [f"a doubt about '{row}', which is no row" for row in doubt.rows if row not in seen]
        unknown = [column for column in doubt.columns if column not in published.columns]
        text += [f"a doubt about '{column}', which is no column" for column in unknown]
    return text


def wrong(published: Published, row: PublishedRow, values: tuple[Number, ...]) -> str:
    """What is wrong with a cell; nothing, as a rule."""
    unit = row.unit or published.unit
    counts = {1, 2} if published.statistics == ("mean", "sd") else {len(published.statistics)}
    if published.statistics and len(values) not in counts:
        return f"{len(values)} values for {', '.join(published.statistics)}"
    if not values or not all(isinstance(value, int | float | str) for value in values):
        return "a value is a number or a text"
    if unit == "percent" and not all(isinstance(value, int | float) and 0 <= value <= 100 for value in values):
        return "a share is 0 to 100"
    if published.statistics == ("max", "mean") and float(values[0]) < float(values[1]):
        return "the mean is above the maximum"
    return ""


def source(printed: Published) -> str:
    """Where it was published."""
    work = printed.work
    place = f"{printed.printed}, section {printed.section}" if printed.section else printed.printed
    return f"Published: {place} of {work.author}, {work.title}, {work.where}, {work.year}."


def hardly_trained(scale: str) -> Iterator[str]:
    """What the smallest scale means."""
    if scale == "smoke":
        yield "At this scale the networks are hardly trained: it shows that everything runs, and nothing else."
