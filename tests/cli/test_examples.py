"""The examples at the end of each verb's help: all are there, fit a terminal, and do what they say."""

import contextlib
import shlex
from pathlib import Path
from typing import Any

import pytest
import torch

import regulargpt
from regulargpt.cli import EXAMPLES, RUN, RUN_ON_TEXT, call, examples, verbs
from regulargpt.construct.configuration import configuration
from regulargpt.judging.modules import build
from regulargpt.runs import run as running
from regulargpt.runs.certify import certificate_report
from regulargpt.runs.sweep import driver
from regulargpt.storage import folder as folders
from regulargpt.storage.folder import RunFolder
from regulargpt.text import lengthening
from regulargpt.text.examples import RUN_ON_RETRIEVAL
from tests.cli.conftest import Cli, for_a_moment
from tests.test_your_own import FILES

ALL = [example for verb in verbs() for example in examples(verb)]
COLUMNS = 80


@pytest.mark.parametrize("verb", verbs())
def test_help_ends_with_two_examples_and_fits_the_terminal(cli: Cli, verb: str):
    code, out, err = cli(verb, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: regulargpt {verb} ")
    assert out.splitlines()[-3:] == ["  Examples:", *(f"    {example}" for example in examples(verb))]
    assert len(examples(verb)) == 2
    assert max(map(len, out.splitlines())) <= COLUMNS


def test_every_verb_has_its_examples_and_there_are_no_others():
    assert list(EXAMPLES) == [verb for verb in verbs() if verb in EXAMPLES]
    assert len(set(ALL)) == 2 * len(verbs())


class Made(Exception):
    """What an example was to make is about to be made."""


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """A folder with a certified run where the examples look for one."""
    folder = tmp_path_factory.mktemp("home")
    short = {"evaluation.test_len": 42, "evaluation.extra_lengths": (), "evaluation.samples": 4}
    running.run(configuration("parity").replaced(short), folder / RUN)
    certificate_report(RunFolder.open(folder / RUN))
    (folder / "text.txt").write_text("def f(x): return x\n" * 1000)
    tiny = {"model.d_model": 8, "model.n_layers": 1, "training.steps": 1, "evaluation.samples": 2}
    regulargpt.run(f"text:{folder / 'text.txt'}", folder / RUN_ON_TEXT, train_len=8, **tiny)
    regulargpt.run("retrieval:line", folder / RUN_ON_RETRIEVAL, **tiny)
    (folder / "my_net.py").write_text(FILES["my_net.py"], encoding="utf-8")
    with contextlib.chdir(folder):
        torch.save(build("my_net:Net", None).state_dict(), "net.pt")
    return folder


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("example", ALL)
def test_an_example_is_carried_out(home: Path, monkeypatch, capsys, example: str):
    """Nothing is replaced but what takes long: training, sweeps, measuring."""

    def made(*arguments: Any) -> None:
        raise Made

    program, *arguments = shlex.split(example)
    monkeypatch.chdir(home)
    for module, name in ((running, "run"), (driver, "sweep")):
        monkeypatch.setattr(module, name, made)
    monkeypatch.setattr(folders, "refuse_occupied", lambda path: None)  # the certified run is where `run` would put it
    monkeypatch.setattr(lengthening, "train", lambda *arguments: None)
    for_a_moment(monkeypatch)
    try:
        code = call(arguments)
    except Made:
        code = 0
    assert (program, code) == ("regulargpt", 0), capsys.readouterr().err
