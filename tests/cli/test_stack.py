"""A run of a stack network on the command line: proven, checked, extracted, shown."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import torch

import languages
from languages.convert.pushdown import from_json
from regulargpt.findings import Dots
from regulargpt.finite.stack_product import Proven, StackProduct, Transducer
from regulargpt.measurements.measuring import measured
from regulargpt.models.hooks import run_with_cache
from regulargpt.runs import run as running
from regulargpt.storage.folder import CERTIFICATE
from tests.cli.conftest import Cli
from tests.regulargpt.stack_networks import model_of
from tests.regulargpt.test_stack_proof import MACHINE, WEIGHTS, config_of, wrong_weights


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, Path]:
    """A run that is proven, and one that is wrong."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        for name, weights in (("proven", WEIGHTS), ("wrong", wrong_weights())):
            patch.setattr(running, "first_model", lambda *_, weights=weights: model_of(weights))
            found[name] = tmp_path_factory.mktemp("runs") / name
            running.run(config_of(training__steps=15, evaluation__falsify=2000), found[name])
    return found


def test_a_proven_run_says_so_everywhere(cli: Cli, runs: dict[str, Path]):
    run = runs["proven"]
    verified = cli("verify", run)
    assert verified.code == 0
    assert "beside 5 of the machine of reverse-string, each beside one" in verified.out
    assert "proven at every length, with argmax actions and signs, in real arithmetic and in float32" in verified.out
    report = json.loads(cli("verify", run, "--json").out)
    assert (report["certificate"]["proven"], report["machine_states"]) == (True, 5)
    assert sum(report["of_each"].values()) == report["states"] == report["certificate"]["states"]
    checked = cli("check", run, "--language", "reverse-string")
    assert (checked.code, checked.out.count("For every word that the machine in automaton.json")) == (0, 1)
    assert cli("check", run, "--language", "brackets-2").code == 1
    assert "1 of 1" in cli("results", run).out
    assert "1 of 1 certified" in cli("report", run).out
    page = (run / "report.html").read_text()
    assert "Proven for every length, with argmax actions and signs" in page
    for named in ("--length 50", "--at hook_state --level 1", "--method lda"):
        refused = cli("verify", run, *named.split()).err
        assert refused.startswith("error: all words are gone through at once")
        assert all(flag in refused for flag in named.split() if flag.startswith("--"))


def test_on_the_map_each_state_has_its_outline_and_each_move_its_arrow(runs: dict[str, Path], tmp_path: Path):
    finding = measured("clusters", runs["proven"], tmp_path / "out")
    assert finding.picture.title.endswith("\n12 of 12 states of the network are each beside one of the machine")
    (dots,) = finding.picture.panels
    assert isinstance(dots, Dots)
    assert all(outline.is_sure for outline in dots.outlines)
    assert len(dots.outlines) == finding.values["states"]
    task = languages.find("reverse-string")
    moves = set[tuple[bytes, bytes]]()
    for length in filter(task.has_length, range(1, 14)):
        words = torch.from_numpy(task.sample(np.random.default_rng(length), length, 300).astype(np.int64))
        _, cache = run_with_cache(model_of(WEIGHTS), words, readout="all", names_filter="hook_state")
        states = torch.stack([*cache.values()]).detach().sign().numpy()  # (length, words, units)
        for before, after in itertools.pairwise(states):
            moves |= {(a.tobytes(), b.tobytes()) for a, b in zip(before, after, strict=True) if (a != b).any()}
    assert len(dots.arrows) == len(moves)


def test_a_wrong_run_says_by_which_word(cli: Cli, runs: dict[str, Path]):
    run = runs["wrong"]
    word = json.loads((run / "uncertified.json").read_text())["wrong"]["word"]
    assert f"no certificate: wrong on a word of {len(word)} symbols: {word}\n" in cli("verify", run).out
    refused = cli("check", run)
    assert (refused.code, f"has no certificate: wrong on a word of {len(word)} symbols: {word}" in refused.err) == (
        2,
        True,
    )
    summary = json.loads((run / "summary.json").read_text())
    at, tested = summary["wrong_answer"], summary["wrong_word"]
    assert tested[::-1][at["place"] - 1] == at["right"] != at["network"]
    assert "wrong_answer" not in json.loads((runs["proven"] / "summary.json").read_text())
    assert "0 of 1" in cli("results", run).out
    assert "wrong: the shortest word is " in cli("resume", run).out
    assert not (run / CERTIFICATE).exists()


def test_the_machine_of_a_run_is_extracted(cli: Cli, runs: dict[str, Path], tmp_path: Path):
    result = json.loads(cli("extract", runs["proven"], "--json").out)
    machine = from_json(Path(result["out"]).read_text())
    assert isinstance(StackProduct(Transducer(machine, MACHINE), MACHINE).run(), Proven)
    assert (result["states"], result["equal"], result["lag"]) == (machine.n_states, True, 0)
    assert machine.n_states < result["network_states"]
    shown = cli("extract", runs["wrong"], "--out", tmp_path / "wrong.dot")
    assert shown.code == 0
    assert "not reverse-string: " in shown.out
    assert (tmp_path / "wrong.dot").read_text().startswith("digraph {")
    classes = cli("extract", runs["proven"], "--codebook", "classes")
    assert (classes.code, "exact; choose --codebook blind" in classes.err) == (2, True)
