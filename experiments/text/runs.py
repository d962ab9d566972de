"""The runs of a text table in a sweep folder: which are done, which learned enough, and what they came to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from experiments.experiment import Scale
from experiments.text import kept
from experiments.text.results import Losses, Measured, Results
from experiments.text.table import BY_POSITION, TextTable
from experiments.text.tested import Notice, by_position, losses, measured, sharpened
from languages.errors import UserError
from regulargpt.config.schema import RunConfig
from regulargpt.data import build
from regulargpt.results.rows import rows
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.runs.sweep.names import name_of
from regulargpt.storage import atomic
from regulargpt.storage.folder import RunFolder


class TableRuns:
    """What the folder has of a table: its runs by row, which are done, and what they came to."""

    def __init__(self, table: TextTable, scale: Scale, folder: SweepFolder, notice: Notice):
        self.table, self.folder = table, folder
        self.train_len = table.train_len(scale)
        asked, configs = set(folder.names), {row: table.configs(row, "trained", scale) for row in table.rows}
        self.configs: dict[str, list[RunConfig]] = {
            row: found for row, found in configs.items() if {name_of(one) for one in found} & asked
        }
        if not self.configs:
            where = atomic.shown(folder.path)
            raise UserError(f"no run of {table.name} at scale {scale} was asked for in {where}; leave --page-only out")
        self.left_out = tuple(row for row in table.rows if row not in self.configs)
        self.names = list(dict.fromkeys(name_of(one) for found in self.configs.values() for one in found))
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
                found = {name: self.at_train_len(name, config) for config, name in self.ended(row)}
                yield from ((name, value) for name, value in found.items() if value < least)

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
        found: dict[str, dict[int, Losses]] = {}
        files: dict[int, dict[int, Any]] = {}
        names = (*self.table.measuring, *self.table.sharpening)
        further: dict[str, dict[str, Mapping[int, Measured]]] = {name: {} for name in names}
        for row in self.configs:
            if self.ended(row) and not self.done(row):
                self.problems[row] = "no run learned the task"
                continue
            try:
                for config, name in self.done(row) if self.table.is_tested else ():
                    view = self.table.subjects[row].view(config.data.train_len)
                    tested = self.test(self.open(name), row, view, notice)
                    found.setdefault(row, {})[config.seed] = kept.rounded(tested)
                    files.setdefault(config.seed, {}).update(self.files(config, tested))
                for what, found_by_seed in self.measures(row, notice).items():
                    further[what][row] = found_by_seed
            except UserError as error:
                self.problems[row] = str(error)
        return Results(self.train_len, found, further, files)

    def files(self, config: RunConfig, tested: Losses) -> dict[int, Any]:
        """The files of a run's test segments, by how many there are."""
        scoring, longest = self.table.scoring, self.train_len * self.table.multiples[-1]
        by_position = scoring == BY_POSITION
        text = build(config.replaced({"data.scoring": "position" if by_position else scoring}).data)
        # By position, a segment is as long as the longest, whatever the position.
        return kept.files_of(tested, lambda n, count: text.files(config.seed, longest if by_position else n, count))

    def measures(self, row: str, notice: Notice) -> dict[str, dict[int, Measured]]:
        """Further measures of a row by name: of its first run, and of every run where they are what is drawn."""
        table, subject = self.table, self.table.subjects[row]
        found: dict[str, dict[int, Measured]] = {}
        for config, name in self.done(row) if table.drawn else self.done(row)[:1]:
            # One object for all measures: what they share is kept for it.
            view, run = subject.view(config.data.train_len), self.open(name)
            for what, measuring in table.measuring.items():
                found.setdefault(what, {})[config.seed] = measured(run, what, view, measuring, notice)
            for what, measuring in table.sharpening.items():
                found.setdefault(what, {})[config.seed] = measured(run, what, subject.sharpened, measuring, notice)
        return found

    def test(self, run: RunFolder, row: str, attention: str, notice: Notice) -> Losses:
        """A run's losses as the table scores them, and the row sees them."""
        scoring, strategy = self.table.scoring, self.table.subjects[row].sharpened
        longest = self.train_len * self.table.multiples[-1]
        if scoring == BY_POSITION:
            return by_position(run, longest, attention, notice)
        if strategy:
            return sharpened(run, scoring, strategy, notice)
        return losses(run, scoring, attention, notice, longest)
