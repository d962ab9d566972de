"""What an altered file beside a run says is believed by no verb: the network is asked, or the checker."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from regulargpt.certificate.checker.claims import refutation_claim
from regulargpt.data import of_words
from regulargpt.runs import run as running
from regulargpt.runs.borne_out import read_family, tried_again
from regulargpt.storage.folder import CERTIFICATE, FALSIFIED, REFUTATION, SUMMARY, UNCERTIFIED, WEIGHTS, RunFolder
from regulargpt.storage.manifest import digest
from tests.cli.conftest import Cli, assert_refused
from tests.regulargpt.forging import Change, edit, put
from tests.regulargpt.small import config

CERTIFIED = Path(__file__).parents[2] / "docs" / "certified"
WORD = {"word": "11", "length": 2, "expected": "odd", "answered": "even"}
ONES = {"u": "", "v": "1", "w": "", "from": 13, "to": None, "period": 2, "residues": [1], "from_length": 13}


@pytest.fixture(autouse=True)
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No check of an earlier test is remembered."""
    monkeypatch.setenv("LANGUAGES_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def parity(tmp_path: Path) -> Path:
    """A network that is proven as it is."""
    return shutil.copytree(CERTIFIED / "parity", tmp_path / "parity")


@pytest.fixture
def delta(tmp_path: Path) -> Path:
    """A network that is right if states are replaced, and wrong as it is on 1^n for every even n from 12 on."""
    return shutil.copytree(CERTIFIED / "parity-delta", tmp_path / "parity-delta")


def falsify(folder: Path, *words: dict[str, Any], families: tuple[dict[str, Any], ...] = ()) -> None:
    """What `falsify` would have written, had it met these."""
    report = {"wrong": [*words], "families": [*families], "tried": {"short": 9}, "all_up_to": 40, "ruled_out": []}
    of = {"weights": {"file": WEIGHTS, "sha256": digest((folder / WEIGHTS).read_bytes())}}
    (folder / FALSIFIED).write_text(json.dumps(of | report | {"budget": {"words": 9, "late": False}}))


def page(cli: Cli, folder: Path) -> str:
    """The page of a report, as people read it."""
    answer = cli("report", folder, "--out", "page.html")
    assert answer.code == 0, answer.err
    return re.sub("<script.*?</script>|<[^>]*>", "", Path("page.html").read_text(), flags=re.DOTALL)


def exchange_answers(folder: Path) -> None:
    """A refutation by an automaton whose answers are exchanged: true of that one, and nothing of parity."""
    edit(folder / "refutation-automaton.json", lambda r: r.update(outputs={"q0": "odd", "q1": "even"}))
    claim = refutation_claim({"u": [], "v": ["1"], "w": []}, 13, 2, 1, "odd", "even")
    edit(folder / REFUTATION, lambda r: r.update({"from": 13, "residue": 1, "answer": 1, "claim": claim}))
    of = digest((folder / "refutation-automaton.json").read_bytes())
    edit(folder / REFUTATION, put("automaton/sha256", of))


def test_a_refutation_by_another_automaton_says_nothing_of_the_language(cli: Cli, delta: Path):
    whole = page(cli, delta)
    assert "Without that, it is proven to be wrong." in whole
    assert "Wrong. For every whole number n &gt;= 12 with n = 0 mod 2" in whole
    exchange_answers(delta)
    (delta / FALSIFIED).unlink()
    # It is a refutation, and accepted as one of its automaton.
    assert cli("check", "--refutation", delta).code == 0
    refused = cli("check", "--refutation", delta, "--language", "parity")
    assert (refused.code, refused.out) == (1, "")
    found = page(cli, delta)
    assert "proven to be wrong" not in found
    assert "Wrong. For every" not in found
    assert "refutation.json proves nothing of parity: its automaton is not that of parity: 0 is even, not odd" in found
    # Without a certificate nothing is proven at all.
    (delta / CERTIFICATE).unlink()
    assert "Nothing is proven: " in page(cli, delta)
    assert json.loads(cli("report", delta, "--json").out)["of_another"] == [str(delta)]


@pytest.mark.parametrize("evidence", ["proved", "observed"])
def test_words_that_the_network_has_right_are_wrong_in_no_words(cli: Cli, parity: Path, evidence: str):
    falsify(parity, WORD, {**WORD, "word": None, "length": 20_000}, families=(ONES | {"evidence": evidence},))
    found = page(cli, parity)
    assert "No word is wrong, at any length: that is proven" in found
    assert not re.search("wrong on |proven to be wrong", found)
    assert "falsified.json names words, none of which the network answers wrongly now" in found
    answer = cli("results", parity, "--json")
    assert json.loads(answer.out)["groups"][0]["first_wrong"] is None
    assert answer.err == "parity: falsified.json names words, none of which the network answers wrongly now\n"
    assert json.loads(cli("verify", parity, "--json").out)["certificate"]["proven"]
    assert cli("check", parity).code == 0
    report = json.loads(cli("falsify", parity, "--words", 200, "--json").out)
    assert (report["wrong"], report["families"]) == ([], [])


def test_wrong_words_are_shown_with_the_answers_of_the_network_and_no_further_than_tried(cli: Cli, delta: Path):
    """The shortest that it names is right, one is wrong, and nothing says that no other is shorter."""
    (delta / REFUTATION).unlink()
    forged = {"word": "1" * 12, "length": 3, "expected": "banana", "answered": "even"}
    wrong = ONES | {"from": 12, "residues": [0], "evidence": "proved"}
    falsify(delta, WORD, forged, families=(ONES | {"evidence": "proved"}, wrong))
    found = page(cli, delta)
    assert "wrong on 111111111111 (12 symbols): it answers odd, right is even; " in found
    assert "and on 1^n for every even n from 12 to 512 that was tried" in found
    assert not re.search("on: proven|odd n|banana|the shortest word is", found)
    assert "Without that, it is wrong on some words." in found
    falsify(delta, families=(wrong,))
    assert "wrong on 111111111111 (12 symbols): it answers odd, right is even; and on 1^n for every even" in page(
        cli, delta
    )
    falsify(delta, WORD, forged)
    assert json.loads(cli("results", delta, "--json").out)["groups"][0]["first_wrong"] == 12


@pytest.mark.parametrize(
    "change",
    [
        *({"v": ""}, {"v": "2"}, {"v": 1}, {"period": 0}, {"period": 10**9}, {"residues": []}, {"residues": 1}),
        *({"residues": ["0"]}, {"from": -1}, {"from": 10**9}, {"from": 12.0}, {"from": True}, {"to": "x"}),
    ],
)
def test_what_is_no_family_is_none(change: dict[str, Any]):
    data = of_words(config("gru", data__name="parity").data)
    assert read_family(data, ONES) is not None
    assert read_family(data, {**ONES, **change}) is None


def test_a_family_of_too_few_words_is_none():
    data = of_words(config("gru", data__name="parity").data)
    family = read_family(data, ONES | {"to": 18})
    assert family is not None
    assert tried_again(family) == [13, 15, 17]
    assert tried_again(replace(family, of=replace(family.of, end=12))) == []
    # Later words than are tried otherwise: only the first few.
    assert tried_again(replace(family, of=replace(family.of, start=9000, end=99999))) == [9001, 9003, 9005, 9007]


def test_why_there_is_no_certificate_proves_nothing_and_its_words_are_asked_again(cli: Cli, delta: Path):
    """A file that says of a network without certificate that it is proven, compared, and wrong on a right word."""
    for name in (CERTIFICATE, REFUTATION, FALSIFIED):
        (delta / name).unlink()
    attempt = {
        "weights": {"file": WEIGHTS, "sha256": digest((delta / WEIGHTS).read_bytes())},
        **{"kind": "chain", "proven": True, "checked": False, "reason": "of no reason", "file": "certificate.json"},
        **{"points": 2, "rows": 4, "pairs": 2, "smallest_margin": 1.0, "smallest_answer_margin": 1.0},
        **{"unquantised": {"proven": True, "slack": 1.0, "radius": 1.0}},
        "wrong_unquantised": {"word": "11", "length": 2, "right": "odd", "network": "even"},
    }
    (delta / UNCERTIFIED).write_text(json.dumps(attempt))
    found = page(cli, delta)
    assert "No certificate: of no reason" in found
    assert not re.search("proven at every|right on every word|and as it is|shortest wrong word", found)
    assert "0 of 1" in cli("results", delta).out
    attempt["wrong_unquantised"] |= {"word": "1" * 12, "length": 12}
    (delta / UNCERTIFIED).write_text(json.dumps(attempt))
    said = "shortest wrong word found has 12 symbols: 111111111111 (right is even, the network itself says odd)"
    assert said in page(cli, delta)


def resigned(folder: Path, change: Change) -> None:
    """Another summary, with a manifest that fits."""
    edit(folder / SUMMARY, change)
    RunFolder(folder).finish()


def test_a_summary_says_proven_only_of_what_the_checker_accepts(cli: Cli, delta: Path, tmp_path: Path):
    claimed = {"wrong": [WORD], "families": [ONES | {"evidence": "proved"}], "tried": {}, "all_up_to": 0}
    small = config("gru", data__name="parity", objective__name="last", training__steps=3)
    running.run(small, tmp_path / "gru")
    resigned(tmp_path / "gru", lambda r: r.update(proven=True, falsified=claimed))
    (*_, verdict) = cli("resume", "gru").out.splitlines()
    assert "proven" not in verdict
    # A proof with states replaced is none of the network as it is.
    before = cli("resume", delta).out
    assert "the state replaced after every symbol by the nearest point" in before
    resigned(delta, put("phases/chain_fine_tuning/proven_unquantised", True))
    assert cli("resume", delta).out == before


def refutation_as_certificate(folder: Path) -> None:
    shutil.copy(folder / REFUTATION, folder / CERTIFICATE)
    shutil.copy(folder / "refutation-automaton.json", folder / "automaton.json")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (refutation_as_certificate, "certificate.json proves nothing: it is a refutation, of a network that is wrong"),
        (lambda folder: (folder / CERTIFICATE).write_text("{}"), "certificate.json proves nothing: "),
    ],
)
def test_results_say_why_what_stands_in_a_certificates_place_proves_nothing(
    cli: Cli, delta: Path, change: Callable[[Path], object], reason: str
):
    """Also of a run that was not proven when it ended."""
    resigned(delta, put("proven", False))
    change(delta)
    answer = cli("results", delta)
    assert "0 of 1" in answer.out
    assert answer.err.startswith(f"parity-delta: not proven of its language: {reason}")
    assert_refused(cli("report", delta), f"{CERTIFICATE} proves nothing: ")


def test_a_folder_means_its_certificate(cli: Cli, delta: Path, parity: Path):
    assert json.loads(cli("check", delta, "--json").out)["kind"] == "certificate"
    for named in ([delta / REFUTATION], ["--refutation", delta], ["--refutation", delta / REFUTATION]):
        assert json.loads(cli("check", *named, "--json").out)["kind"] == "refutation"
    (delta / CERTIFICATE).unlink()
    remedy = f"{delta} has no certificate.json, but a refutation.json, that the network is wrong"
    assert_refused(cli("check", delta), f"{remedy}; `regulargpt check --refutation {delta}` checks that")
    assert_refused(
        cli("check", parity, "--refutation"), f"{parity} has no refutation.json; `regulargpt verify {parity}`"
    )
    # Neither stands for the other.
    refutation_as_certificate(delta)
    wrong, right = cli("check", delta), cli("check", "--refutation", parity / CERTIFICATE)
    assert (wrong.code, wrong.out, right.code, right.out) == (1, "", 1, "")
    assert wrong.err.startswith("rejected: it is a refutation, of a network that is wrong; ")
    assert right.err.startswith("rejected: it is a certificate, of a network that is right; ")
    assert cli("check", delta / CERTIFICATE).code == 0
