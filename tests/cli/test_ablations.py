"""Runs with one thing taken away from RegularGPT: all that can be asked of them is answered, the rest is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from regulargpt.config.schema import RunConfig
from regulargpt.runs import run as running
from regulargpt.runs.load import load_model
from regulargpt.storage.folder import RunFolder
from tests.cli.conftest import Cli, assert_refused, everything
from tests.cli.places import unfinished
from tests.regulargpt.small import ATTENTION, COMMON, contents

ABLATIONS: dict[str, dict[str, Any]] = {
    "model.levels = 2": {"model.levels": 2},
    "model.pad = 'masked'": {"model.pad": "masked"},
    "model.attention = 'full'": {"model.attention": "full"},
    "distinct_levels = 1": {"model.distinct_levels": 3, "model.levels": 3, "model.state_norm": False},
}


def configured(reason: str) -> RunConfig:
    return RunConfig().replaced({**COMMON, **ATTENTION, **ABLATIONS[reason]})


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, Path]:
    """A finished run of Parity each, by what is said of it."""
    folder = tmp_path_factory.mktemp("runs")
    for number, reason in enumerate(ABLATIONS):
        running.run(configured(reason), folder / str(number))
    return {reason: folder / str(number) for number, reason in enumerate(ABLATIONS)}


@pytest.mark.parametrize("reason", ABLATIONS)
def test_its_states_and_gradients_are_looked_at_and_why_it_has_no_certificate_is_said(
    cli: Cli, runs: dict[str, Path], tmp_path: Path, reason: str
):
    out = tmp_path / "out"
    found = json.loads(cli("verify", runs[reason], "--length", 24, "--words", 4, "--out", out, "--json").out)
    assert found["certificate"]["proven"] is False
    assert reason in found["certificate"]["reason"]
    field = cli("receptive-field", runs[reason], "--length", 24, "--words", 4, "--out", out, "--json")
    assert len(json.loads(field.out)["c"]) == 24
    page = cli("report", runs[reason], "--out", tmp_path / "page.html")
    assert (page.code, page.err) == (0, "")


@pytest.mark.parametrize("reason", ABLATIONS)
@pytest.mark.parametrize("codebook", ["blind", "classes"])
def test_no_machine_is_in_its_states_and_nothing_is_written(
    cli: Cli, runs: dict[str, Path], reason: str, codebook: str
):
    before = everything(runs[reason])
    answer = cli("extract", runs[reason], "--codebook", codebook)
    assert_refused(answer, "nothing to extract: ")
    assert reason in answer.err
    assert everything(runs[reason]) == before


@pytest.mark.parametrize("reason", ABLATIONS)
def test_its_answers_are_asked_for(cli: Cli, runs: dict[str, Path], tmp_path: Path, reason: str):
    answer = cli("extract", runs[reason], "--out", tmp_path / "machine.json", "--json")
    result = json.loads(answer.out)
    assert (answer.code, answer.err) == (int(result["states"] is None), "")
    assert result["from"] == "answers"
    assert result["queries"] >= 2**9 - 2


@pytest.mark.parametrize("reason", ABLATIONS)
def test_it_is_resumed_bit_for_bit_and_loaded(tmp_path: Path, runs: dict[str, Path], reason: str):
    unfinished(tmp_path / "run", configured(reason))
    running.resume(tmp_path / "run")
    assert contents(tmp_path / "run") == contents(runs[reason])
    assert ("pad" in load_file(runs[reason] / "model.safetensors")) == ("masked" not in reason)
    loaded = load_model(RunFolder.open(runs[reason]))
    assert loaded(torch.tensor([[0, 1, 1, 0, 1]])).shape == (1, 2)


def test_of_full_attention_long_words_are_refused_before_they_are_drawn(cli: Cli, runs: dict[str, Path]):
    run = runs["model.attention = 'full'"]
    before = everything(run)
    part = "at most 4,096 with model.attention = 'full'; choose a shorter length"
    assert_refused(cli("evaluate", run, "--lengths", "9-20,4097"), f"length 4097: {part}")
    for verb in ("verify", "receptive-field"):
        assert_refused(cli(verb, run, "--length", "4097", "--words", "2"), f"--length 4097: {part}")
    assert everything(run) == before
    assert cli("evaluate", run, "--lengths", "9-20", "--samples", "4").code == 0
