"""What a job does on its node: the worker of a sweep, as a child that is stopped, saved and requeued with the job."""

from __future__ import annotations

import dataclasses
import os
import platform
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from regulargpt.exits import FAILED, STOPPED
from regulargpt.storage import atomic, lock

if TYPE_CHECKING:
    from submitit.helpers import DelayedSubmission

DONE = 0
# Before the run has begun SIGTERM ends the worker as any program; there is nothing to save yet.
ENDED_BY_SIGTERM = (STOPPED, -signal.SIGTERM)
FOLDER = "slurm"
# Slurm signals every process of a job. This one is for submitit, its parent: it would end a Python that knows nothing
# of it. (NCCL is why submitit lets people choose the other.)
REQUEUE = (signal.SIGUSR1, signal.SIGUSR2)


class Attempt:
    """One job's work, called by submitit on the node. All that travels there are two strings.

    submitit pickles this object, and unpickles it on the node: a class of this package by its name, and the strings.
    The pickle lies beside the job's script in the user's own folder; who can write there can write the script as well.
    What comes back is read from the run's folder: no pickle is read by the driver.
    """

    def __init__(self, folder: str, name: str):
        self.folder, self.name, self.worker = folder, name, 0

    def __call__(self) -> int:
        """Run or resume the run in a child; its exit code, if the run came to an end.

        Raises SystemExit if it was stopped, RuntimeError if it died, so that Slurm too counts the job as failed.
        """
        forget_former_worker(Path(self.folder), self.name)
        command = [sys.executable, "-m", "regulargpt.sweep.worker", self.folder, self.name]
        self.worker = os.posix_spawn(sys.executable, command, os.environ, setsigmask=REQUEUE)
        remember_worker(Path(self.folder), self.name, self.worker)
        _, status = os.waitpid(self.worker, 0)
        self.worker, code = 0, os.waitstatus_to_exitcode(status)
        if code in ENDED_BY_SIGTERM:
            if is_running():
                # SIGTERM reached the worker first: a preemption with notice, which Slurm does not requeue if the job
                # ends in time. A cancelled job is no longer running, and stays cancelled.
                signal.raise_signal(requeue_signal())
            sys.exit(STOPPED)
        if code not in (DONE, FAILED):
            raise RuntimeError(f"the worker of {self.name} ended with {code}")
        return code

    def checkpoint(self) -> DelayedSubmission:
        """Called by submitit at its signal, in the midst of `__call__`: end the worker. What the job does next time."""
        from submitit.helpers import DelayedSubmission

        if self.worker:
            with suppress(ProcessLookupError):
                os.kill(self.worker, signal.SIGTERM)
            with suppress(ChildProcessError):
                os.waitpid(self.worker, 0)
        return DelayedSubmission(Attempt(self.folder, self.name))


def requeue_signal() -> int:
    """The signal at which submitit requeues."""
    return signal.Signals[f"SIG{os.environ.get('SUBMITIT_PREEMPT_SIGNAL', 'USR2')}"]


def is_running() -> bool:
    """Whether Slurm thinks that this job goes on: neither cancelled nor requeued already."""
    return state_of(this_job()) == "RUNNING"


def this_job() -> str:
    """The number of the job that this process belongs to, as in `12_3`; the same one when it is requeued.

    The number without underscore, which each task of an array has too, is for one of them that of the whole array.
    """
    array, task = (os.environ.get(f"SLURM_ARRAY_{which}_ID") for which in ("JOB", "TASK"))
    return f"{array}_{task}" if array else os.environ.get("SLURM_JOB_ID", "")


def state_of(job: str) -> str:
    """The state of a job in Slurm's queue; nothing if it is not there, UNKNOWN if Slurm does not answer."""
    done = subprocess.run(["squeue", "-h", "-j", job, "-o", "%T"], capture_output=True, text=True, check=False)
    if done.returncode and "Invalid job id" not in done.stderr:
        return "UNKNOWN"
    return done.stdout.strip()


def remember_worker(folder: Path, name: str, pid: int) -> None:
    """Write down which process works at a run, and for which job."""
    owner = lock.Owner(pid, platform.node(), lock.start_time(pid) or "")
    atomic.write_json(worker_file(folder, name), {"job": this_job(), "owner": dataclasses.asdict(owner)})


def forget_former_worker(folder: Path, name: str) -> None:
    """Take away the lock that the worker of an earlier job of this run left, if it died with its node.

    A lock of another machine counts as held. That its owner is gone Slurm knows: the job has ended, or starts anew.
    """
    path = worker_file(folder, name)
    if not path.exists():
        return
    known = atomic.parse_json(atomic.read_bytes(path), path)
    if known["job"] == this_job() or not state_of(known["job"]):
        lock.release(folder / "runs" / name, lock.Owner(**known["owner"]))


def worker_file(folder: Path, name: str) -> Path:
    """Where the process that works at a run is written down."""
    return folder / FOLDER / f"{name}.worker.json"
