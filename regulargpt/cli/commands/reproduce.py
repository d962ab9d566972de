"""`regulargpt reproduce NAME`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from languages.errors import UserError
from regulargpt.cli.engines import choose_engine, engine_options, given
from regulargpt.cli.output import emit, printed, say, table
from regulargpt.cli.types import PATH, WholeRange
from regulargpt.runs.exits import FAILED, STOPPED

if TYPE_CHECKING:
    from regulargpt.config.schema import RunConfig
    from regulargpt.runs.sweep.engine import Engine

SCALES = ("smoke", "cpu", "full")


@click.command()
@click.argument("name")
@click.option(
    "--scale",
    type=click.Choice(SCALES),
    default="cpu",
    show_default=True,
    help="smoke: does it run? cpu: two cores, hours. full: as published.",
)
@click.option(
    "--only", metavar="ROW,...", help="Only these rows of the table, or ROW/COLUMN; with --model, these tasks."
)
@click.option("--model", type=PATH, help="Of table-5.4: ask a T5 checkpoint on disk, hf:PATH.")
@click.option(
    "--samples", type=WholeRange(min=1), help="With --model: prompts a column.  [default: 2, 20 or 100 by scale]"
)
@click.option(
    "--out",
    type=PATH,
    help="Folder of runs and pages.  [default: reproduced/SCALE; with --model reproduced/checkpoints]",
)
@click.option(
    "--earlier", type=PATH, metavar="DIR", help="Count in the runs of a page in another folder; they are not run again."
)
@engine_options
@click.option("--page-only", is_flag=True, help="Write the page again from what is there; run nothing.")
@printed
def command(
    name: str,
    scale: str,
    only: str | None,
    model: Path | None,
    samples: int | None,
    out: Path | None,
    earlier: Path | None,
    retry: bool,
    dry_run: bool,
    page_only: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Run everything behind a published table or figure, and write a page: published, ours, and what differs.

    NAME is one of `regulargpt list experiments`. The same command goes on where it was stopped.

    table-5.4 takes a checkpoint with --model: nothing is trained, the checkpoint is asked in English.
    """
    registry = import_module("experiments.registry")
    rows = () if only is None else tuple(dict.fromkeys(row.strip() for row in only.split(",")))
    if page_only and (dry_run or retry or only):
        raise UserError("--page-only runs nothing and shows all that is there; leave --dry-run, --retry and --only out")
    if model is not None:
        checkpoint = registry.of_checkpoints(name)
        for flag in [*["--retry"] * retry, *["--earlier"] * (earlier is not None), *given(options)]:
            raise UserError(f"{flag} is for trainings, and with --model there are none; leave it out")
        return of_checkpoint(checkpoint.session(model, scale, rows, samples, out), dry_run, page_only, as_json)
    if samples is not None:
        raise UserError(f"--samples {samples} is for --model; leave it out, or add that")
    experiment = registry.experiment(name)
    configs = missing_from(earlier, experiment, scale, experiment.all_configs(scale, rows))
    engine = choose_engine(options)
    folder = out or Path("reproduced") / scale
    if dry_run:
        return preview(configs, folder, as_json)
    if page_only:
        return page_again(experiment, scale, folder, earlier, as_json)
    return conduct(experiment, scale, configs, folder, earlier, engine, retry, as_json)


def missing_from(earlier: Path | None, experiment: Any, scale: str, configs: list[RunConfig]) -> list[RunConfig]:
    """The configs without those whose results are in the table of the folder `earlier`."""
    if earlier is None:
        return configs
    from regulargpt.runs.sweep.names import name_of

    recorded = import_module("experiments.recorded")
    known = recorded.names(recorded.earlier(earlier, experiment, scale))
    return [config for config in configs if name_of(config) not in known]


def preview(configs: Sequence[RunConfig], folder: Path, as_json: bool) -> int:
    """What `--dry-run` prints."""
    from regulargpt.cli.sweeping import amounts, counts
    from regulargpt.runs.sweep import driver

    plan = driver.plan(folder, configs)
    if as_json:
        emit({"out": str(folder), "runs": [{"name": n, "state": s} for n, s in plan.items()], **counts(plan)})
    else:
        say(table(list(plan.items()), ("run", "state")))
        say(f"{len(plan)} runs in {folder}: {amounts(plan)}")
    return 0


def conduct(
    experiment: Any,
    scale: str,
    configs: list[RunConfig],
    folder: Path,
    earlier: Path | None,
    engine: Callable[[list[RunConfig]], Engine],
    retry: bool,
    as_json: bool,
) -> int:
    """Run what is missing, write the page whatever came of it; the exit code."""
    from regulargpt.cli.sweeping import Ended, exit_code
    from regulargpt.runs.sweep import driver

    # Refusals first: asking for GPUs imports torch.
    driver.plan(folder, configs)
    workers = engine(configs)
    reproduction = import_module("experiments.reproduction")
    progress, started = Ended(folder), time.monotonic()
    try:
        outcome = driver.sweep(folder, configs, workers, driver.SweepWatch(progress.on_plan, progress.on_done), retry)
    finally:
        progress.close()
    reproduction.add_session(folder, experiment, scale, time.monotonic() - started)
    print_result(reproduction.write_page(folder, experiment, scale, notice, earlier), as_json)
    return exit_code(outcome)


def page_again(experiment: Any, scale: str, folder: Path, earlier: Path | None, as_json: bool) -> int:
    """Write the page from what is there; the exit code says whether all of it is."""
    result = import_module("experiments.reproduction").write_page(folder, experiment, scale, notice, earlier)
    print_result(result, as_json)
    return FAILED if result["failed"] else STOPPED if result["missing"] else 0


def of_checkpoint(session: Any, dry_run: bool, page_only: bool, as_json: bool) -> int:
    """Ask a checkpoint for what is missing, and write the page; the exit code."""
    if dry_run:
        states = session.states
        if as_json:
            emit({"out": str(session.store.place), "columns": [{"name": n, "state": s} for n, s in states.items()]})
        else:
            say(table(list(states.items()), ("column", "state")))
            say(f"{len(states)} columns in {session.store.place}: {list(states.values()).count('missing')} missing")
        return 0
    stopped = "" if page_only else session.ask(lambda text: say(f"asking {text}", err=True))
    result = session.page()
    print_result(result, as_json)
    if stopped:
        say(f"stopped by {stopped}; the same command goes on from there", err=True)
    return STOPPED if stopped or (page_only and result["missing"]) else 0


def notice(text: str) -> None:
    """Tell what is tested, which may take long."""
    say(f"testing {text}", err=True)


def print_result(result: dict[str, Any], as_json: bool) -> None:
    """Print the claims and the cells of scores, and where the page is."""
    if as_json:
        emit(result)
        return
    if claims := result["claims"]:
        rows = [(claim["sentence"], claim["answer"], claim["figure"] or "-") for claim in claims]
        say(table(rows, ("claim", "here", "figure")))
    if cells := [line_of(cell) for cell in result.get("cells", ()) if cell["runs"]]:
        say(table(cells, ("row", "column", "published", "ours", "difference", "done")))
    for failure in result["failed"]:
        say(f"failed: {failure['run']}: {failure['reason']}")
    click.echo(f"{result['page']}")


def line_of(cell: dict[str, Any]) -> tuple[str, ...]:
    """The line of a cell of scores."""
    lines = [(line.kind, line.text) for line in import_module("experiments.cells").lines(cell)]
    texts = {kind: [text for of, text in lines if of == kind] for kind in ("published", "ours", "difference", "state")}
    done = ", ".join([f"{cell['done']} of {cell['runs']}", *texts.pop("state")])
    return cell["row"], cell["title"], *(" ".join(of) or "-" for of in texts.values()), done
