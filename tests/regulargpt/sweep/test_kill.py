"""Workers and drivers killed with SIGKILL at random moments: a rerun does what is missing, with the same results."""

import itertools
import os
import random
import signal
import time
from pathlib import Path

import pytest

from regulargpt.config.schema import RunConfig
from regulargpt.runs import run as running
from regulargpt.runs.sweep.driver import SweepOutcome
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.runs.sweep.names import name_of
from regulargpt.storage import atomic, lock
from tests.regulargpt.sweep.forked import (
    Forked,
    configs,
    die_at,
    finished_runs,
    forking,
    is_gone,
    note,
    results,
    swept,
    wait_for,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]
KILLS = 10
SCENARIOS = ("worker at a call", "driver at a call", "workers at a time", "driver at a time")
CALLS = {"worker": 720, "driver": 260}
"""Calls of the disk: of a worker in two runs, of a driver in a whole sweep."""


def test_killed_at_random_moments(tmp_path: Path, monkeypatch):
    settings, moments = configs(4), random.Random("sweep")
    forking(monkeypatch)
    began = time.monotonic()
    swept(tmp_path / "whole", settings)
    whole = time.monotonic() - began
    expected = results(tmp_path / "whole")
    folders, kills, finished = [tmp_path / "0"], 0, True
    for scenario in itertools.cycle(SCENARIOS):
        if finished and kills >= KILLS:
            break
        if finished:
            folders.append(tmp_path / str(len(folders)))
        done = finished_runs(folders[-1])
        died, status = disturbed(folders[-1], settings, scenario, moments, whole)
        kills += died
        assert status in (0, 1, -signal.SIGKILL)
        assert finished_runs(folders[-1]).items() >= done.items()
        if status == 1:
            assert_killed_twice(SweepFolder(folders[-1]))
        finished = status == 0
    for folder in folders[1:]:
        assert results(folder) == expected
        # A worker that was killed after its run was done, before it gave the lock back, left one that anybody may take.
        for left in list(folder.rglob(lock.NAME)):
            assert (left.parent / "DONE").exists()
            with lock.locked(left.parent):
                pass
        assert not [path for path in folder.rglob("*") if atomic.is_temporary(path.name) or path.name == lock.NAME]


def disturbed(
    folder: Path, settings: list[RunConfig], scenario: str, moments: random.Random, whole: float
) -> tuple[int, int]:
    """A sweep in a process of its own, in which somebody dies; how many did, and the driver's exit status."""
    deaths, pids = folder.with_suffix(".deaths"), folder.with_suffix(".pids")
    deaths.write_text("")
    pids.write_text("")
    number, moment = moments.randrange(CALLS[scenario.partition(" ")[0].rstrip("s")]), moments.uniform(0, whole)
    with pytest.MonkeyPatch.context() as patch, folder.with_suffix(".log").open("ab") as log:

        def prepare(worker: int) -> None:
            note(pids, f"{os.getpid()}\n")
            if scenario == "worker at a call" and worker == 0:
                die_at(number, deaths)

        def drive() -> int:
            if scenario == "driver at a call":
                die_at(number, deaths)
            return 1 if swept(folder, settings, retry=True).failed else 0

        forking(patch, prepare)
        driver = Forked(log, drive)
        if scenario == "driver at a time":
            time.sleep(moment)
            died = driver.poll() is None
            driver.kill()
            note(deaths, "." * died)
        if scenario == "workers at a time":
            for _ in range(2):
                time.sleep(moment / 2)
                for pid in alive(pids)[:1]:
                    os.kill(pid, signal.SIGKILL)
                    note(deaths, ".")
        status = driver.wait()
        driver.close()
        if moments.random() < 0.5:
            wait_for(lambda: not alive(pids))  # else the next driver comes while they still save
    return len(deaths.read_text()), status


def alive(pids: Path) -> list[int]:
    return [pid for pid in map(int, pids.read_text().split()) if not is_gone(pid)]


def assert_killed_twice(folder: SweepFolder) -> None:
    failed = [name for name in folder.names if folder.state(name) == "failed"]
    assert failed
    for name in failed:
        assert folder.failure(name)["reason"] == "killed by signal 9; probably out of memory"


def dying_by(number: int, config: RunConfig, workers: set[int]):
    """In the children: whoever of these workers begins the run of this config is ended by this signal."""

    def prepare(worker: int) -> None:
        run = running.run

        def deadly(found: RunConfig, *rest):
            if found == config and worker in workers:
                os.kill(os.getpid(), number)
                time.sleep(60)
            return run(found, *rest)

        running.run = deadly

    return prepare


def deadly_sweep(
    path: Path, monkeypatch, number: int, workers: set[int]
) -> tuple[list[RunConfig], SweepOutcome, list[int]]:
    settings = configs(3, training__steps=4)
    pids = forking(monkeypatch, dying_by(number, settings[0], workers))
    return settings, swept(path, settings, jobs=1), pids


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_run_whose_worker_is_killed_once_is_run_again(tmp_path: Path, monkeypatch, number: int):
    settings, outcome, pids = deadly_sweep(tmp_path / "a", monkeypatch, number, {0})
    assert outcome.done == tuple(map(name_of, settings))
    assert len(pids) == 2


def test_a_run_whose_worker_is_killed_twice_has_failed(tmp_path: Path, monkeypatch):
    settings, outcome, pids = deadly_sweep(tmp_path / "a", monkeypatch, signal.SIGKILL, {0, 1, 2, 3})
    name = name_of(settings[0])
    assert (outcome.failed, outcome.done) == ((name,), tuple(map(name_of, settings[1:])))
    # The other runs came between the two tries.
    assert len(pids) == 2
    record = SweepFolder(tmp_path / "a").failure(name)
    assert record == {"run": name, "reason": "killed by signal 9; probably out of memory", "kind": "memory"}


def test_what_a_crash_says_is_kept(tmp_path: Path, monkeypatch):
    settings = configs(1)

    def prepare(worker: int) -> None:
        os.write(2, f"Fatal error: worker {worker}\n".encode())
        os.kill(os.getpid(), signal.SIGABRT)

    forking(monkeypatch, prepare)
    outcome = swept(tmp_path / "a", settings)
    assert outcome.failed == (name_of(settings[0]),)
    folder = SweepFolder(tmp_path / "a")
    assert folder.failure(outcome.failed[0])["reason"] == "killed by signal 6"
    # A library that was imported before may add a stack trace.
    assert (folder.path / "failed" / f"{outcome.failed[0]}.log").read_text().startswith("Fatal error: worker 1\n")
