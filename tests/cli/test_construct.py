"""construct end to end: a run folder like any other, tested shortly or as asked, resumed, repeated, refused."""

import json
from pathlib import Path

import pytest

from regulargpt.construct.configuration import configuration
from regulargpt.runs import run as running
from tests.cli.conftest import Cli
from tests.cli.test_run import FILES


@pytest.mark.parametrize(("language", "way"), [("parity", "matrix"), ("aa-star", "one-hot")])
def test_construct_then_evaluate(cli: Cli, tmp_path: Path, language: str, way: str):
    code, out, err = cli("construct", language, "--out", "here", "--representation", way, "--json")
    assert (code, err) == (0, "")
    summary = json.loads(out)
    assert {path.name for path in (tmp_path / "here").iterdir()} == FILES - {"checkpoints"}
    assert json.loads((tmp_path / "here" / "summary.json").read_text()) == summary
    assert (summary["recipe"], summary["steps"], summary["train_seconds"]) == (f"constructed-{way}", 0, 0.0)
    assert (summary["solved_at"], summary["score"], summary["worst"]) == (None, 100.0, 100.0)
    assert (tmp_path / "here" / "metrics.jsonl").read_bytes() == b""
    found = json.loads(cli("evaluate", "here", "--lengths", "41-60,1000000", "--json").out)
    accuracy = found["measures"]["accuracy"]["values"]
    assert set(accuracy.values()) == {100.0}
    assert "1000000" in accuracy
    assert json.loads(cli("resume", "here", "--json").out) == summary


def test_the_table_for_people_and_what_lies_there_is_kept(cli: Cli, tmp_path: Path):
    code, out, err = cli("construct", "cycle-navigation", "--out", "here", "--representation", "matrix")
    assert code == 0
    assert err == "cycle-navigation: regulargpt, recipe constructed-matrix, into here\n"
    assert out.splitlines()[0].split(maxsplit=1) == ["weights", "constructed-matrix, 41,009 parameters"]
    before = {path: path.read_bytes() for path in Path("here").iterdir()}
    again = cli("construct", "parity", "--out", "here")
    assert (again.code, again.out) == (2, "")
    assert again.err == "error: run folder here exists; choose another --out or `regulargpt resume here`\n"
    assert {path: path.read_bytes() for path in Path("here").iterdir()} == before


def lengths(summary: str) -> list[int]:
    return [int(length) for length in json.loads(summary)["samples"]]


def test_the_test_is_short_and_what_is_asked_for(cli: Cli):
    summary = cli("construct", "parity", "--out", "small", "--json").out
    assert lengths(summary) == [*range(41, 101), 10_000]
    assert set(json.loads(summary)["samples"].values()) == {128}
    large = cli("construct", "tomita-3", "--representation", "one-hot", "--out", "large", "--json").out
    assert lengths(large) == [*range(41, 101), 1000]
    assert set(json.loads(large)["samples"].values()) == {32}
    asked = ("--test-len", "43", "--extra-lengths", "50,60", "--samples", "3", "--seed", "7", "--threads", "1")
    summary = cli("construct", "parity", "--out", "asked", *asked, "--json").out
    assert lengths(summary) == [41, 42, 43, 50, 60]
    assert (set(json.loads(summary)["samples"].values()), json.loads(summary)["seed"]) == ({3}, 7)
    none = ("--test-len", "41", "--extra-lengths", "")
    assert lengths(cli("construct", "parity", "--out", "none", *none, "--json").out) == [41]


def test_interrupted_while_testing_and_from_its_config_it_is_the_same(cli: Cli, tmp_path: Path):
    class Stop(Exception):
        pass

    def stop(point) -> None:
        raise Stop

    config = configuration("tomita-5", 3, "matrix").replaced(
        {"evaluation.test_len": 44, "evaluation.extra_lengths": ()}
    )
    with pytest.raises(Stop):
        running.run(config, tmp_path / "killed", running.Watch(on_point=stop))
    assert cli("resume", "killed").code == 0
    assert cli("run", "--config", "killed/config.toml", "--out", "twin", "--json").code == 0
    for name in ("config.toml", "model.safetensors", "measures.csv", "metrics.jsonl", "config.json"):
        assert Path("killed", name).read_bytes() == Path("twin", name).read_bytes()
