"""The cells of an experiment: what was published, what its runs came to, what differs, and what page.json has of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from types import MappingProxyType

from experiments.conditions import differences, words_and_supervision
from experiments.experiment import Analysis, Column, Experiment, Scale, Shows
from experiments.page.record import Cell, Line, Page, Values, part
from experiments.published import Number, Published, published
from regulargpt.config.schema import RunConfig, value_of
from regulargpt.objectives.measures import measure
from regulargpt.results.beside import family
from regulargpt.results.row import Row
from regulargpt.results.statistics import Group, groups, least
from regulargpt.runs.sweep.names import name_of
from regulargpt.storage.manifest import digest
from regulargpt.tables import percent

STATISTICS = ("max", "mean")
PERCENT = {*STATISTICS, "worst"}
# Published values have one decimal: what is nearer than half of its last digit is the same.
HALF = 0.05
STANDINGS = ("above", "within", "below", "not there")


@dataclass(frozen=True)
class ShortcutScores:
    """What rules without an automaton score, in percent, on words that were drawn as `words` says."""

    words: str
    scores: Mapping[str, float]


@dataclass(frozen=True)
class Compared:
    """One cell. `published` and `ours` have a value for each statistic, None where there is none.

    `names` are its runs, of `configs`, `rows` their tests that count here, `group` the statistics of these. `missing`
    are the runs that are not finished, `found` is what a figure's analysis says of those that are, `notes` are the
    numbers of what differs in the conditions, `shortcuts` is what rules without an automaton score on such words.
    `refuted` has the shortest wrong words of runs whose proof came to one, in a sentence each. `before` are the values
    of an earlier page, of runs whose folders are not here: `ours` and `group` count them in.
    """

    row: str
    column: Column
    shows: Shows
    configs: tuple[RunConfig, ...]
    names: tuple[str, ...]
    published: tuple[Number | None, ...]
    ours: tuple[Number | None, ...]
    rows: tuple[Row, ...]
    group: Group | None
    missing: tuple[str, ...]
    found: tuple[Analysis, ...] = ()
    notes: tuple[int, ...] = ()
    shortcuts: ShortcutScores | None = None
    refuted: tuple[str, ...] = ()
    before: Values | None = None

    @property
    def done(self) -> int:
        """How many of the runs are done."""
        return len(self.names) - len(self.missing) - len(self.failed)

    @property
    def failed(self) -> tuple[Row, ...]:
        """The runs that failed or are damaged."""
        return tuple(row for row in self.rows if not row.is_done)

    @property
    def is_published(self) -> bool:
        """Whether there is a published value."""
        return any(value is not None for value in self.published)

    @property
    def differences(self) -> tuple[float | None, ...]:
        """Ours minus published, where both are numbers."""
        pairs = zip(self.published, self.ours, strict=True)
        return tuple(b - a if isinstance(a, int | float) and isinstance(b, int | float) else None for a, b in pairs)

    @property
    def seconds(self) -> float:
        """Time spent in training, all runs together."""
        here = sum({row.run: row.train_seconds or 0.0 for row in self.rows}.values())
        return here + ((self.before or {}).get("train_seconds") or 0.0)

    @property
    def steps(self) -> tuple[int, int] | None:
        """The fewest and the most training steps of a run."""
        steps = [row.steps for row in self.rows if row.steps is not None]
        steps += (self.before or {}).get("steps") or ()
        return (min(steps), max(steps)) if steps else None


@dataclass(frozen=True)
class Comparison:
    """All cells, row by row, of the rows that were asked for; `notes` is what differs, in words, numbered from 1."""

    experiment: Experiment
    scale: Scale
    statistics: tuple[str, ...]
    cells: tuple[tuple[Compared, ...], ...]
    left_out: tuple[str, ...]
    notes: tuple[str, ...]
    earlier: Page | None = None
    """A page that some of the figures are from."""

    @cached_property
    def all(self) -> list[Compared]:
        """Every cell."""
        return [cell for row in self.cells for cell in row]

    @property
    def everywhere(self) -> tuple[int, ...]:
        """The notes of every cell that has conditions."""
        sets = [set(cell.notes) for cell in self.all if has_conditions(cell, self.experiment)]
        return tuple(sorted(set.intersection(*sets))) if len(sets) > 1 else ()

    @property
    def names(self) -> list[str]:
        """All runs, each once."""
        return list(dict.fromkeys(name for cell in self.all for name in cell.names))

    @property
    def failures(self) -> dict[str, str]:
        """The runs that failed or are damaged, and why."""
        return {row.run: row.reason for cell in self.all for row in cell.failed}

    @property
    def missing(self) -> list[str]:
        """The runs that are not finished."""
        return list(dict.fromkeys(name for cell in self.all for name in cell.missing))


def has_conditions(cell: Compared, experiment: Experiment) -> bool:
    """Whether the conditions of a cell's runs are compared with published ones.

    In a table with published values they are where there is one: ours alone differ from nothing.
    """
    return bool(cell.configs) and (cell.is_published if experiment.published else cell.shows.what == "accuracy")


def compare(
    experiment: Experiment,
    scale: Scale,
    table: Sequence[Row],
    requested: Set[str],
    findings: Mapping[str, Analysis] = MappingProxyType({}),
) -> Comparison:
    """The experiment's cells from the rows of a folder (`regulargpt.results.rows`), for a figure with its findings.

    `requested` are the names of the sweep's runs: a row of the experiment with none of them is left out.
    """
    printed = published(experiment.published) if experiment.published else None
    by_run: dict[str, list[Row]] = {}
    for row in table:
        by_run.setdefault(row.run, []).append(row)
    notes: dict[str, int] = {}
    shown: list[tuple[Compared, ...]] = []
    left_out: list[str] = []
    for name in experiment.rows:
        runs = {column.runs: experiment.configs(name, column.runs, scale) for column in experiment.columns}
        if (asked := {name_of(config) for configs in runs.values() for config in configs}) and not asked & requested:
            left_out.append(name)
            continue
        cells = [cell_of(experiment, name, column, runs[column.runs], printed, by_run) for column in experiment.columns]
        if experiment.analyse:
            cells = [with_finding(cell, findings) for cell in cells]
        shown.append(tuple(with_notes(cell, experiment, notes) for cell in cells))
    if not (experiment.published or experiment.conditions):
        shown = among_ours(shown, experiment, notes)
    statistics = statistics_of(experiment, printed)
    return Comparison(experiment, scale, statistics, tuple(shown), tuple(left_out), tuple(notes))


def statistics_of(experiment: Experiment, printed: Published | None) -> tuple[str, ...]:
    """The statistics of the experiment, of the published table, or the usual ones."""
    return experiment.statistics or (printed.statistics if printed else STATISTICS)


def cell_of(
    experiment: Experiment,
    row: str,
    column: Column,
    configs: Sequence[RunConfig],
    printed: Published | None,
    by_run: Mapping[str, Sequence[Row]],
) -> Compared:
    """One cell, without its notes."""
    names = tuple(name_of(config) for config in configs)
    shows, statistics = experiment.shows(row, column), statistics_of(experiment, printed)
    tests = [test for name in names for test in by_run.get(name, ()) if is_shown(test, shows)]
    group = groups(tests, [], measure(shows.measure) if shows.measure else None)[0] if tests else None
    return Compared(
        row,
        column,
        shows,
        tuple(configs),
        names,
        tuple(printed.value(row, column.published, s) if printed and column.published else None for s in statistics),
        tuple(statistic(s, group, tests, shows.measure) for s in statistics),
        tuple(tests),
        group,
        tuple(name for name in names if name not in by_run),
    )


def statistic(name: str, group: Group | None, tests: Sequence[Row], of: str = "") -> Number | None:
    """A statistic over the runs of a cell, in that measure; the worst is over the lengths that count, too."""
    if name != "worst":
        return getattr(group, name, None) if group else None
    counted = [test for test in tests if test.in_score] or tests
    return least(test.value(of or test.measure) for test in counted)


def is_shown(test: Row, shows: Shows) -> bool:
    """Whether a row of the table is a test that the cell shows. A failed run is one of every cell."""
    if not test.is_done:
        return True
    if test.tested != (shows.tested or test.get("protocol") or ""):
        return False
    return test.length == shows.length if shows.what == "accuracy" and shows.length else bool(test.in_score)


def with_finding(cell: Compared, findings: Mapping[str, Analysis]) -> Compared:
    """The cell of a figure: what was found in the first of its runs stands for it."""
    found = tuple(findings[name] for name in cell.names if name in findings)
    return replace(cell, found=found, ours=(found[0].value if found else None,))


def with_notes(cell: Compared, experiment: Experiment, notes: dict[str, int]) -> Compared:
    """The cell with the numbers of its notes; new ones are added to `notes`."""
    table = experiment.published or experiment.conditions
    if table is None or not has_conditions(cell, experiment):
        return cell
    row = cell.row if experiment.published else cell.row.partition("/")[0]
    phrases = [*differences(cell.configs, published(table).conditions_of(row), cell.shows.length)]
    if cell.column.published and (doubt := published(table).doubt(row, cell.column.published)):
        phrases.append(f"the published value is {doubt}")
    return replace(cell, notes=tuple(sorted(notes.setdefault(phrase, len(notes) + 1) for phrase in phrases)))


def among_ours(
    rows: Sequence[tuple[Compared, ...]], experiment: Experiment, notes: dict[str, int]
) -> list[tuple[Compared, ...]]:
    """The cells with notes on words and supervision, where cells of one language differ in them."""
    of_language: dict[str, list[set[str]]] = {}
    for cell in (cell for row in rows for cell in row if has_conditions(cell, experiment)):
        phrases = set(words_and_supervision(cell.configs))
        of_language.setdefault(family(cell.configs[0].data.name), []).append(phrases)
    common = {language: set.intersection(*phrases) for language, phrases in of_language.items()}

    def noted(cell: Compared) -> Compared:
        if not has_conditions(cell, experiment):
            return cell
        alike = common[family(cell.configs[0].data.name)]
        phrases = [phrase for phrase in words_and_supervision(cell.configs) if phrase not in alike]
        return replace(cell, notes=tuple(sorted(notes.setdefault(phrase, len(notes) + 1) for phrase in phrases)))

    return [tuple(map(noted, row)) for row in rows]


def values_of(found: Compared, statistics: tuple[str, ...]) -> Values:
    """A cell as values: its place, what it shows, what was published and came out, and what its runs were.

    `train_seconds`, of all runs together, and `steps`, the fewest and the most, are None where they are not known.
    """
    before = found.before or {}
    seconds = [row.train_seconds for row in found.rows if row.is_done]
    seconds += [before["train_seconds"]] if before else []
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
        "found": [
            *(sentence for finding in found.found for sentence in finding.sentences),
            *failing(found),
            *found.refuted,
            *before.get("found", ()),
        ],
        "notes": found.notes,
        "configs": configs_digest(found.names),
    }


def configs_digest(names: Sequence[str]) -> str:
    """Which runs a cell is of: their names say what their configs are.

    >>> configs_digest(["parity-lstm-words-seed0-0a"]), configs_digest([])
    ('359af525', '')
    """
    return digest("\n".join(names).encode())[:8] if names else ""


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
    printed = [Line(text_of(values["published"].values()), "published")] if is_published(values) else []
    if not values["runs"]:
        return [*printed, Line("does not apply", "state")]
    if what != "accuracy":
        # The depth follows from the length: it needs no run.
        found = [Line(MEASURES[what](values), "ours")] if values["done"] or what == "depth" else []
        return [*found, *map(Line, values["found"]), *state(values)]
    found = printed
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
