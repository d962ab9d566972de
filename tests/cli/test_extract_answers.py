"""`regulargpt extract --from answers`: of networks of every kind, whatever they were asked in training."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from languages.automata import Dfa, MooreMachine
from languages.automata.pushdown import PushdownTransducer
from languages.convert.machines import read_json
from regulargpt import data
from regulargpt.config.schema import RunConfig
from regulargpt.runs import run as running
from regulargpt.runs.load import load_reader
from regulargpt.storage.folder import RunFolder
from tests.cli.conftest import Cli, assert_refused, everything, lines_of
from tests.regulargpt.small import ATTENTION, COMMON, config

KEYS = [
    *("run_dir", "language", "model", "from", "longest", "queries", "all_up_to", "states", "at_most", "ruled_out"),
    *("reason", "so_far", "equal", "counterexample", "out"),
]
FEW = {"training__steps": 3, "data__train_len": 7}
TOKEN = {**COMMON, **ATTENTION, "training.steps": 3, "model.name": "transformer", "objective.output_token": True}
# Models, objectives and languages of every kind with one answer to a word.
RUNS: dict[str, RunConfig] = {
    "sets": config("transformer", **FEW),
    "prefixes": config("gru", **FEW),
    "domain": config("linear-rnn", data__name="modular-arithmetic", **FEW),
    "token": RunConfig().replaced(TOKEN),
    "brackets": config("gru", data__name="brackets-1", objective__name="last", evaluation__test_len=12, **FEW),
    "anbn": config("rnn", data__name="anbn", objective__name="last", evaluation__test_len=12, **FEW),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of each kind."""
    folder = tmp_path_factory.mktemp("runs")
    for name, settings in RUNS.items():
        running.run(settings, folder / name)
    return folder


def heard(cli: Cli, run: Path, *more: str) -> tuple[dict[str, Any], MooreMachine | PushdownTransducer | None]:
    """What is said of a run, and the machine that is written."""
    answer = cli("extract", run, "--json", *more)
    result = json.loads(answer.out)
    assert (answer.code, answer.err) == (int(result["states"] is None), "")
    machine = None if result["out"] is None else read_json(Path(result["out"]).read_text())
    return result, machine.as_moore() if isinstance(machine, Dfa) else machine


@torch.no_grad()
def answers(run: Path, words: np.ndarray) -> np.ndarray:
    """What the run's network says by itself, as its objective reads it."""
    model, token = load_reader(RunFolder.open(run)), np.full((len(words), int(run.name == "token")), 2)
    logits = model(torch.from_numpy(np.concatenate([words, token], 1)))
    return (logits[:, -1] > 0).long().numpy() if run.name == "sets" else logits.argmax(1).numpy()


@pytest.mark.parametrize("name", RUNS)
def test_the_machine_answers_as_the_network_and_a_wrong_word_is_answered_so_again(cli: Cli, runs: Path, name: str):
    result, machine = heard(cli, runs / name, "--from", "answers", "--out", "machine.json")
    task = data.of_words(RUNS[name].data).task
    assert [key for key in result if key != "algebra"] == KEYS
    assert (result["from"], result["longest"]) == ("answers", RUNS[name].data.train_len)
    assert len(result["ruled_out"]) == (machine is not None and result["at_most"] is not None)
    for length in range(1, result["all_up_to"] + 1):
        words = np.array([*product(range(task.n_symbols), repeat=length)])
        words = words[task.questions(words)]
        if machine is not None and len(words):
            assert (machine.answers(words) == answers(runs / name, words)).all()
    found = result["counterexample"]  # networks that were not trained: each is wrong somewhere
    assert not result["equal"]
    word = task.machine.encode(found["word"])[None]
    said = task.output_names[answers(runs / name, word)[0]]
    assert (found["network"], found.get("machine", said)) == (said, said)
    assert found["task"] == task.output_names[task.labels(word)[0]] != said
    assert found["shortest"]


def test_text_says_what_is_ruled_out_and_that_the_network_itself_answers_so(cli: Cli, runs: Path):
    queries, machine, others, compared, written = lines_of(cli("extract", runs / "sets", "--out", "sets.dot"))
    assert queries == "queries 254 words of at most 7 symbols, all of at most 7 among them"
    assert machine == "machine 1 state; it gives the network's answer to each of these words"
    assert others == (
        "ruled out if the network is a machine of at most 6 states on words of any length, it is this one"
    )
    assert compared.startswith('compared not tomita-3: 0 is answered "reject", right is "accept"; no shorter word')
    assert compared.endswith("differs; the network itself says so, too")
    assert written == "written sets.dot"


def test_options_of_the_asking_choose_it_and_a_network_without_a_small_machine_gives_none(cli: Cli, runs: Path):
    before = everything(runs)
    answer = cli("extract", runs / "prefixes", "--seconds", "1e-9")
    assert (answer.code, answer.err) == (1, "")
    assert "machine   none: 1e-09 seconds were not enough to ask it\n" in answer.out
    answer = cli("extract", runs / "domain", "--longest", "6")
    assert (answer.code, answer.err) == (1, "")
    assert (
        "none: words of more than 6 symbols would have to tell its states apart; the machine so far has" in answer.out
    )
    assert everything(runs) == before
    result, _ = heard(cli, runs / "prefixes", "--longest", "9", "--out", "longer.json")
    assert (result["longest"], result["at_most"], result["all_up_to"]) == (9, 8, 9)


def test_a_row_of_answers_is_refused(cli: Cli, tmp_path: Path):
    rows = config("gru", data__name="reverse-string", objective__name="transduction", evaluation__test_len=9, **FEW)
    running.run(rows.replaced({"data.train_len": 3}), tmp_path / "rows")
    before = everything(tmp_path)
    said = "reverse-string has a row of answers to a word, and --from answers asks for one; extract from a run of"
    for more in ([], ["--from", "answers"]):
        assert_refused(cli("extract", "rows", *more), said)
    assert everything(tmp_path) == before


def test_a_length_without_words_is_refused(cli: Cli, tmp_path: Path):
    running.run(config("gru", data__name="equation", objective__name="last", **FEW), tmp_path / "equation")
    assert_refused(cli("extract", "equation", "--longest", "2"), "equation has no words to draw that are so short")


def test_a_word_that_only_a_longer_one_shows_to_be_wrong(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A recurrent class from outside that is parity up to 8 symbols, and no more then; a class that answers alike."""
    (tmp_path / "from_outside.py").write_text(OUTSIDE)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("Tires", "Bag"):
        outside = {"model.name": f"from_outside:{name}", "data.train_len": 8, "training.steps": 2}
        small = {key: value for key, value in COMMON.items() if key != "model.d_model"}
        running.run(RunConfig().replaced(small | outside), tmp_path / name)
    result, machine = heard(cli, Path("Tires"))
    assert (result["equal"], result["states"], result["at_most"], result["counterexample"]) == (True, 2, 8, None)
    assert machine is not None
    result, machine = heard(cli, Path("Tires"), "--longest", "10")
    assert machine is None
    assert len(result["counterexample"]["word"]) == 9
    result, machine = heard(cli, Path("Bag"))
    assert (result["states"], result["counterexample"]["network"]) == (1, result["counterexample"]["machine"])


OUTSIDE = """
import torch
from torch import nn
from regulargpt.models.base import Model
from regulargpt.models.recurrent import Recurrent

class Tires(Recurrent):
    # The state counts symbols and ones; after 8 symbols it is always even.
    def __init__(self, n_symbols, n_outputs, *, generator=None):
        super().__init__(2, n_outputs, generator)

    def advance(self, piece, state, readout):
        before = torch.zeros(len(piece), 2) if state is None else state
        counts = torch.stack([torch.ones_like(piece), piece], 2).cumsum(1) + before[:, None]
        seen = counts[:, -1:] if readout == "last" else counts
        return seen, counts[:, -1]

    def activation(self, x):
        odd = (x[..., 1] % 2) * (x[..., 0] <= 8)
        self.readout.weight.data, self.readout.bias.data = torch.tensor([[0.0, 0], [2, 0]]), torch.tensor([0.0, -1])
        return torch.stack([odd, odd], -1)

class Bag(Model):
    def __init__(self, n_symbols, n_outputs, *, generator=None):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n_outputs))

    def forward(self, words, readout="last"):
        return self.weight.expand(len(words), *([words.shape[1]] if readout == "all" else []), -1)
"""
