"""What is printed for people fits their terminal; in a pipe, in a file or with --wide nothing is left out."""

import os
import pty
import re
import struct
import sys
import termios
from fcntl import ioctl
from pathlib import Path

import pytest

from regulargpt.cli import output
from regulargpt.cli.output import say, table
from tests.cli.conftest import Cli
from tests.regulargpt.results import made

HEADER = ("name", "what it is", "score")
ROWS = [("parity", "words with an even number of ones", "100"), ("tomita-3", "no odd run of ones", "98.12")]
WRAPPED = """\
name      what it is                score
parity    words with an even        100
          number of ones
tomita-3  no odd run of ones        98.12"""


@pytest.fixture
def narrow(monkeypatch) -> None:
    monkeypatch.setattr(output, "width", lambda err=False: 80)


@pytest.mark.parametrize(
    ("room", "expected"),
    [
        (None, table(ROWS, HEADER)),
        (80, table(ROWS, HEADER)),
        (41, WRAPPED),
        (
            30,
            "name      what it is\nparity    words with an even\n          number of ones\n"
            "tomita-3  no odd run of ones\nnot shown for want of room:\nscore; --wide shows all",
        ),
        (12, "name\nparity\ntomita-3\nnot shown\nfor want of\nroom: what\nit is,\nscore;\n--wide shows\nall"),
    ],
)
def test_a_table_is_wrapped_then_loses_its_last_columns_and_says_so(monkeypatch, room: int | None, expected: str):
    monkeypatch.setattr(output, "width", lambda err=False: room)
    assert table(ROWS, HEADER) == expected


def test_a_table_without_header_is_wrapped_in_its_last_column_and_paths_stay_whole(monkeypatch):
    monkeypatch.setattr(output, "width", lambda err=False: 30)
    rows = [("training", "20 steps, 1.5 s, 50,442 parameters"), ("run folder", "runs/" + "x" * 40)]
    assert table(rows) == ("training    20 steps, 1.5 s,\n            50,442 parameters\nrun folder  runs/" + "x" * 40)


def test_lines_are_broken_between_words_and_keep_their_blanks(monkeypatch, capsys):
    monkeypatch.setattr(output, "width", lambda err=False: 20)
    say("no certificate: the levels are not one map\n\n  q0  q1")
    assert capsys.readouterr().out == "no certificate: the\nlevels are not one\nmap\n\n  q0  q1\n"


@pytest.fixture(scope="module")
def sweep(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("places") / "sweep"
    names = [f"modular-arithmetic-left-to-right-gru-seed{seed}" for seed in range(2)]
    texts = {
        name: made.config_text(model__name="gru", seed=at, training__clip=at + 0.5) for at, name in enumerate(names)
    }
    made.sweep(folder, texts)
    for name, text in texts.items():
        made.done(folder / "runs" / name, {5: 100.0, 6: 90.0}, text)
    return folder


PRINTED = [
    *(f"list {kind}" for kind in ("languages", "models", "encodings", "recipes", "protocols", "experiments")),
    *("show dihedral-12", "show symmetric-3:letters=elements"),
    "run parity --steps 2 --train-len 4 --test-len 5 --samples 2 --extra-lengths= --out new",
    "evaluate run --lengths 9-12",
    "shortcuts parity --test-len 42 --samples 2 --set evaluation.extra_lengths=100,200,300,400,500,600,700,800",
    "verify run --length 9 --words 2",
    "receptive-field run --length 9 --words 2",
    "kernels alibi --length 16",
    "position-variance --updates 1",
    "extract run --out new.json",
    "results run",
    "results sweep --group-by recipe,language,seed",
    "sweep parity tomita-3 --model gru,lstm --lr 1e-4,3e-4 --set training.clip=0.5,1 --dry-run",
    "reproduce table-6.2 --dry-run --scale smoke",
]


@pytest.mark.slow
@pytest.mark.usefixtures("narrow", "tiny")
@pytest.mark.parametrize("command", PRINTED)
def test_no_verb_is_wider_than_the_terminal(cli: Cli, home: Path, sweep: Path, tmp_path: Path, command: str):
    os.symlink(home / "run", tmp_path / "run")
    os.symlink(sweep, tmp_path / "sweep")
    answer = cli(*command.split())
    assert answer.code == 0
    assert max(map(len, answer.out.splitlines())) <= 80
    assert max(map(len, answer.err.splitlines()), default=0) <= 80


def seen(columns: int, *arguments: str) -> str:
    """What a terminal of so many columns shows."""
    process, terminal = pty.fork()
    if process == 0:
        ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": path}
        environment.pop("COLUMNS", None)
        os.execve(sys.executable, [sys.executable, "-m", "regulargpt", *arguments], environment)
    text = b""
    try:
        while part := os.read(terminal, 65_536):
            text += part
    except OSError:
        pass  # so Linux says that the other end is closed
    os.close(terminal)
    assert os.waitpid(process, 0)[1] == 0
    return text.decode().replace("\r\n", "\n")


@pytest.mark.filterwarnings("ignore:.*forkpty:DeprecationWarning")
def test_a_terminal_is_asked_for_its_width_and_a_pipe_has_none(cli: Cli):
    whole = cli("list", "protocols").out
    assert (widest := max(map(len, whole.splitlines()))) > 200
    assert seen(80, "list", "protocols", "--wide") == whole
    assert seen(widest, "list", "protocols") == whole
    for columns in (80, 120):
        text = seen(columns, "list", "protocols")
        assert 0.8 * columns < max(map(len, text.splitlines())) <= columns
        assert re.sub(r"\s", "", whole[:300])[:30] == re.sub(r"\s", "", text)[:30]
