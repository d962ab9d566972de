"""The Slurm engine without a Slurm: what is refused, what is written, which jobs are waited for, what a job does."""

import dataclasses
import importlib.util
import json
import os
import signal
from pathlib import Path

import pytest

from languages.errors import UserError
from regulargpt.cli import engines
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.runs.sweep.slurm import attempt, engine, queue
from regulargpt.runs.sweep.slurm.engine import Jobs, SlurmEngine
from regulargpt.runs.sweep.slurm.queue import Job
from regulargpt.storage import lock
from regulargpt.storage.signals import StopRequested
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
    """A PATH on which the programs of Slurm say yes to everything."""
    for name in ("sbatch", "squeue", "scancel"):
        program(tmp_path / "bin", name, "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "bin"


def test_the_options_of_the_command_line_are_those_of_sbatch():
    assert (engine.MINUTES, SlurmEngine().at_once) == (engines.MINUTES, engines.AT_ONCE)
    given = {"slurm_partition": None, "jobs": 3, "slurm_mem": 1.5, "slurm_gpus_per_node": 0, "slurm_time": 30}
    made = engines.choose_engine({"engine": "slurm", **given})([])
    assert isinstance(made, SlurmEngine)
    assert (made.options, made.at_once) == ({"mem": "1536M", "time": 30}, 3)


def refusal() -> str:
    with pytest.raises(UserError) as caught:
        SlurmEngine({"time": 60, "cpus_per_task": 1}).check()
    return str(caught.value)


def test_refused_without_submitit_or_slurm(programs, monkeypatch):
    SlurmEngine().check()
    (programs / "sbatch").unlink()
    assert refusal() == "--engine slurm needs Slurm: no sbatch on the PATH; log in to a machine that has it"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert refusal() == "--engine slurm needs submitit; pip install 'regulargpt-testbed[slurm]'"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("sbatch: error: invalid partition specified: gpu\\nmore", "invalid partition specified: gpu"),
        ("\\nsbatch: fatal: No configuration", "sbatch: fatal: No configuration"),
        ("", "nothing"),
    ],
)
def test_refused_by_sbatch(programs, text, reason):
    program(programs, "sbatch", f"""echo "$*" > $0.asked; printf '{text}' >&2; exit 1""")
    assert refusal() == f"Slurm says: {reason}; change the options of --engine slurm, or the machine"
    assert (programs / "sbatch.asked").read_text() == "--test-only --time=60 --cpus-per-task=1 --wrap=true\n"


def test_what_squeue_prints(programs):
    text = "3_0|RUNNING|None\\n  3_1|PENDING|ReqNodeNotAvail, UnavailableNodes:n3\\n\\n"
    program(programs, "squeue", f"""echo "$*" > $0.asked; printf '{text}'""")
    nodes = Job("PENDING", "ReqNodeNotAvail, UnavailableNodes:n3")
    assert queue.jobs("-n", "title") == {"3_0": Job("RUNNING", "None"), "3_1": nodes}
    assert (programs / "squeue.asked").read_text() == f"-h -r -t all -u {os.getuid()} -o %i|%T|%r -n title\n"
    program(programs, "squeue", "echo slurm_load_jobs error: Invalid job id specified >&2; exit 1")
    assert queue.jobs("-j", "7") == {}
    program(programs, "squeue", "exit 1")
    assert queue.jobs("-n", "title") is None


class Cluster:
    """A Slurm in memory: what jobs there are, and what happens to them each time it is asked."""

    def __init__(self, folder: SweepFolder, monkeypatch):
        self.folder = folder
        self.jobs: dict[str, Job] = {}
        self.submitted: list[list[str]] = []
        self.cancelled: list[str] = []
        self.names: dict[str, str] = {}
        self.moments: list[list[tuple[str, ...]]] = []
        monkeypatch.setattr(queue, "jobs", self.ask)
        monkeypatch.setattr(queue, "cancel", self.cancel)
        monkeypatch.setattr(engine, "ARRAY", 2)
        monkeypatch.setattr(Jobs, "submit_array", self.submit)

    def submit(self, names, threads) -> list[str]:
        self.submitted.append(list(names))
        numbers = [f"{len(self.submitted)}_{k}" for k in range(len(names))]
        self.jobs |= dict.fromkeys(numbers, Job("PENDING", "Priority"))
        self.names |= dict(zip(names, numbers, strict=True))
        return numbers

    def ask(self, *selection: str) -> dict[str, Job]:
        for method, *arguments in self.moments.pop(0) if self.moments else ():
            getattr(self, method)(*arguments)
        return dict(self.jobs)

    def cancel(self, jobs) -> None:
        self.cancelled += sorted(jobs)
        self.jobs |= dict.fromkeys(jobs, Job("CANCELLED", "None"))

    def become(self, name: str, state: str = "COMPLETED", reason: str = "None") -> None:
        self.jobs[self.names[name]] = Job(state, reason)

    def finish(self, name: str) -> None:
        self.folder.run_path(name).mkdir(parents=True)
        (self.folder.run_path(name) / "DONE").touch()
        self.become(name)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch) -> Cluster:
    """For a folder with three runs, `a`, `b` and `c`."""
    folder = SweepFolder.create(tmp_path / "sweep")
    folder.add(dict.fromkeys("abc", config()))
    monkeypatch.setattr(SweepFolder, "config", lambda self, name: config())
    return Cluster(folder, monkeypatch)


def execute(cluster: Cluster, names: str = "abc", stop: StopRequested = NEVER, **changes) -> list[tuple[str, str]]:
    done = []
    chosen = dataclasses.replace(ENGINE, **changes)
    chosen.execute(cluster.folder, list(names), lambda name, state: done.append((name, state)), stop)
    return done


def record(cluster: Cluster) -> Path:
    return cluster.folder.path / "slurm" / "jobs.json"


def test_arrays_over_the_names_reported_as_they_end(cluster):
    # The first question is which jobs there are.
    cluster.moments = [[], [("finish", "c")], [], [("finish", "a"), ("finish", "b")]]
    assert execute(cluster) == [("c", "done"), ("a", "done"), ("b", "done")]
    assert cluster.submitted == [["a", "b"], ["c"]]
    assert json.loads(record(cluster).read_text()) == {"a": "1_0", "b": "1_1", "c": "2_0"}


def test_a_job_that_dies_is_a_failed_row_with_its_log(cluster):
    record(cluster).parent.mkdir()
    record(cluster).with_name("1_0_0_log.err").write_bytes(b"Killed \xff\n")
    cluster.moments = [[], [("become", "a", "OUT_OF_MEMORY")], [("become", "b", "NODE_FAIL")]]
    assert execute(cluster, "ab") == [("a", "failed"), ("b", "failed")]
    reason = "Slurm job 1_0 ended as OUT_OF_MEMORY; see slurm/1_0_0_log.err"
    assert cluster.folder.failure("a") == {"run": "a", "reason": reason, "kind": "memory"}
    assert (cluster.folder.path / "failed" / "a.log").read_text() == "Killed \ufffd\n"
    assert cluster.folder.failure("b")["kind"] == "crashed"


def test_a_job_that_slurm_has_forgotten_has_died_but_no_answer_is_no_answer(cluster, monkeypatch):
    answers = [{}, {"1_0": Job("RUNNING", "None")}, None, None, {}]
    monkeypatch.setattr(queue, "jobs", lambda *selection: answers.pop(0))
    assert execute(cluster, "a") == [("a", "failed")]
    assert cluster.folder.failure("a")["reason"].startswith("Slurm job 1_0 ended as unknown; ")
    assert answers == []


def test_a_requeued_job_is_waited_for(cluster):
    cluster.moments = [[], [("become", "a")], [("become", "a", "PENDING")], [("become", "a")], [("finish", "a")]]
    assert execute(cluster, "a", settle_seconds=3600) == [("a", "done")]
    assert cluster.submitted == [["a"]]


def test_a_second_driver_waits_for_the_jobs_of_the_first(cluster):
    """Of `a` the job still runs, of `b` not; one was submitted and not written down."""
    record(cluster).parent.mkdir()
    record(cluster).write_text('{"a": "7_0", "b": "7_1", "other": "5"}')
    states = {"7_0": "RUNNING", "7_1": "FAILED", "5": "RUNNING", "8_0": "PENDING"}
    cluster.jobs = {job: Job(state, "None") for job, state in states.items()}
    cluster.names = {"a": "7_0"}
    cluster.moments = [[], [], [], [("finish", name) for name in "abc"]]
    assert sorted(execute(cluster)) == [("a", "done"), ("b", "done"), ("c", "done")]
    assert cluster.submitted == [["b", "c"]]
    assert cluster.cancelled == ["8_0"]
    assert json.loads(record(cluster).read_text()) == {"a": "7_0", "b": "1_0", "other": "5", "c": "1_1"}


@pytest.mark.parametrize("text", ["[]", "{", '{"a": [3]}', '{"a": null}'])
def test_a_damaged_record_is_refused_or_its_jobs_submitted_anew(cluster, text):
    record(cluster).parent.mkdir()
    record(cluster).write_text(text)
    cluster.moments = [[], [("finish", "a")]]
    if "a" not in text:
        with pytest.raises(UserError, match=r"jobs\.json is not a JSON object; restore it from a copy$"):
            execute(cluster, "a")
    else:
        assert execute(cluster, "a") == [("a", "done")]


def test_reasons_to_wait_are_reported_once_and_ordinary_ones_not(cluster):
    reasons = {"a": "PartitionDown", "b": "QOS", "c": "Priority"}
    waits = [("become", name, "PENDING", reason) for name, reason in reasons.items()]
    notices = []
    cluster.moments = [[], waits, [], [("become", "a", "RUNNING")], [("finish", name) for name in "abc"]]
    execute(cluster, on_notice=notices.append)
    assert notices == [f"no job of the sweep runs, Slurm says: {reason}" for reason in ("PartitionDown", "QOS")]


def test_a_stop_cancels_and_waits(cluster, monkeypatch):
    stop = StopRequested()
    monkeypatch.setattr(cluster, "finish", lambda name: setattr(stop, "requested", True))
    cluster.moments = [[], [("finish", "a")]]
    assert execute(cluster, "abc", stop) == []
    assert cluster.cancelled == ["1_0", "1_1", "2_0"]


class Requeued(Exception):
    """In place of submitit's exit."""


@pytest.fixture
def job(programs, monkeypatch):
    """This process is the job 12_3 of an array, and submitit listens to SIGUSR2."""

    def requeue(number, frame):
        raise Requeued

    for key, value in (("JOB_ID", "15"), ("ARRAY_JOB_ID", "12"), ("ARRAY_TASK_ID", "3")):
        monkeypatch.setenv(f"SLURM_{key}", value)
    monkeypatch.setenv("SUBMITIT_EXECUTOR", "slurm")
    former = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGUSR2)}
    signal.signal(signal.SIGUSR2, requeue)
    yield
    for number, handler in former.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR2])
@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize(("state", "ending"), [("RUNNING", Requeued), ("COMPLETING", SystemExit), ("", SystemExit)])
def test_a_stopped_run_is_requeued_unless_cancelled(programs, tmp_path, job, monkeypatch, number, begun, state, ending):
    program(programs, "squeue", f"echo '12_3|{state}|None'")

    def work(folder: SweepFolder, name: str) -> int:
        assert (folder.path, name) == (tmp_path, "a")
        if not begun:
            signal.raise_signal(number)
        with StopRequested() as stop:
            signal.raise_signal(number)
            assert stop.name == "SIGTERM"
        return 75

    monkeypatch.setattr(attempt, "work", work)
    with pytest.raises(ending) as caught:
        attempt.Attempt(str(tmp_path))("a")
    assert ending is Requeued or caught.value.args == (75,)


@pytest.mark.parametrize("status", [0, 1])
def test_a_run_that_came_to_its_end_is_not_requeued(tmp_path, job, monkeypatch, status):
    monkeypatch.setattr(attempt, "work", lambda folder, name: status)
    assert attempt.Attempt(str(tmp_path))("a") == status
    again = attempt.Attempt("/a/sweep").checkpoint("a")
    assert isinstance(again.function, attempt.Attempt)
    assert (again.function.folder, again.args) == ("/a/sweep", ("a",))


@pytest.mark.parametrize(
    ("squeue", "of_job", "released"),
    [
        ("echo slurm_load_jobs error: Invalid job id specified >&2; exit 1", "11", True),
        ("exit 0", "11", True),
        ("echo '11|FAILED|None'", "11", True),
        ("echo '12_3|RUNNING|None'", "12_3", True),  # this very job, requeued
        ("echo '11|RUNNING|None'", "11", False),
        ("echo no controller >&2; exit 1", "11", False),
        ("exit 0", "", False),
    ],
)
def test_the_lock_of_a_job_that_died_with_its_node(programs, tmp_path, squeue, of_job, released):
    program(programs, "squeue", squeue)
    owner = lock.Owner(2**22 + 1, "another-node", "then", of_job)
    (tmp_path / lock.NAME).write_text(json.dumps(dataclasses.asdict(owner)))
    attempt.release_dead(tmp_path, "12_3")
    assert (tmp_path / lock.NAME).exists() != released


def test_the_owner_of_a_lock_names_its_job(tmp_path, job):
    with lock.locked(tmp_path), pytest.raises(UserError, match=r" \(Slurm job 12_3\); wait for it or stop it"):
        lock.locked(tmp_path).__enter__()
