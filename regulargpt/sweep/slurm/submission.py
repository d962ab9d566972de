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

PROGRAMS = ("sbatch", "srun", "squeue", "scancel", "scontrol")


def check(resources: Mapping[str, Any]) -> None:
    """UserError in one line if such jobs cannot be submitted from here. Nothing is written or submitted."""
    if importlib.util.find_spec("submitit") is None:
        raise UserError("--engine slurm needs submitit; pip install 'regulargpt-testbed[slurm]'")
    for program in PROGRAMS:
        if shutil.which(program) is None:
            remedy = "log in to a machine that submits to Slurm, or choose --engine local"
            raise UserError(f"--engine slurm needs Slurm: no {program} on the PATH; {remedy}")
    command = ["sbatch", "--test-only", *flags(resources), "--wrap=true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise refused(done.stderr)


def flags(resources: Mapping[str, Any]) -> list[str]:
    """Options of sbatch.

    >>> flags({"time": 60, "cpus_per_task": 1})
    ['--time=60', '--cpus-per-task=1']
    """
    return [f"--{key.replace('_', '-')}={value}" for key, value in resources.items()]


def refused(stderr: str) -> UserError:
    """What sbatch said, in one line.

    >>> str(refused("sbatch: error: invalid partition specified: x\\nallocation failure: Invalid partition name"))
    'Slurm refuses these jobs: invalid partition specified: x; change the options of --engine slurm'
    """
    lines = [line.removeprefix("sbatch: error: ") for line in stderr.splitlines() if line.strip()]
    return UserError(f"Slurm refuses these jobs: {lines[0] if lines else 'no'}; change the options of --engine slurm")


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
