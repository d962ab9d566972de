"""A sweep as the terminal shows it: the list first, then a line for each run that ends, and a short table."""

from __future__ import annotations

import dataclasses
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from languages.errors import UserError
from regulargpt.cli.output import conclude, emit, say, table
from regulargpt.config.schema import flat
from regulargpt.objectives.measures import measure, said
from regulargpt.options import shown
from regulargpt.runs.exits import FAILED, STOPPED
from regulargpt.runs.sweep import driver
from regulargpt.runs.sweep.driver import Plan, SweepOutcome, SweepWatch
from regulargpt.runs.sweep.folder import State, SweepFolder
from regulargpt.storage import toml
from regulargpt.storage.folder import RunFolder
from regulargpt.training.given import Given, footnotes, given, marks

if TYPE_CHECKING:
    from regulargpt.config.schema import RunConfig
    from regulargpt.results.row import Key
    from regulargpt.runs.sweep.engine import Engine
    from regulargpt.runs.sweep.grid import Grid

SHOWN = 40
"""Lines of a list or table of a sweep that is being run; `--dry-run` and the files hold all."""
NAMED = ("data.name", "model.name", "model.gates", "recipe", "model.chunk_size", "seed")
"""What the name of a run says, and its line need not say again."""


def preview(grid: Grid, path: Path, as_json: bool) -> int:
    """What `--dry-run` prints."""
    plan = driver.plan(path, grid.configs)
    tell(grid)
    runs = [
        {"name": name, "state": state, "differs": differs}
        for (name, state), differs in zip(plan.items(), grid.differences(), strict=True)
    ]
    if as_json:
        emit({"sweep": str(path), "runs": runs, **counts(plan)})
    else:
        say("\n".join(listing(grid, path, plan, len(runs))))
    return 0


def tell(grid: Grid) -> None:
    """Say on stderr what was chosen so that the models of the sweep can be compared."""
    for line in grid.notices():
        say(line, err=True)


def counts(plan: Plan) -> dict[str, int]:
    """How many runs are in each state."""
    states = Counter(plan.values())
    return {state: states[state] for state in ("done", "missing", "failed")}


def listing(grid: Grid, path: Path, plan: Plan, most: int, err: bool = False) -> list[str]:
    """The runs, their states, what differs between them; then how many are in each state."""
    differences = [
        " ".join(f"{key}={shown(value)}" for key, value in row.items() if key not in NAMED)
        for row in grid.differences()
    ]
    rows = [(name, state, text) for (name, state), text in zip(plan.items(), differences, strict=True)]
    lines = [table(rows[:most], ("run", "state", "what differs"), err)]
    if len(rows) > most:
        lines.append(f"and {len(rows) - most} more; --dry-run lists all")
    return [*lines, f"{len(rows)} runs in {path}: {amounts(plan)}"]


def amounts(plan: Plan) -> str:
    """How many runs are in each state, in words.

    >>> amounts({"a": "done", "b": "missing", "c": "missing"})
    '1 done, 2 missing, 0 failed'
    """
    return ", ".join(f"{number} {state}" for state, number in counts(plan).items())


def conduct(grid: Grid, path: Path, engine: Callable[[list[RunConfig]], Engine], retry: bool, as_json: bool) -> int:
    """Run the sweep, print its table; the exit code."""
    # Refusals first, since asking for GPUs imports torch, which takes seconds.
    driver.plan(path, grid.configs)
    tell(grid)
    lines = StatusLines(grid, path)
    try:
        outcome = driver.sweep(
            path, grid.configs, engine(grid.configs), SweepWatch(lines.on_plan, lines.on_done), retry
        )
    finally:
        lines.close()
    folder = SweepFolder(path)
    conclude(as_object(folder, outcome), lambda: text(folder, outcome), path, as_json)
    return exit_code(outcome)


def exit_code(outcome: SweepOutcome) -> int:
    """The exit code of a sweep; where it was stopped, a line on stderr says so."""
    if outcome.missing:
        say(f"stopped by {outcome.stopped}; the same command goes on from there", err=True)
        return STOPPED
    return FAILED if outcome.failed else 0


class Ended:
    """Progress on stderr: a line a run that ended, and a bar below them where somebody watches."""

    def __init__(self, path: Path):
        self.path = path
        self.folder = SweepFolder(path)
        self.bar: Any = None
        self.ended, self.total = 0, 0

    def on_plan(self, folder: SweepFolder, plan: Plan) -> None:
        """The sweep begins."""
        self.announce(plan)
        self.total = counts(plan)["missing"]
        if self.total:
            from regulargpt.cli.progress import Bar

            self.bar = Bar(desc="sweep", unit="run", total=self.total)

    def announce(self, plan: Plan) -> None:
        """Say what is to be done."""
        say(f"{len(plan)} runs in {self.path}: {amounts(plan)}", err=True)

    def on_done(self, name: str, state: State) -> None:
        """A run has ended."""
        self.ended += 1
        line = f"[{self.ended}/{self.total}] {name}: {result(self.folder, name, state)}"
        if self.bar is None or not self.bar.is_watched:
            say(line, err=True)
        else:
            self.bar.write(line, file=sys.stderr)
        if self.bar is not None:
            self.bar.update()

    def close(self) -> None:
        """Leave the terminal tidy."""
        if self.bar is not None:
            self.bar.close()


class StatusLines(Ended):
    """Progress on stderr: the list first."""

    def __init__(self, grid: Grid, path: Path):
        super().__init__(path)
        self.grid = grid

    def announce(self, plan: Plan) -> None:
        """The list."""
        say("\n".join(listing(self.grid, self.path, plan, SHOWN, err=True)), err=True)


def result(folder: SweepFolder, name: str, state: State) -> str:
    """Score and seconds of a run that is done, the reason of one that failed."""
    if state != "done":
        return f"{state}: {folder.failure(name)['reason']}" if state == "failed" else state
    with suppress(UserError):
        summary = RunFolder(folder.run_path(name)).load_summary()
        return f"{said(measure(summary['measure']), summary['score'])} in {summary['train_seconds']:.1f} s"
    return "done, and its summary cannot be read"


def states_of(outcome: SweepOutcome) -> dict[str, State]:
    """The runs that failed, those that are missing, those that are done: what needs a look comes first."""
    by_state: list[tuple[State, tuple[str, ...]]] = [
        ("failed", outcome.failed),
        ("missing", outcome.missing),
        ("done", outcome.done),
    ]
    return {name: state for state, names in by_state for name in names}


def text(folder: SweepFolder, outcome: SweepOutcome) -> str:
    """The short table at the end of a sweep."""
    states = states_of(outcome)
    rows = [(name, result(folder, name, state)) for name, state in list(states.items())[:SHOWN]]
    letters, notes = conditions(folder, [name for name, _ in rows])
    had = {name: given_to(folder, name) for name, _ in rows}
    header = ("run", "score", *["conditions"] * bool(notes))
    marked = [(name, f"{score}{marks([had[name]])}", letters.get((name,), "")) for name, score in rows]
    lines = [table([row[: len(header)] for row in marked], header), *footnotes(had.values()), *notes]
    if len(states) > SHOWN:
        lines.append(f"and {len(states) - SHOWN} more")
    where = f"; `regulargpt results {folder.path}` has the tables" if not outcome.missing else ""
    return "\n".join([*lines, f"{len(states)} runs in {folder.path}: {amounts(states)}{where}"])


def given_to(folder: SweepFolder, name: str) -> Given | None:
    """What a run that is done was given beside the answers to its batches."""
    run = RunFolder(folder.run_path(name))
    with suppress(UserError):
        return given(flat(toml.parse(run.config_text)), run.load_summary().get("phases"))
    return None


def conditions(folder: SweepFolder, names: Sequence[str]) -> tuple[dict[Key, str], tuple[str, ...]]:
    """A letter for each run whose words or supervision are not those of all runs on its language; what they mean."""
    from regulargpt.results import beside, columns
    from regulargpt.results.read import flat
    from regulargpt.results.row import DONE, RunRow

    by_run: dict[Key, list[RunRow]] = {}
    for name in names:
        with suppress(UserError):
            config = flat(toml.parse(RunFolder(folder.run_path(name)).config_text))
            by_run[(name,)] = [RunRow(name, DONE, config=config)]
    known = columns.known(row for rows in by_run.values() for row in rows)
    return beside.conditions(by_run, {key: name for name, key in known.items()})


def as_object(folder: SweepFolder, outcome: SweepOutcome) -> dict[str, Any]:
    """What `--json` prints."""
    scores: dict[str, float | None] = {}
    measures: dict[str, str] = {}
    for name in outcome.done:
        with suppress(UserError):
            summary = RunFolder(folder.run_path(name)).load_summary()
            scores[name], measures[name] = summary["score"], summary["measure"]
    return {
        "sweep": str(folder.path),
        "score": scores,
        "measure": measures,
        "given": {name: had and dataclasses.asdict(had) for name in outcome.done for had in [given_to(folder, name)]},
        "done": len(outcome.done),
        "missing": len(outcome.missing),
        "failed": len(outcome.failed),
        "failures": [folder.failure(name) for name in outcome.failed],
        "results": str(folder.path / "results.csv") if not outcome.missing else None,
    }
