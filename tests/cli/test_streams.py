"""Output that can go nowhere: a full disk, a closed handle, a pipe that nobody reads. Arguments that are no text."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from regulargpt.cli import streams, verbs
from regulargpt.runs import run as running
from tests.cli.conftest import Cli
from tests.regulargpt.small import config
from tests.regulargpt.texts import text_run

FULL = "error: the standard output cannot be written: no space left on device; send the output elsewhere\n"
CLOSED = "error: the standard output cannot be written: it is closed; send the output elsewhere\n"
UNKNOWN = "error: unknown command 'lst'; did you mean 'list'?\n"
NO_TEXT = "error: the argument '\\udcff' is not UTF-8 text; write or rename it so\n"
PROGRAM = f"{sys.executable} -m regulargpt"
# In the shell's words; what is expected is the code and stderr.
ENDS = [
    ("list languages > /dev/full", 1, FULL),
    ("--help > /dev/full", 1, FULL),
    ("run --help > /dev/full", 1, FULL),
    ("--version > /dev/full", 1, FULL),
    ("> /dev/full", 1, FULL),
    ("lst > /dev/full", 2, UNKNOWN),
    ("list languages >&-", 1, CLOSED),
    ("lst >&-", 2, UNKNOWN),
    ("list languages >&- 2>&-", 1, ""),
    ("list languages > /dev/full 2> /dev/full", 1, ""),
    ("lst 2>&-", 2, ""),
    ("lst 2> /dev/full", 2, ""),
    ("list languages 2>&- | cat > /dev/null; exit ${PIPESTATUS[0]}", 0, ""),
    ("sample parity --length 1000 --count 1000 | head -1 > /dev/null; exit ${PIPESTATUS[0]}", 141, ""),
    ("show $'\\xff'", 2, NO_TEXT),
    ("run parity --out $'\\xff'", 2, NO_TEXT),
]


def in_bash(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    bash = ["bash", "-c", command]
    return subprocess.run(bash, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(("command", "code", "err"), ENDS, ids=[command for command, *_ in ENDS])
def test_the_streams_of_the_shell(tmp_path: Path, command: str, code: int, err: str):
    ended = in_bash(f"{PROGRAM} {command}", tmp_path)
    assert (ended.returncode, ended.stderr) == (code, err)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    """Runs on a language, a text and documents."""
    place = tmp_path_factory.mktemp("runs")
    running.run(config("gru", data__name="parity", objective__name="last", training__steps=11), place / "run")
    running.run(config("retrieval", training__steps=2), place / "documents")
    return {"RUN": place / "run", "TEXT": text_run(place / "text").path, "DOCUMENTS": place / "documents"}


@pytest.fixture(scope="module")
def finished(folders: dict[str, Path]) -> Path:
    return folders["RUN"]


# `check` is not here: the run has no certificate.
SUCCEED = {
    "list": "list models",
    "show": "show parity",
    "sample": "sample parity --length 5",
    "run": "run parity --steps 2 --train-len 4 --test-len 5 --samples 2 --extra-lengths= --out new",
    "construct": "construct parity --test-len 42 --samples 2 --extra-lengths= --out new",
    "sweep": "sweep parity --dry-run",
    "resume": "resume RUN",
    "evaluate": "evaluate RUN --lengths 9",
    "shortcuts": "shortcuts parity --test-len 42 --samples 2 --set evaluation.extra_lengths=",
    "verify": "verify RUN --length 9 --words 2",
    "extract": "extract RUN --out new.json",
    "falsify": "falsify RUN --words 20",
    "judge": "judge torch.nn:Embedding:num_embeddings=2,embedding_dim=2 --language parity --seconds 1 --out new",
    "kernels": "kernels alibi --heads 1 --length 8",
    "position-variance": "position-variance --updates 1",
    "receptive-field": "receptive-field RUN --length 9 --words 2",
    "generate": "generate TEXT --symbols 5",
    "resolution": "resolution TEXT --length 9 --words 2",
    "align": "align TEXT --length 9 --words 2",
    "needles": "needles DOCUMENTS --lengths 40 --words 2",
    "positions": "positions TEXT --length 9 --words 2",
    "lengthen": "lengthen TEXT --length 16 --steps 2 --words 2 --out new",
    "methods": "methods TEXT --lengths 8,16 --words 2 --methods bca",
    "results": "results RUN",
    "reproduce": "reproduce figure-6.4a --dry-run",
    "report": "report RUN --out new.html",
    "demo": "demo --out new.html",
}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("more", ["", " --json"])
@pytest.mark.parametrize("verb", SUCCEED)
def test_a_full_output_is_one_line_whatever_the_verb(cli: Cli, folders, monkeypatch, verb: str, more: str):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", streams.stream(full.fileno(), None))
        answer = cli(*(str(folders.get(word, word)) for word in (SUCCEED[verb] + more).split()))
    assert answer.code == 1
    assert answer.err.endswith(FULL)
    assert "Traceback" not in answer.err


def test_a_run_goes_on_when_nobody_can_be_told_about_it(tmp_path: Path):
    assert in_bash(f"{PROGRAM} {SUCCEED['run']} >&- 2>&-", tmp_path).returncode == 0
    assert (tmp_path / "new" / "DONE").exists()
    assert b"error:" not in b"".join(path.read_bytes() for path in (tmp_path / "new").iterdir() if path.is_file())


GONE = "warning: the standard output cannot be written: it is closed; the result is in new\n"
SWEEP = SUCCEED["run"].replace("run parity", "sweep parity --model gru:d_model=4 --jobs 1")


@pytest.mark.parametrize(
    ("verb", "is_closed"),
    [("run", True), ("run --json", False), ("construct", True), ("resume", False), ("sweep", True)],
)
def test_work_that_is_complete_has_not_failed_where_nobody_reads_of_it(
    finished: Path, tmp_path: Path, verb: str, is_closed: bool
):
    end, said = (">&-", GONE) if is_closed else ("| true; exit ${PIPESTATUS[0]}", "")
    command = {"run --json": f"{SUCCEED['run']} --json", "sweep": SWEEP, "resume": "resume new"}
    if verb == "resume":
        shutil.copytree(finished, tmp_path / "new")
    ended = in_bash(f"{PROGRAM} {command.get(verb, SUCCEED.get(verb, ''))} {end}", tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.endswith(said)
    assert "error" not in ended.stderr
    assert len(list((tmp_path / "new").rglob("DONE"))) == 1


def test_what_an_encoding_cannot_say_is_an_escape(tmp_path: Path):
    with open(tmp_path / "out", "w", encoding="latin-1") as file:
        stream = streams.stream(file.fileno(), file)
        print("é – 日 \udcff", file=stream, flush=True)
    assert (tmp_path / "out").read_bytes() == b"\xe9 \\u2013 \\u65e5 \\udcff\n"


def test_no_verb_is_forgotten():
    assert {*SUCCEED, "check"} == set(verbs())


def test_results_of_damaged_runs_alone_is_a_failure(cli: Cli, finished: Path, tmp_path: Path):
    assert cli("results", finished).code == 0
    for name in ("a", "b"):
        shutil.copytree(finished, tmp_path / "runs" / name)
        with (tmp_path / "runs" / name / "summary.json").open("a") as summary:
            summary.write("x")
    answer = cli("results", "runs")
    assert answer.code == 1
    assert [line[:11] for line in answer.err.splitlines()] == ["damaged: a:", "damaged: b:"]
    assert cli("results", "runs", "--json").code == 1
