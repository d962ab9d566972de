"""The Slurm engine without a Slurm: what is refused, what is written, which jobs are waited for and tried again."""

import dataclasses
import importlib.util
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from languages.errors import UserError
from regulargpt.cli import engines
from regulargpt.storage import lock
from regulargpt.storage.signals import StopRequested
from regulargpt.sweep.folder import SweepFolder
from regulargpt.sweep.slurm import SlurmEngine, attempt, driving, queue, submission
from tests.regulargpt.small import config

NEVER = StopRequested()
ENGINE = SlurmEngine(poll_seconds=0.01, settle_seconds=0.0)


def program(folder: Path, name: str, text: str) -> None:
    """A shell script in place of a program."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch) -> Path:
    """A PATH on which every program of Slurm says yes to everything."""
    for name in submission.PROGRAMS:
        program(tmp_path / "bin", name, "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "bin"


def test_the_defaults_that_the_help_names():
    assert (SlurmEngine().minutes, SlurmEngine().jobs) == (engines.MINUTES, engines.AT_ONCE)


def refusal() -> str:
    with pytest.raises(UserError) as caught:
        SlurmEngine(partition="gpu").check()
    return str(caught.value)


def test_refused_without_submitit(programs, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert refusal() == "--engine slurm needs submitit; pip install 'regulargpt-testbed[slurm]'"


@pytest.mark.parametrize("name", submission.PROGRAMS)
def test_refused_without_slurm(programs, name):
    SlurmEngine().check()
    (programs / name).unlink()
    remedy = "log in to a machine that submits to Slurm, or choose --engine local"
    assert refusal() == f"--engine slurm needs Slurm: no {name} on the PATH; {remedy}"


def test_refused_by_sbatch(programs):
    program(
        programs,
        "sbatch",
        """echo "$*" > $0.asked; echo sbatch: error: invalid partition specified: gpu >&2; echo more >&2; exit 1""",
    )
    expected = "Slurm refuses these jobs: invalid partition specified: gpu; change the options of --engine slurm"
    assert refusal() == expected
    asked = (programs / "sbatch.asked").read_text().split()
    assert asked == ["--test-only", "--time=60", "--cpus-per-task=1", "--partition=gpu", "--wrap=true"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"jobs": 0}, "jobs = 0; at least 1"),
        ({"minutes": 4}, "minutes = 4; at least 5"),
        ({"memory_gb": 0.0}, "memory_gb = 0.0; more than 0"),
        ({"cpus": 0}, "cpus = 0; at least 1"),
        ({"gpus": -1}, "gpus = -1; at least 0"),
        ({"slices": -1}, "slices = -1; at least 0"),
    ],
)
def test_refused_numbers(settings, message):
    with pytest.raises(UserError) as caught:
        SlurmEngine(**settings)
    assert str(caught.value) == message


def test_refused_where_slurm_does_not_answer(programs):
    program(programs, "sbatch", "echo sbatch: error: what >&2; echo 'sbatch: fatal: No configuration' >&2; exit 1")
    remedy = "log in to a machine that submits to Slurm, or choose --engine local"
    assert refusal() == f"Slurm does not answer: No configuration; {remedy}"


def test_the_record_is_kept_and_a_damaged_one_refused(tmp_path):
    first = queue.Jobs.open(tmp_path / "slurm")
    assert first.title.startswith("regulargpt-")
    assert queue.Jobs.open(tmp_path / "slurm") == first
    later = first.joined({"a": "7_0", "b": "7_1"}).joined({"b": "9"}).saved(tmp_path / "slurm")
    assert queue.Jobs.open(tmp_path / "slurm") == later
    assert dict(later.jobs) == {"a": "7_0", "b": "9"}
    assert dict(later.only({"9", "10"}).jobs) == {"b": "9"}
    for text in ("{}", '{"title": "x", "jobs": 3}'):
        (tmp_path / "slurm" / "jobs.json").write_text(text)
        with pytest.raises(UserError, match=r"jobs\.json does not list jobs; cancel the sweep's jobs, then delete"):
            queue.Jobs.open(tmp_path / "slurm")


def test_the_queue_is_asked_by_the_name_of_the_sweep(programs):
    program(programs, "squeue", """echo "$*" > $0.asked; echo '3_0 RUNNING'; echo '  3_1 NODE_FAIL'""")
    assert queue.states("title") == {"3_0": "RUNNING", "3_1": "NODE_FAIL"}
    assert (programs / "squeue.asked").read_text() == f"-h -r -t all -u {os.getuid()} -n title -o %i %T\n"
    program(programs, "squeue", "exit 1")
    assert queue.states("title") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gpu 59:00", "jobs of the partition gpu have at most 59"),
        ("gpu* 30:00\\ngpu 30:00", "jobs of the partition gpu have at most 30"),
        ("gpu 1:00:00", None),
        ("gpu infinite", None),
        ("", None),
    ],
)
def test_a_partition_with_shorter_jobs(programs, text, message):
    program(programs, "sinfo", f"""echo "$*" > $0.asked; printf '{text}'""")
    if message is None:
        SlurmEngine(partition="gpu").check()
    else:
        assert refusal() == f"--minutes 60: {message}; a run goes on in the next"
    assert (programs / "sinfo.asked").read_text() == "-h -o %P %l --partition=gpu\n"


@pytest.mark.parametrize(("text", "size"), [("MaxArraySize            = 11", 10), ("MaxArraySize = 0", 1), ("", 1000)])
def test_the_largest_array(programs, text, size):
    program(programs, "scontrol", f"echo '{text}'")
    assert queue.largest_array() == size


class Cluster:
    """A Slurm in memory: what jobs there are, and what happens to them each time it is asked."""

    def __init__(self, folder: SweepFolder, monkeypatch):
        self.folder = folder
        self.states: dict[str, str] = {}
        self.submitted: list[list[str]] = []
        self.cancelled: list[str] = []
        self.names: dict[str, str] = {}
        self.moments: list[list[tuple[str, ...]]] = []
        monkeypatch.setattr(queue, "states", self.ask)
        monkeypatch.setattr(queue, "reasons", lambda title: set())
        monkeypatch.setattr(queue, "cancel", self.cancel)
        monkeypatch.setattr(queue, "largest_array", lambda: 2)
        monkeypatch.setattr(driving, "submit_array", self.submit)

    def submit(self, path, attempts, title, resources, at_once, slices) -> list[str]:
        self.submitted.append([attempt.name for attempt in attempts])
        numbers = [f"{len(self.submitted)}_{k}" for k in range(len(attempts))]
        self.states |= dict.fromkeys(numbers, "PENDING")
        self.names |= {attempt.name: number for attempt, number in zip(attempts, numbers, strict=True)}
        return numbers

    def ask(self, title: str) -> dict[str, str]:
        for method, *arguments in self.moments.pop(0) if self.moments else ():
            getattr(self, method)(*arguments)
        return dict(self.states)

    def cancel(self, jobs) -> None:
        self.cancelled += sorted(jobs)
        self.states |= dict.fromkeys(jobs, "CANCELLED")

    def end(self, name: str, state: str = "COMPLETED") -> None:
        self.states[self.names[name]] = state

    def finish(self, name: str) -> None:
        self.folder.run_path(name).mkdir(parents=True)
        (self.folder.run_path(name) / "DONE").touch()
        self.end(name)


@pytest.fixture
def sweep(tmp_path: Path) -> SweepFolder:
    """A folder with three runs, `a`, `b` and `c`."""
    folder = SweepFolder(tmp_path / "sweep")
    folder.path.mkdir()
    folder.add(dict.fromkeys("abc", config()))
    return folder


@pytest.fixture
def cluster(sweep, monkeypatch) -> Cluster:
    monkeypatch.setattr(driving, "TICK", 0.01)
    monkeypatch.setattr(SweepFolder, "config", lambda self, name: config())
    return Cluster(sweep, monkeypatch)


def execute(cluster: Cluster, names: str = "abc", stop: StopRequested = NEVER) -> list[tuple[str, str]]:
    told = []
    ENGINE.execute(cluster.folder, list(names), lambda name, state: told.append((name, state)), stop)
    return told


def record(cluster: Cluster) -> dict[str, str]:
    return json.loads((cluster.folder.path / "slurm" / "jobs.json").read_text())["jobs"]


def test_arrays_over_the_names_told_as_they_end(cluster):
    # The first question is which jobs there are.
    cluster.moments = [[], [("finish", "c")], [], [("finish", "a"), ("finish", "b")]]
    assert execute(cluster) == [("c", "done"), ("a", "done"), ("b", "done")]
    assert cluster.submitted == [["a", "b"], ["c"]]
    assert record(cluster) == {"a": "1_0", "b": "1_1", "c": "2_0"}


def test_a_job_that_dies_is_tried_once_more_and_then_a_failed_row(cluster):
    (cluster.folder.path / "slurm").mkdir()
    (cluster.folder.path / "slurm" / "2_0_0_log.err").write_text("Killed\n")
    cluster.moments = [[], [("end", "a", "CANCELLED")], [("end", "b", "NODE_FAIL")], [("finish", "b")]]
    cluster.moments += [[("end", "a", "OUT_OF_MEMORY")]]
    assert execute(cluster, "ab") == [("b", "done"), ("a", "failed")]
    assert cluster.submitted == [["a", "b"], ["a"], ["b"]]
    reason = "Slurm job 2_0 ended as OUT_OF_MEMORY, the run's second that died; see slurm/2_0_0_log.err"
    assert cluster.folder.failure("a") == {"run": "a", "reason": reason, "kind": "memory"}
    assert (cluster.folder.path / "failed" / "a.log").read_text() == "Killed\n"


def test_a_job_that_slurm_has_forgotten_has_died_but_no_answer_is_no_answer(cluster, monkeypatch):
    answers = [{}, {"1_0": "RUNNING"}, None, None, {}, {"1_0": "CANCELLED"}]
    monkeypatch.setattr(queue, "states", lambda title: answers.pop(0))
    assert execute(cluster, "a") == [("a", "failed")]
    assert cluster.submitted == [["a"], ["a"]]
    assert cluster.folder.failure("a")["reason"].startswith("Slurm job 2_0 ended as unknown, ")


def test_a_requeued_job_is_waited_for(cluster):
    engine = dataclasses.replace(ENGINE, settle_seconds=3600)
    cluster.moments = [[], [("end", "a")], [("end", "a", "PENDING")], [("end", "a")], [("finish", "a")]]
    told = []
    engine.execute(cluster.folder, ["a"], lambda *what: told.append(what), StopRequested())
    assert told == [("a", "done")]
    assert cluster.submitted == [["a"]]


def test_a_second_driver_waits_for_the_jobs_of_the_first(cluster):
    """Of `a` the job still runs, of `b` not; one was submitted and not written down."""
    path = cluster.folder.path / "slurm"
    queue.Jobs.open(path).joined({"a": "7_0", "b": "7_1", "other": "5"}).saved(path)
    cluster.states = {"7_0": "RUNNING", "7_1": "FAILED", "5": "RUNNING", "8_0": "PENDING"}
    cluster.names = {"a": "7_0"}
    cluster.moments = [[], [], [], [("finish", name) for name in "abc"]]
    assert sorted(execute(cluster)) == [("a", "done"), ("b", "done"), ("c", "done")]
    assert cluster.submitted == [["b", "c"]]
    assert cluster.cancelled == ["8_0"]
    assert record(cluster) == {"a": "7_0", "other": "5", "b": "1_0", "c": "1_1"}


def test_reasons_to_wait_are_told_once(cluster, monkeypatch):
    notices = []
    engine = dataclasses.replace(ENGINE, on_notice=notices.append)
    monkeypatch.setattr(queue, "reasons", lambda title: {"PartitionDown", "QOSMaxJobs"})
    cluster.moments = [[], [], [], [("end", "a", "RUNNING")], [("finish", "a")]]
    engine.execute(cluster.folder, ["a"], lambda *what: None, NEVER)
    assert notices == [f"no job of the sweep runs, Slurm says: {reason}" for reason in ("PartitionDown", "QOSMaxJobs")]


def test_ordinary_reasons_are_not_told(programs):
    program(programs, "squeue", r"printf 'Priority\nPartitionDown\nBeginTime\nPartitionDown\n'")
    assert queue.reasons("title") == {"PartitionDown"}


def test_a_stop_cancels_and_waits(cluster, monkeypatch):
    stop = StopRequested()
    monkeypatch.setattr(cluster, "finish", lambda name: setattr(stop, "requested", True))
    cluster.moments = [[], [("finish", "a")]]
    assert execute(cluster, "abc", stop) == []
    assert cluster.cancelled == ["1_0", "1_1", "2_0"]


@pytest.fixture
def python(tmp_path: Path, programs: Path, monkeypatch) -> Callable[[str], None]:
    """A worker that is a shell script."""
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "12")
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "3")
    (tmp_path / "sweep" / "slurm").mkdir(parents=True)

    def write(text: str) -> None:
        program(programs, "python", text)
        monkeypatch.setattr(attempt.sys, "executable", str(programs / "python"))

    return write


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("exit 0", 0),
        ("exit 1", 1),
        ("exit 2", "the worker of a ended with 2"),
        ("kill -9 $$", "the worker of a ended with -9"),
        ("exit 75", SystemExit(75)),
        ("kill -TERM $$", SystemExit(75)),
    ],
)
def test_a_worker_that_came_to_no_end_fails_the_job(tmp_path, python, text, end):
    # By builtins alone: the shell clears its mask when it starts a program.
    blocked = 'while read -r key value; do [ "$key" != SigBlk: ] || echo "$value"; done < /proc/$$/status'
    python(f'exec > {tmp_path}/asked; echo "$*"; {blocked}; {text}')
    attempted = attempt.Attempt(str(tmp_path / "sweep"), "a")
    if isinstance(end, int):
        assert attempted() == end
    else:
        with pytest.raises((RuntimeError, SystemExit)) as caught:
            attempted()
        assert (type(caught.value), str(caught.value)) in ((RuntimeError, end), (type(end), str(end)))
    asked, blocked = (tmp_path / "asked").read_text().splitlines()
    assert asked == f"-m regulargpt.sweep.worker {tmp_path}/sweep a"
    mask = int(blocked, 16)
    assert mask >> (signal.SIGUSR1 - 1) & mask >> (signal.SIGUSR2 - 1) & 1


class Requeued(Exception):
    """In place of submitit's exit."""


@pytest.mark.parametrize(("state", "requeued"), [("RUNNING", True), ("COMPLETING", False), ("", False)])
def test_a_worker_stopped_by_slurm_is_requeued_unless_cancelled(programs, tmp_path, python, state, requeued):
    program(programs, "squeue", f"echo '{state}'")
    python("kill -TERM $$")

    def handle(number, frame):
        raise Requeued

    former = signal.signal(signal.SIGUSR2, handle)
    try:
        with pytest.raises(Requeued if requeued else SystemExit):
            attempt.Attempt(str(tmp_path / "sweep"), "a")()
    finally:
        signal.signal(signal.SIGUSR2, former)


def test_a_checkpoint_ends_the_worker_and_is_the_same_attempt(tmp_path, python):
    python(f"trap 'echo saved > {tmp_path}/saved; exit 75' TERM; while :; do sleep 0.01; done")
    attempted = attempt.Attempt(str(tmp_path / "sweep"), "a")
    found = []

    def handle(number, frame):
        found.append(attempted.checkpoint())
        raise Requeued

    former = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(Requeued):
            attempted()
    finally:
        signal.signal(signal.SIGALRM, former)
    assert (tmp_path / "saved").exists()
    again = found[0].function
    assert (type(again), again.folder, again.name, again.worker) == (attempt.Attempt, str(tmp_path / "sweep"), "a", 0)


DEAD = lock.Owner(2**22 + 1, "another-node", "then")


@pytest.mark.parametrize(
    ("squeue", "job", "locked_by", "released"),
    [
        ("echo slurm_load_jobs error: Invalid job id specified >&2; exit 1", "11", DEAD, True),
        ("exit 0", "11", DEAD, True),
        ("exit 0", "12_3", DEAD, True),
        ("echo RUNNING", "12_3", DEAD, True),  # this very job, requeued
        ("echo RUNNING", "11", DEAD, False),
        ("echo no controller >&2; exit 1", "11", DEAD, False),
        ("exit 0", "11", lock.Owner(4, "a-desk", "now"), False),
    ],
)
def test_the_lock_of_a_worker_that_died_with_its_node(programs, tmp_path, python, squeue, job, locked_by, released):
    program(programs, "squeue", squeue)
    known = {"job": job, "owner": dataclasses.asdict(DEAD)}
    (tmp_path / "sweep" / "slurm" / "a.worker.json").write_text(json.dumps(known))
    run = tmp_path / "sweep" / "runs" / "a"
    run.mkdir(parents=True)
    (run / lock.NAME).write_text(json.dumps(dataclasses.asdict(locked_by)))
    attempt.forget_former_worker(tmp_path / "sweep", "a")
    assert (run / lock.NAME).exists() != released
