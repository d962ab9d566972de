"""The machine fails in the middle of a run, at any call: exit code 1 and one line, and `resume` loses nothing."""

import errno
import functools
import inspect
from pathlib import Path
from typing import Any

import pytest

from regulargpt.runs import run as running
from regulargpt.storage import atomic
from tests.cli.conftest import Cli
from tests.quick import search_once
from tests.regulargpt.small import config, contents

CODES = (errno.ENOSPC, errno.EACCES, errno.ENOENT, errno.EMFILE)
STRIDE = 4
"""Of each code every fourth call, starting elsewhere: every call fails with one of them."""


class Failing(atomic.Disk):
    """The disk, whose call with this number fails."""

    def __init__(self, at: int = -1, code: int = 0):
        self.at, self.code, self.calls = at, code, 0

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if not inspect.ismethod(found) or name == "count":
            return found
        return functools.partial(self.count, found)

    def count(self, method: Any, *arguments: Any) -> Any:
        self.calls += 1
        if self.calls - 1 == self.at:
            raise OSError(self.code, "injected")
        return method(*arguments)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch) -> Path:
    """The config of a run that writes everything but a picture, which takes longer than all the rest."""
    monkeypatch.setattr(running.plots, "of_run", lambda path, *rest: atomic.write_bytes(path, b"picture"))
    search_once(monkeypatch)
    path = tmp_path / "small.toml"
    few = {"training__steps": 3, "training__checkpoint_every": 1, "training__log_every": 2}  # the first is removed
    of_parity = {"data__name": "parity", "objective__name": "last", "evaluation__falsify": 20}
    path.write_text(config("gru", **of_parity, **few).render())
    return path


def test_a_run_counts_its_calls_on_the_disk(cli: Cli, settings: Path, monkeypatch):
    monkeypatch.setattr(atomic, "disk", disk := Failing())
    assert cli("run", "--config", settings, "--out", "run").code == 0
    assert 100 < disk.calls < 400


@pytest.mark.slow
@pytest.mark.parametrize("code", CODES, ids=errno.errorcode.get)
def test_whatever_call_fails_it_is_one_line_and_resumed_bit_for_bit(
    cli: Cli, settings: Path, tmp_path: Path, monkeypatch, code: int
):
    monkeypatch.setattr(atomic, "disk", disk := Failing())
    assert cli("run", "--config", settings, "--out", "whole").code == 0
    for at in range(CODES.index(code), disk.calls, STRIDE):
        monkeypatch.setattr(atomic, "disk", Failing(at, code))
        answer = cli("run", "--config", settings, "--out", f"run{at}", "--json")
        folder = tmp_path / f"run{at}"
        is_begun = (folder / "config.toml").exists()
        assert answer.code in ((1,) if is_begun or code in (errno.ENOSPC, errno.EMFILE) else (1, 2)), (at, answer)
        assert answer.out == ""
        assert answer.err.startswith("error: ")
        assert answer.err.count("\n") == 1
        monkeypatch.setattr(atomic, "disk", atomic.Disk())
        again = ("resume", folder) if is_begun else ("run", "--config", settings, "--out", folder)
        assert cli(*again).code == 0, at
        assert contents(folder) == contents(tmp_path / "whole"), at
