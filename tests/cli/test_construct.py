"""construct end to end: a run folder like any other, tested shortly or as asked, resumed, repeated."""

import json
from pathlib import Path

import pytest

from regulargpt.construct.configuration import configuration
from regulargpt.runs import run as running
from tests.cli.conftest import Cli, assert_refused, everything
from tests.cli.test_run import FILES

FEW = ("--test-len", "44", "--extra-lengths", "60")


@pytest.mark.parametrize(("language", "way"), [("parity", "matrix"), ("aa-star", "one-hot")])
def test_construct_then_evaluate(cli: Cli, tmp_path: Path, language: str, way: str):
    code, out, err = cli("construct", language, "--out", "here", "--representation", way, *FEW, "--json")
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
    code, out, err = cli("construct", "cycle-navigation", "--out", "here", "--representation", "matrix", *FEW)
    assert code == 0
    assert err == "cycle-navigation: regulargpt, recipe constructed-matrix, into here\n"
    assert out.splitlines()[0].split(maxsplit=1) == ["weights", "constructed-matrix, 41,009 parameters"]
    before = everything(Path("here"))
    again = cli("construct", "parity", "--out", "here")
    assert_refused(again, "run folder here exists; choose another --out or `regulargpt resume here`")
    assert everything(Path("here")) == before


SHORT = [
    (("parity",), [*range(41, 101), 10_000], 128),
    (("tomita-3", "--representation", "one-hot"), [*range(41, 101), 1000], 32),
    (("parity", "--test-len", "43", "--extra-lengths", "50,60", "--samples", "3"), [41, 42, 43, 50, 60], 3),
    (("parity", "--test-len", "41", "--extra-lengths", "", "--seed", "7", "--threads", "1"), [41], 128),
]


@pytest.mark.parametrize(("options", "lengths", "samples"), SHORT)
def test_the_test_is_short_and_what_is_wished(cli: Cli, options: tuple[str, ...], lengths: list[int], samples: int):
    summary = json.loads(cli("construct", *options, "--out", "here", "--json").out)
    assert summary["samples"] == {str(length): samples for length in lengths}
    assert summary["worst"] == 100.0
    assert summary["seed"] == (7 if "--seed" in options else 0)


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
