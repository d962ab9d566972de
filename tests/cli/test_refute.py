"""`verify`, `check` and `falsify` of a network whose states settle: on which words it is proven to be wrong."""

import json
import shutil
from pathlib import Path

import pytest

from regulargpt.config.schema import RunConfig
from regulargpt.runs.run import run
from tests.cli.conftest import Cli, assert_refused

SIZES = {"model.name": "linear-rnn", "model.d_model": 4, "training.steps": 2, "evaluation.samples": 4}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two steps, after which it has learned nothing."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    run(RunConfig().replaced({**SIZES, "evaluation.test_len": 42, "evaluation.extra_lengths": ()}), folder)
    return folder


@pytest.fixture
def copy(finished: Path, tmp_path: Path) -> Path:
    """The same run in another place."""
    return shutil.copytree(finished, tmp_path / "run")


def test_verify_writes_the_refutation_and_check_accepts_it(cli: Cli, copy: Path):
    said = cli("verify", copy)
    assert said.code == 0, said.err
    *_, wrong, answers, where = said.out.splitlines()
    assert wrong.startswith("as it is: wrong on ")
    assert wrong.endswith(" on: proven, in real arithmetic")
    assert answers.startswith("it answers ")
    assert where.startswith(f"refutation: {copy}/refutation.json; check it with ")
    checked = json.loads(cli("check", copy / "refutation.json", "--language", "parity", "--json").out)
    assert checked["accepted"]
    assert (
        checked["language_claim"]
        == "The automaton answers every word of at least one symbol as the language parity does."
    )
    # It does not stand in the place of a certificate that the folder does not have.
    assert_refused(cli("check", copy), f"{copy} has no certificate.json, but a refutation.json")
    by_flag = cli("check", copy, "--refutation").out
    assert by_flag.startswith(f"accepted: {checked['claim']}\n1 layer, 64 bits: from n = ")
    assert cli("report", copy, "--out", "page.html").code == 0
    assert "Proven to be wrong, in real arithmetic: For every whole number n " in Path("page.html").read_text()


def test_falsify_leaves_a_proof_as_it_was_where_its_time_is_over(cli: Cli, copy: Path):
    cli("verify", copy)
    before = (copy / "refutation.json").read_bytes()
    late = cli("falsify", copy, "--seconds", "0.000001")
    assert late.out.splitlines()[-1] == "the time was over before all was tried: give more --seconds"
    assert "on: proven, in real arithmetic" in late.out  # the checker accepts it now, too
    assert (copy / "refutation.json").read_bytes() == before
    (copy / "refutation.json").write_bytes(before.replace(b'"from": ', b'"from": 1'))
    late = cli("falsify", copy, "--seconds", "0.000001")
    assert "proven" not in late.out.replace("neither proven nor wrong", "")
    assert "on: proven, in real arithmetic" in cli("falsify", copy, "--words", "100").out


def test_a_forged_one_is_rejected_and_verify_writes_it_anew(cli: Cli, copy: Path):
    report = json.loads(cli("verify", copy, "--json").out)["refutation"]
    path = copy / "refutation.json"
    before = path.read_text()
    path.write_text(before.replace(f'"from": {report["from"]}', f'"from": {report["from"] + 1}'))
    answer = cli("check", path)
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.startswith(
        "rejected: the claim is not the one that is proven, which is: For every whole number n >= "
    )
    assert cli("verify", copy).code == 0
    assert path.read_text() == before
    (copy / "refutation-automaton.json").unlink()
    assert_refused(cli("check", path), "refutation-automaton.json cannot be read")


def test_falsify_has_the_family_that_is_proven_first(cli: Cli, copy: Path):
    first, *others = json.loads(cli("falsify", copy, "--words", 200, "--json").out)["families"]
    assert first["evidence"] == "proved"
    assert {family["evidence"] for family in others} <= {"observed"}
    record = json.loads((copy / "refutation.json").read_text())
    assert (first["from"], first["period"], first["residues"]) == (
        record["from"],
        record["period"],
        [record["residue"]],
    )
    lines = cli("falsify", copy, "--words", 200).out.splitlines()
    assert lines[1].endswith(" on: proven, in real arithmetic")
