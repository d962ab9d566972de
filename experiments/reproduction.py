"""An experiment in a folder: a sweep of its runs, and beside them its page, written from whatever is there.

DIR/sweep.json, configs/, runs/, failed/, results.csv    the sweep, shared by all experiments in the folder
DIR/NAME-SCALE/runs.csv, rules.csv, claims.csv           what is kept of a table of scores; of texts page.json
DIR/NAME-SCALE/page.md                                   the page that is made of it, with its pictures
DIR/NAME-SCALE/sessions.json                             of texts: seconds spent, one number a session
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

from experiments import recorded, sessions
from experiments.cells import cells_in
from experiments.experiment import Experiment, Scale
from experiments.page.files import PAGE, write, write_shown
from experiments.recorded import DONE, NOT_ANALYSED, RecordedRun
from experiments.score_page import page_in, picture_of, verdicts, write_claims
from experiments.shortcuts import rules_beside
from languages.errors import UserError
from regulargpt.runs.sweep.folder import SweepFolder
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
    """Write what is kept of the runs in the sweep folder `path`, with those of an `earlier` record in another folder,
    and the page; what the page says. `notice` is told of longer tests.

    Raises UserError if `path` is no sweep folder, or nothing of the experiment was requested there.
    """
    folder, out = SweepFolder.open(path), place(path, experiment, scale)
    if isinstance(experiment, TextTable):
        return write_text_page(TableRuns(experiment, scale, folder, notice), scale, out)
    before = recorded.earlier(earlier, experiment, scale) if earlier else []
    runs = recorded.joined(recorded.gathered(experiment, scale, folder, recorded.names(before)), before)
    if not runs:
        where = atomic.shown(folder.path)
        raise UserError(f"no run of {experiment.name} at scale {scale} was asked for in {where}; leave --page-only out")
    atomic.make_folder(out)
    recorded.write(out / recorded.FILE, runs)
    recorded.write_rules(out / recorded.RULES, rules_beside(experiment, scale, runs, path))
    for run in runs if experiment.analyse else ():
        copy_pictures(folder, experiment, run, out)
    cells_in.cache_clear()
    write_claims(out, list(verdicts(experiment, scale, cells_in(out))))
    page = page_in(out)
    write_shown(out, page)
    said = {"claims": [asdict(claim) for claim in page.claims], "cells": list(cells_in(out))}
    kept = {key: list(getattr(page, key)) for key in ("failed", "missing")}
    return {"experiment": experiment.name, "scale": scale, **plain(said), **kept, "page": str(out / PAGE)}


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as JSON has them."""
    return json.loads(json.dumps(values, default=vars))


def copy_pictures(folder: SweepFolder, experiment: Experiment, run: RecordedRun, out: Path) -> None:
    """Copy the picture of a figure's analysis of a run beside the page."""
    assert experiment.analyse is not None
    if run.state == DONE and run.value != NOT_ANALYSED:
        file = experiment.analyse(RunFolder.open(folder.run_path(run.names[0]))).picture
        for row, column in product(run.rows, experiment.columns):
            if file and column.runs == run.runs:
                picture = out / picture_of(row, column.name)
                atomic.make_folder(picture.parent)
                atomic.write_bytes(picture, atomic.read_bytes(file))


def write_text_page(runs: TableRuns, scale: Scale, out: Path) -> dict[str, Any]:
    """The page of a table about texts."""
    page = text_page(runs, scale, made(runs.folder, runs.table, scale, runs.names, runs.left_out))
    if runs.results.losses:
        write_losses(out, runs.results)
    return write(out, page)


def made(
    folder: SweepFolder, experiment: Experiment, scale: Scale, names: Sequence[str], left_out: Sequence[str]
) -> dict[str, Any]:
    """How a page was made: the command, the time, and where its runs were made."""
    rows = [row for row in experiment.rows if row not in left_out] if left_out else ()
    return {
        "command": command(experiment, scale, folder.path, rows),
        "session_seconds": tuple(session_seconds(folder.path, experiment, scale)),
        "environments": environments(folder, names),
    }


def command(experiment: Experiment, scale: Scale, path: Path, rows: Sequence[str]) -> str:
    """What was called, as far as it matters for the page; `rows` where not all were requested."""
    only = ["--only", ",".join(rows)] if rows else []
    out = [] if path == Path("reproduced") / scale else ["--out", shlex.quote(str(path))]
    return " ".join(["regulargpt reproduce", experiment.name, "--scale", scale, *only, *out])


def session_seconds(path: Path, experiment: Experiment, scale: Scale) -> list[float]:
    """The seconds of each session so far; FormatError if the file says something else."""
    return sessions.seconds_in(place(path, experiment, scale))


def add_session(path: Path, experiment: Experiment, scale: Scale, seconds: float) -> None:
    """Record how long a session took; of scores, the seconds of each run are kept."""
    if isinstance(experiment, TextTable):
        sessions.add(place(path, experiment, scale), seconds)


def environments(folder: SweepFolder, names: Sequence[str]) -> tuple[Mapping[str, Any], ...]:
    """Where the finished runs were made: of each environment how many `runs`, of several also which `models`."""
    models_there: dict[str, Counter[str]] = {}
    for name in names:
        if folder.state(name) == "done":
            file = folder.run_path(name) / ENVIRONMENT
            # A damaged file makes the run a damaged run, which the table says.
            with suppress(UserError):
                known = atomic.parse_json(atomic.read_bytes(file), file)
                of = json.dumps({key: known.get(key) for key in ENVIRONMENT_KEYS})
                models_there.setdefault(of, Counter())[folder.config(name).model.title] += 1
    is_one = len(models_there) < 2
    return tuple(
        {**json.loads(of), "runs": models.total(), **({} if is_one else {"models": sorted(models)})}
        for of, models in sorted(models_there.items(), key=lambda item: -item[1].total())
    )
