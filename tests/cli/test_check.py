"""`verify` and `check` on the command line: what is proven, what is wrong, what is refused."""

import json
from pathlib import Path

import pytest

from regulargpt.construct.configuration import configuration
from regulargpt.run import run
from tests.cli.conftest import Cli
from tests.regulargpt.small import config


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "run"
    run(configuration("tomita-2").replaced({"evaluation.test_len": 42, "evaluation.beyond": ()}), folder)
    return folder


def test_a_run_is_verified_and_its_certificate_checked(cli: Cli, made: Path):
    verified = cli("verify", str(made), "--length", "60", "--words", "8")
    assert verified.code == 0
    assert "proven at every length, states snapped to 5 prototypes" in verified.out
    checked = cli("check", str(made / "certificate.json"))
    assert checked.code == 0
    assert checked.out.startswith("accepted: For every word over {0, 1}")
    as_json = json.loads(cli("check", str(made), "--json").out)
    assert as_json["accepted"]
    assert as_json["prototypes"] == 5


def test_a_changed_certificate_is_rejected_with_exit_code_1(cli: Cli, made: Path, tmp_path: Path):
    cli("verify", str(made), "--length", "60", "--words", "8")
    record = json.loads((made / "certificate.json").read_text())
    record["nodes"]["images"][0] = 1 + record["nodes"]["images"][0] % 5
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps(record))
    files = [f"--{name}={made / file}" for name, file in FILES.items()]
    refused = cli("check", str(forged), *files)
    assert refused.code == 1
    assert refused.err.startswith("rejected: nodes, window [1, 0]: the network goes to prototype")
    answer = cli("check", str(forged), *files, "--json")
    assert answer.code == 1
    assert not json.loads(answer.out)["accepted"]


FILES = {"weights": "model.safetensors", "network": "config.json", "automaton": "automaton.json"}


@pytest.mark.parametrize("missing", ["certificate.json", *FILES.values()])
def test_a_missing_file_is_named_in_one_line(cli: Cli, made: Path, tmp_path: Path, missing: str):
    cli("verify", str(made), "--length", "60", "--words", "8")
    for name in ("certificate.json", *FILES.values()):
        if name != missing:
            (tmp_path / name).write_bytes((made / name).read_bytes())
    refused = cli("check", str(tmp_path / "certificate.json"))
    assert refused.code == 2
    assert missing in refused.err
    assert "cannot be read" in refused.err
    assert refused.err.count("\n") == 1


def test_a_run_that_errs_is_refuted_by_a_word(cli: Cli, tmp_path: Path):
    run(config("regulargpt", task__language="parity", task__supervision="last", training__steps=2), tmp_path / "r")
    report = json.loads(cli("verify", str(tmp_path / "r"), "--json", "--length", "60", "--words", "8").out)
    proof = report["certificate"]
    assert not proof["proven"]
    assert proof["wrong_without_snapping"]["right"] != proof["wrong_without_snapping"]["network"]
    assert not (tmp_path / "r" / "certificate.json").exists()
    note = json.loads((tmp_path / "r" / "uncertified.json").read_text())
    assert note.pop("weights")["file"] == "model.safetensors"
    assert note == proof
    assert cli("report", str(tmp_path / "r")).code == 0
    assert "No certificate: the snapped network errs on a word." in (tmp_path / "r" / "report.html").read_text()
    text = cli("verify", str(tmp_path / "r"), "--length", "60", "--words", "8").out
    assert "no certificate: the snapped network errs on a word" in text


def test_the_note_of_an_earlier_failure_goes_when_the_certificate_comes(cli: Cli, made: Path):
    (made / "uncertified.json").write_text("{}")
    assert "proven at every length" in cli("verify", str(made), "--length", "60", "--words", "8").out
    assert not (made / "uncertified.json").exists()


def test_a_baseline_has_no_certificate_and_the_reason_is_said(cli: Cli, tmp_path: Path):
    run(config("gru"), tmp_path / "r")
    out = cli("verify", str(tmp_path / "r"), "--length", "60", "--words", "8").out
    assert "no certificate: the levels of gru are not one map on finitely many states" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--model gru", "training.certify_every = 100: the levels of gru are not one map"),
        ("--supervision every", "training.certify_every = 100: the run answers 'every', not the word at its end"),
        ("--set model.thickness=2", "training.certify_every = 100: only one weight-shared layer"),
        ("--set model.levels=6", "training.certify_every = 100: model.levels = 6 fixes the depth; needed is 0"),
        ("--set model.pad=masked", "training.certify_every = 100: model.pad = 'masked' composes fewer than C states"),
        ("--set model.attention=full --beyond 1000", "training.certify_every = 100: model.attention = 'full' makes"),
    ],
)
def test_what_cannot_be_certified_is_refused_before_training(cli: Cli, tmp_path: Path, arguments: str, message: str):
    refused = cli("run", "parity", "--certify", *arguments.split(), "--out", str(tmp_path / "r"))
    assert refused.code == 2
    assert message in refused.err
    assert not (tmp_path / "r").exists()
