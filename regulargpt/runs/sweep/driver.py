"""A sweep from its configs to its table: `regulargpt sweep`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import languages
from languages.errors import UserError, shown
from regulargpt.config.recipes import CONSTRUCTED
from regulargpt.config.schema import ConfigError, RunConfig
from regulargpt.config.validation import validate
from regulargpt.data import is_language
from regulargpt.runs import keep
from regulargpt.runs.exits import FAILED, STOPPED
from regulargpt.runs.sweep.engine import Engine
from regulargpt.runs.sweep.folder import State, SweepFolder, is_sweep, refuse_other
from regulargpt.runs.sweep.names import name_of
from regulargpt.storage import manifest
from regulargpt.storage.atomic import at_work
from regulargpt.storage.folder import RunFolder
from regulargpt.storage.signals import StopRequested

Plan = Mapping[str, State]


@dataclass(frozen=True)
class SweepWatch:
    """What a sweep tells its caller: the states before it begins, and each run that ends."""

    on_plan: Callable[[SweepFolder, Plan], None] = lambda folder, plan: None
    on_done: Callable[[str, State], None] = lambda name, state: None


@dataclass(frozen=True)
class SweepOutcome:
    """What became of the runs requested, by their names; `stopped` names the signal that ended the sweep, if any."""

    done: tuple[str, ...]
    failed: tuple[str, ...]
    missing: tuple[str, ...]
    stopped: str = ""

    @property
    def exit_code(self) -> int:
        """That of a process that asked for the runs and nothing else."""
        return STOPPED if self.missing else FAILED if self.failed else 0


def sweep(
    path: str | Path,
    configs: Iterable[RunConfig],
    engine: Engine,
    watch: SweepWatch = SweepWatch(),
    retry: bool = False,
) -> SweepOutcome:
    """Bring the runs of these configs in the folder `path` to their ends, and write its table.

    Exactly the missing runs are run; with `retry`, also those that failed. A folder that holds other runs keeps them.
    Raises UserError before anything is written if a config cannot be run or the engine not from here, LockedError if
    another driver is at work.
    """
    wanted = {name_of(config): config for config in configs}
    # All refusals come before the first write.
    check(wanted.values())
    engine.check()
    refuse_edited(SweepFolder(Path(path)), wanted)
    folder = SweepFolder.create(path)
    with at_work(), folder.locked(), StopRequested() as stop:
        folder.add(wanted)
        if retry:
            folder.forget_failures(name for name in wanted if folder.state(name) == "failed")
        # Before the states are taken: a damaged run counts as failed, in the plan and in the table.
        find_damage(folder, wanted)
        states: Plan = {name: folder.state(name) for name in wanted}
        watch.on_plan(folder, states)
        missing = [name for name, state in states.items() if state == "missing"]
        engine.execute(folder, missing, watch.on_done, stop)
        result = outcome(folder, wanted, stop.name)
        # A table with runs missing would look like a finished sweep.
        if not result.missing:
            write_results(folder.path)
        return result


def plan(path: str | Path, configs: Iterable[RunConfig]) -> Plan:
    """The states of the runs that `sweep` would go through, without writing anything; raises what it would."""
    wanted = {name_of(config): config for config in configs}
    check(wanted.values())
    refuse_other(Path(path))
    folder = SweepFolder(Path(path))
    refuse_edited(folder, wanted)
    # Read for its refusal: `sweep` adds to this list.
    _ = folder.names if is_sweep(folder.path) else ()
    return {name: folder.state(name) for name in wanted}


def check(configs: Iterable[RunConfig]) -> None:
    """Raise ConfigError naming the language and the model of the first config that cannot be run."""
    # Many configs share a language, and some automata take seconds to build.
    tasks = {}
    for config in configs:
        try:
            if config.data.name not in tasks and is_language(config.data.name):
                tasks[config.data.name] = languages.find(config.data.name)
            validate(config, tasks.get(config.data.name))
        except ConfigError as error:
            raise ConfigError(f"{config.data.name}, {config.model.title}: {error}") from error
        if config.recipe in CONSTRUCTED:
            from regulargpt.construct import configuration

            configuration.check(config, languages.get(config.data.name))


def refuse_edited(folder: SweepFolder, wanted: Mapping[str, RunConfig]) -> None:
    """Raise UserError where a language's file has changed since a run of this sweep began, which keeps the former.

    Runs of two languages would stand under a name in the table.
    """
    now: dict[str, dict[str, str]] = {}
    for name, config in wanted.items():
        run, language = folder.run_path(name), config.data.name
        if not (began := began_with(RunFolder(run))):
            continue
        if language not in now:
            now[language] = keep.digests(config.data)
        if any(now[language].get(option) != digest for option, digest in began.items()):
            raise UserError(f"{language} is not what {shown(run)} began with; put it back, or choose another --out")


def began_with(run: RunFolder) -> dict[str, str]:
    """The digests of the files that a run keeps; none of a file that is missing, or damaged, which is found later."""
    with suppress(UserError):
        return {option: digest for option, (_, digest) in run.kept_names().items()}
    return {}


def find_damage(folder: SweepFolder, names: Iterable[str]) -> None:
    """Check the files of the finished runs; of a damaged run a failure is recorded, so that it is not trusted."""
    for name in names:
        if folder.state(name) == "done":
            try:
                folder.check_done(name)
            except UserError as error:
                # A permission or a lack of open files says nothing about the run.
                if not manifest.is_damage(error):
                    raise
                remedy = f"or delete {folder.run_path(name)} and use --retry"
                folder.record_failure(name, f"{error}, {remedy}", "refused")


def write_results(path: Path) -> None:
    """results.csv and results.jsonl, from the run folders alone."""
    from regulargpt.results.rows import write

    write(path)


def outcome(folder: SweepFolder, names: Iterable[str], stopped: str) -> SweepOutcome:
    """What became of the runs."""
    by_state: dict[State, list[str]] = {"done": [], "failed": [], "missing": []}
    for name in names:
        by_state[folder.state(name)].append(name)
    return SweepOutcome(*map(tuple, by_state.values()), stopped=stopped)
