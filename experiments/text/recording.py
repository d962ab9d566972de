"""From the runs in a sweep folder to the record of a text table's page, and to its picture."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from experiments.experiment import Scale
from experiments.page.details import source
from experiments.page.record import Picture
from experiments.text import kept
from experiments.text.claims import OPEN, Bound, Claim, quotient
from experiments.text.record import ClaimRecord, Printed, TextCell, TextRecord, TextRow
from experiments.text.results import Losses, Measured, Results, Unknown
from experiments.text.table import BY_POSITION, Source, TextTable
from experiments.text.tested import Notice, by_position, losses, measured, sharpened
from languages.errors import UserError
from regulargpt import plots
from regulargpt.config.schema import RunConfig, value_of
from regulargpt.data import build
from regulargpt.evaluation.interval import FILES, Interval
from regulargpt.objectives.measures import exp, measure
from regulargpt.plots import Line
from regulargpt.results.rows import rows
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.runs.sweep.names import name_of
from regulargpt.storage import atomic
from regulargpt.storage.folder import RunFolder

MEASURE = "bits_per_byte"
# Before it symbols cost so much that the rest of a curve by position would be flat.
FIRST_DRAWN = 8
# More lines are too many for one picture.
MOST_LINES = 12
# What published conditions are called on the page, and the key of ours.
CONDITIONS = {
    "data": ("data", "data.name"),
    "parameters": ("parameters", ""),
    "model.n_layers": ("layers", "model.n_layers"),
    "model.d_model": ("width", "model.d_model"),
    "model.n_heads": ("heads", "model.n_heads"),
    "data.train_len": ("training length", "data.train_len"),
    "training.batch_size": ("segments a step", "training.batch_size"),
    "training.steps": ("steps", "training.steps"),
    "training.lr": ("learning rate", "training.lr"),
    "training.optimiser": ("optimiser", "training.optimiser"),
    "precision": ("precision", ""),
    "seeds": ("seeds", ""),
    "objective.protocol": ("symbols that count", "data.scoring"),
    "evaluation.attention": ("attention in the test", ""),
}
Environments = Iterable[tuple[Mapping[str, Any], int]]


class Gathered:
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


def record(
    table: TextTable,
    scale: Scale,
    command: str,
    session_seconds: Sequence[float],
    environments: Environments,
    gathered: Gathered,
) -> TextRecord:
    """The page as values."""
    failed = gathered.failed
    return TextRecord(
        experiment=table.name,
        scale=scale,
        heading=heading(table),
        title=table.title,
        lead=tuple(lead(table, scale, gathered)),
        curves=tuple(drawn for drawn, _ in curves(gathered)),
        left_out=gathered.left_out,
        failed=tuple({"run": name, "reason": reason} for name, reason in failed.items()),
        missing=tuple(name for name in gathered.names if name not in gathered.summaries and name not in failed),
        unlearned=tuple({"run": name, "value": value} for name, value in gathered.unlearned.items()),
        command=command,
        session_seconds=tuple(session_seconds),
        train_seconds=round(sum(one["train_seconds"] for one in gathered.summaries.values()), 3),
        environments=tuple({**known, "runs": count} for known, count in environments),
        scoring=table.scoring,
        axis=table.axis,
        measure=table.shown,
        train_len=gathered.results.train_len,
        claims=tuple(claim(one, table, scale, gathered.results) for one in table.claims),
        cells=tuple(cell for row in gathered.configs for cell in cells(row, gathered)),
        models=tuple(model(row, gathered) for row in gathered.configs),
        conditions=tuple(conditions(gathered)),
        doubts=tuple(doubts(table)),
        notes=table.remarks,
        over=FILES,
        losses=kept.LOSSES if gathered.results.losses else "",
    )


def heading(table: TextTable) -> str:
    """Where it was published, or what it is."""
    if not table.sources:
        return table.title
    return f"{table.sources[0].table.printed}{' of LEX' * table.name.startswith('lex')}, on small models"


def lead(table: TextTable, scale: Scale, gathered: Gathered) -> Iterator[str]:
    """The source, what this page is about, and how much of it is here."""
    for one in table.sources:
        yield source(one.table)
    yield table.about
    runs, done = len(gathered.names), len(gathered.summaries)
    yield f"Scale {scale}: {done} of {runs} runs are done."
    if scale == "smoke":
        yield "At this scale the networks are hardly trained: it shows that everything runs, and nothing else."
    if gathered.left_out:
        yield f"Not asked for yet: {', '.join(gathered.left_out)}."


def claim(one: Claim, table: TextTable, scale: Scale, results: Results) -> ClaimRecord:
    """A claim with its verdict."""
    verdict, rules = one.verdict(results), tuple(bound.rule for bound in one.bounds)
    published = "; ".join(dict.fromkeys(text for bound in one.bounds if (text := printed_figures(bound, table))))
    answer, why = (OPEN, "hardly trained at this scale") if scale == "smoke" else (verdict.answer, verdict.why)
    return ClaimRecord(one.sentence, one.source, rules, published, answer, verdict.figure, why, verdict.seeds)


def printed_figures(test: Bound, table: TextTable) -> str:
    """The published figure that decides, by data."""
    found: dict[str, float] = {}
    for one in table.sources:
        for data, title in one.data.items():
            if (value := test.printed(points(table, one, data))) is not None:
                found.setdefault(title, value)
    return ", ".join(f"{title} {value:.3g}".strip() for title, value in found.items())


def points(table: TextTable, first: Source, data: str) -> Any:
    """Published values of a data set: of one source and, for rows that it lacks, of the others that have that data."""
    others = [one for one in table.sources if data in one.data and one is not first]

    def value(row: str, multiple: int) -> float | None:
        known = (one.point(data)(row, multiple) for one in (first, *others))
        return next((number for number in known if number is not None), None)

    return value


def cells(row: str, gathered: Gathered) -> Iterator[TextCell]:
    """A row at every multiple."""
    table, results, title = gathered.table, gathered.results, gathered.table.subjects[row].title
    first = table.multiples[0]
    for multiple in table.multiples:
        loss = known(results.loss, row, multiple)
        bits = loss and loss.through(in_bits)
        longer = known(results.difference, (row, multiple), (row, first)) if multiple != first else None
        measure = known(results.measure, table.shown, row, multiple) if table.shown else None
        printed = tuple(published(table, row, multiple))
        length = results.train_len * multiple
        yield TextCell(row, title, multiple, length, bits, longer and longer.through(exp), measure, printed)


def known(ask: Callable[..., Interval], *of: Any) -> Interval | None:
    """An interval, None where it is not known."""
    try:
        return ask(*of)
    except Unknown:
        return None


def published(table: TextTable, row: str, multiple: int) -> Iterator[Printed]:
    """The published values of a row at a multiple, one for each data set."""
    first, seen = table.multiples[0], set()
    for one in table.sources:
        for data, title in one.data.items():
            length = multiple * one.train_len
            if title in seen or (value := one.value(data, row, length)) is None:
                continue
            seen.add(title)
            place, column = one.at(data, row, length)
            found, sd = one.table.row(place), one.table.value(place, column, "sd")
            base = points(table, one, data)(row, first) if multiple != first and not table.shown else None
            mark = found.marks.get(column, "") if found else ""
            deviation = sd if isinstance(sd, float | int) else None
            yield Printed(title, value, deviation, mark, quotient(value, base), one.table.doubt(place, column))


def doubts(table: TextTable) -> Iterator[str]:
    """Why values of the tables are doubtful."""
    for one in table.sources:
        for doubt in one.table.doubts:
            columns = ", ".join(one.table.columns[name] for name in doubt.columns) or "all"
            yield f"{one.table.printed}, {columns}: {doubt.why}."


def model(row: str, gathered: Gathered) -> TextRow:
    """A row's runs."""
    configs, subject = gathered.configs[row], gathered.table.subjects[row]
    config, done = configs[0], gathered.ended(row)
    summaries = [gathered.summaries[name] for _, name in done]
    # A run that is trained until it is solved takes as many steps as it needs.
    steps = max((one["steps"] for one in summaries), default=config.training.steps)
    tokens = steps * config.training.batch_size * config.data.train_len
    seconds = sum(one["train_seconds"] for one in summaries)
    view, problem = subject.view(config.data.train_len), gathered.problems.get(row, "")
    unlearned = sum(name in gathered.unlearned for _, name in done)
    sizes = (config.data.train_len, tokens, round(seconds, 1))
    return TextRow(row, subject.title, view, len(configs), len(done), *sizes, problem, unlearned)


def conditions(gathered: Gathered) -> Iterator[tuple[str, str, str]]:
    """Ours, and beside them what was published, if it was."""
    stated = [known for one in gathered.table.sources for known in one.stated()]
    row = next(iter(gathered.configs))
    configs = gathered.configs[row]
    ours = {
        "parameters": distinct(f"{one['parameters']:,}" for one in gathered.summaries.values()),
        "seeds": distinct(str(len(found)) for found in gathered.configs.values()),
        "precision": "float32",
        "evaluation.attention": gathered.table.subjects[row].view(configs[0].data.train_len),
    }
    for key, (name, own) in CONDITIONS.items():
        values = distinct(shown(known[key]) for known in stated if key in known)
        each = (shown(value_of(c, own)) for found in gathered.configs.values() for c in found if own)
        if here := ours.get(key) or distinct(each):
            yield name, values or "–", here
    steps, batch, length = (configs[0].training.steps, configs[0].training.batch_size, configs[0].data.train_len)
    products = (
        k["training.steps"] * k["training.batch_size"] * k["data.train_len"]
        for k in stated
        if all(isinstance(k.get(p), int) for p in ("training.steps", "training.batch_size", "data.train_len"))
    )
    if symbols := distinct(f"{n:,}" for n in products):
        yield "symbols of training", symbols, f"{steps * batch * length:,}"


def shown(value: Any) -> str:
    """A condition in words."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def distinct(texts: Iterable[str]) -> str:
    """Texts, each once."""
    return "; ".join(dict.fromkeys(text for text in texts if text != "None"))


def curves(gathered: Gathered) -> list[tuple[Picture, list[Line]]]:
    """Bits per byte by length, or what a figure draws: a line a row. Many rows have a picture a task."""
    table = gathered.table
    drawn = {row: line for row in gathered.configs if (line := line_of(row, gathered)).lengths}
    if len(drawn) <= MOST_LINES or not all("/" in row for row in drawn):
        return [picture("", list(drawn.values()), table)] if drawn else []
    tasks = groupby(sorted(drawn, key=task_of), key=task_of)
    return [picture(task, [drawn[row] for row in rows], table) for task, rows in tasks]


def task_of(row: str) -> str:
    """What stands before the model."""
    return row.partition("/")[0]


def picture(task: str, lines: list[Line], table: TextTable) -> tuple[Picture, list[Line]]:
    """What is drawn, in words and in a file, of one task or of all rows."""
    what = table.drawn or "bits per byte"
    each = "; ".join(f"{line.name}: {line.values[0]:.2f} to {line.values[-1]:.2f}" for line in lines)
    name = "-".join(filter(None, (task, what.replace("%", "percent").replace(" ", "-"))))
    return Picture(f"{task}: {what}" if task else what, f"curves/{name}.svg", f"{what} by {table.axis}: {each}"), lines


def line_of(row: str, gathered: Gathered) -> Line:
    """A row over its axis, with the intervals over segments."""
    table, results = gathered.table, gathered.results
    if table.drawn:
        found = dict(results.curve(table.drawn, row))
    else:
        shown = [results.train_len * multiple for multiple in table.multiples]
        tested = results.lengths(row)
        drawn = [n for n in tested if (n >= FIRST_DRAWN if table.scoring == BY_POSITION else n in shown)]
        found = {length: results.loss_at(row, length).through(in_bits) for length in drawn}
    values = np.array([[one.value, one.low, one.high] for one in found.values()]).reshape(-1, 3).T  # (3, points)
    return Line(table.subjects[row].title, list(found), *map(list, values))


def in_bits(nats: float) -> float:
    """The same loss in bits."""
    return nats / math.log(2)


def draw(gathered: Gathered, place: Path) -> None:
    """Write the pictures of the page, and the losses that it is made of, into its folder."""
    if gathered.results.losses:
        kept.write(place, gathered.results)
    table, marks = gathered.table, {"training length": gathered.results.train_len}
    for drawn, lines in curves(gathered):
        atomic.make_folder((place / drawn.file).parent)
        # Distances and recent symbols are counted evenly, lengths and positions by doublings.
        long = math.inf if table.drawn else 0
        figure = plots.single(lines, measure(table.drawn or MEASURE), marks=marks, long=long)
        figure.axes[0].set_xlabel(table.axis)
        plots.save(place / drawn.file, figure)
