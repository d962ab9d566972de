"""`regulargpt shortcuts`: a row a rule, the same as JSON. Refusals of all verbs: tests.cli.refused."""

import json

import pytest

from regulargpt.config.schema import RunConfig
from regulargpt.evaluation.shortcuts import scores
from regulargpt.evaluation.shortcuts.features import RULES
from tests.cli.conftest import Cli

FEW = ("--samples", "8", "--set", "evaluation.stride=100", "--set", "evaluation.extra_lengths=1000")


def test_a_row_a_rule(cli: Cli):
    code, out, err = cli("shortcuts", "even-pairs", *FEW)
    assert (code, err) == (0, "")
    language, header, *rows = out.splitlines()
    assert language == "even-pairs"
    assert header.split() == ["shortcut", "41..500", "%", "worst", "%", "T", "=", "1,000", "1..40", "%", "sees"]
    assert [row.split()[0] for row in rows] == list(RULES)
    assert next(row for row in rows if row.startswith("ends")).split()[:5] == ["ends", *["100"] * 4]
    found = json.loads(cli("shortcuts", "even-pairs", *FEW, "--json").out)
    assert found["best"] == "ends"
    assert found["shortcuts"]["ends"]["accuracy"] == dict.fromkeys(["41", "141", "241", "341", "441", "1000"], 100.0)


def test_protocols_seeds_and_configs(cli: Cli, tmp_path):
    options = ("--samples", "8", "--set", "evaluation.stride=100", "--json")
    found = json.loads(cli("shortcuts", "dyck-2", "--protocol", "regular-gpt-code", "--seed", "3", *options).out)
    assert (found["language"], found["protocol"]) == ("dyck-2:members=blocks", "regular-gpt-code-1")
    assert (found["test_from"], found["seed"]) == (42, 3)
    settings = {"data.name": "tomita-4", "evaluation.test_len": 60, "evaluation.samples": 8, "data.train_len": 10}
    (tmp_path / "config.toml").write_text(RunConfig().replaced(settings).render())
    found = json.loads(cli("shortcuts", "--config", "config.toml", "--json").out)
    assert (found["language"], found["train_len"], found["test_len"]) == ("tomita-4", 10, 60)
    assert list(found["shortcuts"]["runs"]["accuracy"]) == [str(T) for T in range(11, 61)]


def test_counting_goes_far_where_brackets_must_match(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    """Of as many calls as returns most words drawn are balanced: a score of 98 % needs no stack."""
    monkeypatch.setattr(scores, "TRAINING_WORDS", 3200)
    some = ("--samples", "32", "--test-len", "60", "--set", "evaluation.extra_lengths=100")
    found = json.loads(cli("shortcuts", "brackets-2", *some, "--json").out)["shortcuts"]
    assert found["counts"]["score"] > 90 > found["runs"]["score"]


def test_of_rows_beside_the_network(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path):
    """With the config of a tested run its score stands below, and whether a rule is as good."""
    monkeypatch.setattr(scores, "TRAINING_WORDS", 640)
    settings = {"data.name": "bucket-sort", "objective.name": "transduction", "evaluation.test_len": 60}
    (tmp_path / "config.toml").write_text(RunConfig().replaced({**settings, "evaluation.samples": 8}).render())
    for score, verdict in ((80.0, "is as good as the network"), (99.0, "is the best, and the network is better")):
        measured = {"words": {"score": 0.0}, "accuracy_by_position": {"score": score}}
        (tmp_path / "summary.json").write_text(json.dumps({"scores": measured}))
        code, out, err = cli("shortcuts", "--config", "config.toml")
        assert (code, err) == (0, "")
        assert out.splitlines()[1].split()[:6] == ["shortcut", "41..60", "%", "worst", "%", "words"]
        assert out.splitlines()[-1].startswith(f"The rule `place` {verdict}: ")
        assert f"and {score:.2f} %." in out.splitlines()[-1]
