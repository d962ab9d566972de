"""`falsify` as it is called, the last step of `run`, and the column of `results`."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from languages.errors import UserError
from regulargpt.data import of_words
from regulargpt.models.gru import Gru
from regulargpt.objectives.answers import Last
from regulargpt.runs import run as running
from regulargpt.runs.load import load_model
from regulargpt.storage.folder import FALSIFIED, RunFolder
from regulargpt.storage.signals import StopRequested
from tests.cli.conftest import Cli, assert_refused, lines_of
from tests.regulargpt.small import config

WORDS = ("--words", "3000", "--seconds", "0")
KEYS = ["all_up_to", "budget", "families", "ruled_out", "tried", "wrong"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """A run that has learned little, in which nothing was looked for."""
    folder = tmp_path_factory.mktemp("falsify") / "run"
    small = config("gru", data__name="parity", objective__name="last", training__steps=3, evaluation__falsify=0)
    running.run(small, folder)
    return folder


def test_what_is_printed_and_written(cli: Cli, trained: Path):
    answer = cli("falsify", str(trained), *WORDS, "--json")
    report = json.loads(answer.out)
    assert sorted(set(report) - {"run_dir", "language", "model"}) == KEYS
    written = json.loads((trained / FALSIFIED).read_text())
    assert sorted(set(written) - {"weights"}) == KEYS
    model, data = load_model(RunFolder.open(trained)), of_words(config("gru", data__name="parity").data)
    for word in report["wrong"]:
        symbols = data.encode(word["word"])[None].astype(np.int64)
        given = data.task.output_names[int(model(torch.from_numpy(symbols)).argmax())]
        assert (word["answered"], word["expected"]) == (given, data.task.output_names[symbols.sum() % 2])
    assert [word["length"] for word in report["wrong"]] == sorted(word["length"] for word in report["wrong"])
    first, *_ = lines_of(cli("falsify", str(trained), *WORDS))
    assert first.startswith(f"wrong: the shortest word is {report['wrong'][0]['word']} (")
    table = lines_of(cli("results", str(trained)))
    assert ("first wrong at" in table[0], f" {report['wrong'][0]['length']} " in table[1]) == (True, True)


def test_it_says_nothing_of_other_weights_or_of_what_it_did_not_write(trained: Path, tmp_path: Path):
    shutil.copytree(trained, tmp_path / "run")
    folder = RunFolder.open(tmp_path / "run")
    (folder.path / FALSIFIED).write_text(json.dumps({"weights": {"sha256": "0"}, "wrong": []}))
    assert folder.load_falsified() is None
    (folder.path / FALSIFIED).write_text(json.dumps({"wrong": []}))
    with pytest.raises(
        UserError, match=r"falsified\.json is no result of `falsify`; remove it, and run `regulargpt falsify"
    ):
        folder.load_falsified()
    (folder.path / FALSIFIED).unlink()
    assert folder.load_falsified() is None


def test_a_damaged_file_is_named_with_the_remedy(cli: Cli, trained: Path, tmp_path: Path):
    shutil.copytree(trained, tmp_path / "run")
    place = tmp_path / "run" / FALSIFIED
    assert cli("falsify", tmp_path / "run", *WORDS).code == 0
    whole = json.loads(place.read_text())
    word = {"word": "0a1", "length": 3, "expected": "odd", "answered": "even"}
    for damaged, said in (
        ({"wrong": [{**word, "word": 7}]}, f"{FALSIFIED} is no result of `falsify`; remove it, and run"),
        ({"wrong": [{"word": "0", "length": 1}]}, f"{FALSIFIED} is no result of `falsify`; remove it, and run"),
    ):
        place.write_text(json.dumps({**whole, **damaged}))
        for verb in ("verify", "falsify"):
            assert_refused(cli(verb, tmp_path / "run"), said)
    place.write_text(json.dumps({name: part for name, part in whole.items() if name != "families"}))
    assert_refused(
        cli("report", tmp_path / "run", "--out", tmp_path / "page.html"), "is no result of `falsify`; remove it"
    )
    place.write_text(json.dumps({**whole, "wrong": [word]}))  # of no word of the language nothing is said
    assert cli("verify", tmp_path / "run").code == cli("falsify", tmp_path / "run", *WORDS).code == 0
    assert json.loads(place.read_text())["wrong"][0] == whole["wrong"][0]


@pytest.mark.parametrize("more", [("--words", "0"), ("--seconds", "-1"), ("--seed", "-1")])
def test_refusals(cli: Cli, trained: Path, more: tuple[str, str]):
    assert_refused(cli("falsify", str(trained), *more), more[0])


def test_runs_without_right_answers_are_refused(cli: Cli, tmp_path: Path):
    running.run(config("text", training__steps=2), tmp_path / "run")
    assert not (tmp_path / "run" / FALSIFIED).exists()
    assert_refused(cli("falsify", str(tmp_path / "run")), "text:recurrent")


def test_a_run_ends_with_it_unless_that_is_off(tmp_path: Path):
    """As many words as were tested, by their symbols, and no more than the option says; nothing else changes."""
    small = config("gru", data__name="parity", objective__name="last", training__steps=3)
    found = {}
    for words in (0, 20, 150_000):
        path = tmp_path / str(words)
        summary = running.run(small.replaced({"evaluation.falsify": words}), path)
        assert (path / FALSIFIED).exists() == ("falsified" in summary) == (words > 0)
        found[words] = summary
        if words:
            report = json.loads((path / FALSIFIED).read_text())
            assert report["budget"]["words"] == min(words, sum(range(9, 12)) * 16 // 8)
            assert summary["falsified"]["wrong"] == report["wrong"][:1]
    assert found[0]["measures"] == found[20]["measures"]
    # What the test had wrong is wrong here, too.
    assert found[20]["wrong_word"] is None or found[20]["falsified"]["wrong"]


@pytest.mark.parametrize(("as_it_is", "proven"), [(True, True), (True, False), (False, True)])
def test_a_network_that_is_proven_as_it_is_is_left_alone(as_it_is: bool, proven: bool):
    """A proof of another automaton, or with states replaced, is none of the network as it is."""
    small = config("gru", data__name="parity", objective__name="last")
    data = of_words(small.data)
    phase = SimpleNamespace(summary=lambda: {"proven_unquantised": as_it_is})
    trainer: Any = SimpleNamespace(further=[phase], model=Gru(2, 2, d_model=8))
    goal, device = Last(data), torch.device("cpu")
    work: Any = running.Work(RunFolder(Path()), small, data, goal, device, running.UNWATCHED, StopRequested())
    results = running.Results({"samples": {"8": 16}}, {})
    conclusions: Any = [SimpleNamespace(proven=proven)]
    found = running.falsify(work, trainer, results, conclusions)
    assert (found is None) == (as_it_is and proven)
