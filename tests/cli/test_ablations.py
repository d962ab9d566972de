"""Runs with one thing taken away from RegularGPT: all that can be asked of them is answered, the rest is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from regulargpt import run as running
from regulargpt.config import RunConfig
from regulargpt.storage.folder import RunFolder
from tests.cli.conftest import Cli
from tests.cli.test_refusals import assert_refused, everything
from tests.regulargpt.small import COMMON, contents

ABLATIONS: dict[str, dict[str, Any]] = {
    "model.levels = 2": {"model.levels": 2},
    "model.pad = 'masked'": {"model.pad": "masked"},
    "model.attention = 'full'": {"model.attention": "full"},
    "distinct_levels = 1": {"model.distinct_levels": 3, "model.levels": 3, "model.state_norm": False},
}


def configured(reason: str) -> RunConfig:
    return RunConfig().replaced({**COMMON, **ABLATIONS[reason]})


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
def test_no_machine_is_extracted_and_nothing_is_written(cli: Cli, runs: dict[str, Path], reason: str, codebook: str):
    before = everything(runs[reason])
    answer = cli("extract", runs[reason], "--codebook", codebook)
    assert_refused(answer, "nothing to extract: ")
    assert reason in answer.err
    assert everything(runs[reason]) == before


@pytest.mark.parametrize("reason", ABLATIONS)
def test_it_is_resumed_bit_for_bit_and_loaded(tmp_path: Path, runs: dict[str, Path], reason: str):
    class Stop(Exception):
        pass

    def on_step(trainer) -> None:
        if trainer.progress.step == 25:
            raise Stop

    with pytest.raises(Stop):
        running.run(configured(reason), tmp_path / "run", running.Watch(on_step=on_step))
    running.resume(tmp_path / "run")
    assert contents(tmp_path / "run") == contents(runs[reason])
    assert ("pad" in load_file(runs[reason] / "model.safetensors")) == ("masked" not in reason)
    loaded = running.load_model(RunFolder.open(runs[reason]))
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


def test_a_run_from_before_these_fields_is_read_as_it_was(tmp_path: Path, cli: Cli):
    config = RunConfig().replaced({**COMMON, "training.steps": 2})
    running.run(config, tmp_path / "new")
    new = RunFolder.open(tmp_path / "new")
    fields = ("levels = ", "pad = ", "attention = ")
    text = "\n".join(line for line in config.render().split("\n") if not line.startswith(fields))
    record = new.load_model_config()
    for name in ("levels", "pad", "attention"):
        del record["model"][name]
    old = RunFolder.create(tmp_path / "old", text, {"python": "3.11"})
    old.append_metrics([{"step": 1, "loss": 0.5}])
    old.write_weights(new.load_weights(), record)
    old.write_accuracy([(9, 1.0, 16)])
    old.write_summary(new.load_summary())
    old.finish()
    assert text.count("\n") == config.render().count("\n") - 3
    assert RunConfig.parse(old.config_text) == config
    words = torch.tensor([[0, 1, 1, 0, 1]])
    models = [running.load_model(RunFolder.open(tmp_path / name)) for name in ("old", "new")]
    assert torch.equal(models[0](words), models[1](words))
    assert cli("evaluate", tmp_path / "old", "--lengths", "9-12").code == 0


def test_other_models_ignore_them(tmp_path: Path):
    ignored = {"model.levels": 2, "model.distinct_levels": 3, "model.pad": "masked", "model.attention": "full"}
    small = {**COMMON, "model.name": "gru", "training.steps": 5, "evaluation.beyond": (5000,)}
    running.run(RunConfig().replaced(small), tmp_path / "plain")
    running.run(RunConfig().replaced(small | ignored), tmp_path / "with")
    assert contents(tmp_path / "plain") == contents(tmp_path / "with")
