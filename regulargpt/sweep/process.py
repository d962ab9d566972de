"""A worker as a process of this machine, and what its end means."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import IO

from regulargpt.exits import STOPPED
from regulargpt.storage.environment import PACKAGE
from regulargpt.sweep.folder import State, SweepFolder


@dataclass
class Worker:
    """A process at work on a run, on the GPU `place` if it is not None."""

    folder: SweepFolder
    name: str
    place: str | None
    process: subprocess.Popen[bytes]
    log: IO[bytes]
    asked: bool = False

    @classmethod
    def start(cls, folder: SweepFolder, name: str, place: str | None, tie: int) -> Worker:
        """Start the process; it stops when the file `tie` ends."""
        log = tempfile.TemporaryFile()  # noqa: SIM115 (closed when it is read)
        return cls(folder, name, place, launch(folder, name, place, tie, log), log)

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended."""
        return self.process.poll() is not None

    def stop(self) -> None:
        """Ask it, once, to save and end."""
        if not self.asked:
            self.process.send_signal(signal.SIGTERM)
        self.asked = True

    def outcome(self, again: bool, stopped: bool) -> State:
        """The state of the run, now that the process has ended; "missing" if it is to be started again.

        Only a process that was ended by a signal is, and only if `again`. Any other that left neither a result nor a
        failure is recorded as a failure here. Nothing is, if the sweep is being stopped.
        """
        log, status = self._read_log(), self.process.returncode
        for line in log.splitlines():
            if line.startswith("warning: "):
                print(line, file=sys.stderr)
        state = self.folder.state(self.name)
        ended_by_signal = status < 0 or status == STOPPED
        if state != "missing" or stopped or (ended_by_signal and again):
            return state
        self.folder.record_failure(self.name, ending(status), "memory" if status == -signal.SIGKILL else "crashed", log)
        return "failed"

    def _read_log(self) -> str:
        with self.log:
            self.log.seek(0)
            return self.log.read().decode(errors="replace")


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


def launch(folder: SweepFolder, name: str, place: str | None, tie: int, log: IO[bytes]) -> subprocess.Popen[bytes]:
    """The process: of this program's code, wherever it was started, and out of the terminal's reach.

    A Ctrl-C goes to the driver alone, which tells its workers to stop.
    """
    paths = [str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    if place is not None:
        environment["CUDA_VISIBLE_DEVICES"] = place
    return subprocess.Popen(
        [sys.executable, "-m", "regulargpt.sweep.worker", str(folder.path), name, "--tied"],
        stdin=tie,
        stdout=subprocess.DEVNULL,
        stderr=log,
        env=environment,
        process_group=0,
    )
