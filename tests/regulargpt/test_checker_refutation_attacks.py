"""Refutations that are made to pass as proofs, or to take the checker's time."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import languages
from languages.automata import MooreMachine
from languages.convert.machines import to_json
from regulargpt.certificate import verdict
from regulargpt.certificate.checker import AcceptedRefutation, Rejected, decide
from regulargpt.certificate.checker import refutation as checker
from regulargpt.certificate.checker.files import tensors
from regulargpt.certificate.checker.recurrences import Recurrences
from regulargpt.certificate.checker.refutation import CheckedFamily, RefutationCheck
from regulargpt.certificate.refutation.families import PowerFamily as Words
from regulargpt.certificate.refutation.families import WrongFamily
from regulargpt.certificate.refutation.outcome import certificate_of
from regulargpt.storage.folder import CERTIFICATE, RunFolder
from tests.regulargpt.linear_networks import files_of, made

PARITY = languages.get("parity")


def test_a_refutation_under_the_name_of_a_certificate_is_no_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Files of a run folder come from strangers: what says that the network is wrong would be shown as "proven"."""
    monkeypatch.setenv("LANGUAGES_CACHE", str(tmp_path / "cache"))
    machine = PARITY.machine
    assert isinstance(machine, MooreMachine)
    weights, network = files_of(made(nu=math.log(0.1), symbols=(0.0, 1.0), threshold=0.5), PARITY)
    files = {"weights": weights, "network": network, "automaton": to_json(machine).encode()}
    text = certificate_of(WrongFamily(Words((1,), (0,), ()), 7, 1, 0, answer=0, right=1), machine, files).encode()
    assert isinstance(decide(text, files), AcceptedRefutation)
    (tmp_path / CERTIFICATE).write_bytes(text)
    monkeypatch.setattr(verdict, "certified_files", lambda folder: (text, files))
    for _ in range(2):  # nor is it remembered as one
        found = verdict.acceptance(RunFolder(tmp_path))
        assert not found.is_accepted
        assert found.reason == "certificate.json proves nothing: it is a refutation, of a network that is wrong"


def test_words_that_a_narrow_network_reads_one_by_one_are_counted_by_the_number_of_the_state():
    """It has 52 weights: counted by them alone, words for half an hour were few."""
    weights, config = files_of(made(nu=-18.0, symbols=(0.0, 1.0), threshold=0.5), PARITY)
    network = Recurrences(tensors(weights), json.loads(config))

    def begun(part: str, done: int, count: int) -> None:
        raise AssertionError

    refutation = RefutationCheck(network, CheckedFamily([1], [0], [], 1, 1, 0, answer=0), begun)
    with pytest.raises(Rejected, match="settled from n = 50,000,000 on; too many words before that"):
        refutation.read_on(5_000, 50_000_000)
    with pytest.raises(AssertionError):
        refutation.read_on(1, 100_000)


def test_some_words_are_read_as_they_may_settle_early(monkeypatch: pytest.MonkeyPatch):
    weights, config = files_of(made(nu=-18.0, symbols=(0.0, 1.0), threshold=0.5), PARITY)
    network, read = Recurrences(tensors(weights), json.loads(config)), []
    monkeypatch.setattr(checker, "FEW", 100)
    refutation = RefutationCheck(
        network, CheckedFamily([1], [0], [], 1, 1, 0, answer=1), lambda *where: read.append(where[1])
    )
    with pytest.raises(Rejected, match="settled from n = 50,000,000 on; too many words before that"):
        refutation.read_on(1, 50_000_000)
    assert read == [0, 1, 2, 4, 8, 16, 32, 64]
