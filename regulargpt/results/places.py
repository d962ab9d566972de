"""Where runs lie: a run folder, a folder of run folders, a sweep, or a table that was written of them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from languages.errors import UserError, nearest
from regulargpt.runs.configured import is_of_bias, refuse_bias
from regulargpt.runs.sweep.folder import RUNS, SweepFolder, is_sweep
from regulargpt.storage import atomic
from regulargpt.storage.folder import CONFIG, DONE, RunFolder


@dataclass(frozen=True)
class Place:
    """Where a run lies, or will. Of a run in a sweep also where its config lies, and its failure if it failed.

    A results.csv is a place too: its runs lie in a file.
    """

    name: str
    folder: Path
    config: Path | None = None
    failure: Path | None = None


def places(path: str | Path) -> list[Place]:
    """The runs in `path`, sorted by name; UserError if there are none, or a bias that `lengthen` trained.

    >>> places("no-such-folder")
    Traceback (most recent call last):
    languages.errors.UserError: folder no-such-folder does not exist; give a run folder, a folder of them or a sweep
    """
    path = Path(path)
    place, right = atomic.shown(path), "give a run folder, a folder of them or a sweep"
    with atomic.reported(path):
        if not atomic.disk.exists(path):
            siblings = atomic.disk.names(path.parent) if atomic.disk.is_folder(path.parent) else []
            raise UserError(f"folder {place} does not exist;{nearest(path.name, siblings) or ' ' + right}")
        if path.suffix == ".csv" and not atomic.disk.is_folder(path):
            return [Place(path.name, path)]
        if not atomic.disk.is_folder(path):
            raise UserError(f"{place} is a file; {right}")
        if is_sweep(path):
            runs = of_sweep(SweepFolder(path))
        else:
            runs = [Place(path.resolve().name, path)] if is_run(path) else in_folder(path)
        for folder in [] if runs else (path, *(path / name for name in atomic.disk.names(path))):
            if is_bias(folder):
                refuse_bias(RunFolder(folder))
    if not runs:
        raise UserError(f"{place} holds no runs; {right}")
    return runs


def is_run(path: Path) -> bool:
    """Whether a run was begun or finished here. A finished run that lost its config is a run, and damaged."""
    return (atomic.disk.exists(path / CONFIG) or atomic.disk.exists(path / DONE)) and not is_bias(path)


def is_bias(path: Path) -> bool:
    """Whether `lengthen` trains a bias here; a config that cannot be read says nothing."""
    with suppress(UserError):
        return atomic.disk.exists(path / CONFIG) and is_of_bias(RunFolder(path))
    return False


def in_folder(path: Path) -> list[Place]:
    """The run folders directly in a folder."""
    return [Place(name, path / name) for name in atomic.disk.names(path) if is_run(path / name)]


def of_sweep(sweep: SweepFolder) -> list[Place]:
    """All runs that a sweep was asked for, and any other that lies with them."""
    runs = sweep.path / RUNS
    there = {place.name for place in in_folder(runs)} if atomic.disk.is_folder(runs) else set()
    return [
        Place(name, sweep.run_path(name), sweep.config_path(name), sweep.failure_path(name))
        for name in sorted(there | set(sweep.names))
    ]
