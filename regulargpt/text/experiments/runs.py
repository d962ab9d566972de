"""The runs of a text table in a sweep folder: which are done, which learned enough, and what they came to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from experiments.experiment import Scale
from languages.errors import UserError
from regulargpt.config.schema import RunConfig
from regulargpt.results.rows import rows
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.runs.sweep.names import name_of
from regulargpt.storage import atomic
from regulargpt.storage.folder import RunFolder
from regulargpt.text.experiments.results import Losses, Measured, TextResults, rounded
from regulargpt.text.experiments.table import TextTable
from regulargpt.text.experiments.testing import Notice, measured


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

    def steps(self, row: str) -> int:
        """The most of a finished run of a row: a run that is trained until it is solved takes as many as it needs."""
        ended = (self.summaries[name]["steps"] for _, name in self.ended(row))
        return max(ended, default=self.configs[row][0].training.steps)

    def done(self, row: str) -> list[tuple[RunConfig, str]]:
        """Those of them that count."""
        return [(config, name) for config, name in self.ended(row) if name not in self.unlearned]

    def gather(self, notice: Notice) -> TextResults:
        """Every row tested as the table says; a row that cannot be has a reason in `problems`."""
        table, longest = self.table, self.train_len * self.table.multiples[-1]
        by_row: dict[str, dict[int, Losses]] = {}
        files: dict[int, dict[int, Any]] = {}
        names = (*table.measuring, *table.sharpening)
        further: dict[str, dict[str, Mapping[int, Measured]]] = {name: {} for name in names}
        for row in self.configs:
            subject = table.subjects[row]
            if self.ended(row) and not self.done(row):
                self.problems[row] = "no run learned the task"
                continue
            try:
                for config, name in self.done(row) if table.is_tested else ():
                    view = subject.view(config.data.train_len)
                    tested = table.test.losses(self.open(name), view, subject.sharpened, longest, notice)
                    by_row.setdefault(row, {})[config.seed] = rounded(tested)
                    files.setdefault(config.seed, {}).update(table.test.files(config, tested, longest))
                for what, by_seed in self.measures(row, notice).items():
                    further[what][row] = by_seed
            except UserError as error:
                self.problems[row] = str(error)
        return TextResults(self.train_len, by_row, further, files, {row: self.steps(row) for row in self.configs})

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
