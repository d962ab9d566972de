"""`verify` and `check` on the command line: what is proven, what is wrong, what is refused."""

import json
import shutil
from pathlib import Path

import pytest

from regulargpt.certificate.search.certify import Certifier
from regulargpt.config.schema import RunConfig
from regulargpt.construct.configuration import configuration
from regulargpt.runs.certify import certificate_report
from regulargpt.runs.run import run
from regulargpt.storage.folder import RunFolder
from tests.cli.conftest import Cli, assert_refused
from tests.regulargpt.small import ATTENTION, COMMON, config
from tests.regulargpt.stack_certificates import REVERSE, files, reverse, written


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "run"
    run(configuration("tomita-2").replaced({"evaluation.test_len": 42, "evaluation.extra_lengths": ()}), folder)
    certificate_report(RunFolder.open(folder))
    return folder


@pytest.fixture
def made(verified: Path, tmp_path: Path) -> Path:
    """A copy of a run with its certificate."""
    return shutil.copytree(verified, tmp_path / "made")


def forge(certificate: Path, to: Path) -> None:
    """Write a certificate of which one node has another image."""
    record = json.loads(certificate.read_text())
    record["nodes"]["images"][0] = 1 + record["nodes"]["images"][0] % 5
    to.write_text(json.dumps(record))


def test_a_run_is_verified_and_its_certificate_checked(cli: Cli, made: Path):
    verified = cli("verify", made, "--length", "60", "--words", "8")
    assert verified.code == 0
    assert (
        "proven at every length, in real arithmetic, states above the symbols replaced by the nearest of 5 prototypes"
        in verified.out
    )
    checked = cli("check", made / "certificate.json")
    assert checked.code == 0
    assert checked.out.startswith('accepted: For every word over {"0", "1"}')
    as_json = json.loads(cli("check", made, "--json").out)
    assert as_json["accepted"]
    assert as_json["prototypes"] == 5


def test_a_changed_certificate_is_rejected_with_exit_code_1(cli: Cli, made: Path, tmp_path: Path):
    forged = tmp_path / "forged.json"
    forge(made / "certificate.json", forged)
    files = [f"--{name}={made / file}" for name, file in FILES.items()]
    refused = cli("check", forged, *files)
    assert refused.code == 1
    assert refused.err.startswith("rejected: nodes, window [1, 0]: the state is not nearest to prototype")
    answer = cli("check", forged, *files, "--json")
    assert answer.code == 1
    assert not json.loads(answer.out)["accepted"]


def test_the_named_language_is_part_of_what_is_proven(cli: Cli, made: Path):
    checked = cli("check", made, "--language", "tomita-2")
    assert checked.code == 0
    assert "The automaton answers every word of at least one symbol as the language tomita-2 does." in checked.out
    assert "Every reachable state and every kind of root has an answer." in checked.out
    other = cli("check", made, "--language", "tomita-1")
    assert other.code == 1
    assert other.err == 'rejected: the automaton is not that of tomita-1: they differ on the word "1"\n'
    misspelt = cli("check", made, "--language", "tomita-22")
    assert misspelt.code == 2


@pytest.mark.parametrize("text", ["[]", "null", "3", "NaN", "1" * 5000, "{}", "[" * 100_000, "", "\0"])
def test_what_is_no_certificate_is_refused_in_one_line(cli: Cli, tmp_path: Path, text: str):
    (tmp_path / "c.json").write_text(text)
    refused = cli("check", tmp_path / "c.json")
    assert_refused(refused, f"error: {tmp_path / 'c.json'} ")
    assert len(refused.err) < 300 + len(str(tmp_path))


def test_a_report_shows_nothing_as_proven_that_is_not_accepted(cli: Cli, made: Path):
    assert cli("report", made).code == 0
    page = (made / "report.html").read_text()
    assert "Proven for every length" in page
    forge(made / "certificate.json", made / "certificate.json")
    assert_refused(cli("report", made), "certificate.json proves nothing: nodes, window [1, 0]: … not nearest")
    assert (made / "report.html").read_text() == page


FILES = {"weights": "model.safetensors", "network": "config.json", "automaton": "automaton.json"}


@pytest.mark.parametrize("missing", ["certificate.json", *FILES.values()])
def test_a_missing_file_is_named_in_one_line(cli: Cli, made: Path, tmp_path: Path, missing: str):
    for name in ("certificate.json", *FILES.values()):
        if name != missing:
            (tmp_path / name).write_bytes((made / name).read_bytes())
    assert_refused(cli("check", tmp_path / "certificate.json"), f"{missing}…cannot be read")


def test_a_run_that_errs_is_refuted_by_a_word(cli: Cli, tmp_path: Path):
    run(RunConfig().replaced({**COMMON, **ATTENTION, "training.steps": 2}), tmp_path / "r")
    report = json.loads(cli("verify", tmp_path / "r", "--json", "--length", "60", "--words", "8").out)
    proof = report["certificate"]
    assert not proof["proven"]
    assert proof["wrong_unquantised"]["right"] != proof["wrong_unquantised"]["network"]
    assert not (tmp_path / "r" / "certificate.json").exists()
    note = json.loads((tmp_path / "r" / "uncertified.json").read_text())
    assert note.pop("weights")["file"] == "model.safetensors"
    assert note == proof
    assert cli("report", tmp_path / "r").code == 0
    assert "No certificate: the quantised network errs on a word." in (tmp_path / "r" / "report.html").read_text()
    text = cli("verify", tmp_path / "r", "--length", "60", "--words", "8").out
    assert "no certificate: the quantised network errs on a word" in text


def test_the_note_of_an_earlier_failure_goes_when_the_certificate_comes(cli: Cli, made: Path):
    (made / "uncertified.json").write_text("{}")
    assert "proven at every length" in cli("verify", made, "--length", "60", "--words", "8").out
    assert not (made / "uncertified.json").exists()


def test_a_baseline_has_no_certificate_and_the_reason_is_said(cli: Cli, tmp_path: Path):
    run(config("transformer", objective__name="last"), tmp_path / "r")
    out = cli("verify", tmp_path / "r", "--length", "60", "--words", "8").out
    assert "no certificate: transformer does not use one map at every level of a tree" in out


def test_the_windows_of_a_table_are_worked_out_once(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made, of = [], Certifier.for_task
    monkeypatch.setattr(Certifier, "for_task", staticmethod(lambda *given: made.append(given) or of(*given)))
    small = ("--steps", "2", "--d-model", "8", "--test-len", "42", "--samples", "8")
    assert cli("run", "parity", "--certify", *small, "--out", tmp_path / "r").code == 0
    assert len(made) == 1


def test_check_says_what_is_proven_of_a_network_with_a_stack(cli: Cli, tmp_path: Path) -> None:
    folder = written(tmp_path, *files(reverse(), REVERSE))
    found = cli("check", folder)
    assert found.code == 0
    assert found.out.startswith("accepted: For every word that the machine in automaton.json has moves for")
    assert "4 states of the network, 12 entries of its table, 9 pairs, no stack more than 0 ahead" in found.out
    assert json.loads(cli("check", folder, "--json").out)["room"] > 1e5
