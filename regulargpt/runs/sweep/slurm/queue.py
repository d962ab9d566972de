"""What Slurm says of the jobs of a sweep. submitit asks sacct, which needs a database that not every cluster has."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection, Mapping
from typing import NamedTuple

# squeue(1), "JOB STATE CODES": a job in one of these runs no more. What Slurm has forgotten does not either.
ENDED = {
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED"),
    *("NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT"),
}


class Job(NamedTuple):
    """The state of a job, and why it waits, if it does, in Slurm's words."""

    state: str
    reason: str


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """A command that has ended, whatever it says."""
    return subprocess.run(command, capture_output=True, text=True, check=False)


def jobs(*selection: str) -> dict[str, Job] | None:
    """The jobs that squeue selects, by number (`12` or, of an array, `12_3`); None if Slurm does not answer."""
    done = run("squeue", "-h", "-r", "-t", "all", "-u", str(os.getuid()), "-o", "%i|%T|%r", *selection)
    if done.returncode and "Invalid job id" not in done.stderr:
        return None
    rows = (line.strip().split("|", 2) for line in done.stdout.splitlines())
    return {row[0]: Job(row[1], row[2]) for row in rows if len(row) == 3}


def alive(jobs: Mapping[str, Job]) -> set[str]:
    """Those that wait, run, or will run again."""
    return {number for number, job in jobs.items() if job.state not in ENDED}


def cancel(jobs: Collection[str]) -> None:
    """Send the jobs SIGTERM, and SIGKILL after the cluster's KillWait; those that wait are taken out of the queue."""
    chosen = sorted(jobs)
    # A command line has an end.
    for start in range(0, len(chosen), 500):
        run("scancel", *chosen[start : start + 500])
