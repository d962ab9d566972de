"""Where the runs of a sweep are run: the options of `sweep` that say so, and the engine that they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from languages.errors import UserError
from regulargpt.cli.output import say
from regulargpt.cli.types import FiniteRange, WholeRange

if TYPE_CHECKING:
    from regulargpt.config.schema import RunConfig
    from regulargpt.runs.sweep.engine import Engine

MINUTES, AT_ONCE = 60, 256
# Option of the command line: option of sbatch, values, text.
SLURM: dict[str, tuple[str, Any, str]] = {
    "--partition": ("partition", str, "Slurm: partition.  [default: the cluster's]"),
    "--account": ("account", str, "Slurm: account.  [default: yours]"),
    "--qos": ("qos", str, "Slurm: quality of service."),
    # A job is warned 90 seconds before its end, and starting takes time too.
    "--minutes": ("time", WholeRange(min=5), f"Slurm: a job's time, then the next.  [default: {MINUTES}]"),
    "--memory": ("mem", FiniteRange(0, min_open=True), "Slurm: GB a job.  [default: the cluster's]"),
    "--cpus": ("cpus_per_task", WholeRange(min=1), "Slurm: cores a job.  [default: as many as threads]"),
    "--gpus": ("gpus_per_node", WholeRange(min=0), "Slurm: GPUs a job.  [default: 0]"),
}


def engine_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --engine, the options of each, --retry and --dry-run."""
    dry_run = click.option("--dry-run", is_flag=True, help="Print the runs and how far they are; write nothing.")
    function = click.option("--retry", is_flag=True, help="Run those again that failed.")(dry_run(function))
    for option, (key, values, text) in reversed(SLURM.items()):
        function = click.option(option, f"slurm_{key}", type=values, help=text)(function)
    jobs = f"Runs at once.  [default: as many as cores, or GPUs; on Slurm {AT_ONCE}]"
    per_gpu = click.option("--per-gpu", type=WholeRange(min=1), help="Runs at once on one GPU.  [default: 1]")
    function = click.option("--jobs", type=WholeRange(min=1), help=jobs)(per_gpu(function))
    engine = click.option("--engine", type=click.Choice(["local", "slurm"]), default="local", show_default=True)
    return engine(function)


def choose_engine(options: Mapping[str, Any]) -> Callable[[list[RunConfig]], Engine]:
    """What makes the engine of some configs; UserError at once for an option of the other engine."""
    given = {key.removeprefix("slurm_"): value for key, value in options.items() if value is not None}
    name, jobs, per_gpu = given.pop("engine"), given.pop("jobs", None), given.pop("per_gpu", None)
    if name == "slurm":
        if per_gpu is not None:
            raise UserError("--per-gpu is for --engine local; on Slurm a job is one run, with --gpus of its own")
        return lambda configs: slurm_engine(given, jobs or AT_ONCE)
    for option, (key, _, _) in SLURM.items():
        if key in given:
            raise UserError(f"{option} is for --engine slurm; leave it out, or add that")
    return lambda configs: local_engine(configs, jobs, per_gpu or 1)


def given(options: Mapping[str, Any]) -> list[str]:
    """The options about engines that were given, as they are typed.

    >>> given({"engine": "local", "jobs": 2, "per_gpu": None, "slurm_time": 60})
    ['--jobs', '--minutes']
    """
    typed = {f"slurm_{key}": option for option, (key, _, _) in SLURM.items()}
    return [
        typed.get(key, f"--{key.replace('_', '-')}")
        for key, value in options.items()
        if value is not None and (key, value) != ("engine", "local")
    ]


def local_engine(configs: list[RunConfig], jobs: int | None, per_gpu: int) -> Engine:
    """This machine, with the GPUs that the runs may use."""
    from regulargpt.runs.sweep.gpus import gpus_for
    from regulargpt.runs.sweep.local import LocalEngine

    return LocalEngine(jobs, gpus_for(configs), per_gpu)


def slurm_engine(given: Mapping[str, Any], at_once: int) -> Engine:
    """A cluster."""
    from regulargpt.runs.sweep.slurm.engine import SlurmEngine

    options = {key: value for key, value in given.items() if value}
    if "mem" in options:
        # Slurm's numbers are whole.
        options["mem"] = f"{round(1024 * options['mem'])}M"
    return SlurmEngine(options, at_once, lambda text: say(f"note: {text}", err=True))
