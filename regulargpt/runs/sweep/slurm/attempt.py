"""What a job does on its node: one run of the sweep, saved and requeued when Slurm ends the job early."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from pathlib import Path

from submitit import JobEnvironment
from submitit.helpers import Checkpointable

from regulargpt.runs.exits import STOPPED
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.runs.sweep.slurm import queue
from regulargpt.runs.sweep.worker import work
from regulargpt.storage import lock


class Attempt(Checkpointable):
    """One job's work, called by submitit on the node; when the job is requeued, the same again.

    submitit pickles it for the node: the name of this class and a string. The pickle lies beside the job's script in
    the user's own folder; who can write there can write the script as well. The driver reads no pickle.
    """

    def __init__(self, folder: str):
        self.folder = folder

    def __call__(self, name: str) -> int:
        """Run or resume this run; its exit status, if it came to an end. SystemExit if it was stopped."""
        requeue = signal.Signals[f"SIG{JobEnvironment.USR_SIG}"]
        # submitit requeues in the midst of whatever its signal interrupts. So that the step is finished and saved
        # first, the signal stops the run as SIGTERM does, and is raised again for submitit when the run has stopped.
        handler = signal.signal(requeue, lambda number, frame: signal.raise_signal(signal.SIGTERM))
        # Before training has begun, which then handles SIGTERM itself, there is nothing to save.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        folder, job, status = SweepFolder(Path(self.folder)), JobEnvironment().job_id, STOPPED
        with suppress(KeyboardInterrupt):
            release_dead(folder.run_path(name), job)
            status = work(folder, name)
        if status != STOPPED:
            return status
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        # Time is up, or a preemption with notice: Slurm requeues neither if the job ends in time. A cancelled job is no
        # longer RUNNING, and stays cancelled.
        if (known := (queue.jobs("-j", job) or {}).get(job)) and known.state == "RUNNING":
            signal.signal(requeue, handler)
            signal.raise_signal(requeue)
        sys.exit(STOPPED)


def release_dead(run: Path, job: str) -> None:
    """Take away the lock that an earlier job left in the run folder, if it died with its node.

    A lock of another machine counts as held. That its owner has ended Slurm knows: it starts that job anew, or no such
    job is alive.
    """
    owner = lock.owner_of(run)
    if owner and owner.job:
        jobs = queue.jobs("-j", owner.job)
        if owner.job == job or (jobs is not None and not queue.alive(jobs)):
            lock.release(run, owner)
