"""The command line in this process: its exit code, what it printed, where it would write, and what it is held to."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from regulargpt.cli import call
from regulargpt.runs import falsify as falsifying
from regulargpt.text.measurements import variance_by_position
from regulargpt.text.measurements.position_probe import ProbeSetting
from regulargpt.text.measurements.position_variance import RandomModel
from tests.cli.places import build

TINY = variance_by_position.Preset(
    RandomModel(d_model=16, n_heads=2, length=9, draws=4),
    ProbeSetting(RandomModel(d_model=8, n_heads=2, length=6, n_layers=1), updates=2, batch_size=2),
)


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

    def answer(*arguments: object) -> Answer:
        capsys.readouterr()
        code = call([str(argument) for argument in arguments])
        return Answer(code, *capsys.readouterr())

    return answer


@pytest.fixture(scope="session")
def home(tmp_path_factory) -> Path:
    """A folder with finished runs of every kind, and with files that are not what they should be."""
    folder = tmp_path_factory.mktemp("home")
    build(folder)
    return folder


@pytest.fixture
def at_home(home: Path, cli: Cli, monkeypatch) -> Cli:
    """The command line in that folder."""
    monkeypatch.chdir(home)
    return cli


@pytest.fixture
def tiny(monkeypatch) -> None:
    """All presets of simulations are small."""
    for preset in variance_by_position.PRESETS:
        monkeypatch.setitem(variance_by_position.PRESETS, preset, TINY)


def for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong words are looked for, but whatever seconds are given, a twentieth of one."""
    search = falsifying.falsify
    monkeypatch.setattr(falsifying, "falsify", lambda *asked, **budget: search(*asked, **{**budget, "seconds": 0.05}))


def everything(folder: Path) -> dict[str, bytes]:
    """What lies in a folder, by the names in it."""
    paths = sorted(folder.rglob("*"))
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"" for path in paths}


def assert_refused(answer: Answer, part: str) -> None:
    """Exit code 2 and one line, in which the parts between … stand in their order."""
    assert answer.code == 2, answer
    assert answer.out == ""
    assert answer.err.startswith("error: ")
    assert answer.err.endswith("\n")
    assert answer.err.count("\n") == 1
    assert re.search(".*".join(map(re.escape, part.split("…"))), answer.err), (part, answer.err)


def lines_of(answer: Answer) -> list[str]:
    """What a command printed that went well, single blanks between words."""
    assert (answer.code, answer.err) == (0, ""), answer
    return [" ".join(line.split()) for line in answer.out.splitlines()]
