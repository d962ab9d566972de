"""What Slurm says of a sweep's jobs, and the file that says which of them is which run."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from regulargpt.storage import atomic

JOBS = "jobs.json"
# squeue(1), "JOB STATE CODES": a job in one of these runs no more. What Slurm has forgotten does not either.
ENDED = {
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED"),
    *("NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT"),
}


ORDINARY = {"None", "Priority", "Resources", "BeginTime", "JobArrayTaskLimit", "Cleaning", "Prolog"}
"""Reasons for which jobs wait, and then run."""


@dataclass(frozen=True)
class Jobs:
    """jobs.json: the job of each run, and the name that all jobs of the sweep have in Slurm.

    The name is drawn and written before anything is submitted. So a driver finds all jobs of the sweep, also an array
    whose numbers its predecessor was killed before writing; and never another's job that has an old number.
    """

    title: str
    jobs: Mapping[str, str]

    @classmethod
    def open(cls, folder: Path) -> Jobs:
        """What the folder says, or a new name, written."""
        path = folder / JOBS
        if not path.exists():
            atomic.make_folder(folder)
            return cls(f"regulargpt-{uuid.uuid4().hex[:16]}", {}).saved(folder)
        found = atomic.parse_json(atomic.read_bytes(path), path)
        try:
            return cls(found["title"], dict(found["jobs"]))
        except (KeyError, TypeError, ValueError) as error:
            remedy = "cancel the sweep's jobs, then delete that file"
            raise atomic.FormatError(f"{atomic.shown(path)} does not list jobs; {remedy}") from error

    def saved(self, folder: Path) -> Jobs:
        """Written, whole or not at all."""
        atomic.write_json(folder / JOBS, {"format": 1, "title": self.title, "jobs": dict(self.jobs)})
        return self

    def only(self, alive: Collection[str]) -> Jobs:
        """Without the jobs that are no more."""
        return replace(self, jobs={name: job for name, job in self.jobs.items() if job in alive})

    def joined(self, jobs: Mapping[str, str]) -> Jobs:
        """With these jobs."""
        return replace(self, jobs={**self.jobs, **jobs})


def states(title: str) -> dict[str, str] | None:
    """The state of each job of this name, by number (`12` or, of an array, `12_3`); None if Slurm does not answer."""
    command = ["squeue", "-h", "-r", "-t", "all", "-u", str(os.getuid()), "-n", title, "-o", "%i %T"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    return read_states(done.stdout)


def reasons(title: str) -> set[str]:
    """Why jobs of this name wait, where it is not that others are before them."""
    command = ["squeue", "-h", "-t", "PENDING", "-u", str(os.getuid()), "-n", title, "-o", "%r"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return set(done.stdout.splitlines()) - ORDINARY if done.returncode == 0 else set()


def read_states(text: str) -> dict[str, str]:
    """What squeue prints with `-o '%i %T'`.

    >>> read_states("12_0 RUNNING\\n12_1 PENDING\\n7 OUT_OF_MEMORY\\n")
    {'12_0': 'RUNNING', '12_1': 'PENDING', '7': 'OUT_OF_MEMORY'}
    """
    return {job: state for job, _, state in (line.strip().partition(" ") for line in text.splitlines()) if job}


def state(job: str, found: Mapping[str, str]) -> str:
    """The state of a job, for people; of an array that was cancelled before it began Slurm keeps only its own.

    >>> [state(job, {"12_0": "FAILED", "13": "CANCELLED"}) for job in ("12_0", "12_1", "13_5")]
    ['FAILED', 'unknown', 'CANCELLED']
    """
    return found.get(job) or found.get(job.partition("_")[0]) or "unknown"


def alive(found: Mapping[str, str]) -> set[str]:
    """The jobs that wait, run, or will run again.

    >>> sorted(alive({"1": "RUNNING", "2": "PENDING", "3": "COMPLETED", "4": "COMPLETING", "5": "NODE_FAIL"}))
    ['1', '2', '4']
    """
    return {job for job, state in found.items() if state not in ENDED}


def cancel(jobs: Iterable[str]) -> None:
    """Send the jobs SIGTERM, and SIGKILL after the cluster's KillWait; those that wait are taken out of the queue."""
    chosen = list(jobs)
    for start in range(0, len(chosen), 500):
        command = ["scancel", *chosen[start : start + 500]]
        subprocess.run(command, capture_output=True, check=False)


def largest_array() -> int:
    """How many tasks a job array may have here; 1000 where Slurm does not say."""
    with contextlib.suppress(OSError):
        done = subprocess.run(["scontrol", "show", "config"], capture_output=True, text=True, check=False)
        found = re.search(r"^MaxArraySize\s*=\s*(\d+)", done.stdout, re.MULTILINE)
        # The size is one more than the largest index. A cluster without arrays says 0.
        if found:
            return max(int(found[1]) - 1, 1)
    return 1000
