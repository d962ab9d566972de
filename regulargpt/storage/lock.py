"""One process at a time in a run folder: a lock file names its owner, and is taken over when that is dead."""

import fcntl
import functools
import json
import os
import platform
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from languages.errors import UserError
from regulargpt.storage import atomic

NAME = ".lock"


class LockedError(UserError):
    """Another process works in the folder: the message names it."""


@dataclass(frozen=True)
class Owner:
    """A process: its number, its host, and when it started, since numbers are used again; its Slurm job, if any."""

    pid: int
    host: str
    started: str
    job: str = ""

    @classmethod
    def current(cls) -> "Owner":
        return cls(os.getpid(), platform.node(), start_time(os.getpid()) or "", slurm_job())

    def is_alive(self) -> bool:
        """Whether the process still runs; a process on another host cannot be queried and counts as running."""
        return self.host != platform.node() or start_time(self.pid) == self.started


def slurm_job() -> str:
    """The Slurm job that this process belongs to, as in `12` or `12_3`, and as submitit numbers it; "" if none."""
    array, task = (os.environ.get(f"SLURM_ARRAY_{part}_ID") for part in ("JOB", "TASK"))
    return f"{array}_{task}" if array else os.environ.get("SLURM_JOB_ID", "")


def start_time(pid: int) -> str | None:
    """When the process with this number started, to compare for equality only; None if there is none."""
    stat = Path(f"/proc/{pid}/stat")
    if not Path("/proc/self/stat").exists():
        return _start_time_by_ps(pid)
    try:
        fields = stat.read_text(errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # Fields 3 and 22 of proc(5): a zombie no longer works; the start counts ticks since boot, hence the
    # boot's name.
    return None if fields[0] in "ZX" else f"{_boot()}:{fields[19]}"


@functools.cache
def _boot() -> str:
    name = Path("/proc/sys/kernel/random/boot_id")
    return name.read_text().strip() if name.exists() else ""


def _start_time_by_ps(pid: int) -> str | None:
    command = ["ps", "-o", "lstart=", "-p", str(pid)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stdout.strip() or None


@contextmanager
def locked(folder: Path) -> Iterator[Owner]:
    """Hold the lock of `folder` while the block runs.

    Raises LockedError naming the process and folder if another process (or this process) holds it, StorageError
    if the lock file cannot be written. The lock of a process that is dead is taken over.
    """
    owner = Owner.current()
    path = folder / NAME
    with _exclusive(path) as handle:
        _refuse_if_held(path, _owner_in(os.pread(handle, 4096, 0), path))
        _enter(handle, path, owner)
    try:
        yield owner
    finally:
        _release(path, owner)


def _release(path: Path, owner: Owner) -> None:
    # A child forked inside the block passes here too.
    if os.getpid() == owner.pid:
        release(path.parent, owner)


def owner_of(folder: Path) -> Owner | None:
    """Who holds the lock of `folder`, dead or alive; LockedError if the file does not say."""
    path = folder / NAME
    with atomic.reported(path):
        data = path.read_bytes() if path.exists() else b""
    return _owner_in(data, path)


def release(folder: Path, owner: Owner) -> None:
    """Take away the lock of a process that the caller knows to be dead, as a process on another host may be.

    The lock of anybody else stays.
    """
    path = folder / NAME
    # A folder that was deleted meanwhile has nothing to release.
    if not path.exists():
        return
    with _exclusive(path) as handle:
        if _owner_in(os.pread(handle, 4096, 0), path) == owner:
            path.unlink()


@contextmanager
def _exclusive(path: Path) -> Iterator[int]:
    # The kernel's lock lasts only while the file is read, judged and rewritten: it makes that one step. The
    # file, not the kernel's lock, says who works here, since children would inherit the latter and keep it
    # after our death.
    while True:
        with atomic.reported(path):
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                if _is_still_at(handle, path):
                    yield handle
                    return
            finally:
                os.close(handle)


def _is_still_at(handle: int, path: Path) -> bool:
    # The former owner may have removed the file while this process waited for it.
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _refuse_if_held(path: Path, owner: Owner | None) -> None:
    if owner is None or not owner.is_alive():
        return
    where = f"process {owner.pid} on {owner.host}" + (f" (Slurm job {owner.job})" if owner.job else "")
    remedy = "wait for it or stop it first"
    if owner.host != platform.node():
        remedy = f"if that process is gone, delete {atomic.shown(path)}"
    raise LockedError(f"{atomic.shown(path.parent)} is in use by {where}; {remedy}")


def _owner_in(data: bytes, path: Path) -> Owner | None:
    # After a power cut the file may be empty or all zeros: its owner is as dead as the machine was. So is the owner
    # who died while writing its name: the kernel's lock, which it held meanwhile, is now this process's.
    written = data.strip(b"\0 \n")
    if not written or (written.startswith(b"{") and not written.endswith(b"}")):
        return None
    try:
        return Owner(**json.loads(data))
    except (ValueError, TypeError) as error:
        message = f"{atomic.shown(path)} does not say which process works here"
        raise LockedError(f"{message}; if none does, delete that file") from error


def _enter(handle: int, path: Path, owner: Owner) -> None:
    # Not synced: after a power cut nobody works here any more.
    try:
        os.ftruncate(handle, 0)
        atomic.write_all(handle, json.dumps(asdict(owner), sort_keys=True).encode())
    except OSError:
        # Half a name would lock the folder for good. The first failure is what to report.
        with suppress(OSError):
            path.unlink()
        raise
