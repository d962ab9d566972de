"""A sweep as job arrays of Slurm: submitted, watched, reported, cancelled, from each driver to the next."""

from __future__ import annotations

import importlib.util
import io
import math
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from typing import Any

from languages.errors import UserError
from regulargpt.runs.sweep.folder import State, SweepFolder
from regulargpt.runs.sweep.slurm import queue
from regulargpt.storage import atomic
from regulargpt.storage.manifest import digest
from regulargpt.storage.signals import StopRequested

FOLDER, JOBS = "slurm", "jobs.json"
MINUTES, REQUEUES = 60, 100
"""The time of a job, and how often it goes on in a new slice of time."""
ARRAY = 1000
"""Jobs of one array: Slurm's default."""
# Reasons for which jobs wait, and then run.
ORDINARY = {"None", "Priority", "Resources", "BeginTime", "JobArrayTaskLimit", "Cleaning", "Prolog"}


@dataclass(frozen=True)
class SlurmEngine:
    """Runs a sweep on a Slurm cluster, one job a run, `at_once` of them at once.

    `options` are those of sbatch, with underscores: partition, time (minutes), mem, gpus_per_node. A job has as many
    cores as the runs have threads, unless they say otherwise. One that runs out of time saves its run and goes on in a
    new slice. One that dies is a failure of its run.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    at_once: int = 256
    on_notice: Callable[[str], None] = lambda text: None
    """Called with one line that somebody may have to do something about."""
    poll_seconds: float = 10.0
    """The longest time until Slurm is queried again; of a young sweep it is queried more often."""
    settle_seconds: float = 60.0
    """How long after a job's end a shared file system may take to show its files."""

    def check(self) -> None:
        """UserError in a line if such jobs cannot be submitted from here. Nothing is written or submitted."""
        if importlib.util.find_spec("submitit") is None:
            raise UserError("--engine slurm needs submitit; pip install 'regulargpt-testbed[slurm]'")
        if shutil.which("sbatch") is None:
            raise UserError("--engine slurm needs Slurm: no sbatch on the PATH; log in to a machine that has it")
        options = (f"--{key.replace('_', '-')}={value}" for key, value in self.options.items())
        done = queue.run("sbatch", "--test-only", *options, "--wrap=true")
        if done.returncode:
            raise refusal(done.stderr)

    def execute(
        self, folder: SweepFolder, names: Sequence[str], on_done: Callable[[str, State], None], stop: StopRequested
    ) -> None:
        """Bring all runs to "done" or "failed"; on a stop cancel their jobs, which save their runs."""
        jobs = Jobs(self, folder)
        jobs.adopt(names)
        jobs.submit([name for name in names if name not in jobs.of_run])
        began = time.monotonic()
        while jobs.of_run:
            now = time.monotonic()
            while not stop and time.monotonic() < now + min(self.poll_seconds, 0.5 + (now - began) / 20):
                time.sleep(0.05)
            if stop:
                return jobs.end(set(jobs.of_run.values()))
            for name, state in jobs.ended():
                on_done(name, state)


class Jobs:
    """The jobs of a sweep: `of_run` has the numbers of those that are waited for, `record` the last of each run."""

    def __init__(self, engine: SlurmEngine, folder: SweepFolder):
        self.engine, self.folder, self.path = engine, folder, folder.path.resolve() / FOLDER
        # The name of all of them in Slurm: whoever drives the same folder finds them by it, also an array whose numbers
        # the former driver was killed before writing; and never another's job of an old number.
        self.title = f"regulargpt-{digest(bytes(self.path))[:16]}"
        file = self.path / JOBS
        self.record = atomic.parse_json(atomic.read_bytes(file), file) if file.exists() else {}
        self.of_run: dict[str, str] = {}
        self.dead_since: dict[str, float] = {}
        self.noticed: set[str] = set()

    def adopt(self, names: Sequence[str]) -> None:
        """Take over the jobs of a driver that was killed; cancel those that it had no time to write down."""
        # However long Slurm takes to answer: a run that is submitted a second time would be at work twice.
        while (jobs := queue.jobs("-n", self.title)) is None:
            time.sleep(self.engine.poll_seconds)
        alive, former = queue.alive(jobs), {name: str(job) for name, job in self.record.items()}
        self.of_run = {name: former[name] for name in names if former.get(name) in alive}
        self.end(alive - set(former.values()))

    def submit(self, names: Sequence[str]) -> None:
        """Job arrays over the names, each written down as soon as Slurm has it."""
        atomic.make_folder(self.path)
        threads = max((self.folder.config(name).threads for name in names), default=1)
        for start in range(0, len(names), ARRAY):
            some = names[start : start + ARRAY]
            self.of_run |= dict(zip(some, self.submit_array(some, threads), strict=True))
            self.record |= self.of_run
            atomic.write_json(self.path / JOBS, self.record)

    def submit_array(self, names: Sequence[str], threads: int) -> list[str]:
        """One job array; the number of each run's job. UserError if Slurm refuses."""
        from submitit import SlurmExecutor
        from submitit.core.utils import FailedJobError
        from submitit.helpers import clean_env

        from regulargpt.runs.sweep.slurm.attempt import Attempt

        # Of a driver that is a job itself: its own resources are none of its jobs' business, its cluster is.
        cluster = {key: value for key, value in os.environ.items() if key == "SLURM_CONF"}
        # submitit also prints what it raises.
        with clean_env(), redirect_stderr(io.StringIO()):
            os.environ.update(cluster)
            executor = SlurmExecutor(self.path, max_num_timeout=REQUEUES)
            executor.update_parameters(
                job_name=self.title,
                array_parallelism=self.engine.at_once,
                # Also where the cluster's default is to let go preempted jobs and those of a lost node.
                additional_parameters={"requeue": True},
                **{"time": MINUTES, "cpus_per_task": threads, **self.engine.options},
            )
            try:
                return [job.job_id for job in executor.map_array(Attempt(str(self.path.parent)), names)]
            except FailedJobError as error:
                raise refusal(str(error)) from error

    def ended(self) -> list[tuple[str, State]]:
        """The runs that have come to an end since the last call, and their states; waited for no more."""
        # Slurm is asked before the folder: a job that has ended by then has written what it ever will.
        jobs, now = queue.jobs("-n", self.title), time.monotonic()
        states: dict[str, State] = {name: self.folder.state(name) for name in self.of_run}
        if jobs is not None:
            self.notice(jobs)
            missing = {name: job for name, job in self.of_run.items() if states[name] == "missing"}
            # Only those: a job that ended and was requeued since begins anew.
            self.dead_since = {job: self.dead_since.get(job, now) for job in set(missing.values()) - queue.alive(jobs)}
            for name, job in missing.items():
                if now - self.dead_since.get(job, math.inf) >= self.engine.settle_seconds:
                    self.record_death(name, job, jobs)
                    states[name] = "failed"
        self.of_run = {name: job for name, job in self.of_run.items() if states[name] == "missing"}
        return [(name, state) for name, state in states.items() if state != "missing"]

    def notice(self, jobs: Mapping[str, queue.Job]) -> None:
        """Pass on, once each, reasons to wait for which Slurm may never start a job, while none runs."""
        if all(job.state != "RUNNING" for job in jobs.values()):
            reasons = {job.reason for job in jobs.values() if job.state == "PENDING"} - ORDINARY - self.noticed
            for reason in sorted(reasons):
                self.engine.on_notice(f"no job of the sweep runs, Slurm says: {reason}")
            self.noticed |= reasons

    def record_death(self, name: str, job: str, jobs: Mapping[str, queue.Job]) -> None:
        """Record that a run has failed, whose job has died."""
        # Of an array that was cancelled before it began Slurm keeps only its own number.
        known, path = jobs.get(job) or jobs.get(job.partition("_")[0]), self.path / f"{job}_0_log.err"
        ending, log = known.state if known else "unknown", path.read_text(errors="replace") if path.exists() else ""
        reason = f"Slurm job {job} ended as {ending}; see {FOLDER}/{path.name}"
        self.folder.record_failure(name, reason, "memory" if ending == "OUT_OF_MEMORY" else "crashed", log)

    def end(self, jobs: set[str]) -> None:
        """Cancel jobs, and wait until none runs; if Slurm is silent they go on, and the next driver adopts them."""
        while jobs and (running := queue.jobs("-n", self.title)) is not None:
            jobs = jobs & queue.alive(running)
            # Again and again: a job may have asked to be requeued at the same moment.
            queue.cancel(jobs)
            time.sleep(min(1.0, self.engine.poll_seconds))


def refusal(stderr: str) -> UserError:
    """What sbatch said, in a line.

    >>> str(refusal("sbatch: error: invalid partition specified: x\\nallocation failure: Invalid partition name"))
    'Slurm says: invalid partition specified: x; change the options of --engine slurm, or the machine'
    """
    first = next(filter(None, map(str.strip, stderr.splitlines())), "nothing").removeprefix("sbatch: error: ")
    return UserError(f"Slurm says: {first}; change the options of --engine slurm, or the machine")
