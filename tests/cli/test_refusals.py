"""What a user can get wrong: one line on stderr with what would be right, exit code 2, nothing written or lost."""

import random
import shutil
from pathlib import Path

import click
import pytest
import torch

from regulargpt import cli as program
from regulargpt.cli import verbs
from tests.cli.conftest import Cli, assert_refused, everything
from tests.cli.generator import parameters
from tests.cli.places import unfinished
from tests.cli.refused import REFUSED
from tests.cli.world import look

ALL = [(f"{start} {end}", part) for start, ends in REFUSED.items() for end, part in ends.items()]


@pytest.mark.parametrize(("command", "part"), ALL, ids=[command[:80] for command, _ in ALL])
def test_refusals(at_home: Cli, home: Path, command: str, part: str):
    before = look(home)
    assert_refused(at_home(*command.split()), part)
    assert look(home) == before


def test_a_machine_without_a_gpu_refuses_cuda_before_it_writes(cli: Cli, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert_refused(cli("run", "parity", "--device", "cuda"), "choose --device cpu or auto")
    assert everything(tmp_path) == {}


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "config.toml", "summary.json", "manifest.json"])
def test_one_flipped_bit_and_one_lost_byte_are_found(cli: Cli, home: Path, tmp_path: Path, name: str):
    whole = (home / "run" / name).read_bytes()
    random_bits = random.Random(name)
    for case in range(12):
        folder = tmp_path / str(case)
        shutil.copytree(home / "run", folder)
        data = bytearray(whole)
        if case % 3:
            bit = random_bits.randrange(8 * len(data))
            data[bit // 8] ^= 1 << bit % 8
        else:
            del data[random_bits.randrange(len(data)) :]
        (folder / name).write_bytes(data)
        assert_refused(cli("evaluate", folder, "--lengths", "9"), f"{folder}/{name} is damaged: SHA-256 expected ")
        assert (folder / name).read_bytes() == data


def test_a_damaged_checkpoint_is_passed_over_and_said_and_with_none_left_the_run_is_refused(cli: Cli, tmp_path: Path):
    unfinished(tmp_path / "run")
    shutil.copytree(tmp_path / "run", tmp_path / "twin")
    _, newer = sorted((tmp_path / "run" / "checkpoints").iterdir())
    data = bytearray((newer / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (newer / "model.safetensors").write_bytes(data)
    assert cli("resume", "twin").code == 0
    answer = cli("resume", "run", "--json")
    assert answer.code == 0
    assert answer.err.startswith("warning: ")
    assert f"checkpoints/{newer.name}/model.safetensors is damaged" in answer.err
    for name in ("model.safetensors", "metrics.jsonl", "measures.csv"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "twin" / name).read_bytes()

    unfinished(tmp_path / "third")
    for checkpoint in (tmp_path / "third" / "checkpoints").iterdir():
        (checkpoint / "state.pt").write_bytes((checkpoint / "state.pt").read_bytes()[:-1])
    before = everything(tmp_path / "third")
    assert_refused(cli("resume", "third"), "remove that folder to start again")
    assert everything(tmp_path / "third") == before


TAKE_PATHS = [
    (verb, parameter.opts[0] if isinstance(parameter, click.Option) else "")
    for verb in verbs()
    for parameter in parameters(verb)
    if isinstance(parameter.type, click.Path)
]


@pytest.mark.parametrize(("verb", "option"), TAKE_PATHS)
def test_an_empty_path_is_no_path(cli: Cli, tmp_path: Path, verb: str, option: str):
    needed = {"sample": ["--length", "3"]}.get(verb, [])
    arguments = [option, "", "parity"] if option else [""]
    assert_refused(cli(verb, *arguments, *needed), "it is empty; name a file or folder")
    assert everything(tmp_path) == {}


def test_the_program_ends_with_the_code_of_its_answer(monkeypatch):
    for code in (0, 1, 2, 75):
        monkeypatch.setattr(program, "call", lambda arguments, c=code: c)
        with pytest.raises(SystemExit) as ended:
            program.main(["list", "models"])
        assert ended.value.code == code
