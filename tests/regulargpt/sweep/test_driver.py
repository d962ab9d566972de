"""A sweep with everything that can happen to it but a kill: failures, damage, stops, locks, what a rerun does."""

import errno
import json
import os
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest

from languages.errors import UserError
from regulargpt.config.schema import ConfigError, RunConfig
from regulargpt.results.rows import rows
from regulargpt.runs import run as running
from regulargpt.runs.sweep import driver, process, worker
from regulargpt.runs.sweep.driver import SweepWatch
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.runs.sweep.local import LocalEngine
from regulargpt.runs.sweep.names import name_of
from regulargpt.storage import atomic, lock
from regulargpt.storage.lock import LockedError
from regulargpt.training.trainer import Diverged, Trainer
from tests.regulargpt.sweep.forked import InThisProcess, configs, forking, is_gone, results, swept, wait_for

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch):
    monkeypatch.setattr(running.plots, "of_run", lambda path, *rest: path.write_bytes(b""))


@pytest.fixture(scope="module")
def settings() -> list[RunConfig]:
    return configs(3, training__steps=6)


@pytest.fixture(scope="module")
def finished(settings, tmp_path_factory) -> Path:
    """A sweep of these runs that is done."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running.plots, "of_run", lambda path, *rest: path.write_bytes(b""))
        path = tmp_path_factory.mktemp("finished") / "sweep"
        driver.sweep(path, settings, InThisProcess())
    return path


@pytest.fixture
def done(finished: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(finished, tmp_path / "done")


def names(settings: list[RunConfig]) -> tuple[str, ...]:
    return tuple(name_of(config) for config in settings)


def reason_of(path: Path, name: str) -> dict[str, object]:
    return SweepFolder(path).failure(name)


def test_a_sweep_its_folder_and_its_rerun(tmp_path: Path, settings):
    events: list[tuple[str, object]] = []
    watch = SweepWatch(lambda folder, plan: events.append(("plan", dict(plan))), lambda *done: events.append(done))
    engine, path = InThisProcess(), tmp_path / "a" / "sweep"
    assert driver.plan(path, settings) == dict.fromkeys(names(settings), "missing")
    assert not path.exists()
    found = driver.sweep(path, settings, engine, watch)
    assert (found.done, found.failed, found.missing, found.stopped) == (names(settings), (), (), "")
    assert events[0] == ("plan", dict.fromkeys(names(settings), "missing"))
    assert events[1:] == [(name, "done") for name in names(settings)]
    assert sorted(p.name for p in path.iterdir()) == ["configs", "results.csv", "results.jsonl", "runs", "sweep.json"]
    folder = SweepFolder.open(path)
    assert folder.names == names(settings)
    assert [folder.config(name) for name in folder.names] == settings
    assert {row.run for row in rows(path)} == set(names(settings))

    before = results(path)
    again = InThisProcess()
    assert driver.sweep(path, settings, again) == found
    assert again.executed == []
    assert results(path) == before
    # Another command in the same folder adds its runs.
    more = [*configs(4, training__steps=6)[3:], settings[0]]
    found = driver.sweep(path, more, again)
    assert again.executed == [name_of(more[0])]
    assert found.done == names(more)
    assert folder.names == (*names(settings), name_of(more[0]))


def test_local_workers_make_the_same(tmp_path: Path, settings, monkeypatch):
    pids = forking(monkeypatch)
    assert swept(tmp_path / "local", [*settings, settings[0]]).done == names(settings)
    assert len(pids) == 2
    assert all(map(is_gone, pids))
    driver.sweep(tmp_path / "here", settings, InThisProcess())
    assert results(tmp_path / "local") == results(tmp_path / "here")


def test_nothing_is_written_if_one_config_is_refused(tmp_path: Path, settings):
    bad = settings[1].replaced({"evaluation.test_len": 3})
    with pytest.raises(
        ConfigError, match=r"^cycle-navigation, linear-rnn: evaluation.test_len = 3; test words are longer"
    ):
        driver.sweep(tmp_path / "sweep", [*settings, bad], InThisProcess())
    assert list(tmp_path.iterdir()) == []


MEMORY = "out of memory; choose a smaller model or batch"
FAILURES = [
    (Diverged("the loss is nan at step 1; lower it"), "diverged", "the loss is nan at step 1; lower it"),
    (UserError("no such thing; another"), "refused", "no such thing; another"),
    (MemoryError(), "memory", f"{MEMORY}, or fewer --jobs (MemoryError)"),
    (RuntimeError("CUDA out of memory. Tried to\nallocate"), "memory", MEMORY),
    (RuntimeError("an illegal memory access\nwas met"), "crashed", "RuntimeError: an illegal memory access"),
    (KeyError("x"), "crashed", "KeyError: 'x'"),
    (ZeroDivisionError(), "crashed", "ZeroDivisionError"),
]


@pytest.mark.parametrize(("error", "kind", "reason"), FAILURES, ids=[repr(e)[:40] for e, _, _ in FAILURES])
def test_a_failed_run_is_a_row_with_its_reason(tmp_path: Path, settings, monkeypatch, error, kind, reason):
    run = running.run

    def failing(config: RunConfig, *rest):
        if config == settings[1]:
            raise error
        return run(config, *rest)

    monkeypatch.setattr(running, "run", failing)
    engine = InThisProcess()
    found = driver.sweep(tmp_path, settings, engine)
    name = name_of(settings[1])
    assert (found.done, found.failed) == ((name_of(settings[0]), name_of(settings[2])), (name,))
    record = reason_of(tmp_path, name)
    assert (record["run"], record["kind"]) == (name, kind)
    assert str(record["reason"]).startswith(reason)
    assert type(error).__name__ in (tmp_path / "failed" / f"{name}.log").read_text()
    (row,) = [row for row in rows(tmp_path) if row.run == name]
    assert (row.status, row.reason) == ("failed", record["reason"])

    # It stays a failed row, until it is asked for again.
    assert driver.sweep(tmp_path, settings, engine) == found
    assert len(engine.executed) == 3
    monkeypatch.setattr(running, "run", run)
    assert driver.sweep(tmp_path, settings, engine, retry=True).done == names(settings)
    assert engine.executed[3:] == [name]
    assert list((tmp_path / "failed").iterdir()) == []


def test_a_diverged_run_keeps_its_state_and_diverges_again(tmp_path: Path, settings, monkeypatch):
    def step(self: Trainer) -> None:
        raise Diverged("the loss is nan at step 1; lower training.lr")

    monkeypatch.setattr(Trainer, "step", step)
    for retry in (False, True):
        assert driver.sweep(tmp_path, settings[:1], InThisProcess(), retry=retry).failed == names(settings[:1])
    assert (tmp_path / "runs" / name_of(settings[0]) / "checkpoints" / "000000000").is_dir()


def test_workers_end_after_a_failure_and_others_go_on(tmp_path: Path, settings, monkeypatch):
    def prepare(number: int) -> None:
        run = running.run

        def failing(config: RunConfig, *rest):
            if config == settings[0]:
                os._exit(3)
            if config == settings[1]:
                raise KeyError("x")
            return run(config, *rest)

        running.run = failing  # in the child only

    pids = forking(monkeypatch, prepare)
    found = swept(tmp_path, settings, jobs=1)
    assert (found.done, found.failed) == (names(settings)[2:], names(settings)[:2])
    assert len(pids) == 3
    assert reason_of(tmp_path, found.failed[0])["reason"] == "ended with status 3 and without a result"
    assert reason_of(tmp_path, found.failed[1])["reason"] == "KeyError: 'x'"


@pytest.mark.parametrize("file", ["model.safetensors", "summary.json", "config.toml", "manifest.json"])
def test_a_damaged_finished_run_is_a_failed_row_until_it_is_repaired(done: Path, settings, file: str):
    name, engine = name_of(settings[1]), InThisProcess()
    path = done / "runs" / name / file
    whole = path.read_bytes()
    path.write_bytes(bytes([whole[0] ^ 1]) + whole[1:])
    for retry in (False, True, False):
        found = driver.sweep(done, settings, engine, retry=retry)
        assert found.failed == (name,)
        assert f"{file} is damaged: SHA-256 expected " in reason_of(done, name)["reason"]
    assert engine.executed == []
    path.write_bytes(whole)
    assert driver.sweep(done, settings, engine, retry=True).done == names(settings)
    assert engine.executed == []


def test_a_disk_that_is_busy_fails_no_finished_run(done: Path, settings, monkeypatch):
    before, read = results(done), atomic.disk.read

    def refused(path: Path) -> bytes:
        if path.name == "model.safetensors":
            raise OSError(errno.EMFILE, "Too many open files")
        return read(path)

    monkeypatch.setattr(atomic.disk, "read", refused)
    with pytest.raises(UserError, match="too many files are open; raise the limit"):
        driver.sweep(done, settings, InThisProcess())
    monkeypatch.undo()
    assert driver.sweep(done, settings, InThisProcess()).done == names(settings)
    assert results(done) == before


def test_a_failure_that_lost_its_reason_is_still_one(done: Path, settings):
    name = names(settings)[0]
    (done / "failed").mkdir(exist_ok=True)
    (done / "failed" / f"{name}.json").write_text("{}")
    assert driver.sweep(done, settings, InThisProcess()).failed == (name,)
    assert reason_of(done, name) == {"run": name, "reason": "no reason was kept", "kind": ""}


def test_a_damaged_unfinished_run_is_a_failed_row(done: Path, settings):
    name = name_of(settings[0])
    run = done / "runs" / name
    (run / "DONE").unlink()
    for path in run.glob("checkpoints/*/model.safetensors"):
        path.write_bytes(b"")
    assert driver.sweep(done, settings, InThisProcess()).failed == (name,)
    record = reason_of(done, name)
    assert record["kind"] == "refused"
    assert "checkpoints" in str(record["reason"])


def test_a_run_folder_of_another_config_is_not_taken_for_this_one(done: Path, settings):
    first, second = (done / "runs" / name for name in names(settings[:2]))
    first.rename(done / "aside")
    second.rename(first)
    found = driver.sweep(done, settings[:2], InThisProcess())
    assert (found.failed, found.done) == (names(settings[:1]), names(settings[1:2]))
    assert "is not the config that the run" in str(reason_of(done, found.failed[0])["reason"])


def test_a_changed_config_is_written_anew(done: Path, settings):
    name = name_of(settings[0])
    path = done / "configs" / f"{name}.toml"
    path.write_text(path.read_text().replace("seed = 0", "seed = 1"))
    with pytest.raises(UserError, match="is not the config that the run"):
        SweepFolder(done).config(name)
    assert driver.sweep(done, settings[:1], InThisProcess()).done == (name,)
    assert SweepFolder(done).config(name) == settings[0]


OWED = [(True, ["uncertified.json", "certificate.json"]), (False, ["uncertified.json"]), (None, [])]


@pytest.mark.parametrize(("proven", "owed"), OWED)
def test_what_a_run_that_was_killed_after_done_still_owes(done: Path, settings, monkeypatch, proven, owed):
    """`resume` writes it: a certificate, or why there is no proof."""
    folder, name = SweepFolder(done), name_of(settings[0])
    monkeypatch.setattr("regulargpt.storage.folder.RunFolder.load_summary", lambda self: {"proven": proven})
    for file in owed:
        assert folder.state(name) == "missing"
        (folder.run_path(name) / file).write_text("{}")
    assert folder.state(name) == "done"


FORMAT = "here has format 1, this program needs 2; make it anew, or use the version that wrote it"
IN_THE_WAY = {
    "": "is a file; choose another --out",
    "thesis.txt": "is not empty and no sweep folder; choose another --out",
    "{": "sweep.json is not a JSON object",
    '{"format": 1, "names": []}': FORMAT,
    '{"format": 2, "names": ["../x"]}': "sweep.json does not list the names of runs; restore it from a copy",
}


@pytest.mark.parametrize("content", IN_THE_WAY)
def test_folders_that_are_refused(tmp_path: Path, settings, content: str):
    here = tmp_path / "here"
    if content:
        here.mkdir()
    (here / ("sweep.json" if "{" in content else content)).write_text(content)
    for of_sweep in (driver.plan, lambda path, configs: driver.sweep(path, configs, InThisProcess())):
        with pytest.raises(UserError) as refused:
            of_sweep(here, settings)
        assert IN_THE_WAY[content] in str(refused.value)
        assert "\n" not in str(refused.value)
    with pytest.raises(UserError, match=r"is not a sweep folder: sweep.json missing; give one that `regulargpt sweep`"):
        SweepFolder.open(tmp_path)


def test_one_driver_at_a_time_and_a_dead_one_does_not_count(tmp_path: Path, settings):
    engine = InThisProcess()
    SweepFolder.create(tmp_path)
    with SweepFolder(tmp_path).locked(), pytest.raises(LockedError, match="is in use by process"):
        driver.sweep(tmp_path, settings[:1], engine)
    assert engine.executed == []
    dead = {"host": os.uname().nodename, "pid": 2**22, "started": "0"}
    (tmp_path / ".lock").write_text(json.dumps(dead))
    assert driver.sweep(tmp_path, settings[:1], engine).done == names(settings[:1])


@pytest.fixture
def waiting(tmp_path: Path, settings, monkeypatch) -> tuple[SweepFolder, str]:
    """A sweep of which one run has a folder and is not begun."""
    folder, name = SweepFolder.create(tmp_path), name_of(settings[0])
    folder.add({name: settings[0]})
    folder.run_path(name).mkdir(parents=True)
    monkeypatch.setattr(worker, "PAUSE", 0.01)
    return folder, name


def test_a_worker_waits_for_one_that_is_still_dying(waiting):
    folder, name = waiting
    held = threading.Event()

    def leave() -> None:
        with lock.locked(folder.run_path(name)):
            held.set()
            time.sleep(0.2)

    thread = threading.Thread(target=leave)
    thread.start()
    held.wait()
    assert worker.work(folder, name) == 0
    thread.join()
    assert folder.state(name) == "done"


def test_a_worker_does_not_wait_for_ever(waiting, monkeypatch):
    folder, name = waiting
    monkeypatch.setattr(worker, "PATIENCE", 0.05)
    with lock.locked(folder.run_path(name)):
        assert worker.work(folder, name) == 1
    assert "is in use by process" in str(folder.failure(name)["reason"])
    assert folder.state(name) == "failed"


def test_a_stop_lets_workers_save_and_a_rerun_go_on(tmp_path: Path, monkeypatch):
    settings, pids = configs(3, training__steps=100, training__checkpoint_every=50), forking(monkeypatch)
    swept(tmp_path / "whole", settings)

    def stop(path: Path, number: int) -> None:
        wait_for(lambda: any(path.glob("runs/*/metrics.jsonl")))
        os.kill(os.getpid(), number)

    for number in (signal.SIGINT, signal.SIGTERM):
        path = tmp_path / number.name
        moment = threading.Thread(target=stop, args=(path, number))
        moment.start()
        found = swept(path, settings)
        moment.join()
        assert (found.stopped, found.failed) == (number.name, ())
        assert found.missing
        assert all(map(is_gone, pids))
        assert not (path / "results.csv").exists()
        assert swept(path, settings).done == names(settings)
        assert results(path) == results(tmp_path / "whole")


def test_the_gpu_of_a_place(tmp_path: Path, monkeypatch):
    """Each worker sees one GPU; a GPU has as many workers as it may."""
    places, pids, many = [], forking(monkeypatch), configs(5, training__steps=1)
    launch = process.launch
    monkeypatch.setattr(
        process, "launch", lambda folder, place, log: (places.append(place), launch(folder, place, log))[1]
    )
    assert driver.sweep(tmp_path, many, LocalEngine(gpus=("3", "GPU-8f"), per_gpu=2)).done == names(many)
    assert sorted(map(str, places)) == ["3", "3", "GPU-8f", "GPU-8f"]
    assert len(pids) == 4


AT_ONCE = [
    *((LocalEngine(jobs=3), threads, 3) for threads in (1, 8)),
    *((LocalEngine(), threads, n) for threads, n in ((1, 4), (2, 2), (9, 1))),
    (LocalEngine(gpus=(0, 1)), 9, 2),
    (LocalEngine(jobs=1, gpus=(0, 1)), 1, 1),
    (LocalEngine(jobs=3, gpus=(0, 1), per_gpu=2), 1, 3),
]


@pytest.mark.parametrize(("engine", "threads", "n"), AT_ONCE)
def test_how_many_at_once(monkeypatch, engine: LocalEngine, threads: int, n: int):
    monkeypatch.setattr("regulargpt.runs.sweep.local.cores", lambda: 4)
    assert len(engine.places(threads)) == n
