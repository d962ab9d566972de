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
from experiments.cells import Comparison, compare
from experiments.earlier import done, read, with_earlier
from experiments.experiment import Analysis, Experiment, Scale
from experiments.page.files import write
from experiments.page.record import Page
from experiments.refutations import with_refutations
from experiments.score_page import pictures, score_page
from experiments.shortcuts import with_shortcuts
from languages.errors import UserError
from regulargpt.results.rows import rows
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.runs.sweep.names import name_of
from regulargpt.storage import atomic
from regulargpt.storage.folder import ENVIRONMENT, RunFolder
from regulargpt.text.experiments.page import text_page
from regulargpt.text.experiments.results import write_losses
from regulargpt.text.experiments.runs import TableRuns
from regulargpt.text.experiments.table import TextTable

# Of environment.json, what a reader of the page wants to know.
ENVIRONMENT_KEYS = ("commit", "source", "python", "torch", "numpy", "device", "device_name", "cpu_count", "system")


def place(path: Path, experiment: Experiment, scale: Scale) -> Path:
    """Where the page lies."""
    return path / f"{experiment.name}-{scale}"


def write_page(
    path: Path,
    experiment: Experiment,
    scale: Scale,
    notice: Callable[[str], None] = lambda text: None,
    earlier: Path | None = None,
) -> dict[str, Any]:
    """Write the page from the runs in the sweep folder `path`, and from those of an `earlier` page in another folder;
    what page.json holds. `notice` is told of longer tests.

    Raises UserError if `path` is no sweep folder, or nothing of the experiment was asked for there.
    """
    folder, out = SweepFolder.open(path), place(path, experiment, scale)
    if isinstance(experiment, TextTable):
        runs = TableRuns(experiment, scale, folder, notice)
        page = text_page(runs, scale, made(folder, experiment, scale, runs.names, runs.left_out))
        if runs.results.losses:
            write_losses(out, runs.results)
    else:
        page_before = read(earlier, experiment, scale) if earlier else None
        found = with_shortcuts(comparison(experiment, scale, folder, page_before), path)
        page = score_page(found, made(folder, experiment, scale, found.names, found.left_out, page_before))
        for picture, file in pictures(found):
            atomic.make_folder((out / picture.file).parent)
            atomic.write_bytes(out / picture.file, atomic.read_bytes(file))
    return write(out, page)


def made(
    folder: SweepFolder,
    experiment: Experiment,
    scale: Scale,
    names: Sequence[str],
    left_out: Sequence[str],
    earlier: Page | None = None,
) -> dict[str, Any]:
    """How a page was made: the command, the time, and where its runs were made."""
    rows = [row for row in experiment.rows if row not in left_out] if left_out else ()
    how = {
        "command": command(experiment, scale, folder.path, rows),
        "session_seconds": tuple(session_seconds(folder.path, experiment, scale)),
        "environments": environments(folder, names),
    }
    if earlier:
        how["session_seconds"] += earlier.session_seconds
        how["environments"] += earlier.environments
        how["remarks"] = (f"Of these runs, {len(done(earlier, experiment)):,} are from an earlier page (`--earlier`).",)
    return how


def comparison(experiment: Experiment, scale: Scale, folder: SweepFolder, earlier: Page | None = None) -> Comparison:
    """Every cell from the runs of the folder, and of the `earlier` page."""
    requested = frozenset(folder.names) | (done(earlier, experiment) if earlier else frozenset())
    findings = findings_of(experiment, scale, folder)
    found = compare(experiment, scale, rows(folder.path), requested, findings)
    if not found.cells:
        where = atomic.shown(folder.path)
        raise UserError(f"no run of {experiment.name} at scale {scale} was asked for in {where}; leave --page-only out")
    found = with_refutations(found, folder)
    return with_earlier(found, earlier) if earlier else found


def findings_of(figure: Experiment, scale: Scale, folder: SweepFolder) -> dict[str, Analysis]:
    """What the figure's analysis says of each finished run."""
    names = dict.fromkeys(name_of(config) for config in figure.all_configs(scale)) if figure.analyse else ()
    found = {}
    for name in names:
        if figure.analyse and folder.state(name) == "done":
            try:
                found[name] = figure.analyse(RunFolder.open(folder.run_path(name)))
            except UserError as error:
                found[name] = Analysis("not analysed", (str(error),), None)
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


def environments(folder: SweepFolder, names: Sequence[str]) -> tuple[Mapping[str, Any], ...]:
    """Where the finished runs were made: of each environment how many `runs`, of several also which `models`."""
    found: dict[str, Counter[str]] = {}
    for name in names:
        if folder.state(name) == "done":
            file = folder.run_path(name) / ENVIRONMENT
            # A damaged file makes the run a damaged one, which the table says.
            with suppress(UserError):
                known = atomic.parse_json(atomic.read_bytes(file), file)
                of = json.dumps({key: known.get(key) for key in ENVIRONMENT_KEYS})
                found.setdefault(of, Counter())[folder.config(name).model.title] += 1
    is_one = len(found) < 2
    return tuple(
        {**json.loads(of), "runs": models.total(), **({} if is_one else {"models": sorted(models)})}
        for of, models in sorted(found.items(), key=lambda item: -item[1].total())
    )
