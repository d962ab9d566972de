"""The cells of a table of scores, made of runs.csv: what was published, what the runs behind a cell came to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments import recorded
from experiments.experiment import Column, Experiment, Scale, Shows
from experiments.page.record import Cell, CellLine, Values, part
from experiments.published import Number, published
from experiments.recorded import DONE, FAILED, RecordedRun, Rules, key_of
from experiments.registry import recorded_as
from regulargpt.config.schema import value_of
from regulargpt.plots import Line as Curve
from regulargpt.results.statistics import RunGroup, least, spread
from regulargpt.tables import percent

STATISTICS = ("max", "mean")
PERCENT = {*STATISTICS, "worst"}
# Published values have one decimal: what is nearer than half of its last digit is the same.
HALF = 0.05
STANDINGS = ("above", "within", "below", "not there")


@cache
def cells_in(place: Path) -> tuple[Values, ...]:
    """The cells of a folder with runs.csv, whose name says of which experiment and scale."""
    experiment, scale = recorded_as(place.name)
    runs, rules = recorded.read(place / recorded.FILE), recorded.read_rules(place / recorded.RULES)
    return tuple(cells(experiment, scale, runs, rules))


def cells(
    experiment: Experiment, scale: Scale, runs: Sequence[RecordedRun], rules: Sequence[Rules] = ()
) -> list[Values]:
    """Every cell of the rows that have runs, or published values alone; of columns of before those with runs."""
    columns = [*experiment.columns, *(c for c in experiment.former if c.runs in {run.runs for run in runs})]
    behind: dict[tuple[str, str], list[RecordedRun]] = {}
    for run in runs:
        for row in run.rows:
            behind.setdefault((row, run.runs), []).append(run)
    beside = {(row, of, r.test): r for r in rules for row in r.rows for of in r.runs}
    return [
        cell_of(experiment, row, column, behind.get((row, column.runs), []), beside, scale)
        for row in rows_shown(experiment, scale, behind)
        for column in columns
    ]


def rows_shown(experiment: Experiment, scale: Scale, behind: Iterable[tuple[str, str]]) -> list[str]:
    """The rows with runs, and those of which none are to be run."""
    known, columns = {row for row, _ in behind}, {column.runs for column in experiment.columns}
    return [
        row
        for row in experiment.rows
        if row in known or not any(experiment.configs(row, runs, scale) for runs in columns)
    ]


def statistics_of(experiment: Experiment) -> tuple[str, ...]:
    """The statistics of the experiment, of the published table, or the usual ones."""
    printed = published(experiment.published).statistics if experiment.published else STATISTICS
    return experiment.statistics or printed


def cell_of(
    experiment: Experiment,
    row: str,
    column: Column,
    runs: Sequence[RecordedRun],
    rules: Mapping[tuple[str, str, str], Rules],
    scale: Scale,
) -> Values:
    """A cell as values: its place, what it shows, what was published and came out, and what its runs were.

    `train_seconds`, of all runs together, and `steps`, the fewest and the most, are None where they are not known.
    """
    shows, statistics = experiment.shows(row, column), statistics_of(experiment)
    test = key_of(shows)
    shown = [run for run in runs if run.state == DONE and test in run.tests]
    count = {state: sum(run.n for run in runs if run.state == state) for state in (DONE, FAILED)}
    group = group_of_runs(shown, test, count[FAILED]) if shown or count[FAILED] else None
    printed = published(experiment.published) if experiment.published and column.published else None
    seconds, steps = [run.train_seconds for run in shown], [*chain(*(run.steps for run in shown))]
    values = {
        "row": row,
        "column": column.name,
        "title": column.title,
        "behind": column.runs,
        "shows": asdict(shows),
        "levels": levels_of(experiment, row, column.runs, shows, scale),
        "published": {s: printed.value(row, column.published or "", s) if printed else None for s in statistics},
        "ours": {s: statistic(s, group, shown, test) for s in statistics},
        "runs": sum(run.n for run in runs),
        **{"done": count[DONE], "missing": sum(run.n for run in runs if run.is_open)},
        "group": group and asdict(group),
        "steps": [min(steps), max(steps)] if steps else None,
        "train_seconds": None if None in seconds else round(sum(s or 0.0 for s in seconds), 3),
        "shortcuts": None,
        "found": found_in(experiment, column, shows, shown, group),
        "curve": None,
    }
    if shows == Shows() and count[DONE] and not column.fails_at and not experiment.analyse:
        values["curve"] = curve_of(column.title, shown)
    if shows.what == "accuracy" and group and group.scores and (beside := rules.get((row, column.runs, test))):
        values["shortcuts"] = {"words": beside.words, "scores": beside.scores}
    return values


def group_of_runs(runs: Sequence[RecordedRun], test: str, failed: int) -> RunGroup:
    """The statistics of runs in a test."""
    tests = [run.tests[test] for run in runs]
    return RunGroup(
        key=(),
        n_runs=sum(run.n for run in runs) + failed,
        n_failed=failed,
        **spread(tuple(sorted(chain(*(test.scores for test in tests))))),
        first_below_99=least(test.below_99 for test in tests),
        n_proven=sum(run.proven for run in runs),
        n_asked=sum(run.asked for run in runs),
        first_wrong=least(run.first_wrong for run in runs),
        n_as_it_is=sum(run.as_it_is for run in runs),
    )


def statistic(name: str, group: RunGroup | None, runs: Sequence[RecordedRun], test: str) -> Number | None:
    """A statistic over the runs of a cell; the worst is over lengths, too; others are what a figure's analysis says."""
    if name == "worst":
        return least(run.tests[test].worst for run in runs)
    if name in PERCENT:
        return getattr(group, name) if group else None
    return next((run.value for run in runs if run.value is not None), None)


def found_in(
    experiment: Experiment, column: Column, shows: Shows, runs: Sequence[RecordedRun], group: RunGroup | None
) -> list[str]:
    """What is known of the runs beside their scores: where they fail, what an analysis says, why one is not proven."""
    if column.fails_at and group and group.scores:
        first = group.first_below_99
        return [f"below 99 % at {first}" if first else "never below 99 %"]
    if experiment.analyse:
        return [sentence for run in runs if run.found for sentence in run.found.split("; ")]
    if shows.what != "proven":
        return []
    why = (f"seed {run.seed}: {run.found}" if run.n == 1 else run.found for run in runs if run.found)
    return [sentence for reason in why for sentence in reason.split("; ")]


def levels_of(experiment: Experiment, row: str, runs: str, shows: Shows, scale: Scale) -> int | None:
    """How many levels a word has, where a cell shows that."""
    if shows.what != "depth" or not (configs := experiment.configs(row, runs, scale)):
        return None
    from regulargpt.models.tree.depth import depth

    assert shows.length is not None
    return depth(shows.length, value_of(configs[0], "model.chunk_size"))


def curve_of(title: str, runs: Sequence[RecordedRun]) -> Curve | None:
    """The mean over runs by length, from the lowest to the highest, over the lengths of all."""
    known = [run for run in runs if run.by_length]
    if not known:
        return None
    lengths = sorted(set.intersection(*(set(run.by_length) for run in known)))
    each = [[run.by_length[T] for run in known] for T in lengths]
    weights = [run.n for run in known]
    mean = tuple(fmean((of[0] for of in points), weights) for points in each)
    low, high = (tuple(of(point[at] for point in points) for points in each) for at, of in ((1, min), (2, max)))
    return Curve(title, tuple(lengths), mean, low, high)


def cell(values: Values) -> Cell:
    """The cell of the table."""
    return Cell(tuple(lines(values)), (), values)


def lines(values: Values) -> list[CellLine]:
    """Published, ours, difference, and the state of its runs; never blank."""
    what, length = values["shows"]["what"], values["shows"]["length"]
    printed = [CellLine(text_of(values["published"].values()), "published")] if is_published(values) else []
    if not values["runs"]:
        return [*printed, CellLine("does not apply", "state")]
    if what != "accuracy":
        # The depth follows from the length: it needs no run.
        cell_lines = [CellLine(MEASURES[what](values), "ours")] if values["done"] or what == "depth" else []
        return [*cell_lines, *map(CellLine, values["found"]), *state(values)]
    cell_lines = printed
    if known(values["ours"].values()):
        cell_lines.append(CellLine(text_of(values["ours"].values(), ours=True), "ours"))
    elif values["done"]:
        cell_lines.append(CellLine(f"not tested at {length:,} symbols" if length else "not tested", "state"))
    if known(differences := [*differences_of(values)]):
        cell_lines.append(CellLine(" / ".join(map(signed, differences)), "difference"))
    if values["shortcuts"]:
        name, score = max(values["shortcuts"]["scores"].items(), key=lambda item: item[1])
        cell_lines.append(CellLine(f"{name} {percent(score)}", "rule"))
    return [*cell_lines, *map(CellLine, values["found"]), *state(values)]


def differences_of(values: Values) -> Iterable[float | None]:
    """Ours minus published, where both are numbers."""
    for a, b in zip(values["published"].values(), values["ours"].values(), strict=True):
        yield b - a if isinstance(a, int | float) and isinstance(b, int | float) else None


def is_published(values: Values) -> bool:
    """Whether there is a published value."""
    return known(values["published"].values())


def group_of(values: Values) -> RunGroup | None:
    """The statistics of its runs, None where no run has ended."""
    return values["group"] and part(RunGroup, values["group"])


def known(values: Iterable[Any]) -> bool:
    """Whether there is any value."""
    return any(value is not None for value in values)


def text_of(values: Iterable[Number | None], ours: bool = False) -> str:
    """Values between slashes: published ones with their one decimal, ours never rounded up to 100.

    >>> text_of((100.0, 89.3)), text_of((100.0, 99.999), ours=True), text_of((99.5, None), ours=True)
    ('100.0 / 89.3', '100 / 99.99', '99.50 / ?')
    """
    return " / ".join(number_text(value, ours) for value in values)


def number_text(value: Number | None, ours: bool) -> str:
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


def each(values: Values) -> str:
    """The score of each run, ascending."""
    group = values["group"]
    return ", ".join(map(percent, group["scores"])) if group and group["scores"] else "no score"


def proven(values: Values) -> str:
    """How many runs are proven."""
    group = values["group"]
    return f"{group['n_proven']} of {values['runs']} proven" if group and group["n_asked"] else "no proof asked"


def as_it_is(values: Values) -> str:
    """How many runs are proven without replacing a state."""
    group = values["group"]
    return f"{group['n_as_it_is']} of {values['runs']} as it is" if group and group["n_asked"] else "no proof asked"


def first_wrong(values: Values) -> str:
    """The length of the shortest wrong word of all runs that is known."""
    length = values["group"] and values["group"]["first_wrong"]
    return "none known" if length is None else f"wrong from {length:,} symbol{'s' * (length != 1)}"


def mean_seconds(values: Values) -> str:
    """The mean time of a training."""
    seconds = values["train_seconds"]
    return "unknown" if seconds is None else f"{seconds / values['done']:.1f} s"


def training(values: Values) -> str:
    """The mean time of a training, and how many steps it took."""
    steps = "..".join(f"{n:,}" for n in dict.fromkeys(values["steps"] or ()))
    return f"{mean_seconds(values)}, {steps} steps" if steps else mean_seconds(values)


def levels(values: Values) -> str:
    """How many levels a word of that length has."""
    return f"{values['levels']} levels at T = {values['shows']['length']}"


MEASURES = {
    "each": each,
    "proven": proven,
    "as it is": as_it_is,
    "first wrong": first_wrong,
    "seconds": mean_seconds,
    "training": training,
    "depth": levels,
}


def state(values: Values) -> list[CellLine]:
    """What is missing of the runs, if anything is."""
    runs, missing = values["runs"], values["missing"]
    if values["shows"]["what"] == "depth":
        return []
    if missing == runs:
        return [CellLine("no run finished", "state")]
    counts = {"failed": runs - values["done"] - missing, "missing": missing}
    told = [f"{count} of {runs} {what}" for what, count in counts.items() if count]
    return [CellLine(", ".join(told), "state")] if told else []


def standing(values: Values, published: float) -> str:
    """Where our runs are: of single runs, or equal ones, within is what prints the same."""
    group = group_of(values)
    if group is None or group.min is None or group.max is None:
        return "not there"
    if group.min - HALF <= published <= group.max + HALF:
        return "within"
    return "above" if group.min > published else "below"
