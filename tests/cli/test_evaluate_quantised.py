"""`regulargpt evaluate --quantised`, and the same from Python: the network that theorem 1 is about."""

import json
from pathlib import Path

import pytest

import regulargpt
from languages.errors import UserError
from regulargpt.runs import run as running
from tests.cli.conftest import Cli, assert_refused
from tests.regulargpt.small import config


@pytest.fixture(scope="module")
def proven(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("quantised") / "run"
    regulargpt.run("parity", folder, recipe="answers", test_len=60, extra_lengths=(), **{"evaluation.stride": 20})
    return folder


def test_the_network_of_the_theorem_is_tested_and_asked(cli: Cli, proven: Path):
    certificate = json.loads((proven / "certificate.json").read_text())
    test = ("evaluate", proven, "--lengths", "41-50,3000", "--samples", 64)
    said = cli(*test, "--quantised").out.splitlines()[-1]
    assert said.startswith(
        "11 lengths, each state above the symbols replaced by the nearest of 2 prototypes: "
        "mean accuracy 100 %, worst 100 %"
    )
    said = cli(*test).out.splitlines()
    assert (said[-2].split()[0], "replaced" in said[-1]) == ("3,000", False)
    assert json.loads(cli(*test, "--quantised", "--json").out)["prototypes"] == len(certificate["prototypes"])
    assert json.loads(cli(*test, "--json").out)["prototypes"] is None
    trained = regulargpt.load(proven, quantised=True)
    assert trained.answers(["0110", "1110"]) == ["even", "odd"]


def test_it_has_the_states_that_the_certificate_says(proven: Path):
    """With one prototype for all nodes there is one answer: half of the words have another."""
    path = proven / "certificate.json"
    before = path.read_text()
    certificate = json.loads(before)
    certificate["prototypes"] = certificate["prototypes"][:1]
    path.write_text(json.dumps(certificate))
    try:
        found = regulargpt.evaluate(proven, lengths=[50], quantised=True, samples=512)
    finally:
        path.write_text(before)
    assert 40 < found["score"] < 60
    assert regulargpt.evaluate(proven, lengths=[50], quantised=True, samples=512)["score"] == 100


def test_what_has_no_prototypes_is_refused(cli: Cli, proven: Path, tmp_path: Path):
    plain = tmp_path / "plain"
    running.run(config(training__steps=2, data__name="parity"), plain)
    test = ("evaluate", plain, "--lengths", 9, "--quantised")
    assert_refused(cli(*test), f"{plain} has no certificate yet; try `regulargpt verify {plain}`")
    with pytest.raises(UserError, match="has no certificate"):
        regulargpt.load(plain, quantised=True)
    cli("verify", plain, "--length", 60, "--words", 8)
    assert_refused(cli(*test), f"{plain} has no certificate: the quantised network errs on a word")
    assert_refused(cli("check", plain), f"{plain} has no certificate: the quantised network errs on a word")
    note = json.loads((plain / "uncertified.json").read_text())
    (plain / "uncertified.json").write_text(json.dumps(note | {"weights": {"sha256": "0" * 64}}))
    assert_refused(cli("check", plain), f"{plain} has no certificate yet; try `regulargpt verify {plain}`")
    (plain / "uncertified.json").write_text("{}")
    assert_refused(cli("check", plain), "uncertified.json is no result of `verify`: 'weights' is missing; run")
    text = (proven / "certificate.json").read_text()
    (plain / "certificate.json").write_text(text)
    assert_refused(cli(*test), f"{plain / 'certificate.json'} is of other weights; `regulargpt verify {plain}`")
    good = json.loads((proven / "certificate.json").read_text())
    bad = [
        {**good, "prototypes": p}
        for p in ([], [[1.0]], "none", [[float("nan")] * 64], [[1.0], [1.0, 2.0]], None, [[10**400] * 64])
    ]
    try:
        for value in [*bad, {key: item for key, item in good.items() if key != "weights"}]:
            (proven / "certificate.json").write_text(json.dumps(value))
            refused = cli("evaluate", proven, "--lengths", 9, "--quantised")
            assert_refused(refused, f"has no prototypes of this network; `regulargpt verify {proven}` writes it anew")
    finally:
        (proven / "certificate.json").write_text(text)
