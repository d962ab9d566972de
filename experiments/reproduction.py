"""An experiment in a folder: a sweep of its runs, and beside them its page, written from whatever is there.

DIR/sweep.json, configs/, runs/, failed/, results.csv    the sweep, shared by all experiments in the folder
DIR/NAME-SCALE/page.md, page.json                        the page, with its pictures
DIR/NAME-SCALE/sessions.json                             seconds spent, one number a session
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from experiments import sessions
from experiments.cells import Comparison
from experiments.compare import compare
from experiments.experiment import Experiment, Scale
from experiments.figure import Figure, Finding
from experiments.page.files import PAGE, write
from experiments.page.record import Record
from experiments.page.recording import draw, record
from experiments.shortcuts import with_shortcuts
from experiments.text import recording
from experiments.text.record import TextRecord
from experiments.text.table import TextTable
from languages.errors import UserError
from regulargpt.results.rows import rows
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.storage import atomic
from regulargpt.storage.folder import ENVIRONMENT, RunFolder

# Of environment.json, what a reader of the page wants to know.
ENVIRONMENT_KEYS = ("commit", "source", "python", "torch", "numpy", "device", "device_name", "cpu_count", "system")


def place(path: Path, experiment: Experiment, scale: Scale) -> Path:
    """Where the page lies."""
    return path / f"{experiment.name}-{scale}"


def write_page(
    path: Path, experiment: Experiment, scale: Scale, notice: Callable[[str], None] = lambda text: None
) -> dict[str, Any]:
    """Write the page from the runs in the sweep folder `path`; what page.json holds. `notice` is told of longer tests.

    Raises UserError if `path` is no sweep folder, or nothing of the experiment was asked for there.
    """
    folder = SweepFolder.open(path)
    made = text_page(folder, experiment, scale, notice) if isinstance(experiment, TextTable) else None
    out = place(path, experiment, scale)
    result = write(out, made or score_page(folder, experiment, scale))
    return {**result, "page": str(out / PAGE)}


def score_page(folder: SweepFolder, experiment: Experiment, scale: Scale) -> Record:
    """The record of a page of scores; its pictures are written."""
    path = folder.path
    found = with_shortcuts(comparison(experiment, scale, folder), path)
    out = place(path, experiment, scale)
    atomic.make_folder(out)
    draw(found, out)
    seconds = session_seconds(path, experiment, scale)
    rows = tuple(cells[0].row for cells in found.cells)
    called = command(experiment, scale, path, rows if found.left_out else ())
    return record(found, called, seconds, environments(folder, found.names))


def text_page(folder: SweepFolder, table: TextTable, scale: Scale, notice: Callable[[str], None]) -> TextRecord:
    """The record of a text table's page; its picture is written."""
    gathered = recording.Gathered(table, scale, folder, notice)
    out = place(folder.path, table, scale)
    atomic.make_folder(out)
    recording.draw(gathered, out)
    called = command(table, scale, folder.path, tuple(gathered.configs) if gathered.left_out else ())
    seconds = session_seconds(folder.path, table, scale)
    return recording.record(table, scale, called, seconds, environments(folder, gathered.names), gathered)


def comparison(experiment: Experiment, scale: Scale, folder: SweepFolder) -> Comparison:
    """Every cell from the runs of the folder."""
    requested = frozenset(folder.names)
    findings = findings_of(experiment, scale, folder) if isinstance(experiment, Figure) else {}
    found = compare(experiment, scale, rows(folder.path), requested, findings)
    if not found.cells:
        where = atomic.shown(folder.path)
        raise UserError(f"no run of {experiment.name} at scale {scale} was asked for in {where}; leave --page-only out")
    return found


def findings_of(figure: Figure, scale: Scale, folder: SweepFolder) -> dict[str, Finding]:
    """What the figure's analysis says of each finished run."""
    from regulargpt.runs.sweep.names import name_of

    names = dict.fromkeys(name_of(config) for config in figure.all_configs(scale))
    found = {}
    for name in names:
        if folder.state(name) == "done":
            try:
                found[name] = figure.analyse(RunFolder.open(folder.run_path(name)))
            except UserError as error:
                found[name] = Finding("not analysed", (str(error),), None)
    return found


def command(experiment: Experiment, scale: Scale, path: Path, rows: Sequence[str]) -> str:
    """What was called, as far as it matters for the page; `rows` where not all were asked for."""
    only = ["--only", ",".join(rows)] if rows else []
    out = [] if path == Path("reproduced") / scale else ["--out", shlex.quote(str(path))]
    return " ".join(["regulargpt reproduce", experiment.name, "--scale", scale, *only, *out])


def session_seconds(path: Path, experiment: Experiment, scale: Scale) -> list[float]:
    """The seconds of each session so far; FormatError if the file says something else."""
    return sessions.seconds_in(place(path, experiment, scale))


def add_session(path: Path, experiment: Experiment, scale: Scale, seconds: float) -> None:
    """Record how long a session took."""
    sessions.add(place(path, experiment, scale), seconds)


def environments(folder: SweepFolder, names: Sequence[str]) -> tuple[tuple[Mapping[str, Any], int], ...]:
    """The environments in which the finished runs were made, and how many were made in each."""
    found: Counter[str] = Counter()
    for name in names:
        if folder.state(name) == "done":
            file = folder.run_path(name) / ENVIRONMENT
            # A damaged file makes the run a damaged one, which the table says.
            with suppress(UserError):
                known = atomic.parse_json(atomic.read_bytes(file), file)
                found[json.dumps({key: known.get(key) for key in ENVIRONMENT_KEYS})] += 1
    return tuple((json.loads(text), count) for text, count in found.most_common())
