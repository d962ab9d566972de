"""A worker as a process of this machine, and what its end means."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

from regulargpt.runs.exits import STOPPED
from regulargpt.runs.sweep.folder import State, SweepFolder
from regulargpt.storage.environment import PACKAGE


@dataclass
class Worker:
    """A process that works on one run after the other (`regulargpt.runs.sweep.serve`), on the GPU `place` if any."""

    folder: SweepFolder
    place: str | None
    process: subprocess.Popen[bytes]
    log: IO[bytes]
    name: str = ""
    is_stopping: bool = False

    @classmethod
    def start(cls, folder: SweepFolder, place: str | None) -> Worker:
        """Start the process; it stops when this process has ended."""
        # A file, not a pipe: whatever a worker says, it never waits for the driver to read it.
        log = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        worker = cls(folder, place, launch(folder, place, log), log)
        # The driver looks after many workers and must wait for none of them.
        os.set_blocking(worker.answers.fileno(), False)
        return worker

    @property
    def answers(self) -> IO[bytes]:
        """Where it says that a run has ended and another run is welcome."""
        assert self.process.stdout is not None
        return self.process.stdout

    @property
    def is_alive(self) -> bool:
        """Whether the process has not ended."""
        return self.process.poll() is None

    def give(self, name: str) -> None:
        """Let it work on this run."""
        assert self.process.stdin is not None
        self.name = name
        try:
            self.process.stdin.write(f"{name}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            # It died while it waited, which `outcome` will find.
            self.process.wait()

    def has_ended_run(self) -> bool:
        """Whether the run that it was given has ended, with the process or without."""
        return bool(self.answers.read()) or not self.is_alive

    def stop(self) -> None:
        """Ask it, once, to save and end."""
        if not self.is_stopping:
            self.process.send_signal(signal.SIGTERM)
        self.is_stopping = True

    def outcome(self, again: bool, stopped: bool) -> State:
        """The state of the run that has ended; "missing" if it is to be started again. The worker has none then.

        Only a run whose process was ended by a signal is, and only if `again`. Any other that left neither a result
        nor a failure is recorded as a failure here. Nothing is, if the sweep is being stopped.
        """
        log, status = self._read_log(), self.process.poll() or 0
        for line in log.splitlines():
            if line.startswith("warning: "):
                print(line, file=sys.stderr)
        name, self.name = self.name, ""
        state = self.folder.state(name)
        # A SIGTERM from outside ends a worker with STOPPED, as it saves; the driver has sent none unless `stopped`.
        ended_by_signal = status < 0 or status == STOPPED
        if state != "missing" or stopped or (ended_by_signal and again):
            return state
        self.folder.record_failure(name, ending(status), "memory" if status == -signal.SIGKILL else "crashed", log)
        return "failed"

    def end(self) -> None:
        """End the process if it has not ended: what it was doing is resumed another time."""
        # SIGKILL does no harm: what lies on the disk is whole at every moment.
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.log):
            if stream is not None:
                close(stream)

    def _read_log(self) -> str:
        # The process writes at the same place in the file, and does not write while it waits for a name.
        self.log.seek(0)
        text = self.log.read().decode(errors="replace")
        self.log.seek(0)
        self.log.truncate()
        return text


def ending(status: int) -> str:
    """What an exit status of a worker without a result says.

    >>> ending(-9), ending(-11), ending(3)
    ('killed by signal 9; probably out of memory', 'killed by signal 11', 'ended with status 3 and without a result')
    """
    if status == STOPPED:
        return "stopped by a signal from outside"
    if status >= 0:
        return f"ended with status {status} and without a result"
    return f"killed by signal {-status}" + ("; probably out of memory" if status == -signal.SIGKILL else "")


def close(stream: IO[bytes]) -> None:
    """Close it, though nobody may be there to read what is left in it."""
    with suppress(BrokenPipeError):
        stream.close()


def launch(folder: SweepFolder, place: str | None, log: IO[bytes]) -> subprocess.Popen[bytes]:
    """The process: of this program's code, wherever it was started, and out of the terminal's reach.

    A Ctrl-C goes to the driver alone, which tells its workers to stop.
    """
    paths = [str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    if place is not None:
        environment["CUDA_VISIBLE_DEVICES"] = place
    return subprocess.Popen(
        # -P: a `regulargpt` or `torch.py` in the current folder is not what is meant.
        [sys.executable, "-P", "-m", "regulargpt.runs.sweep.serve", str(folder.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        env=environment,
        process_group=0,
    )
