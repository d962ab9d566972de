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
from regulargpt.runs.sweep.driver import SweepOutcome, sweep
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.runs.sweep.names import name_of
from regulargpt.runs.sweep.slurm.engine import Jobs, SlurmEngine
from regulargpt.storage import lock
from regulargpt.storage.signals import StopRequested
from tests.regulargpt.small import config, contents
from tests.regulargpt.sweep.forked import InThisProcess
from tests.slurm import MISSING, ask, cluster

needs_slurm = pytest.mark.skipif(bool(MISSING), reason=f"no {MISSING} here; Debian: apt install slurm-wlm munge")
pytestmark = [pytest.mark.slow, needs_slurm]
ENGINE = SlurmEngine({"partition": "normal"}, poll_seconds=0.3, settle_seconds=0.3)
COMMAND = "from tests.regulargpt.sweep.test_slurm import *; drive(sys.argv[1], 2)"
SECONDS = 120.0
SMALL = [
    *("--model", "rnn", "--recipe", "words", "--lr", "1e-3,1e6"),
    *("--set", "training.warmup=0", "--set", "training.weight_decay=1000"),
    *("--steps", "6", "--d-model", "8", "--train-len", "6", "--test-len", "8", "--samples", "16"),
    *("--batch-size", "8", "--device", "cpu", "--set", "evaluation.extra_lengths="),
]
# Long enough to be interrupted in the middle.
LONG = [
    config("gru", seed=seed, training__steps=400, training__checkpoint_every=25, training__solved_loss=0.0)
    for seed in range(3)
]
NAMES = [name_of(config) for config in LONG]


def drive(folder: str | Path, n: int) -> SweepOutcome:
    """What a driver does: the first long runs, on Slurm."""
    return sweep(folder, LONG[:n], ENGINE)


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
    sweep(folder, LONG, InThisProcess())
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
    return json.loads(path.read_text()).get(name, "") if path.exists() else ""


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
            owner = lock.owner_of(SweepFolder(folder).run_path(name))
            pid, step = owner.pid if owner else 0, last_step(folder, name)
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

    def swept(engine: str, *arguments: str) -> tuple[int, str]:
        code = call(["sweep", "parity", *SMALL, "--out", str(tmp_path / engine), "--engine", engine, *arguments])
        return code, capsys.readouterr().err

    assert swept("slurm", "--partition", "elsewhere")[1].startswith("error: Slurm says: invalid partition ")
    assert not (tmp_path / "slurm").exists()
    code, err = swept("slurm", "--minutes", "15")
    assert (code, err.count(": failed: the gradient's norm is inf at step "), err.count(" % in ")) == (1, 1, 1)
    assert swept("local")[0] == 1
    assert table(tmp_path / "slurm") == table(tmp_path / "local")
    jobs = {job_of(tmp_path / "slurm", name).partition("_")[0] for name in SweepFolder(tmp_path / "slurm").names}
    assert len(jobs) == 1, "one array"


def test_whatever_happens_to_driver_and_jobs_the_runs_go_on(tmp_path: Path, slurm, undisturbed, beside):
    folder, names = tmp_path / "sweep", NAMES[:2]
    driver = subprocess.Popen([sys.executable, "-c", COMMAND, str(folder)])
    workers = freeze(folder, names)
    driver.kill()
    driver.wait()
    jobs = [job_of(folder, name) for name in names]
    # The next driver waits for the jobs of the killed one, and adds a run.
    following = beside.submit(drive, folder, 3)
    wait(lambda: job_of(folder, NAMES[2]))
    assert sorted(slurm("squeue", "-h", "-r", "-o", "%i").split()) == sorted([*jobs, job_of(folder, NAMES[2])])
    assert starts(folder, jobs) == [1, 1]
    # Both jobs are sent SIGCONT and SIGTERM: they save, and ask to be requeued while they are not yet preempted.
    slurm("sbatch", "--partition=urgent", "-c2", "--output=/dev/null", "--wrap=true")
    workers = freeze(folder, names, workers)
    assert starts(folder, jobs) == [2, 2]
    slurm("scancel", jobs[0])
    slurm("scancel", "--signal=USR2", jobs[1])
    thaw(workers[1:])
    found = following.result(SECONDS)
    assert (found.failed, found.done) == (tuple(NAMES[:1]), tuple(NAMES[1:]))
    assert SweepFolder(folder).failure(names[0])["reason"].startswith(f"Slurm job {jobs[0]} ended as CANCELLED; see ")
    assert [job_of(folder, name) for name in names] == jobs, "none was submitted again"
    assert starts(folder, jobs) == [2, 3]
    assert sweep(folder, LONG, ENGINE, retry=True).done == tuple(NAMES)
    assert table(folder) == table(undisturbed)
    for name in NAMES:
        assert contents(folder / "runs" / name) == contents(undisturbed / "runs" / name)


def test_jobs_that_never_run_are_reported_and_cancelled(tmp_path: Path, slurm, beside):
    """They wait behind another one, or for ever: the partition has shorter jobs only."""
    slurm("sbatch", "--partition=urgent", "-c2", "--job-name=full", "--output=/dev/null", "--wrap=sleep 600")
    wait(lambda: slurm("squeue", "-h", "-n", "full", "-t", "RUNNING"))
    folder = SweepFolder.create(tmp_path / "stopped")
    folder.add(dict(zip(NAMES, LONG, strict=True)))
    stop, notices = StopRequested(), []

    def notice(text: str) -> None:
        notices.append(text)
        stop.requested = True

    engine = SlurmEngine({"partition": "normal", "time": 121}, on_notice=notice, poll_seconds=0.3)
    engine.execute(folder, NAMES, lambda name, state: pytest.fail(name), stop)
    # Which of its reasons Slurm names first depends on its version: PartitionConfig or PartitionTimeLimit.
    assert [text.partition("Slurm says: Partition")[0] for text in notices] == ["no job of the sweep runs, "]
    # Of an array that was cancelled before it began Slurm keeps one line.
    assert slurm("squeue", "-h", "-r", "-n", Jobs(engine, folder).title, "-t", "all", "-o", "%T") == "CANCELLED"

    driver = beside.submit(drive, tmp_path / "sweep", 1)
    wait(lambda: job_of(tmp_path / "sweep", NAMES[0]))
    slurm("scancel", job := job_of(tmp_path / "sweep", NAMES[0]))
    assert driver.result(SECONDS).failed == (NAMES[0],)
    slurm("scancel", "--name=full")
    reason = SweepFolder(tmp_path / "sweep").failure(NAMES[0])["reason"]
    assert reason == f"Slurm job {job} ended as CANCELLED; see slurm/{job}_0_log.err"
    assert [row["status"] for row in table(tmp_path / "sweep")] == ["failed"]
