"""The command line in this process: its exit code, what it printed, and where it would write."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from regulargpt.cli import call


class Answer(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


Cli = Callable[..., Answer]


@pytest.fixture
def cli(capsys, tmp_path: Path, monkeypatch) -> Cli:
    """Call the command line in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def answer(*arguments: str) -> Answer:
        capsys.readouterr()
        code = call([str(argument) for argument in arguments])
        return Answer(code, *capsys.readouterr())

    return answer
