"""A finding: what was measured, the numbers, tables and pictures of them, a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from regulargpt.plots import Line
from regulargpt.tables import Table


@dataclass(frozen=True)
class Data:
    """Numbers as a CSV holds them: the names of the columns, and rows as long as those."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Axis:
    """An axis: what it shows, its scale, its ends and the numbers beside it, where these do not follow from the data.

    Without `is_log` the scale is logarithmic where lengths grow by doublings, or go beyond 1,000.
    """

    label: str
    is_log: bool | None = None
    low: float | None = None
    high: float | None = None
    ticks: Sequence[int] = ()


@dataclass(frozen=True)
class Curves:
    """Lines over one axis. `marks` are places on it and `levels` heights to point out, by what they are.

    `band` is what the bands of the lines are. A line of which another line is a variant has its colour (`Line.like`).
    """

    lines: Sequence[Line]
    x: Axis
    y: Axis
    marks: Mapping[str, float] = field(default_factory=dict)
    levels: Mapping[str, float] = field(default_factory=dict)
    band: str = ""


@dataclass(frozen=True)
class HeatMap:
    """A row a line of `values`, None where there is nothing; columns lie between `edges`. `level` is one on the scale.

    Rows from number `mark[1]` on lie below the line that `mark[0]` names.
    """

    values: Sequence[Sequence[float | None]]
    rows: Sequence[str]
    edges: Sequence[float]
    x: Axis
    y: Axis
    scale: Axis
    level: float | None = None
    mark: tuple[str, int] | None = None


@dataclass(frozen=True)
class Group:
    """Points that look alike: where they are, the number of their colour (`colours` names it) and of their marker."""

    points: Sequence[Sequence[float]]  # (n, 2)
    colour: Sequence[int]  # (n,)
    name: str = ""


@dataclass(frozen=True)
class Outline:
    """The corners of a region round points, its letters, the number of its colour, and whether it is what it claims."""

    corners: Sequence[Sequence[float]]  # (n, 2)
    name: str
    colour: int
    is_sure: bool = True


@dataclass(frozen=True)
class Arrow:
    """From one place to another, by what `name` says."""

    start: Sequence[float]  # (2,)
    end: Sequence[float]  # (2,)
    name: str


@dataclass(frozen=True)
class Dots:
    """Points in a plane whose axes have one unit: a marker a group, a colour each of `colours`.

    On them lie outlines and arrows; the `wrong` points are crossed out.
    """

    groups: Sequence[Group]
    colours: Mapping[int, str]
    x: Axis
    y: Axis
    outlines: Sequence[Outline] = ()
    arrows: Sequence[Arrow] = ()
    wrong: Sequence[Sequence[float]] = ()  # (n, 2)


Panel = Curves | HeatMap | Dots


@dataclass(frozen=True)
class Picture:
    """Panels, so many beside each other, below a title. `size` is that of a panel in inches."""

    panels: Sequence[Panel]
    title: str = ""
    across: int = 1
    size: tuple[float, float] = (8.0, 4.0)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What a measurement came to. Its files are called `name`, its picture `drawn` if it has a name of its own.

    `facts` say what was measured, and `values` what came out; together they are what `--json` prints. `data` is the
    CSV, `more` are further ones by name, as `pictures` are of the picture, `tables` are those that people read, after
    the line `title`.
    """

    name: str
    title: str
    picture: Picture
    facts: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    data: Data = Data((), ())
    tables: Sequence[Table] = ()
    sentence: str = ""
    notes: Sequence[str] = ()
    more: Mapping[str, Data] = field(default_factory=dict)
    drawn: str = ""
    pictures: Mapping[str, Picture] = field(default_factory=dict)

    @property
    def report(self) -> dict[str, Any]:
        """What `--json` prints, and NAME.json holds."""
        return {**self.facts, **self.values}
