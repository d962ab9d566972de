"""Where runs lie: a run folder, a folder of run folders, or a sweep."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from languages.errors import UserError, nearest
from regulargpt.storage import atomic
from regulargpt.storage.folder import CONFIG, DONE

SWEEP = "sweep.json"
FORMAT = 1


@dataclass(frozen=True)
class Place:
    """Where a run lies, or will. Of a run in a sweep also where its config lies, and its failure if it failed."""

    name: str
    folder: Path
    config: Path | None = None
    failure: Path | None = None


def places(path: str | Path) -> list[Place]:
    """The runs in `path`, sorted by name; UserError if there are none.

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
        if not atomic.disk.is_folder(path):
            raise UserError(f"{place} is a file; {right}")
        if is_sweep(path):
            found = of_sweep(path)
        else:
            found = [Place(path.resolve().name, path)] if is_run(path) else in_folder(path)
    if not found:
        raise UserError(f"{place} holds no runs; {right}")
    return found


def is_run(path: Path) -> bool:
    """Whether a run was begun or finished here. A finished one that lost its config is one, and damaged."""
    return atomic.disk.exists(path / CONFIG) or atomic.disk.exists(path / DONE)


def is_sweep(path: Path) -> bool:
    """Whether a sweep was begun here."""
    return atomic.disk.exists(path / SWEEP)


def in_folder(path: Path) -> list[Place]:
    """The run folders directly in a folder."""
    return [Place(name, path / name) for name in atomic.disk.names(path) if is_run(path / name)]


def of_sweep(path: Path) -> list[Place]:
    """All runs that a sweep was asked for, and any other that lies with them."""
    runs = path / "runs"
    there = {place.name for place in in_folder(runs)} if atomic.disk.is_folder(runs) else set()
    return [
        Place(name, runs / name, path / "configs" / f"{name}.toml", path / "failed" / f"{name}.json")
        for name in sorted(there | set(asked(path / SWEEP)))
    ]


def asked(path: Path) -> list[str]:
    """The names in a sweep.json; FormatError if it is none."""
    value = atomic.parse_json(atomic.read_bytes(path), path)
    if value.get("format") != FORMAT:
        message = f"{atomic.shown(path)} has format {value.get('format')!r}; this program reads {FORMAT}"
        raise atomic.FormatError(f"{message}, so read it with the version that wrote it")
    names = value.get("names")
    # A name with a folder in it could point outside the sweep.
    if not isinstance(names, list) or not all(isinstance(n, str) and Path(n).name == n != ".." for n in names):
        raise atomic.FormatError(f"{atomic.shown(path)} does not list the names of runs; restore it from a copy")
    return names
