"""`falsify` as it is called, the last step of `run`, and the column of `results`."""

import json
import shutil
import time
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from languages.errors import UserError
from regulargpt.certificate.outcome import Outcome
from regulargpt.cli.running import text as running_text
from regulargpt.data import of_words
from regulargpt.falsification.hunt import MOST_KEPT
from regulargpt.falsification.sentences import base, sentence
from regulargpt.models.gru import Gru
from regulargpt.objectives.answers import Last
from regulargpt.runs import run as running
from regulargpt.runs.falsify import is_said
from regulargpt.runs.load import load_model
from regulargpt.storage.folder import FALSIFIED, RunFolder
from regulargpt.storage.signals import StopRequested
from tests.cli.conftest import Cli, assert_refused, lines_of
from tests.regulargpt.small import config

WORDS = ("--words", "3000", "--seconds", "0")
SEARCHED = {"data__name": "parity", "objective__name": "last", "evaluation__falsify": 150_000}
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
        ({"wrong": [{**word, "length": "3"}]}, f"{FALSIFIED} is no result of `falsify`; remove it, and run"),
        ({"families": [7]}, f"{FALSIFIED} is no result of `falsify`; remove it, and run"),
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
    small = config("gru", **SEARCHED, training__steps=3)
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


@pytest.mark.parametrize(
    ("report", "is_left_alone"),
    [
        ({"proven": True, "unquantised": {"proven": True}}, True),
        ({"proven": True, "kind": "stack"}, True),
        ({"proven": True, "unquantised": {"proven": False}}, False),
        ({"proven": True, "unquantised": {"proven": True}, "learned": {"equal": False}}, False),
        ({"proven": False, "kind": "stack"}, False),
    ],
)
def test_a_network_that_is_proven_as_it_is_is_left_alone(report: dict[str, Any], is_left_alone: bool):
    """A proof of another automaton, or with states replaced, is none of the network as it is."""
    small = config("gru", **SEARCHED)
    data = of_words(small.data)
    trainer: Any = SimpleNamespace(seconds=1.0, model=Gru(2, 2, d_model=8))
    goal, device = Last(data), torch.device("cpu")
    work: Any = running.Work(RunFolder(Path()), small, data, goal, device, running.UNWATCHED, StopRequested())
    results = running.TestResults({"samples": {"8": 16}}, {})
    found = running.falsify(work, trainer, results, [Outcome(report, {})])
    assert (found is None) == is_left_alone


def test_the_search_of_a_run_takes_a_third_of_its_training_at_most(monkeypatch):
    """A network of a single step is searched for a second; the clock is that on the wall, as of the training."""
    small = config("gru", **SEARCHED)
    data = of_words(small.data)
    work: Any = running.Work(
        RunFolder(Path()), small, data, Last(data), torch.device("cpu"), running.UNWATCHED, StopRequested()
    )
    given = []
    monkeypatch.setattr("regulargpt.runs.falsify.report_of", lambda *args, **budget: given.append(budget))
    for seconds in (0.1, 60.0):
        trainer: Any = SimpleNamespace(seconds=seconds, model=Gru(2, 2, d_model=8))
        running.falsify(work, trainer, running.TestResults({"samples": {"8": 16}}, {}), [])
    assert [(budget["seconds"], budget["clock"]) for budget in given] == [(1.0, time.monotonic), (18.0, time.monotonic)]


def test_a_run_says_what_the_search_came_to(tmp_path: Path):
    """Where the verdict does not: of a network that is proven with its states replaced only."""
    summary = running.run(config("gru", **SEARCHED, training__steps=3), tmp_path / "run")
    none = {"wrong": [], "families": [], "tried": {"short": 58_936}, "all_up_to": 9, "late": False}
    phases = {"table_fine_tuning": {"proven_unquantised": False}}
    text = running_text({**summary, "proven": True, "phases": phases, "falsified": none})
    assert "as it is" in text
    assert "neither proven nor wrong: 58,936 words tried, none wrong; they were all words of up to 9 symbols" in text
    wrong = running_text({**summary, "proven": True, "phases": phases})
    assert f"as it is           {sentence(summary['falsified'])}" in wrong
    assert "as it is" not in running_text({**summary, "proven": None})  # the verdict is that very sentence


def assert_none_lost(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> None:
    """Each wrong word is still there, or as many as are kept are no longer than it: words of families come among them.

    Where fewer are known than are kept, there may be more now.
    """
    for word in before:
        assert word in now or (len(now) == MOST_KEPT and all(one["length"] <= word["length"] for one in now))
    assert len(before) <= len(now) <= MOST_KEPT


def test_a_later_search_loses_no_family_however_short(cli: Cli, trained: Path, tmp_path: Path):
    """Words and families of an earlier search are tried first, whatever the budget, and no family is named twice."""
    shutil.copytree(trained, tmp_path / "run")
    before = json.loads(cli("falsify", tmp_path / "run", "--words", "30000", "--json").out)
    assert min(len(before["families"]), len(before["wrong"])) > 3
    for more in (("--words", "1"), ("--seconds", "0.000001"), ("--words", "2000", "--seed", "7")):
        after = json.loads(cli("falsify", tmp_path / "run", *more, "--json").out)
        assert all(any(is_said(family, other) for other in after["families"]) for family in before["families"])
        observed = [family for family in after["families"] if family["evidence"] == "observed"]
        assert not any(is_said(one, other) for one in observed for other in after["families"] if one is not other)
        assert after["wrong"][0] == before["wrong"][0]
        assert_none_lost(before["wrong"], after["wrong"])
        assert "no_longer_wrong" not in after


def test_what_is_answered_rightly_now_goes_and_that_is_said(cli: Cli, trained: Path, tmp_path: Path):
    """A file may have been altered, or written on another machine."""
    shutil.copytree(trained, tmp_path / "run")
    run, place = tmp_path / "run", tmp_path / "run" / FALSIFIED
    assert cli("falsify", run, *WORDS).code == 0
    whole = json.loads(place.read_text())
    wrong = {word["word"] for word in whole["wrong"]}
    right = next(
        word for length in (1, 2, 3) for word in map("".join, product("01", repeat=length)) if word not in wrong
    )
    forged = {"u": "", "v": right, "w": "", "from": 1, "to": 9, "period": 1, "residues": [0], "evidence": "observed"}
    item = {"word": right, "length": len(right), "expected": "odd", "answered": "even"}
    place.write_text(json.dumps({**whole, "wrong": [item, *whole["wrong"]], "families": [*whole["families"], forged]}))
    lines = lines_of(cli("falsify", run, "--words", "1"))
    assert f"answered rightly now, and wrong before: {right}" in lines
    assert f"answered rightly now, and wrong before: {base(right)}^n" in lines
    now = json.loads(place.read_text())["wrong"]
    assert item not in now
    assert_none_lost(whole["wrong"], now)
