"""The runs of a text table in a sweep folder: which are done, which learned enough, and what they came to.

A run is tested again under other protocols, attentions and temperatures; what comes out is stored in its folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.experiment import Scale
from experiments.text.results import Losses, Measured, Results, rounded
from experiments.text.sharpening import temperature_at
from experiments.text.table import BY_POSITION, Measuring, TextTable
from languages.errors import UserError
from regulargpt.config.schema import RunConfig
from regulargpt.data import build
from regulargpt.evaluation import segments
from regulargpt.evaluation.interval import Interval
from regulargpt.measurements.quantities import quantity
from regulargpt.results.rows import rows
from regulargpt.runs.opened import OpenedRun, open_run
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.runs.sweep.names import name_of
from regulargpt.storage import atomic
from regulargpt.storage.folder import RunFolder

if TYPE_CHECKING:
    from regulargpt.evaluation.by_length import Point

FOLDER = "tests"
# Segments that a loss by position is the mean of.
SEGMENTS = 128
# It is called with what is tested now.
Notice = Callable[[str], None]


def silent(text: str) -> None:
    """No notice."""


class TableRuns:
    """What the folder has of a table: its runs by row, which are done, and what they came to."""

    def __init__(self, table: TextTable, scale: Scale, folder: SweepFolder, notice: Notice):
        self.table, self.folder = table, folder
        self.train_len = table.train_len(scale)
        configs = {row: table.configs(row, "trained", scale) for row in table.rows}
        requested = set(folder.names)
        self.configs: dict[str, list[RunConfig]] = {
            row: of_row for row, of_row in configs.items() if {name_of(config) for config in of_row} & requested
        }
        if not self.configs:
            where = atomic.shown(folder.path)
            raise UserError(f"no run of {table.name} at scale {scale} was asked for in {where}; leave --page-only out")
        self.left_out = tuple(row for row in table.rows if row not in self.configs)
        self.names = list(dict.fromkeys(name_of(config) for of_row in self.configs.values() for config in of_row))
        self.problems: dict[str, str] = {}
        # Only runs that came to an end have rows, those that failed or are damaged with a reason.
        ended = {row.run: row for row in rows(folder.path)} if self.names else {}
        self.failed = {name: ended[name].reason for name in self.names if name in ended and not ended[name].is_done}
        finished = [name for name in self.names if name in ended and ended[name].is_done]
        self.summaries = {name: self.open(name).load_summary() for name in finished}
        # After a few steps nothing is learned.
        self.unlearned = {} if scale == "smoke" else dict(self.find_unlearned())
        self.results = self.gather(notice)

    def open(self, name: str) -> RunFolder:
        """A run's folder."""
        return RunFolder.open(self.folder.run_path(name))

    def find_unlearned(self) -> Iterator[tuple[str, float]]:
        """The runs that have not learned what they were trained on, and what they come to at their training length."""
        for row in self.configs:
            # Of a subject that need not learn anything, a summary may lack the training length.
            if least := self.table.subjects[row].learned:
                reached = {name: self.at_train_len(name, config) for config, name in self.ended(row)}
                yield from ((name, value) for name, value in reached.items() if value < least)

    def at_train_len(self, name: str, config: RunConfig) -> float:
        """What a finished run comes to at its training length."""
        summary = self.summaries[name]
        return summary["measures"][summary["measure"]]["values"][str(config.data.train_len)]

    def ended(self, row: str) -> list[tuple[RunConfig, str]]:
        """The finished runs of a row, and their names."""
        named = ((config, name_of(config)) for config in self.configs[row])
        return [(config, name) for config, name in named if name in self.summaries]

    def done(self, row: str) -> list[tuple[RunConfig, str]]:
        """Those of them that count."""
        return [(config, name) for config, name in self.ended(row) if name not in self.unlearned]

    def gather(self, notice: Notice) -> Results:
        """Every row tested as the table says; a row that cannot be has a reason in `problems`."""
        by_row: dict[str, dict[int, Losses]] = {}
        files: dict[int, dict[int, Any]] = {}
        names = (*self.table.measuring, *self.table.sharpening)
        further: dict[str, dict[str, Mapping[int, Measured]]] = {name: {} for name in names}
        for row in self.configs:
            if self.ended(row) and not self.done(row):
                self.problems[row] = "no run learned the task"
                continue
            try:
                for config, name in self.done(row) if self.table.is_tested else ():
                    tested = self.test(self.open(name), row, config.data.train_len, notice)
                    by_row.setdefault(row, {})[config.seed] = rounded(tested)
                    files.setdefault(config.seed, {}).update(self.files(config, tested))
                for what, by_seed in self.measures(row, notice).items():
                    further[what][row] = by_seed
            except UserError as error:
                self.problems[row] = str(error)
        return Results(self.train_len, by_row, further, files)

    def test(self, run: RunFolder, row: str, train_len: int, notice: Notice) -> Losses:
        """A run's losses as the table scores them, and the row sees them."""
        subject, longest = self.table.subjects[row], self.train_len * self.table.multiples[-1]
        attention = subject.view(train_len)
        if self.table.scoring == BY_POSITION:
            return by_position(run, longest, attention, notice)
        return losses(run, self.table.scoring, attention, subject.sharpened, longest, notice)

    def files(self, config: RunConfig, tested: Losses) -> dict[int, Any]:
        """The files of a run's test segments, by how many there are."""
        scoring, longest = self.table.scoring, self.train_len * self.table.multiples[-1]
        by_position = scoring == BY_POSITION
        text = build(config.replaced({"data.scoring": "position" if by_position else scoring}).data)
        # By position, a segment is as long as the longest, whatever the position.
        lengths = {len(each): longest if by_position else length for length, each in tested.items()}
        files = {count: text.files(config.seed, length, count) for count, length in lengths.items()}
        return {count: of for count, of in files.items() if of is not None}

    def measures(self, row: str, notice: Notice) -> dict[str, dict[int, Measured]]:
        """Further measures of a row by name: of its first run, and of every run where they are what is drawn."""
        table, subject = self.table, self.table.subjects[row]
        by_name: dict[str, dict[int, Measured]] = {}
        for config, name in self.done(row) if table.drawn else self.done(row)[:1]:
            # One object for all measures: what they share is kept for it.
            view, run = subject.view(config.data.train_len), self.open(name)
            for what, measuring in table.measuring.items():
                by_name.setdefault(what, {})[config.seed] = measured(run, what, view, measuring, notice)
            for what, measuring in table.sharpening.items():
                by_name.setdefault(what, {})[config.seed] = measured(run, what, subject.sharpened, measuring, notice)
        return by_name


def losses(
    folder: RunFolder,
    scoring: str,
    attention: str = "full",
    strategy: str = "",
    longest: int = 0,
    notice: Notice = silent,
) -> Losses:
    """The loss of every test segment in nats a symbol, by length: the run's own test where it is that, else one again.

    A run that was not tested up to `longest` is tested up to there. With a strategy, attention has its temperature at
    each longer length. Raises UserError where the model cannot be tested so.
    """
    trained = RunConfig.parse(folder.config_text)
    config = trained.replaced({"data.scoring": scoring, "evaluation.attention": attention})
    if longest > trained.test_len:
        config = config.replaced({"evaluation.test_len": longest})
    if config == trained and not strategy:
        return segments.read(folder)
    farther = f"-{longest}" * (config.test_len > trained.test_len)

    def test() -> Losses:
        notice(f"{folder.path.name}: {scoring}, {strategy or attention} attention")
        return segments.of_points(points(folder, config, strategy))

    return stored_losses(folder, f"{scoring}-{strategy or attention}{farther}", test)


def points(folder: RunFolder, config: RunConfig, strategy: str) -> list[Point]:
    """The test of a run, with the temperature of a strategy, if there is one, at each longer length."""
    from regulargpt.runs.again import points_again

    if not strategy:
        return points_again(folder, config, config.tested, config.seed)
    temperatures = {length: temperature_at(folder, length, strategy) for length in config.tested}
    return [
        point
        for length, temperature in temperatures.items()
        for point in points_again(folder, config, [length], config.seed, temperature=temperature)
    ]


def by_position(folder: RunFolder, length: int, attention: str, notice: Notice = silent) -> Losses:
    """The loss of every test segment of one length in nats a symbol, by the last position of each bin of positions.

    Raises UserError where the model or the text does not allow such segments.
    """

    def test() -> Losses:
        from regulargpt import objectives
        from regulargpt.measurements import positions
        from regulargpt.measurements.sample import segments_of
        from regulargpt.objectives.language_model import LanguageModel

        notice(f"{folder.path.name}: positions 1 to {length}, {attention} attention")
        run = open_run(folder, on=("text",), attention=attention, scoring="position")
        objective = objectives.build(run.config.objective, run.data)
        assert isinstance(objective, LanguageModel)  # what all text tables train
        with run.through():
            nats = positions.losses(run.model, objective, segments_of(run, length, SEGMENTS).words)
        return {last: each for (_, last), each in positions.binned(nats).items()}

    return stored_losses(folder, f"{BY_POSITION}-{length}-{attention}", test)


def measured(
    folder: RunFolder, name: str, view: str, measuring: Measuring, notice: Notice = silent
) -> dict[int, Interval]:
    """A further measure of the run by length, under an attention or with the temperatures of a strategy."""

    def measure() -> dict[int, Any]:
        notice(", ".join(filter(None, (f"{folder.path.name}: {name}", view))))
        return {length: asdict(interval) for length, interval in measuring(folder, view).items()}

    values = stored(folder, f"{name}-{view or 'as it is'}", measure)
    return {length: Interval(**interval) for length, interval in values.items()}


def stored_losses(folder: RunFolder, name: str, test: Callable[[], Losses]) -> Losses:
    """Losses that are `stored`."""
    values = stored(folder, name, lambda: {length: each.tolist() for length, each in test().items()})
    return {length: np.array(each) for length, each in values.items()}


def stored(folder: RunFolder, name: str, test: Callable[[], dict[int, Any]]) -> dict[int, Any]:
    """What a test of the run came to, by length: read from its folder, where it is written by the first call."""
    path = folder.path / FOLDER / (name.replace(" ", "-").replace(":", "-") + ".json")
    if not path.exists():
        values = test()
        atomic.make_folder(path.parent)
        atomic.write_json(path, values)
    return {int(length): value for length, value in atomic.parse_json(atomic.read_bytes(path), path).items()}


def tested_as(name: str) -> Measuring:
    """A measure of the test by length: the run's own test, or one with a strategy's temperatures."""

    def measure(folder: RunFolder, strategy: str) -> Mapping[int, Interval]:
        if not strategy:
            own = folder.load_summary()["measures"][name]
            return {int(T): Interval(value, *own["intervals"][T]) for T, value in own["values"].items()}
        return {
            point.length: point.measures[name]
            for point in points(folder, RunConfig.parse(folder.config_text), strategy)
        }

    return measure


def quantities(*names: str) -> dict[str, Measuring]:
    """Quantities of the measurements, by name, of a run under an attention."""

    def of(name: str) -> Measuring:
        return lambda folder, attention: quantity(name)(opened(folder, attention))

    return {name: of(name) for name in names}


@lru_cache(maxsize=1)
def opened(folder: RunFolder, attention: str) -> OpenedRun:
    """The run, kept while its quantities are measured: they share what is slow."""
    return open_run(folder, attention=attention)
