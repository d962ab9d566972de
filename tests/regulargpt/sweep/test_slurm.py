"""Sweeps on a real Slurm of this one machine: the same tables, whatever happens to jobs and driver."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from regulargpt.cli import call
from regulargpt.storage.signals import StopRequested
from regulargpt.sweep.driver import Outcome, sweep
from regulargpt.sweep.folder import SweepFolder
from regulargpt.sweep.names import name_of
from regulargpt.sweep.slurm import SlurmEngine
from regulargpt.sweep.slurm.attempt import worker_file
from regulargpt.sweep.slurm.queue import Jobs
from regulargpt.sweep.worker import work
from tests.regulargpt.small import config, contents
from tests.slurm import MISSING, ask, cluster

needs_slurm = pytest.mark.skipif(bool(MISSING), reason=f"no {MISSING} here; Debian: apt install slurm-wlm munge")
pytestmark = [pytest.mark.slow, needs_slurm]
ENGINE = SlurmEngine(partition="normal", poll_seconds=0.3, settle_seconds=0.3)
COMMAND = "from tests.regulargpt.sweep.test_slurm import *; drive(sys.argv[1], int(sys.argv[2]))"
SECONDS = 120.0
SMALL = [
    *("--model", "gru,rnn", "--lr", "1e-3,1e6", "--set", "training.warmup=0", "--set", "training.weight_decay=1000"),
    *("--steps", "6", "--d-model", "8"),
    *("--train-len", "6", "--test-len", "8", "--samples", "16", "--batch-size", "8", "--device", "cpu", "--beyond", ""),
]
# Long enough to be interrupted in the middle.
LONG = [
    config("gru", seed=seed, training__steps=400, training__checkpoint_every=25, training__solved_below=0.0)
    for seed in range(3)
]
NAMES = [name_of(config) for config in LONG]


def drive(folder: str | Path, n: int) -> Outcome:
    """What a driver does: the first long runs, on Slurm."""
    return sweep(folder, LONG[:n], ENGINE)


class Here:
    """The engine of this very process."""

    def check(self) -> None:
        """Always here."""

    def execute(self, folder, names, on_done, stop) -> None:
        """One after the other."""
        for name in names:
            assert work(folder, name) == 0


@pytest.fixture(scope="module")
def slurm() -> Iterator[Callable[..., str]]:
    """Ask a command of Slurm."""
    with cluster() as environment, pytest.MonkeyPatch.context() as patch:
        for key, value in environment.items():
            patch.setenv(key, value)
        yield lambda *command: ask(environment, *command)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> Path:
    """The long runs, on this machine."""
    folder = tmp_path_factory.mktemp("undisturbed") / "sweep"
    sweep(folder, LONG, Here())
    return folder


@pytest.fixture
def beside() -> Iterator[ThreadPoolExecutor]:
    """A driver beside the test."""
    with ThreadPoolExecutor() as pool:
        yield pool


def table(folder: Path) -> list[dict[str, str]]:
    """results.csv without the time that it took."""
    rows = list(csv.DictReader((folder / "results.csv").read_text().splitlines()))
    return [{key: value for key, value in row.items() if key != "train_seconds"} for row in rows]


def wait(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def last_step(folder: Path, name: str) -> int:
    """The newest checkpoint of a run."""
    parent = SweepFolder(folder).run_path(name) / "checkpoints"
    return max((int(path.name) for path in parent.glob("*") if path.name.isdecimal()), default=0)


def job_of(folder: Path, name: str) -> str:
    path = folder / "slurm" / "jobs.json"
    return json.loads(path.read_text())["jobs"].get(name, "") if path.exists() else ""


def starts(folder: Path, jobs: list[str]) -> list[int]:
    """How often each job was started."""
    logs = [folder / "slurm" / f"{job}_0_log.out" for job in jobs]
    return [log.read_text().count("Starting with ") for log in logs]


def freeze(folder: Path, names: list[str], former: Collection[int] = ()) -> list[int]:
    """Hold the worker of each run in the midst of it, however fast it is; none of the former. Their numbers."""
    begun: dict[str, int] = {}
    held: dict[str, int] = {}

    def all_held() -> bool:
        for name in set(names) - set(held):
            path = worker_file(folder, name)
            pid = json.loads(path.read_text())["owner"]["pid"] if path.exists() else 0
            step = last_step(folder, name)
            if pid and pid not in former and step > begun.setdefault(name, step):
                os.kill(pid, signal.SIGSTOP)
                held[name] = pid
        return len(held) == len(names)

    wait(all_held)
    return [held[name] for name in names]


def thaw(workers: list[int]) -> None:
    """Let them go on; what signals came meanwhile reach them now."""
    for pid in workers:
        os.kill(pid, signal.SIGCONT)


def test_the_table_of_a_job_array_is_that_of_this_machine(tmp_path: Path, slurm, capsys):
    """As it is typed. One of the runs diverges."""

    def swept(*arguments: str) -> tuple[int, str]:
        code = call(["sweep", "parity", *SMALL, "--out", str(tmp_path / arguments[1]), *arguments])
        return code, capsys.readouterr().err

    partition = ("--partition", "elsewhere")
    assert swept("--engine", "slurm", *partition)[1].startswith("error: Slurm refuses these jobs: invalid partition ")
    long = "error: --minutes 121: jobs of the partition normal have at most 120; a run goes on in the next\n"
    assert swept("--engine", "slurm", "--minutes", "121") == (2, long)
    assert not (tmp_path / "slurm").exists()

    code, err = swept("--engine", "slurm", "--minutes", "15")
    assert code == 1
    assert err.count(": failed: the gradient's norm is inf at step ") == 1
    assert err.count(" % in ") == 3
    assert swept("--engine", "local")[0] == 1
    assert table(tmp_path / "slurm") == table(tmp_path / "local")
    jobs = {job_of(tmp_path / "slurm", name).partition("_")[0] for name in SweepFolder(tmp_path / "slurm").names}
    assert len(jobs) == 1, "one array"


def test_a_driver_is_killed_and_the_next_one_waits_for_its_jobs(tmp_path: Path, slurm, undisturbed, beside):
    folder = tmp_path / "sweep"
    driver = subprocess.Popen([sys.executable, "-c", COMMAND, str(folder), "2"])
    workers = freeze(folder, NAMES[:2])
    driver.kill()
    driver.wait()
    jobs = [job_of(folder, name) for name in NAMES[:2]]

    following = beside.submit(drive, folder, 3)
    wait(lambda: job_of(folder, NAMES[2]))
    assert sorted(slurm("squeue", "-h", "-r", "-o", "%i").split()) == sorted([*jobs, job_of(folder, NAMES[2])])
    thaw(workers)
    assert following.result(SECONDS).done == tuple(NAMES)
    assert [job_of(folder, name) for name in NAMES[:2]] == jobs
    assert starts(folder, jobs) == [1, 1]
    assert table(folder) == table(undisturbed)


def test_jobs_are_preempted_requeued_and_cancelled_and_the_runs_go_on(tmp_path: Path, slurm, undisturbed, beside):
    folder, names = tmp_path / "sweep", NAMES[:2]
    driver = beside.submit(drive, folder, 2)
    workers = freeze(folder, names)
    jobs = [job_of(folder, name) for name in names]

    # Both jobs are sent SIGCONT and SIGTERM: they save, and ask to be requeued while they are not yet preempted.
    slurm("sbatch", "--partition=urgent", "-c2", "--output=/dev/null", "--wrap=true")
    workers = freeze(folder, names, workers)
    assert [job_of(folder, name) for name in names] == jobs
    assert starts(folder, jobs) == [2, 2]

    slurm("scancel", jobs[0])
    slurm("scancel", "--signal=USR2", jobs[1])
    thaw(workers[1:])
    assert driver.result(SECONDS).done == tuple(names)
    assert job_of(folder, names[0]) != jobs[0], "it was submitted again"
    assert job_of(folder, names[1]) == jobs[1], "it was requeued"
    assert starts(folder, jobs) == [2, 3]
    for name in names:
        assert contents(folder / "runs" / name) == contents(undisturbed / "runs" / name)


def test_a_run_whose_jobs_die_twice_is_a_failed_row(tmp_path: Path, slurm, beside):
    """The jobs wait behind another one, so that they cost nothing; first they are given up by their driver."""
    slurm("sbatch", "--partition=urgent", "-c2", "--job-name=full", "--output=/dev/null", "--wrap=sleep 600")
    wait(lambda: slurm("squeue", "-h", "-n", "full", "-t", "RUNNING"))
    stopped, stop = SweepFolder.create(tmp_path / "stopped"), StopRequested()
    stopped.add(dict(zip(NAMES, LONG, strict=True)))
    stop.requested = True
    ENGINE.execute(stopped, NAMES, lambda name, state: pytest.fail(name), stop)
    title = Jobs.open(stopped.path / "slurm").title
    # Of an array that was cancelled before it began Slurm keeps one line.
    assert slurm("squeue", "-h", "-r", "-n", title, "-t", "all", "-o", "%T") == "CANCELLED"

    folder, cancelled = tmp_path / "sweep", []
    driver = beside.submit(drive, folder, 1)
    for _ in range(2):
        wait(lambda: job_of(folder, NAMES[0]) not in ("", *cancelled))
        cancelled.append(job_of(folder, NAMES[0]))
        slurm("scancel", cancelled[-1])
    assert driver.result(SECONDS).failed == (NAMES[0],)
    slurm("scancel", "--name=full")
    reason = SweepFolder(folder).failure(NAMES[0])["reason"]
    assert reason.startswith(f"Slurm job {cancelled[1]} ended as CANCELLED, the run's second that died; see slurm/")
    assert [row["status"] for row in table(folder)] == ["failed"]
