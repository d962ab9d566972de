"""Workers and drivers forked from this process, which has imported everything: a kill costs milliseconds."""

import functools
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO

import pytest
import torch

from regulargpt.config.schema import RunConfig
from regulargpt.runs import run as running
from regulargpt.runs.sweep import driver, process, serve, worker
from regulargpt.runs.sweep.driver import SweepOutcome
from regulargpt.runs.sweep.folder import State, SweepFolder
from regulargpt.runs.sweep.local import LocalEngine
from regulargpt.storage import atomic
from regulargpt.storage.lock import start_time
from regulargpt.storage.signals import StopRequested
from tests.regulargpt.small import config, contents

CALLS = [name for name in vars(atomic.Disk) if not name.startswith("_")]
Prepare = Callable[[int], None]


def configs(n: int = 4, **changes: object) -> list[RunConfig]:
    """Runs of two models, with what a resumed run could forget."""
    settled = {"training__steps": 30, "training__checkpoint_every": 4, "training__solved_loss": 0.0, **changes}
    families = ("gru", "linear-rnn")
    return [config(families[seed % 2], seed=seed, **settled) for seed in range(n)]


class Forked:
    """What a driver knows of a process, `subprocess.Popen`, of one that was forked."""

    def __init__(self, log: IO[bytes], work: Callable[[], int]):
        stdin, self.stdin_fd = os.pipe()
        self.stdout_fd, stdout = os.pipe()
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            become((stdin, stdout, log.fileno()), work)
        os.close(stdin)
        os.close(stdout)
        self.stdin: IO[bytes] = os.fdopen(self.stdin_fd, "wb")
        self.stdout: IO[bytes] = os.fdopen(self.stdout_fd, "rb")

    def poll(self) -> int | None:
        """The exit status, if it has ended."""
        return self._wait(os.WNOHANG)

    def wait(self) -> int:
        """The exit status, when it has ended."""
        status = self._wait(0)
        assert status is not None
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal, if it has not ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """Leave nothing open."""
        self.stdin.close()
        self.stdout.close()

    def _wait(self, options: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, options)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode


def become(streams: Iterable[int], work: Callable[[], int]) -> None:
    """In a forked child: nothing of the parent's but its memory; end with the status of `work`."""
    status = 1
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        for target, stream in enumerate(streams):
            os.dup2(stream, target)
        os.closerange(3, 256)
        sys.stdin = os.fdopen(0, closefd=False)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", closefd=False, buffering=1)
        for name in CALLS:
            vars(atomic.disk).pop(name, None)
        torch.set_num_threads(1)
        status = work()
    except BaseException:
        traceback.print_exc(file=sys.stderr)
    finally:
        os._exit(status)


def forking(monkeypatch: pytest.MonkeyPatch, prepare: Prepare = lambda number: None) -> list[int]:
    """Fork workers from here on, `prepare(number)` being done in the number-th. Their process ids."""
    pids: list[int] = []

    def launch(folder: SweepFolder, place: str | None, log: IO[bytes]) -> Forked:
        number = len(pids)
        started = Forked(log, lambda: (prepare(number), serve.serve(folder))[1])
        pids.append(started.pid)
        return started

    monkeypatch.setattr(process, "launch", launch)
    monkeypatch.setattr(running.plots, "of_run", lambda path, *rest: path.write_bytes(b""))
    import_everything()
    return pids


@functools.cache
def import_everything() -> None:
    """What torch imports when it is first used."""
    for settings in configs(2, training__steps=1):
        with tempfile.TemporaryDirectory() as folder:
            running.run(settings, Path(folder) / "run")


def die_at(number: int, deaths: Path) -> None:
    """Die in the place of the disk's call of this number from now, or in the middle of it, if it is a write.

    A byte in the file `deaths` tells of it.
    """
    calls = iter(range(number + 1))

    def deadly(name: str) -> Callable[..., object]:
        original = getattr(atomic.disk, name)

        def call(*arguments):
            if next(calls, None) == number:
                if name == "write":
                    handle, data = arguments
                    os.write(handle, data[: len(data) // 2])
                note(deaths, ".")
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*arguments)

        return call

    for name in CALLS:
        setattr(atomic.disk, name, deadly(name))


def note(path: Path, text: str) -> None:
    """Add to a file that several processes add to."""
    with path.open("a") as file:
        file.write(text)


def swept(path: Path, configs: Iterable[RunConfig], jobs: int = 2, retry: bool = False) -> SweepOutcome:
    """A sweep in this process."""
    return driver.sweep(path, configs, LocalEngine(jobs), retry=retry)


def wait_for(condition: Callable[[], bool], seconds: float = 300) -> None:
    """Wait until the condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def is_gone(pid: int) -> bool:
    """Whether the process has ended."""
    return start_time(pid) is None


def results(path: Path) -> dict[str, object]:
    """All that two equal sweeps have in common: their runs byte for byte, their tables but for the time they took."""
    folder = SweepFolder.open(path)
    lines = [line.split(",") for line in (path / "results.csv").read_text().splitlines()]
    seconds = lines[0].index("train_seconds")
    table = [[cell for column, cell in enumerate(line) if column != seconds] for line in lines]
    return {"table": table, **{name: contents(folder.run_path(name)) for name in folder.names}}


def finished_runs(folder: Path) -> dict[str, int]:
    """The finished runs, and when they were."""
    return {path.parent.name: path.stat().st_mtime_ns for path in folder.glob("runs/*/DONE")}


class InThisProcess:
    """The simplest engine: one run after the other, here."""

    def __init__(self) -> None:
        self.executed: list[str] = []

    def check(self) -> None:
        pass

    def execute(
        self, folder: SweepFolder, names: Sequence[str], on_done: Callable[[str, State], None], stop: StopRequested
    ) -> None:
        for name in names:
            if stop:
                return
            self.executed.append(name)
            worker.work(folder, name)
            on_done(name, folder.state(name))
