"""`regulargpt extract` on small trained runs: what it prints and writes."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import save_file

import languages
from languages.automata import Dfa, MooreMachine
from languages.convert.dot import from_dot
from languages.convert.json_text import from_json, to_json
from regulargpt.config.schema import RunConfig
from regulargpt.extraction.sentences import verdict
from regulargpt.models.tree.base import Tree
from regulargpt.runs import run as running
from regulargpt.storage import manifest
from regulargpt.storage.folder import FINAL, WEIGHTS
from tests.cli.conftest import Cli, assert_refused, everything, lines_of
from tests.regulargpt.exact_trees import constructed_gated, last_ldru, last_symbol, parity_ldru
from tests.regulargpt.forging import without_kept

KEYS = [
    *("run_dir", "language", "model", "from", "codebook", "prototypes", "clusters", "agreement", "smallest_margin"),
    *("states", "proven_quantised", "reason", "equal", "counterexample", "out"),
]
COMMON = {
    **{"device": "cpu", "training.steps": 300, "training.lr": 0.003, "training.warmup": 10},
    **{"evaluation.test_len": 14, "evaluation.extra_lengths": (), "evaluation.samples": 16},
}
RUNS: dict[str, dict[str, Any]] = {
    "regulargpt": {
        **{"data.train_len": 10, "model.d_model": 16, "model.n_heads": 2, "model.d_ff": 64},
        **{"model.state_noise": 0.2, "model.noise_loss": 100.0, "model.noise_growth": 1.1},
    },
    "rnn": {"data.train_len": 8, "model.d_model": 32},
}
PARITY = languages.get("parity").machine.minimise()


def extracted(cli: Cli, run: Path, *more: str) -> tuple[dict[str, Any], Dfa | MooreMachine]:
    """What is said of a run, and the machine that is written."""
    answer = cli("extract", run, "--json", *more)
    assert (answer.code, answer.err) == (0, "")
    result = json.loads(answer.out)
    return result, from_json(Path(result["out"]).read_text())


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, Path]:
    """One finished run of Parity a model."""
    folder = tmp_path_factory.mktemp("runs")
    for name, changes in RUNS.items():
        running.run(RunConfig().replaced({"model.name": name} | COMMON | changes), folder / name)
    return {name: folder / name for name in RUNS}


@pytest.mark.parametrize(("model", "codebook"), [("regulargpt", "blind"), ("regulargpt", "classes"), ("rnn", "blind")])
def test_of_a_network_that_learned_parity_the_machine_of_parity(
    cli: Cli, runs: dict[str, Path], model: str, codebook: str
):
    result, machine = extracted(cli, runs[model], "--codebook", codebook, "--out", "dfa.json")
    assert list(result) == KEYS
    assert (result["model"], result["codebook"], result["language"]) == (model, codebook, "parity")
    assert (result["states"], result["proven_quantised"]) == (2, True)
    assert (result["equal"], result["counterexample"], machine) == (True, None, PARITY)


def test_text_and_drawing(cli: Cli, runs: dict[str, Path], tmp_path: Path):
    answer = cli("extract", runs["regulargpt"], "--out", "dfa.dot")
    prototypes, machine, compared, written = lines_of(answer)
    assert machine == "machine 2 states; the quantised network's answer at every length"
    assert compared == "compared equal to the machine of parity"
    assert (prototypes.split()[0], written) == ("prototypes", "written dfa.dot")
    assert from_dot((tmp_path / "dfa.dot").read_text()) == PARITY


def test_by_default_the_machine_lies_in_the_runs_folder_and_may_be_extracted_again(cli: Cli, runs: dict[str, Path]):
    place = runs["rnn"] / "extracted.json"
    for _ in range(2):
        assert cli("extract", runs["rnn"]).code == 0
        assert from_json(place.read_text()) == PARITY
        place.write_text("old")
    place.unlink()


def test_a_network_that_learned_something_else_is_told_apart_by_the_shortest_word(
    cli: Cli, runs: dict[str, Path], tmp_path: Path
):
    other = tmp_path / "dfa.json"
    other.write_text(
        '{"states": ["p", "q", "r"], "alphabet": ["0", "1"], "initial": "p", "outputs": {"p": "even", "q": "odd", '
        '"r": "odd"}, "output_names": ["even", "odd"], "transitions": {"p": {"0": "p", "1": "q"}, '
        '"q": {"0": "q", "1": "r"}, "r": {"0": "r", "1": "r"}}}'
    )
    folder = tmp_path / "run"
    changes = {"model.name": "regulargpt"} | COMMON | RUNS["regulargpt"]
    running.run(RunConfig().replaced(changes | {"data.name": f"dfa:{other}"}), folder)
    without_kept(folder)  # its own copy cannot change
    first = json.loads(cli("extract", folder, "--json").out)
    assert (first["equal"], first["states"]) == (True, 2)
    other.write_text(other.read_text().replace('"1": "r"}, "r"', '"1": "p"}, "r"'))
    second = json.loads(cli("extract", folder, "--json").out)
    assert (second["equal"], second["states"]) == (False, 2)
    assert second["counterexample"] == {"word": "11", "network": "odd", "task": "even"}
    assert "compared    not dfa:" in cli("extract", folder).out
    other.write_text(other.read_text().replace('["even", "odd"]', '["odd", "even"]'))
    assert_refused(cli("extract", folder), "has other symbols or answers than the run in")
    assert verdict(second).endswith('11 is answered "odd", right is "even"; no shorter word differs')


LDRU: Mapping[str, Any] = {"d_model": 2, "dropout": 0.0}


def exact_run(folder: Path, language: str, model: Tree, name: str, options: Mapping[str, Any]) -> Path:
    """A finished run, its weights replaced by those that are exact by construction."""
    small = COMMON | {"training.steps": 1, "data.train_len": 8, "data.name": language, "model.name": name}
    own = {f"model.{key}": value for key, value in options.items() if key != "name"}
    running.run(RunConfig().replaced(small | own), folder)
    save_file(model.state_dict(), folder / WEIGHTS)
    manifest.write_manifest(folder, FINAL)
    return folder


@pytest.mark.parametrize("codebook", ["blind", "classes"])
@pytest.mark.parametrize(
    ("language", "chunk_size", "prototypes"), [("tomita-3", 2, 25), ("tomita-5", 3, 4), ("dyck-2", 2, 14)]
)
def test_of_a_gated_network_the_machine_it_was_built_from(
    cli: Cli, tmp_path: Path, language: str, chunk_size: int, prototypes: int, codebook: str
):
    model, options = constructed_gated(language, chunk_size)
    folder = exact_run(tmp_path / "run", language, model, "regulargpt", asdict(options))
    result, machine = extracted(cli, folder, "--codebook", codebook)
    assert (result["equal"], result["proven_quantised"], result["prototypes"]) == (True, True, prototypes)
    task = languages.get(language)
    assert isinstance(machine, Dfa)
    for T in (2, 8, 30):
        words = task.sample(languages.rng(1, "test", T), T, 32)
        assert (machine.accepts(words) == task.labels(words)).all()


@pytest.mark.parametrize("codebook", ["blind", "classes"])
@pytest.mark.parametrize("operator", ["sum", "mlp"])
def test_of_an_exact_ldru_the_machine_of_parity(cli: Cli, tmp_path: Path, operator: str, codebook: str):
    folder = exact_run(tmp_path / "run", "parity", parity_ldru(operator), "ldru", {**LDRU, "operator": operator})
    result, machine = extracted(cli, folder, "--codebook", codebook)
    assert (result["equal"], result["proven_quantised"], result["prototypes"]) == (True, True, 2)
    assert machine == PARITY


def test_a_tree_counted_from_the_left_reads_the_word_from_its_beginning(cli: Cli, tmp_path: Path):
    file = tmp_path / "dfa.json"
    file.write_text(to_json(last_symbol().machine))
    folder = exact_run(tmp_path / "run", f"dfa:{file}", last_ldru(), "ldru", {**LDRU, "operator": "linear"})
    without_kept(folder)  # its own copy cannot change
    assert json.loads(cli("extract", folder, "--json").out)["equal"]
    # Now the file asks for the first symbol.
    file.write_text(
        '{"states": ["new", "0", "1"], "alphabet": ["0", "1"], "initial": "new", "outputs": {"new": "0", "0": "0", '
        '"1": "1"}, "output_names": ["0", "1"], "transitions": {"new": {"0": "0", "1": "1"}, '
        '"0": {"0": "0", "1": "0"}, "1": {"0": "1", "1": "1"}}}'
    )
    result = json.loads(cli("extract", folder, "--json").out)
    assert (result["equal"], result["proven_quantised"]) == (False, True)
    assert result["counterexample"] == {"word": "01", "network": "1", "task": "0"}


OUTSIDE = """
import torch
from torch import nn
from regulargpt.models.base import Model
from regulargpt.models.options import ModelOptions
from regulargpt.models.recurrent import Stepwise

class Flip(Stepwise):
    # Of the symbol x the state p becomes p + x - 2 p x: parity, whatever the training does.
    def __init__(self, n_symbols, n_outputs, *, generator=None):
        super().__init__(n_symbols, 1, n_outputs, generator)
        self.readout.weight.data = torch.tensor([[-1.0], [1.0]])

    def step(self, state, x):
        return state + x[:, 1:] - 2 * state * x[:, 1:]

    def activation(self, x):
        return 20 * (x - 0.5)

class Bag(Model):
    def __init__(self, n_symbols, n_outputs, *, generator=None):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n_outputs))

    def forward(self, words, readout="last"):
        return self.weight.expand(len(words), *([words.shape[1]] if readout == "all" else []), -1)

class Trees(ModelOptions):
    def why_no_certificate(self):
        return None

class NoTree(Bag):
    Options = Trees
"""


def test_of_a_recurrent_class_from_outside_the_machine_or_what_it_lacks(cli: Cli, tmp_path: Path, monkeypatch):
    (tmp_path / "extracted_from.py").write_text(OUTSIDE)
    monkeypatch.syspath_prepend(str(tmp_path))
    changes = COMMON | {"data.train_len": 8, "training.steps": 2}
    for name in ("Flip", "Bag", "NoTree"):
        running.run(RunConfig().replaced(changes | {"model.name": f"extracted_from:{name}"}), tmp_path / name)
    result, machine = extracted(cli, Path("Flip"))
    assert (result["states"], result["equal"], result["agreement"], machine) == (2, True, 1, PARITY)
    before = everything(tmp_path)
    assert_refused(cli("extract", "Flip", "--codebook", "classes"), "not for 'extracted_from:Flip'; choose --codebook")
    lacking = "nothing to extract from a run of 'extracted_from:Bag': derive the class from"
    lacking += " regulargpt.models.recurrent.Stepwise and give `step`…; or ask for its answers, with --from answers"
    assert_refused(cli("extract", "Bag", "--from", "states"), lacking)
    assert_refused(cli("extract", "NoTree"), "its options speak of a tree, but NoTree is no Tree")
    assert everything(tmp_path) == before


def test_states_without_clusters_are_refused_and_nothing_is_written(cli: Cli, tmp_path: Path, monkeypatch):
    monkeypatch.setattr("regulargpt.extraction.blind.MAX_PROTOTYPES", 3)
    monkeypatch.setattr("regulargpt.extraction.blind.Blind.quantise.__func__.__defaults__", (3,))
    changes = COMMON | RUNS["regulargpt"] | {"training.steps": 2, "data.name": "symmetric-3"}
    running.run(RunConfig().replaced(changes), tmp_path / "run")
    before = everything(tmp_path)
    assert_refused(cli("extract", "run"), "the states do not lie near 3 points or fewer")
    assert everything(tmp_path) == before


def test_a_network_of_no_small_machine_is_said_to_be_so_and_nothing_is_written(
    cli: Cli, runs: dict[str, Path], monkeypatch
):
    monkeypatch.setattr("regulargpt.finite.learn.learn.__defaults__", ((), 1, None))
    answer = cli("extract", runs["regulargpt"], "--json")
    result = json.loads(answer.out)
    assert (answer.code, result["states"], result["out"]) == (1, None, None)
    assert (result["equal"], result["proven_quantised"]) == (True, False)
    assert result["reason"] == "no machine of at most 1 states is the quantised network's language"
    assert not (runs["regulargpt"] / "extracted.json").exists()
