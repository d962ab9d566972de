"""The lock between real processes: one at a time, the dead make way, the living are named."""

import contextlib
import errno
import fcntl
import functools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from regulargpt.storage import LockedError, StorageError, lock
from tests.regulargpt.sweep.forked import Forked

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def hold(folder: Path) -> int:
    with lock.locked(folder):
        print("held", flush=True)
        sys.stdin.read()
    return 0


def compete(folder: Path) -> int:
    sys.stdin.read()
    turns = 0
    for _ in range(40):
        try:
            with lock.locked(folder):
                (folder / "inside").mkdir()  # fails if another process is inside too
                time.sleep(0.001)
                (folder / "inside").rmdir()
                turns += 1
        except LockedError:
            time.sleep(0.001)
    print(turns, flush=True)
    return 0


@contextlib.contextmanager
def forked(*work: Callable[[], int]) -> Iterator[list[Forked]]:
    """Processes that are killed in the end, if they have not ended."""
    with open(os.devnull, "wb") as log:
        processes = [Forked(log, one) for one in work]
    yield processes
    for process in processes:
        process.kill()
        process.wait()
        process.close()


@pytest.fixture
def holder(tmp_path):
    with forked(functools.partial(hold, tmp_path)) as (process,):
        assert process.stdout.readline() == b"held\n"
        yield process


def test_a_second_process_is_told_who_works_where(holder, tmp_path):
    said = rf"^{tmp_path} is in use by process {holder.pid} on .+; wait for it or stop it"
    with pytest.raises(LockedError, match=said):
        lock.locked(tmp_path).__enter__()
    assert (tmp_path / ".lock").exists()


def test_the_lock_goes_with_the_block(holder, tmp_path):
    holder.stdin.close()
    assert holder.wait() == 0
    assert not (tmp_path / ".lock").exists()
    with lock.locked(tmp_path) as owner:
        assert owner.pid == os.getpid()
        assert json.loads((tmp_path / ".lock").read_text()) == asdict(owner)
    assert not (tmp_path / ".lock").exists()


@pytest.mark.parametrize("reaped", [False, True])
def test_the_lock_of_a_killed_process_is_taken_over(holder, tmp_path, reaped):
    holder.kill()
    os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)
    if reaped:
        holder.wait()
    assert (tmp_path / ".lock").exists()
    with lock.locked(tmp_path) as owner:
        assert json.loads((tmp_path / ".lock").read_text())["pid"] == owner.pid


def test_a_number_used_again_by_another_process_is_not_the_owner(holder, tmp_path):
    now = lock.start_time(holder.pid)
    assert now
    assert now == lock.start_time(holder.pid)
    earlier = replace(lock.Owner.current(), pid=holder.pid, started=now + "0")
    assert not earlier.is_alive()
    (tmp_path / ".lock").write_text(json.dumps(asdict(earlier)))
    with lock.locked(tmp_path):
        pass


def test_this_process_does_not_enter_twice_and_the_first_block_keeps_the_lock(tmp_path):
    with lock.locked(tmp_path):
        with pytest.raises(LockedError, match=f"process {os.getpid()} "):
            lock.locked(tmp_path).__enter__()
        assert (tmp_path / ".lock").exists()


def test_an_error_in_the_block_releases(tmp_path):
    with pytest.raises(ZeroDivisionError), lock.locked(tmp_path):
        _ = 1 / 0
    assert not (tmp_path / ".lock").exists()


def test_a_process_on_another_host_counts_as_alive_and_the_remedy_is_named(tmp_path):
    other = lock.Owner(pid=1, host="another-host", started="x")
    (tmp_path / ".lock").write_text(json.dumps(asdict(other)))
    said = rf"process 1 on another-host; if that process is gone, delete {tmp_path}/.lock"
    with pytest.raises(LockedError, match=said):
        lock.locked(tmp_path).__enter__()


@pytest.mark.parametrize("data", [b"", b"\0" * 90, b"\n"])
def test_a_lock_file_emptied_by_a_power_cut_is_free(tmp_path, data):
    (tmp_path / ".lock").write_bytes(data)
    with lock.locked(tmp_path):
        pass


@pytest.mark.parametrize(
    "data", [b"x", b"{}", b"[]", b'{"pid": 1}', b"\xff\xff", b'{"pid": "x", "host": 1, "started": ""}']
)
def test_a_lock_file_of_another_kind_is_left_alone(tmp_path, data):
    (tmp_path / ".lock").write_bytes(data)
    with pytest.raises(LockedError, match=r"delete (that file|/.*/\.lock)$"):
        lock.locked(tmp_path).__enter__()
    assert (tmp_path / ".lock").read_bytes() == data


def test_a_deleted_folder_is_no_second_error(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    with lock.locked(folder):
        (folder / ".lock").unlink()
        folder.rmdir()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.ENOENT, errno.EMFILE, errno.ENOLCK])
@pytest.mark.parametrize("function", ["os.open", "os.write", "os.ftruncate", "fcntl.flock"])
def test_a_refusal_of_the_disk_is_one_line(tmp_path, monkeypatch, code, function):
    def refuse(*arguments):
        raise OSError(code, "injected")

    module, name = function.split(".")
    monkeypatch.setattr(sys.modules[module], name, refuse)
    with pytest.raises(StorageError, match=rf"^{tmp_path}/.lock: .*; [^\n]*$"):
        lock.locked(tmp_path).__enter__()
    monkeypatch.undo()
    with lock.locked(tmp_path):
        pass


def test_half_a_name_on_a_full_disk_does_not_lock_the_folder(tmp_path, monkeypatch):
    real, written = os.write, []

    def write(handle, data):
        if written:
            raise OSError(errno.ENOSPC, "injected")
        written.append(real(handle, data[:10]))
        return 10

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(StorageError, match=r"no space is left"):
        lock.locked(tmp_path).__enter__()
    monkeypatch.undo()
    with lock.locked(tmp_path):
        pass


def test_a_lock_file_removed_while_waiting_for_it_is_not_the_lock(tmp_path, monkeypatch):
    real, waits = fcntl.flock, []

    def flock(handle, operation):
        real(handle, operation)
        waits.append(handle)
        if len(waits) == 1:
            (tmp_path / ".lock").unlink()
        if len(waits) == 2:
            (tmp_path / ".lock").rename(tmp_path / "moved")
            (tmp_path / ".lock").write_text("")

    monkeypatch.setattr(fcntl, "flock", flock)
    with lock.locked(tmp_path) as owner:
        assert json.loads((tmp_path / ".lock").read_text()) == asdict(owner)
        assert len(waits) == 3


def release(path: Path, owner: lock.Owner) -> int:
    lock._release(path, owner)
    return 0


def test_a_forked_child_does_not_release_its_parents_lock(tmp_path):
    with lock.locked(tmp_path) as owner:
        with forked(functools.partial(release, tmp_path / ".lock", owner)) as (child,):
            assert child.wait() == 0
        assert (tmp_path / ".lock").exists()


def test_of_many_processes_never_two_are_inside(tmp_path):
    (tmp_path / ".lock").write_text(json.dumps(asdict(lock.Owner(2**22 + 1, lock.Owner.current().host, "gone"))))
    with forked(*[functools.partial(compete, tmp_path)] * 6) as processes:
        for process in processes:
            process.stdin.close()
        turns = [int(process.stdout.readline()) for process in processes]
        assert [process.wait() for process in processes] == [0] * 6
    assert sum(turns) >= 6
    assert not (tmp_path / "inside").exists()
