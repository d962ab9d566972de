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
from regulargpt.results.beside import NOTHING, Beside, guesses
from regulargpt.results.row import Key, RunRow, cell
from regulargpt.results.statistics import RunGroup, groups, key_of

ACCURACY = MEASURES["accuracy"]
MAX_LINES = len(plots.COLOURS)


@dataclass(frozen=True)
class Curve:
    """One group by length: the mean, lowest and highest of its runs; no lengths if every run failed.

    `chance` is the mean over its runs, to a tenth, and `trained` their longest training length, if they have the same.
    """

    group: RunGroup
    lengths: tuple[int, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    chance: float | None = None
    trained: int | None = None

    def line(self, name: str) -> Line:
        """To draw."""
        return Line(name, self.lengths, self.mean, self.low, self.high, chance=self.chance, trained=self.trained)


def curves(rows: Sequence[RunRow], by: Sequence[str], measure: Measure = ACCURACY) -> list[Curve]:
    """The curves of the groups, in the order of the table.

    >>> rows = [RunRow(run, "done", length=41, measures={"accuracy": a}) for run, a in [("a", 100.0), ("b", 90.0)]]
    >>> (curve,) = curves(rows, ["seed"])
    >>> curve.lengths, curve.mean, curve.low, curve.high
    ((41,), (95.0,), (90.0,), (100.0,))
    """
    grouped: dict[Key, list[RunRow]] = defaultdict(list)
    for row in rows:
        if row.length is not None and row.value(measure.name) is not None:
            grouped[key_of(row, by)].append(row)
    return [curve_of(group, grouped[group.key], measure) for group in groups(rows, by, measure)]


def curve_of(group: RunGroup, rows: Sequence[RunRow], measure: Measure) -> Curve:
    """The curve of the values of runs by length."""
    at: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        at[row.length].append(row.value(measure.name))  # type: ignore  # rows have both
    lengths = sorted(at)
    mean, low, high = (tuple(of(at[length]) for length in lengths) for of in (fmean, min, max))
    chance = 0.0 if measure.scales and rows else guesses(rows, measure)[0]
    trained = {row.config.get("data.train_len") if row.steps else None for row in rows}
    only = trained.pop() if len(trained) == 1 else None
    # Drawn words differ between runs, and their chance by less than a tenth.
    chance = None if chance is None else round(chance, 1)
    return Curve(group, tuple(lengths), mean, low, high, chance, only if isinstance(only, int) else None)


def picture(
    path: Path,
    rows: Sequence[RunRow],
    by: Sequence[str],
    names: Sequence[str],
    measure: Measure = ACCURACY,
    beside: Mapping[Key, Beside] = {},
) -> None:
    """Draw the groups: up to eight in a single picture, more in a panel each value of the first column.

    `names` are those of the columns `by`; a length among them is the axis. A curve has the marks of its group. Raises
    UserError if a panel would have more lines than can be told apart, or there is nothing to draw.
    """
    kept = [at for at, column in enumerate(by) if column != "length"]
    by, names = [by[at] for at in kept], [names[at] for at in kept]
    beside = {tuple(key[at] for at in kept): of for key, of in beside.items()}
    drawn = curves(rows, by, measure)
    if not any(curve.lengths for curve in drawn):
        raise UserError(f"--plot {shown(path)}: no run here was tested")
    height = f"{measure.label}: mean and range of runs"
    if len(drawn) <= MAX_LINES:
        lines = [curve.line(label(curve.group.key, names) + note(curve) + mark(curve, beside)) for curve in drawn]
        return plots.save(path, plots.single(lines, measure, label=height))
    if (tails := len({curve.group.key[1:] for curve in drawn})) > MAX_LINES:
        raise UserError(
            f"--plot {shown(path)}: {tails} lines in a picture, at most {MAX_LINES} can be told apart; "
            "choose with --where, or --group-by fewer columns"
        )
    return plots.save(path, plots.panels(in_panels(drawn, names, beside), measure, label=height))


def mark(curve: Curve, beside: Mapping[Key, Beside]) -> str:
    """What stands behind the name of a curve whose runs differ, or cannot be compared with the others."""
    return beside.get(curve.group.key, NOTHING).mark


def in_panels(drawn: Sequence[Curve], names: Sequence[str], beside: Mapping[Key, Beside] = {}) -> dict[str, list[Line]]:
    """The curves by the first column, named by the others."""
    heads: dict[Key, list[Curve]] = {}
    for curve in drawn:
        heads.setdefault(curve.group.key[:1], []).append(curve)
    return {
        label(head, names[:1]) + note(*of): [curve.line(named(curve, names) + mark(curve, beside)) for curve in of]
        for head, of in heads.items()
    }


def named(curve: Curve, names: Sequence[str]) -> str:
    """A curve in a panel, by the columns that the panel's name does not say."""
    return label(curve.group.key[1:], names[1:]) if names[1:] else ""


def note(*drawn: Curve) -> str:
    """How many of the runs behind these curves failed, if any did, and are proven, if a proof was requested.

    >>> runs = [RunRow(name, "done", length=41, measures={"accuracy": 100.0}, proven=True, as_it_is=at) for name, at in (("a", True), ("b", False))]
    >>> note(*curves(runs, [])), note(*curves(runs[:1], []))
    (' (2 of 2 proven, 1 without replacing a state)', ' (1 of 1 proven)')
    """  # noqa: E501
    names = ("n_failed", "n_proven", "n_asked", "n_as_it_is", "n_runs")
    failed, proven, with_proof, as_it_is, runs = (sum(getattr(curve.group, name) for curve in drawn) for name in names)
    parts = [f"{failed} of {runs} failed"] * bool(failed) + [f"{proven} of {runs} proven"] * bool(with_proof)
    parts += [f"{as_it_is} without replacing a state"] * (as_it_is < proven)
    return f" ({', '.join(parts)})" if parts else ""


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
