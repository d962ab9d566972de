"""A measure by length of groups: the mean over runs, and the band from the lowest to the highest; and their picture."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from languages.errors import UserError, shown
from regulargpt import plots
from regulargpt.objectives.measures import MEASURES, Measure
from regulargpt.plots import Line
from regulargpt.results.beside import NOTHING, Beside
from regulargpt.results.row import Key, Row, cell
from regulargpt.results.statistics import Group, groups, key_of

ACCURACY = MEASURES["accuracy"]
MAX_LINES = len(plots.COLOURS)


@dataclass(frozen=True)
class Curve:
    """One group by length: the mean, lowest and highest of its runs; no lengths if every run failed."""

    group: Group
    lengths: tuple[int, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    def line(self, name: str) -> Line:
        """To draw, with how many of its runs failed, if any did."""
        return Line(name + note(self), self.lengths, self.mean, self.low, self.high)


def curves(rows: Sequence[Row], by: Sequence[str], measure: Measure = ACCURACY) -> list[Curve]:
    """The curves of the groups, in the order of the table.

    >>> rows = [Row(run, "done", length=41, measures={"accuracy": a}) for run, a in [("a", 100.0), ("b", 90.0)]]
    >>> (curve,) = curves(rows, ["seed"])
    >>> curve.lengths, curve.mean, curve.low, curve.high
    ((41,), (95.0,), (90.0,), (100.0,))
    """
    at: dict[Key, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row.length is not None and (value := row.value(measure.name)) is not None:
            at[key_of(row, by)][row.length].append(value)
    return [curve_of(group, at[group.key]) for group in groups(rows, by, measure)]


def curve_of(group: Group, at: Mapping[int, Sequence[float]]) -> Curve:
    """The curve of the values of runs by length."""
    lengths = sorted(at)
    mean, low, high = (tuple(of(at[length]) for length in lengths) for of in (fmean, min, max))
    return Curve(group, tuple(lengths), mean, low, high)


def picture(
    path: Path,
    rows: Sequence[Row],
    by: Sequence[str],
    names: Sequence[str],
    measure: Measure = ACCURACY,
    beside: Mapping[Key, Beside] = {},
) -> None:
    """Draw the groups: up to eight in one picture, more in a panel each value of the first column.

    `names` are those of the columns `by`; a length among them is the axis. A curve has the marks of its group. Raises
    UserError if a panel would have more lines than can be told apart, or there is nothing to draw.
    """
    kept = [at for at, column in enumerate(by) if column != "length"]
    by, names = [by[at] for at in kept], [names[at] for at in kept]
    beside = {tuple(key[at] for at in kept): of for key, of in beside.items()}
    found = curves(rows, by, measure)
    if not any(curve.lengths for curve in found):
        raise UserError(f"--plot {shown(path)}: no run here was tested")
    height = f"{measure.label}: mean and range of runs"
    if len(found) <= MAX_LINES:
        lines = [curve.line(label(curve.group.key, names) + mark(curve, beside)) for curve in found]
        return plots.save(path, plots.single(lines, measure, label=height))
    if (tails := len({curve.group.key[1:] for curve in found})) > MAX_LINES:
        raise UserError(
            f"--plot {shown(path)}: {tails} lines in a picture, at most {MAX_LINES} can be told apart; "
            "choose with --where, or --group-by fewer columns"
        )
    return plots.save(path, plots.panels(in_panels(found, names, beside), measure, label=height))


def mark(curve: Curve, beside: Mapping[Key, Beside]) -> str:
    """What stands behind the name of a curve whose runs differ, or cannot be compared with the others."""
    return beside.get(curve.group.key, NOTHING).mark


def in_panels(found: Sequence[Curve], names: Sequence[str], beside: Mapping[Key, Beside] = {}) -> dict[str, list[Line]]:
    """The curves by the first column, named by the others."""
    heads: dict[Key, list[Curve]] = {}
    for curve in found:
        heads.setdefault(curve.group.key[:1], []).append(curve)
    return {
        label(head, names[:1]) + note(*of): [
            Line(named(c, names) + mark(c, beside), c.lengths, c.mean, c.low, c.high) for c in of
        ]
        for head, of in heads.items()
    }


def named(curve: Curve, names: Sequence[str]) -> str:
    """A curve in a panel, by the columns that the panel's name does not say."""
    return label(curve.group.key[1:], names[1:]) if names[1:] else ""


def note(*found: Curve) -> str:
    """How many of the runs behind these curves failed, if any did."""
    n_failed, n_runs = (sum(getattr(curve.group, what) for curve in found) for what in ("n_failed", "n_runs"))
    return f" ({n_failed} of {n_runs} failed)" if n_failed else ""


def label(key: Key, names: Sequence[str]) -> str:
    """A key in words: a name speaks for itself, a number needs that of its column.

    >>> label(("parity", 2, None), ("language", "chunk_size", "lr"))
    'parity, chunk_size 2'
    """
    pairs = zip(key, names, strict=True)
    parts = [
        cell(value) if isinstance(value, str) else f"{column} {cell(value)}" for value, column in pairs if cell(value)
    ]
    return ", ".join(parts) or "others"
