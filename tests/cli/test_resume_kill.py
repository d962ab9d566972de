"""Runs killed with SIGKILL, at random moments and at chosen calls of the disk, resumed until they end: the same bytes.

Children are forked from a process that has imported everything, so that a kill costs milliseconds; one test starts real
processes by the command line.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from regulargpt.config.schema import RunConfig
from regulargpt.runs import run as running
from regulargpt.storage import atomic
from regulargpt.storage.folder import CONFIG, RunFolder
from tests.quick import search_once
from tests.regulargpt.small import FAMILIES, config, contents
from tests.regulargpt.sweep.forked import CALLS, die_at, wait_for

pytestmark = pytest.mark.slow
KILLS = 4  # of each family: 28 in all


def go(settings: RunConfig, folder: Path) -> None:
    """Start the run, or go on with it."""
    if (folder / CONFIG).exists():
        running.resume(folder)
    else:
        running.run(settings, folder)


def count_calls(settings: RunConfig, folder: Path) -> int:
    """The calls of the disk in a whole run."""
    counted = []
    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            original = getattr(atomic.disk, name)
            patch.setattr(atomic.disk, name, lambda *a, o=original: (counted.append(1), o(*a))[1], raising=False)
        go(settings, folder)
    return len(counted)


def fork(settings: RunConfig, folder: Path, prepare: Callable[[], None] = lambda: None) -> int:
    """A child that goes on with the run; its exit status is 0 if it came to the end. The process id."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        torch.set_num_threads(1)
        prepare()
        go(settings, folder)
        status = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(status)


def killed(child: int) -> bool:
    """Whether the child was killed; it must otherwise have come to its end."""
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch):
    monkeypatch.setattr(running.plots, "of_run", lambda path, *rest: path.write_bytes(b""))


# Forking a process with threads warns since Python 3.12; torch's are idle here.
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("family", FAMILIES)
def test_killed_at_random_moments(family: str, tmp_path: Path):
    settings = config(family, training__steps=90, training__checkpoint_every=3, training__solved_loss=0.0)
    moments = random.Random(f"kill {family}")
    began = time.monotonic()
    assert not killed(fork(settings, tmp_path / "whole"))
    whole = time.monotonic() - began
    folders, kills, steps = [tmp_path / "0"], 0, [0]
    while kills < KILLS or not steps[-1]:
        number = moments.randrange(120)
        if kills % 2:
            child = fork(settings, folders[-1], lambda n=number: die_at(n, tmp_path / "deaths"))
        else:
            child = fork(settings, folders[-1])
            time.sleep(moments.uniform(0, whole / 4))
            os.kill(child, signal.SIGKILL)
        if killed(child):
            kills += 1
            assert last_step(folders[-1]) >= steps[-1]
            steps.append(last_step(folders[-1]))
        else:  # it was faster: another one is killed
            folders.append(tmp_path / str(len(folders)))
            steps.append(0)
    assert not killed(fork(settings, folders[-1]))
    for folder in folders:
        assert contents(folder) == contents(tmp_path / "whole")
        assert not [name for name in os.listdir(folder) if atomic.is_temporary(name)]


def last_step(folder: Path) -> int:
    parent = folder / "checkpoints"
    return max((int(p.name) for p in parent.iterdir() if p.name.isdecimal()), default=0) if parent.exists() else 0


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_killed_at_any_call_of_the_disk(tmp_path: Path, monkeypatch):
    """From the first file of the folder to DONE: every seventh call, and all of those after the last step."""
    search_once(monkeypatch)
    few = {"training__steps": 6, "training__checkpoint_every": 3, "training__log_every": 2}
    settings = config("regulargpt", **few, evaluation__falsify=20)
    n_calls = count_calls(settings, tmp_path / "whole")
    expected = contents(tmp_path / "whole")
    tail = 60
    chosen = sorted({*range(0, n_calls, 7), *range(n_calls - tail, n_calls, 2)})
    for number in chosen:
        folder = tmp_path / str(number)
        assert killed(fork(settings, folder, lambda n=number: die_at(n, tmp_path / "deaths"))), (
            f"call {number} of {n_calls}"
        )
        done = (folder / "DONE").exists()
        assert not killed(fork(settings, folder))
        assert contents(folder) == expected
        assert RunFolder.open(folder).load_summary()["steps"] == 6
        assert not done or number >= n_calls - 2
    assert len(chosen) >= 25


COMMAND = [sys.executable, "-m", "regulargpt"]


def start(arguments: list[str]) -> subprocess.Popen:
    return subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_real_processes_killed_terminated_and_resumed_by_the_command_line(tmp_path: Path):
    settings = config("regulargpt", training__steps=300, training__checkpoint_every=10, training__solved_loss=0.0)
    (tmp_path / "config.toml").write_text(settings.render())
    folder = tmp_path / "run"
    arguments = ["run", "--config", str(tmp_path / "config.toml"), "--out", str(folder), "--json"]

    process = start(arguments)
    wait_for(lambda: last_step(folder) > 0)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    process.communicate()

    process = start(["resume", str(folder), "--json"])
    before = last_step(folder)
    wait_for(lambda: last_step(folder) > before)
    process.terminate()
    out, err = process.communicate()
    assert (process.returncode, out) == (75, "")
    assert err.startswith("stopped by SIGTERM after step ")
    assert err.endswith(f"; `regulargpt resume {folder}` goes on from there\n")
    assert int(err.split()[5].rstrip(";")) == last_step(folder)

    out = subprocess.run([*COMMAND, "resume", str(folder), "--json"], capture_output=True, text=True, check=True).stdout
    summary = json.loads(out)
    again = subprocess.run([*COMMAND, "resume", str(folder), "--json"], capture_output=True, text=True, check=True)
    assert json.loads(again.stdout) == summary
    assert summary["steps"] == 300
    running.run(settings, tmp_path / "whole")
    assert contents(folder) == contents(tmp_path / "whole")
