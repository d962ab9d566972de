"""The folder of a sweep, the same for every engine: what was requested, and how far each run has come.

- `sweep.json`: the names of the runs, in order
- `configs/NAME.toml`: the complete config of each
- `runs/NAME/`: an ordinary run folder
- `failed/NAME.json`: why a run failed; `failed/NAME.log`: where
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from languages.errors import UserError
from regulargpt.config.schema import RunConfig
from regulargpt.runs.sweep.names import is_name_of
from regulargpt.storage import atomic, lock, manifest
from regulargpt.storage.folder import CONFIG, RunFolder
from regulargpt.storage.format import FORMAT, refuse_other_format

State = Literal["done", "failed", "missing"]
Kind = Literal["diverged", "refused", "memory", "crashed"]
SWEEP, CONFIGS, RUNS, FAILED = "sweep.json", "configs", "runs", "failed"
UNKNOWN = "no reason was kept"  # of a failure


@dataclass(frozen=True)
class SweepFolder:
    """A sweep's folder. Make it with `create` or `open`; hold `locked()` while driving it.

    >>> import tempfile
    >>> from regulargpt.runs.sweep.names import name_of
    >>> sweep, config = SweepFolder.create(Path(tempfile.mkdtemp()) / "sweep"), RunConfig()
    >>> sweep.add({name_of(config): config})
    >>> [sweep.state(name) for name in sweep.names]
    ['missing']
    """

    path: Path

    @classmethod
    def create(cls, path: str | Path) -> SweepFolder:
        """The sweep folder at `path`, made if there is none.

        Raises UserError, before anything is written, if something else lies there.
        """
        path = Path(path)
        refuse_other(path)
        atomic.make_folder(path)
        return cls(path)

    @classmethod
    def open(cls, path: str | Path) -> SweepFolder:
        """The sweep folder at `path`; UserError if it is none."""
        path = Path(path)
        if not is_sweep(path):
            raise UserError(
                f"{atomic.shown(path)} is not a sweep folder: {SWEEP} missing; give one that `regulargpt sweep` made"
            )
        return cls(path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other drivers out (LockedError if another driver is in), and sweep up what interrupted writes left."""
        with lock.locked(self.path):
            # Under the lock a temporary belongs to nobody alive; the run folders have locks of their own.
            for folder in (self.path, self.path / CONFIGS, self.path / FAILED):
                with atomic.reported(folder):
                    names = atomic.disk.names(folder) if atomic.disk.is_folder(folder) else []
                    for name in filter(atomic.is_temporary, names):
                        atomic.disk.remove(folder / name)
            yield

    @property
    def names(self) -> tuple[str, ...]:
        """The runs of the sweep, in the order in which they were requested."""
        path = self.path / SWEEP
        record = atomic.parse_json(atomic.read_bytes(path), path)
        refuse_other_format(record, self.path)
        names = record.get("names")
        if not isinstance(names, list) or not all(isinstance(name, str) and is_plain(name) for name in names):
            raise atomic.FormatError(f"{atomic.shown(path)} does not list the names of runs; restore it from a copy")
        return tuple(names)

    def add(self, configs: Mapping[str, RunConfig]) -> None:
        """Add runs to what is requested; those that were requested before keep their place.

        Configs first: whoever finds a name in sweep.json finds its config.
        """
        atomic.make_folder(self.path / CONFIGS)
        for name, config in configs.items():
            # Only what differs is written: a rerun of thousands of runs writes nothing.
            path, text = self.config_path(name), config.render()
            if not _holds(path, text.encode()):
                atomic.write_text(path, text)
        before = self.names if is_sweep(self.path) else ()
        names = list(dict.fromkeys((*before, *configs)))
        if names != list(before) or not before:
            atomic.write_json(self.path / SWEEP, {"format": FORMAT, "names": names})

    def config(self, name: str) -> RunConfig:
        """The config of a run; IntegrityError if it is no longer the config that the name was made of."""
        path = self.config_path(name)
        text = atomic.parse_text(atomic.read_bytes(path), path)
        refuse_changed(name, path, text)
        return RunConfig.parse(text, str(path))

    def config_path(self, name: str) -> Path:
        """Where the config of a run lies."""
        return self.path / CONFIGS / f"{name}.toml"

    def failure_path(self, name: str) -> Path:
        """Where it is said why a run failed, if it did."""
        return self.path / FAILED / f"{name}.json"

    def log_path(self, name: str) -> Path:
        """Where the traceback of a failure lies, or what else there is to read."""
        return self.path / FAILED / f"{name}.log"

    def run_path(self, name: str) -> Path:
        """Where the run folder of a run lies, or will."""
        return self.path / RUNS / name

    def state(self, name: str) -> State:
        """Whether the run is done, has failed, or is still to be run or resumed."""
        # The failure first: a finished run that was found damaged has both, and must not pass for done.
        record = self.failure_path(name)
        with atomic.reported(record):
            if atomic.disk.exists(record):
                return "failed"
        run = RunFolder(self.run_path(name))
        return "done" if run.is_done and not owes_outcome(run) else "missing"

    def check_done(self, name: str) -> None:
        """Check every file of a finished run; IntegrityError naming the file that is damaged."""
        path = self.run_path(name)
        manifest.verify(path)
        refuse_other_run(name, RunFolder(path))

    def failure(self, name: str) -> dict[str, Any]:
        """What failed/NAME.json says: `run`, `reason` and `kind`."""
        path = self.failure_path(name)
        unknown = {"run": name, "reason": UNKNOWN, "kind": ""}
        return unknown | atomic.parse_json(atomic.read_bytes(path), path)

    def record_failure(self, name: str, reason: str, kind: Kind, log: str = "") -> None:
        """Say why a run failed, in a line; `log` is the traceback or whatever else there is to read."""
        assert kind in get_args(Kind)
        atomic.make_folder(self.path / FAILED)
        # The log first: whoever finds a failure finds what it points to.
        if log:
            atomic.write_text(self.log_path(name), log)
        record = {"run": name, "reason": " ".join(reason.split()), "kind": kind}
        atomic.write_json(self.failure_path(name), record)

    def forget_failures(self, names: Iterable[str]) -> None:
        """Make failed runs missing ones."""
        for name in names:
            # The log last: without the reason nobody asks for it.
            for path in (self.failure_path(name), self.log_path(name)):
                with atomic.reported(path), suppress(FileNotFoundError):
                    atomic.disk.remove(path)


def is_sweep(path: Path) -> bool:
    """Whether a sweep folder lies there."""
    with atomic.reported(path):
        return atomic.disk.exists(path / SWEEP)


def is_plain(name: str) -> bool:
    """Whether the name is one of a file, not of a place elsewhere."""
    return name not in ("", ".", "..") and "/" not in name and "\\" not in name


def refuse_other(path: Path) -> None:
    """Raise UserError if something other than a sweep lies at `path`."""
    with atomic.reported(path):
        if not atomic.disk.exists(path):
            return
        if not atomic.disk.is_folder(path):
            raise UserError(f"{atomic.shown(path)} is a file; choose another --out")
        names = set(atomic.disk.names(path))
    # A driver that was killed at once leaves these and no sweep.json.
    if SWEEP not in names and not all(name in (lock.NAME, CONFIGS) or atomic.is_temporary(name) for name in names):
        raise UserError(f"{atomic.shown(path)} is not empty and no sweep folder; choose another --out")


def refuse_other_run(name: str, run: RunFolder) -> None:
    """Raise IntegrityError if a run folder has not the config that the run's name was made of, or was altered."""
    refuse_changed(name, run.path / CONFIG, run.config_text, run.kept_files())


def refuse_changed(name: str, path: Path, config_text: str, kept: Mapping[str, Path] = {}) -> None:
    """Raise IntegrityError if this is not the config.toml that the run's name was made of."""
    if not is_name_of(name, config_text, kept):
        raise manifest.IntegrityError(
            f"{atomic.shown(path)} is not the config that the run {name} is named after; restore it from a copy"
        )


def owes_outcome(run: RunFolder) -> bool:
    """Whether a finished run has not said what its proof came to."""
    # A damaged summary is found when the files of finished runs are checked.
    with suppress(UserError):
        return run.owes_outcome(run.load_summary())
    return False


def _holds(path: Path, data: bytes) -> bool:
    with atomic.reported(path):
        return atomic.disk.exists(path) and atomic.disk.read(path) == data
