"""`methods --key-by`: the keys of a comparison, what is said of them, and what is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regulargpt import objectives
from regulargpt.text.measurements.key_symbols import LongShort, nats_of
from regulargpt.text.objectives.language_model import LanguageModel
from regulargpt.text.opened import open_checkpoint
from tests.cli.test_decoders import asked, home, of

_ = asked, home  # fixtures
METHODS = ["--lengths", "64,128", "--words", "24", "--methods", "sliding,yarn"]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of random letters, each of which says the same 100 letters again and again, far apart."""
    folder, random = tmp_path_factory.mktemp("repeats"), np.random.default_rng(0)
    letters = list("abcdefghijklmnopqrstuvwxyz")
    for number in range(40):
        (folder / f"{number}.txt").write_text("".join(random.choice(letters, 100)) * 6)
    return folder


def network(home: Path, text: Path) -> list[str]:
    return [f"hf:{home / 'bytes'}", "--text", str(text), *METHODS]


def test_copies_are_scored_at_every_length_that_reaches_them(asked: Callable, home: Path, text: Path, tmp_path: Path):
    found = asked("methods", *network(home, text), "--key-by", "copies")
    for of_method in found["methods"].values():
        # All lies 100 symbols back: nothing within 64, and most of the last symbols of 128.
        assert of_method["key_symbols"]["64"] == 0
        assert of_method["key_symbols"]["128"] > 300
        assert list(of_method["key_perplexity"]) == ["128"]
    assert found["methods"]["trained"]["key_to_trained"]["128"] == [1, 1, 1]
    rows = (tmp_path / "methods" / "bytes" / "methods.csv").read_text().splitlines()
    assert "key_to_near_high" in rows[0]
    assert len(rows) == 1 + 3 * 2
    page = (tmp_path / "methods" / "bytes" / "methods.html").read_text()
    assert "perplexity on key symbols" in page
    assert "fewer than 30 key symbols" in page
    # The same command goes on where it was, and other keys are other results.
    again = asked("methods", *network(home, text), "--key-by", "copies")
    assert again["methods"] == found["methods"]
    other = asked("methods", *network(home, text), "--key-by", "copies", "--key-repeat", "20")
    assert other["methods"]["trained"]["key_symbols"]["128"] < found["methods"]["trained"]["key_symbols"]["128"]
    assert "key_symbols" not in asked("methods", *network(home, text))["methods"]["trained"]


@pytest.mark.parametrize("by", ["self", "evaluator"])
def test_an_evaluator_chooses_for_all_methods(asked: Callable, home: Path, text: Path, by: str):
    """LongPPL by hand, from the losses of each symbol."""
    place = f"hf:{home / 'bytes'}"
    flags = ["--key-alpha", "0.05", "--key-beta", "-8", "--key-context", "16"]
    short = ["--train-len", "32"] if by == "evaluator" else []
    found = asked("methods", *network(home, text), *short, "--key-by", "self" if by == "self" else place, *flags)
    run: Any = open_checkpoint(place, str(text))
    objective: Any = objectives.build(run.config.objective, run.data)
    assert isinstance(objective, LanguageModel)
    segments, cpu = run.data.test(0, 128, 24), torch.device("cpu")
    keys = LongShort(run.network(), objective, cpu, 64, 16, 0.05, -8).keys(segments, 32)
    trained = found["methods"]["trained"]
    assert trained["key_symbols"]["128"] == keys.sum() >= 30
    assert all(of_method["key_symbols"] == trained["key_symbols"] for of_method in found["methods"].values())
    nats = nats_of(run.network(), objective, segments, cpu, 32)
    assert trained["key_perplexity"]["128"][0] == pytest.approx(np.exp(nats[keys].mean()), rel=1e-4)
    value, low, high = found["methods"]["yarn"]["key_to_trained"]["128"]
    assert low <= value <= high


REFUSED = [
    (["--key-by", "copy"], "--key-by copy: choose copies, self, or an evaluator as hf:PATH"),
    (["--key-by", "hf:{home}/none"], "no such folder; a checkpoint is read from disk"),
    (["--key-by", "hf:{home}/bytes"], "in other tokens; choose one with the same tokenizer"),
    (["--key-by", "self", "--key-context", "64"], "the evaluator was trained on 64 symbols; choose fewer"),
    (["--key-alpha", "3"], "key_alpha = 3.0 changes nothing without key_by; leave it out"),
    (["--key-by", "copies", "--key-beta", "-1"], "key_beta = -1.0 changes nothing with key_by = copies; leave it out"),
    (["--key-by", "self", "--key-repeat", "4"], "key_repeat = 4 changes nothing with key_by = self; leave it out"),
    (["--key-by", "self", "--key-alpha", "0"], "Invalid value for '--key-alpha'"),
    (["--key-by", "copies", "--key-repeat", "0"], "Invalid value for '--key-repeat'"),
]


@pytest.mark.parametrize(("arguments", "reason"), REFUSED)
def test_what_is_refused(asked: Callable, home: Path, tmp_path: Path, arguments: list[str], reason: str):
    given = [argument.format(home=home) for argument in arguments]
    said = asked("methods", *of(home), "--lengths", "64,128", "--words", "4", *given, code=2)
    assert reason in said
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())
