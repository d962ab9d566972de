"""Job arrays of Slurm, submitted by submitit; the one file that knows it besides `attempt`."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from languages.errors import UserError
from regulargpt.sweep.slurm.attempt import Attempt

PROGRAMS = ("sbatch", "srun", "squeue", "scancel", "scontrol", "sinfo")
ELSEWHERE = "log in to a machine that submits to Slurm, or choose --engine local"


def check(resources: Mapping[str, Any]) -> None:
    """UserError in one line if such jobs cannot be submitted from here. Nothing is written or submitted."""
    if importlib.util.find_spec("submitit") is None:
        raise UserError("--engine slurm needs submitit; pip install 'regulargpt-testbed[slurm]'")
    for program in PROGRAMS:
        if shutil.which(program) is None:
            raise UserError(f"--engine slurm needs Slurm: no {program} on the PATH; {ELSEWHERE}")
    done = run("sbatch", "--test-only", *flags(resources), "--wrap=true")
    if done.returncode:
        raise refused(done.stderr)
    # Slurm takes such jobs, and never starts them.
    refuse_longer(resources["time"], run("sinfo", "-h", "-o", "%P %l", *flags(resources, "partition")).stdout)


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """A command that has ended."""
    return subprocess.run(command, capture_output=True, text=True, check=False)


def flags(resources: Mapping[str, Any], *only: str) -> list[str]:
    """Options of Slurm's commands.

    >>> flags({"time": 60, "cpus_per_task": 1}), flags({"time": 60}, "partition")
    (['--time=60', '--cpus-per-task=1'], [])
    """
    chosen = {key: value for key, value in resources.items() if not only or key in only}
    return [f"--{key.replace('_', '-')}={value}" for key, value in chosen.items()]


def refused(stderr: str) -> UserError:
    """What sbatch said, in one line.

    >>> str(refused("sbatch: error: invalid partition specified: x\\nallocation failure: Invalid partition name"))
    'Slurm refuses these jobs: invalid partition specified: x; change the options of --engine slurm'
    """
    lines = [line.strip() for line in stderr.splitlines() if line.strip()] or ["no reason given"]
    silent = [line for line in lines if "fatal: " in line or "Unable to contact" in line]
    if silent:
        return UserError(f"Slurm does not answer: {silent[0].rpartition(': ')[2]}; {ELSEWHERE}")
    return UserError(
        f"Slurm refuses these jobs: {lines[0].removeprefix('sbatch: error: ')}; change the options of --engine slurm"
    )


def refuse_longer(minutes: int, partitions: str) -> None:
    """Raise UserError if the partition has shorter jobs only: of several, the default one, which sinfo marks.

    >>> refuse_longer(60, "long infinite\\nshort* 30:00\\n")
    Traceback (most recent call last):
    languages.errors.UserError: --minutes 60: jobs of the partition short have at most 30; a run goes on in the next
    """
    limits = dict(line.split()[:2] for line in partitions.splitlines() if len(line.split()) > 1)
    chosen = [name for name in limits if name.endswith("*") or len(limits) == 1]
    for name in chosen:
        most = minutes_of(limits[name])
        if most is not None and minutes > most:
            place = f"jobs of the partition {name.rstrip('*')} have at most {most}"
            raise UserError(f"--minutes {minutes}: {place}; a run goes on in the next")


def minutes_of(limit: str) -> int | None:
    """Minutes of a time limit as sinfo writes it; None if there is none.

    >>> [minutes_of(text) for text in ("30:00", "1:30:00", "2-00:00:00", "infinite")]
    [30, 90, 2880, None]
    """
    days, _, time = limit.rpartition("-")
    parts = time.split(":")
    if not all(part.isdecimal() for part in (days or "0", *parts)) or len(parts) not in (2, 3):
        return None
    hours, minutes = [0, *map(int, parts[:-1])][-2:]
    return (int(days or 0) * 24 + hours) * 60 + minutes


def submit_array(
    path: Path, attempts: Sequence[Attempt], title: str, resources: Mapping[str, Any], at_once: int, slices: int
) -> list[str]:
    """One job array; the number of each attempt's job. submitit's files go to `path`.

    Raises UserError if Slurm refuses.
    """
    from submitit import SlurmExecutor
    from submitit.core.utils import FailedJobError
    from submitit.helpers import clean_env

    # Of a driver that is a job itself: its own resources are none of its jobs' business, its cluster is.
    conf = {key: value for key, value in os.environ.items() if key == "SLURM_CONF"}
    # submitit repeats there what it raises.
    with clean_env(), contextlib.redirect_stderr(io.StringIO()):
        os.environ.update(conf)
        executor = SlurmExecutor(path, max_num_timeout=slices)
        executor.update_parameters(
            job_name=title,
            array_parallelism=at_once,
            # Also where the cluster's default is to let go preempted jobs and those of a lost node.
            additional_parameters={"requeue": True},
            **resources,
        )
        try:
            return [job.job_id for job in executor.submit_array(attempts)]
        except FailedJobError as error:
            raise refused(str(error)) from error
