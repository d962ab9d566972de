"""Groups as a table, a row each or pivoted: for people, and as CSV with every digit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from regulargpt import tables
from regulargpt.objectives.measures import MEASURES, Measure
from regulargpt.results.beside import NOTHING, Beside
from regulargpt.results.row import Key, Value, cell, sortable
from regulargpt.results.statistics import RunGroup
from regulargpt.tables import Bold, Table, number

INTERVAL, BELOW, WRONG = "median, 95 % interval", "below 99 % at", "first wrong at"
AS_IT_IS = "as it is"
ONE_ANSWER, CHANCE = "always one answer", "chance"
HEADER = (
    "max",
    "mean",
    "sd",
    "range",
    INTERVAL,
    BELOW,
    WRONG,
    "runs",
    "failed",
    "proven",
    AS_IT_IS,
    ONE_ANSWER,
    CHANCE,
)
NUMBERS = ("max", "mean", "sd", "min", "low", "high", "first_below_99", "n_runs", "n_failed", "n_proven", "n_asked")
NUMBERS += ("first_wrong", "n_as_it_is")
BESIDE = ("chance", "majority", "differ", "conditions", "given", "given_least", "given_most")
# Columns that are left out where no group has anything to say in them.
SPARSE = (INTERVAL, WRONG, AS_IT_IS, ONE_ANSWER, CHANCE)
FORMATS: dict[str, Callable[[Table], str]] = {"text": tables.text, "markdown": tables.markdown, "latex": tables.latex}
ACCURACY = MEASURES["accuracy"]


@dataclass(frozen=True)
class Grouped:
    """Groups by columns of these names, what is shown of them, what stands beside each, and the notes below."""

    groups: Sequence[RunGroup]
    names: Sequence[str]
    measure: Measure = ACCURACY
    beside: Mapping[Key, Beside] = field(default_factory=dict)
    notes: Sequence[str] = ()

    def mark(self, group: RunGroup) -> Beside:
        """What stands beside a group."""
        return self.beside.get(group.key, NOTHING)


def table(of: Grouped, caption: str = "") -> Table:
    """A row each group, as people read it: shares in percent with two digits, never rounded up to 100.

    >>> group = RunGroup(("parity",), 3, 1, (98.0, 100.0), 100.0, 99.0, 1.41421, 98.0, None, None, 73, 1, 2)
    >>> print(tables.text(table(Grouped([group], ["language"]))))
    language  max  mean   sd    range      below 99 % at  runs  failed  proven
    parity    100  99.00  1.41  98.00-100  73             3     1       1 of 2
    """
    shown = {group.key: figures(group, of.measure, of.mark(group)) for group in of.groups}
    empty = {name for name in SPARSE if not any(cells[name] for cells in shown.values())}
    left_out = empty | (set() if of.measure.unit == "%" else {BELOW})
    header = [name for name in HEADER if name not in left_out]
    rows = [[*map(one_line, key), *(cells[name] for name in header)] for key, cells in shown.items()]
    filled = [tuple(cell or "–" for cell in row) for row in rows]
    return Table((*of.names, *header), filled, len(of.names), caption, of.notes)


def figures(group: RunGroup, measure: Measure, beside: Beside = NOTHING) -> Mapping[str, str]:
    """A group's statistics as people read them, nothing for what there is not."""
    unit = measure.unit
    return {
        "max": shown(group.max, unit),
        "mean": shown(group.mean, unit) + beside.mark,
        "sd": spread(group.sd, unit),
        "range": span(group.min, group.max, unit),
        INTERVAL: span(group.low, group.high, unit),
        BELOW: cell(group.first_below_99),
        WRONG: cell(group.first_wrong),
        ONE_ANSWER: shown(beside.majority, unit),
        CHANCE: shown(beside.chance, unit),
        "runs": str(group.n_runs),
        "failed": str(group.n_failed),
        "proven": f"{group.n_proven} of {group.n_asked}" if group.n_asked else "",
        AS_IT_IS: f"{group.n_as_it_is} of {group.n_proven}" if group.n_as_it_is else "",
    }


def comma_separated(of: Grouped) -> str:
    """CSV: numbers as they are, nothing for what there is not."""
    values = [
        [*group.key, *(getattr(group, name) for name in NUMBERS), of.measure.name, *of_beside(of.mark(group)).values()]
        for group in of.groups
    ]
    return tables.csv([(*of.names, *NUMBERS, "measure", *BESIDE), *([*map(cell, line)] for line in values)])


def of_beside(beside: Beside) -> dict[str, Value]:
    """What stands beside a group, as plain values."""
    had = ", ".join(dict.fromkeys(map(str, beside.given)))
    counts = [of.count for of in beside.given if of.count is not None]
    texts = (", ".join(beside.differ), beside.conditions, had)
    values = (beside.chance, beside.majority, *texts, min(counts, default=None), max(counts, default=None))
    return dict(zip(BESIDE, values, strict=True))


def pivot(of: Grouped, caption: str = "") -> Table:
    """Means over runs with their standard deviation: the last of the names goes across, the others down.

    The best of a row stands out: all that print the same. None does in a row whose cells are under different conditions,
    nor in a row of lengths, which do not compete.

    >>> pair = [RunGroup(("parity", m), 2, 0, (), None, mean, 0.5, *[None] * 4, 0, 0) for m, mean in (("gru", 99.0), ("rnn", 80.0))]
    >>> print(tables.text(pivot(Grouped(pair, ["language", "model"]))))
    language  gru            rnn
    parity    99.00 ± 0.50*  80.00 ± 0.50
    """  # noqa: E501
    cells, across = crossed(of.groups)
    rows = [(*map(one_line, down), *best(row, across, of)) for down, row in cells.items()]
    filled = [tuple(cell or "–" for cell in row) for row in rows]
    return Table((*of.names[:-1], *headings(across, of.names[-1])), filled, len(of.names) - 1, caption, of.notes)


def pivot_csv(of: Grouped) -> str:
    """The means of a pivot with every digit."""
    cells, across = crossed(of.groups)
    rows = [[*down, *(row[at].mean if at in row else None for at in across)] for down, row in cells.items()]
    return tables.csv([(*of.names[:-1], *headings(across, of.names[-1])), *([*map(cell, row)] for row in rows)])


def crossed(groups: Sequence[RunGroup]) -> tuple[dict[Key, dict[Value, RunGroup]], list[Value]]:
    """The groups by what goes down and what goes across, and what goes across in its order."""
    cells: dict[Key, dict[Value, RunGroup]] = {}
    for group in groups:
        cells.setdefault(group.key[:-1], {})[group.key[-1]] = group
    return cells, sorted({group.key[-1] for group in groups}, key=sortable)


def headings(across: Iterable[Value], name: str) -> list[str]:
    """What stands above the columns: a name speaks for itself, a number needs that of its column.

    >>> headings(["lstm", 2], "chunk_size")
    ['lstm', 'chunk_size 2']
    """
    return [value if isinstance(value, str) and value else f"{name} {cell(value) or '–'}" for value in across]


def best(row: Mapping[Value, RunGroup], across: Sequence[Value], of: Grouped) -> list[str]:
    """The cells of a row of a pivot, the best in bold if they can be compared, and how many runs failed."""
    measure, marks = of.measure, {at: of.mark(group).mark for at, group in row.items()}
    comparable = of.names[-1] != "length" and len(row) > 1 and len(set(marks.values())) == 1
    means = [group.mean for group in row.values() if group.mean is not None]
    top = (max if measure.higher_is_better else min)(means, default=None)
    cells = []
    for at in across:
        group = row.get(at)
        mean, sd = (shown(group.mean, measure.unit), spread(group.sd, measure.unit)) if group else ("", "")
        text = f"{mean} ± {sd}" if sd else mean
        if group and group.n_failed:
            text = f"{text} ({group.n_failed} of {group.n_runs} failed)".strip()
        text += marks.get(at, "")
        cells.append(Bold(text) if comparable and mean and mean == shown(top, measure.unit) else text)
    return cells


def shown(value: float | None, unit: str) -> str:
    """A value, or nothing."""
    return "" if value is None else number(value, unit)


def spread(value: float | None, unit: str) -> str:
    """A standard deviation, or nothing."""
    return "" if value is None else f"{value:.2f}" if unit == "%" else f"{value:.2g}"


def span(low: float | None, high: float | None, unit: str) -> str:
    """From the one to the other.

    >>> span(98.0, 100.0, "%"), span(None, None, "%")
    ('98.00–100', '')
    """
    return "" if low is None or high is None else f"{number(low, unit)}–{number(high, unit)}"


def one_line(value: Value) -> str:
    """A value without what would break a line or steer a terminal."""
    return " ".join("".join(c if c.isprintable() else " " for c in cell(value)).split())
