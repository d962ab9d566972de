"""runs.csv: what is kept of an experiment, a line a run, and rules.csv beside it.

A line may stand for several runs: that it shows what several rows share, or that of an older record the runs were not
kept one by one. Then `n` says how many they are, and scores stand side by side. `rows` and `runs` say which cells a
line is behind (`experiments.experiment.Column.runs`). A column `score TEST` has the score of a run in a test, `worst`
the lowest value at a length, `below 99` the first length below 99 %; `by_length` has the accuracies, as
length:mean/lowest/highest where these differ, after a ~ if they were read back from a drawing.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from experiments.experiment import Experiment, Scale, Shows
from languages.errors import UserError
from regulargpt import tables
from regulargpt.config.schema import RunConfig
from regulargpt.objectives.measures import measure
from regulargpt.results.row import RunRow
from regulargpt.results.rows import rows as rows_of
from regulargpt.results.statistics import groups, least
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.runs.sweep.names import name_of
from regulargpt.storage import atomic
from regulargpt.storage.folder import RunFolder

FILE, RULES = "runs.csv", "rules.csv"
DONE, FAILED, STOPPED, MISSING = "done", "failed", "stopped", "missing"
NOT_ANALYSED, DRAWN = "not analysed", "~"
SCORE, WORST, BELOW = "score", "worst", "below 99"
RULE_COLUMNS = ("of rows", "of runs", "test", "words")  # a rule is called "runs", too
PROOFS = ("table_fine_tuning", "chain_fine_tuning", "stack_proof")
Points = Mapping[int, tuple[float, float, float]]  # by length the mean, the lowest and the highest


@dataclass(frozen=True)
class RecordedScore:
    """What runs came to in a test: their scores, the lowest value at any length, the first length below 99 %."""

    scores: tuple[float, ...]
    worst: float | None = None
    below_99: int | None = None


@dataclass(frozen=True)
class RecordedRun:
    """A run, or `n` of them; `names` are theirs, where they are known.

    `steps` are the fewest and the most, `seconds` those of all together. Of `asked` that were to be proven, `proven`
    are, `as_it_is` of these without replacing a state. `value` and `found` are what a figure's analysis says, or why a
    run is not proven.
    """

    rows: tuple[str, ...]
    runs: str
    state: str
    n: int = 1
    names: tuple[str, ...] = ()
    seed: str = ""
    lr: str = ""
    steps: tuple[int, ...] = ()
    train_seconds: float | None = None
    certify_seconds: float | None = None
    labels: int | None = None
    asked: int = 0
    proven: int = 0
    as_it_is: int = 0
    first_wrong: int | None = None
    value: float | str | None = None
    found: str = ""
    commit: str = ""
    torch: str = ""
    device: str = ""
    note: str = ""
    by_length: Points = field(default_factory=dict)
    is_drawn: bool = False
    tests: Mapping[str, RecordedScore] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """Whether it is still to be run."""
        return self.state in (STOPPED, MISSING)


FIELDS = tuple(name for name in RecordedRun.__dataclass_fields__ if name not in ("is_drawn", "tests"))


def key_of(shows: Shows) -> str:
    """The name of the test that a cell shows: its measure, protocol and length, where they are not the run's own.

    >>> key_of(Shows()), key_of(Shows(tested="hard-2", length=10_000)), key_of(Shows("depth", length=500))
    ('', 'hard-2 at 10000', '')
    """
    length = f"at {shows.length}" if shows.what == "accuracy" and shows.length else ""
    return " ".join(filter(None, (shows.measure, shows.tested, length)))


def write(path: Path, runs: Sequence[RecordedRun]) -> None:
    """Write runs.csv."""
    header = list(dict.fromkeys([*FIELDS, *(name for run in runs for name in scores_text(run))]))
    written = [fields_text(run) | scores_text(run) for run in runs]
    used = [name for name in header if name in FIELDS[:4] or any(line.get(name) for line in written)]
    atomic.write_text(path, tables.csv([used, *([line.get(name) for name in used] for line in written)]))


def fields_text(run: RecordedRun) -> dict[str, str]:
    """The fields of a line as text."""
    plain = {name: text(getattr(run, name)) for name in FIELDS if name not in ("steps", "by_length")}
    points = " ".join(point_text(T, of) for T, of in run.by_length.items())
    curve = f"{DRAWN} {points}" if run.is_drawn else points
    return plain | {"steps": "..".join(dict.fromkeys(map(str, run.steps))), "by_length": curve}


def point_text(length: int, of: tuple[float, ...]) -> str:
    """A length and what was scored there, once where the lowest is the highest.

    >>> point_text(41, (97.5, 95.0, 100.0)), point_text(41, (97.5, 97.5, 97.5))
    ('41:97.5/95/100', '41:97.5')
    """
    return f"{length}:{'/'.join(f'{value:.7g}' for value in (of if len(set(of)) > 1 else of[:1]))}"


def text(value: Any) -> str:
    """A value as it is written: nothing for none, many side by side."""
    if isinstance(value, tuple):
        return " ".join(value)
    return "" if value is None or (value == 0 and isinstance(value, int)) else str(value)


def scores_text(run: RecordedRun) -> dict[str, str]:
    """The columns of the tests of a line."""
    columns: dict[str, str] = {}
    for name, test in run.tests.items():
        values = {SCORE: " ".join(map(str, test.scores)), WORST: test.worst, BELOW: test.below_99}
        columns |= {f"{key} {name}".strip(): "" if v is None else str(v) for key, v in values.items()}
    return columns


def read(path: Path) -> list[RecordedRun]:
    """The lines of runs.csv; FormatError for another file."""
    lines = csv.DictReader(atomic.parse_text(atomic.read_bytes(path), path).splitlines())
    try:
        return [run_of(line) for line in lines]
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise atomic.FormatError(f"{atomic.shown(path)} is no table of runs: {error}; make it anew") from error


def number_or_text(value: str) -> float | str:
    """A number where the text is a number."""
    if value.isdecimal():
        return int(value)
    try:
        return float(value)
    except ValueError:
        return value


READ: Mapping[str, Callable[[str], Any]] = {
    "rows": lambda value: tuple(value.split()),
    "names": lambda value: tuple(value.split()),
    "steps": lambda value: (int(value.split("..")[0]), int(value.split("..")[-1])),
    "by_length": lambda value: dict(map(point, value.removeprefix(DRAWN).split())),
    "value": number_or_text,
    **dict.fromkeys(("train_seconds", "certify_seconds"), float),
    **dict.fromkeys(("n", "labels", "asked", "proven", "as_it_is", "first_wrong"), int),
}


def point(value: str) -> tuple[int, tuple[float, float, float]]:
    """A length and what was scored there.

    >>> point("41:97.5/95/100"), point("41:97.5")
    ((41, (97.5, 95.0, 100.0)), (41, (97.5, 97.5, 97.5)))
    """
    length, _, values = value.partition(":")
    mean, *ends = map(float, values.split("/"))
    low, high = ends or (mean, mean)
    return int(length), (mean, low, high)


def run_of(line: Mapping[str, str]) -> RecordedRun:
    """The run of a line."""
    known = {name: READ.get(name, str)(line[name]) for name in FIELDS if line.get(name)}
    names = [name.removeprefix(SCORE).strip() for name in line if name.partition(" ")[0] == SCORE]
    tests = {name: test for name in names if (test := score_in(line, name)).scores}
    is_drawn = line.get("by_length", "").startswith(DRAWN)
    return RecordedRun(**{"rows": (), **known}, is_drawn=is_drawn, tests=tests)


def score_in(line: Mapping[str, str], name: str) -> RecordedScore:
    """The test of this name in a line."""
    scores, worst, below = (line.get(f"{key} {name}".strip(), "") for key in (SCORE, WORST, BELOW))
    return RecordedScore(
        tuple(map(float, scores.split())), float(worst) if worst else None, int(below) if below else None
    )


def gathered(
    experiment: Experiment, scale: Scale, folder: SweepFolder, elsewhere: frozenset[str] = frozenset()
) -> list[RecordedRun]:
    """The runs of the rows of which some were requested in a folder, or are kept elsewhere, done or not; each once
    where rows share it."""
    by_run: dict[str, list[RunRow]] = {}
    for test in rows_of(folder.path) if folder.names else ():
        by_run.setdefault(test.run, []).append(test)
    by_run_and_row: dict[tuple[str, str], RecordedRun] = {}
    requested = elsewhere.union(folder.names)
    for row in experiment.rows:
        places = list(places_of(experiment, row, scale))
        if not {name_of(config) for _, config in places} & requested:
            continue
        for runs, config in places:
            key = runs, name_of(config)
            if key in by_run_and_row:
                by_run_and_row[key] = replace(by_run_and_row[key], rows=(*by_run_and_row[key].rows, row))
            else:
                by_run_and_row[key] = one_run(experiment, row, runs, config, by_run.get(key[1], []), folder)
    return with_all_tests(experiment, list(by_run_and_row.values()), by_run)


def places_of(experiment: Experiment, row: str, scale: Scale) -> Iterator[tuple[str, RunConfig]]:
    """Each run behind a row, with the name of its column of runs."""
    for runs in dict.fromkeys(column.runs for column in experiment.columns):
        yield from ((runs, config) for config in experiment.configs(row, runs, scale))


def one_run(
    experiment: Experiment, row: str, runs: str, config: RunConfig, tests: Sequence[RunRow], folder: SweepFolder
) -> RecordedRun:
    """A run as it is now, without its tests."""
    name = name_of(config)
    known = RecordedRun((row,), runs, MISSING, names=(name,), seed=str(config.seed), lr=f"{config.training.lr:g}")
    if not tests:
        steps = last_step(folder.run_path(name))
        return replace(known, state=STOPPED, steps=(steps, steps)) if steps else known
    if not tests[0].is_done:
        return replace(known, state=FAILED, note=" ".join(tests[0].reason.split()))
    run, first = RunFolder(folder.run_path(name)), tests[0]
    summary = run.load_summary()
    phases = [of for name in PROOFS if (of := summary.get("phases", {}).get(name))]
    done = replace(
        known,
        state=DONE,
        steps=() if first.steps is None else (first.steps, first.steps),
        train_seconds=first.train_seconds,
        certify_seconds=summary.get("certify_seconds"),
        labels=next((of["labels_used"] for of in phases if of.get("labels_used")), None),
        asked=int(first.proven is not None),
        proven=int(first.proven is True),
        as_it_is=int(bool(first.as_it_is)),
        first_wrong=first.first_wrong,
        found="" if first.proven else "; ".join(of["unproven"] for of in phases if of.get("unproven")),
        **where(run),
    )
    if experiment.analyse is None:
        return done
    try:
        analysis = experiment.analyse(RunFolder.open(run.path))
        return replace(done, value=analysis.value, found="; ".join(analysis.sentences))
    except UserError as error:
        return replace(done, value=NOT_ANALYSED, found=str(error))


def where(run: RunFolder) -> dict[str, str]:
    """The version and the machine of a run; of a damaged file nothing, which the table of runs says."""
    try:
        known = run.load_environment()
    except UserError:
        return {}
    cores = f", {known['cpu_count']} cores" if known.get("cpu_count") else ""
    device = f"{known.get('device_name')} ({known.get('device')}){cores}"
    commit = known.get("commit") or f"source {known.get('source', 'not known')}"
    return {"commit": commit, "torch": str(known.get("torch")), "device": device}


def last_step(run: Path) -> int | None:
    """The step of the newest checkpoint of a run that has not ended."""
    return max((int(path.name) for path in (run / "checkpoints").glob("[0-9]*")), default=None)


def with_all_tests(
    experiment: Experiment, runs: Iterable[RecordedRun], by_run: Mapping[str, Sequence[RunRow]]
) -> list[RecordedRun]:
    """The runs with each test that a column shows of them."""

    def tested(run: RecordedRun) -> RecordedRun:
        tests: dict[str, RecordedScore] = {}
        columns = [column for column in experiment.columns if column.runs == run.runs]
        for shows in (experiment.shows(row, column) for row in run.rows for column in columns):
            shown = [test for test in by_run[run.names[0]] if is_shown(test, shows)]
            if shown:
                tests.setdefault(key_of(shows), came_to(shown, shows))
        own = [test for test in by_run[run.names[0]] if is_shown(test, Shows()) and test.length is not None]
        values = {test.length: test.value("accuracy") for test in own if test.length}
        points = {T: (value, value, value) for T, value in sorted(values.items()) if value is not None}
        return replace(run, tests=tests, by_length=points)

    return [tested(run) if run.state == DONE else run for run in runs]


def came_to(tests: Sequence[RunRow], shows: Shows) -> RecordedScore:
    """What the tests of a run that a cell shows came to."""
    (group,) = groups(tests, [], measure(shows.measure) if shows.measure else None)
    counted = [test for test in tests if test.in_score] or tests
    worst = least(test.value(shows.measure or test.measure) for test in counted)
    return RecordedScore(group.scores, worst, group.first_below_99)


def is_shown(test: RunRow, shows: Shows) -> bool:
    """Whether a row of the table of a sweep is a test that the cell shows."""
    if test.tested != (shows.tested or test.get("protocol") or ""):
        return False
    return test.length == shows.length if shows.what == "accuracy" and shows.length else bool(test.in_score)


def earlier(place: Path, experiment: Experiment, scale: Scale) -> list[RecordedRun]:
    """The runs that are done in the record of another folder; UserError if it is of something else."""
    if not isinstance(experiment, Experiment) or experiment.analyse:
        raise UserError(f"--earlier is for tables of scores, and {experiment.name} is none; leave it out")
    runs = [run for run in read(place / FILE) if run.state == DONE]
    known = {name_of(config) for config in experiment.all_configs(scale)}
    for run in runs:
        if not run.names or not known.issuperset(run.names):
            place_of = f"{run.rows[0]}, {run.runs}"
            where_it_is = f"{atomic.shown(place)} is of runs that are none of {experiment.name} at scale {scale}"
            raise UserError(f"{where_it_is} ({place_of}); leave --earlier out")
    return runs


def names(runs: Iterable[RecordedRun]) -> frozenset[str]:
    """The names of runs."""
    return frozenset(name for run in runs for name in run.names)


def joined(here: Sequence[RecordedRun], before: Sequence[RecordedRun]) -> list[RecordedRun]:
    """The runs of a folder, and those of an earlier record; UserError if a run is in both."""
    known = names(before)
    for name in sorted(known & names(run for run in here if run.state == DONE)):
        raise UserError(
            f"{name} is in this folder and in the earlier record; leave --earlier out, or use another --out"
        )
    return [*(run for run in here if not known & set(run.names)), *before]


@dataclass(frozen=True)
class Rules:
    """What rules without an automaton score, in percent, on words that were drawn as `words` says, and beside what."""

    rows: tuple[str, ...]
    runs: tuple[str, ...]
    test: str
    words: str
    scores: Mapping[str, float]


def write_rules(path: Path, lines_of_rules: Sequence[Rules]) -> None:
    """Write rules.csv; nothing where there are none."""
    names = list(dict.fromkeys(name for rules in lines_of_rules for name in rules.scores))
    header = [*RULE_COLUMNS, *names]
    lines = ([text(r.rows), text(r.runs), r.test, r.words, *map(r.scores.get, names)] for r in lines_of_rules)
    if lines_of_rules:
        atomic.write_text(path, tables.csv([header, *lines]))


def read_rules(path: Path) -> list[Rules]:
    """The lines of rules.csv; none where there is no file."""
    if not path.exists():
        return []
    lines = csv.DictReader(atomic.parse_text(atomic.read_bytes(path), path).splitlines())
    return [
        Rules(
            tuple(line["of rows"].split()),
            tuple(line["of runs"].split()),
            line["test"],
            line["words"],
            {name: float(score) for name, score in line.items() if name not in RULE_COLUMNS and score},
        )
        for line in lines
    ]
