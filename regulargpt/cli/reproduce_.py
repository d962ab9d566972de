"""`regulargpt reproduce NAME`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from languages.errors import UserError
from regulargpt.cli.output import as_json, emit, table
from regulargpt.exits import FAILED, STOPPED

if TYPE_CHECKING:
    from regulargpt.sweep.driver import Plan
    from regulargpt.sweep.engine import Engine
    from regulargpt.sweep.folder import State, SweepFolder

SCALES = ("smoke", "cpu", "full")
ENGINES = ("local", "slurm")


@click.command()
@click.argument("name")
@click.option(
    "--scale",
    type=click.Choice(SCALES),
    default="cpu",
    show_default=True,
    help="smoke: does it run? cpu: two cores, hours. full: as published.",
)
@click.option("--only", metavar="ROW,...", help="Only these rows of the table.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder of runs and pages.  [default: reproduced/SCALE]")
@click.option("--engine", type=click.Choice(ENGINES), default="local", show_default=True, help="What runs the runs.")
@click.option("--jobs", type=click.IntRange(min=1), help="Runs at once.  [default: as many as cores, or GPUs]")
@click.option("--per-gpu", type=click.IntRange(min=1), default=1, show_default=True, help="Runs at once on one GPU.")
@click.option("--retry", is_flag=True, help="Run those again that failed.")
@click.option("--dry-run", is_flag=True, help="Print the runs and how far they are; write nothing.")
@click.option("--page-only", is_flag=True, help="Write the page again from what is there; run nothing.")
@as_json
def command(
    name: str,
    scale: str,
    only: str | None,
    out: Path | None,
    engine: str,
    jobs: int | None,
    per_gpu: int,
    retry: bool,
    dry_run: bool,
    page_only: bool,
    as_json: bool,
) -> int:
    """Run everything behind a published table or figure, and write a page: published, ours, and what differs.

    NAME is one of `regulargpt list experiments`. The same command goes on where it was stopped.
    """
    experiment = import_module("experiments.registry").experiment(name)
    rows = () if only is None else tuple(dict.fromkeys(row.strip() for row in only.split(",")))
    configs = experiment.all_configs(scale, rows)
    folder = out or Path("reproduced") / scale
    if page_only and (dry_run or retry or only):
        raise UserError("--page-only runs nothing and shows all that is there; leave --dry-run, --retry and --only out")
    if dry_run:
        return preview(configs, folder, as_json)
    if page_only:
        return told(import_module("experiments.reproduction").write_page(folder, experiment, scale), folder, as_json)
    return conduct(experiment, scale, configs, folder, made(engine, configs, folder, jobs, per_gpu), retry, as_json)


def preview(configs: Sequence[Any], folder: Path, as_json: bool) -> int:
    """What `--dry-run` prints."""
    from regulargpt.cli.sweeping import amounts, counts
    from regulargpt.sweep import driver

    plan = driver.plan(folder, configs)
    if as_json:
        runs = [{"name": name, "state": state} for name, state in plan.items()]
        emit({"out": str(folder), "runs": runs, **counts(plan)})
    else:
        click.echo(table(list(plan.items()), ("run", "state")))
        click.echo(f"{len(plan)} runs in {folder}: {amounts(plan)}")
    return 0
