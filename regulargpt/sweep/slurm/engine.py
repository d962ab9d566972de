"""A sweep as job arrays of Slurm: what each job is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from languages.errors import UserError
from regulargpt.sweep.slurm import submission
from regulargpt.sweep.slurm.driving import Driving

if TYPE_CHECKING:
    from regulargpt.storage.signals import StopRequested
    from regulargpt.sweep.folder import State, SweepFolder

SHORTEST = 5
"""Minutes of a job: it is warned 90 seconds before its end, and starting takes time too."""


@dataclass(frozen=True)
class SlurmEngine:
    """Runs a sweep on a Slurm cluster, one job a run.

    `jobs`: how many at once; `minutes`, `memory_gb`, `cpus`, `gpus`: what each is given. None is the cluster's default;
    of `cpus`, as many as the runs have threads. A job that runs out of time saves its run and goes on in a new slice of
    time, at most `slices` times.
    """

    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    jobs: int = 256
    minutes: int = 60
    memory_gb: float | None = None
    cpus: int | None = None
    gpus: int = 0
    slices: int = 100
    on_notice: Callable[[str], None] = lambda text: None
    """Told what somebody may have to do something about, in one line."""
    poll_seconds: float = 10.0
    """The longest time until Slurm is asked again; of a young sweep it is asked more often."""
    settle_seconds: float = 60.0
    """How long after a job's end a shared file system may take to show its files."""

    def __post_init__(self) -> None:
        for name, least in (("jobs", 1), ("minutes", SHORTEST), ("cpus", 1), ("gpus", 0), ("slices", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise UserError(f"{name} = {value}; at least {least}")
        if self.memory_gb is not None and not self.memory_gb > 0:
            raise UserError(f"memory_gb = {self.memory_gb}; more than 0")

    def check(self) -> None:
        """UserError in one line if such jobs cannot be submitted from here. Nothing is written or submitted."""
        submission.check(self.resources())

    def resources(self, threads: int = 1) -> dict[str, Any]:
        """What the job of a run with so many threads asks for, by the names of sbatch's options.

        >>> SlurmEngine(partition="gpu", gpus=1, memory_gb=1.5).resources(threads=2)
        {'time': 60, 'cpus_per_task': 2, 'partition': 'gpu', 'gpus_per_node': 1, 'mem': '1536M'}
        """
        optional = {
            "partition": self.partition,
            "account": self.account,
            "qos": self.qos,
            "gpus_per_node": self.gpus or None,
            "mem": None if self.memory_gb is None else f"{round(1024 * self.memory_gb)}M",
        }
        given = {key: value for key, value in optional.items() if value is not None}
        return {"time": self.minutes, "cpus_per_task": self.cpus or threads, **given}

    def execute(
        self, folder: SweepFolder, names: Sequence[str], on_done: Callable[[str, State], None], stop: StopRequested
    ) -> None:
        """Bring all runs to "done" or "failed"; on a stop cancel their jobs, which save their runs."""
        driving = Driving(self, folder, on_done)
        driving.adopt(names)
        driving.submit([name for name in names if name not in driving.jobs])
        while driving.jobs:
            if driving.pause(stop):
                return driving.cancel()
            driving.poll()
