"""Prototypes from the true transitions: how many, and when no more."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import languages
from regulargpt.certificate import codebook
from regulargpt.certificate.codebook import Codebook, Ideal, by_class, expanded, windows_of
from regulargpt.certificate.machine import Question
from regulargpt.certificate.table import Exact
from regulargpt.models.regulargpt import RegularGPT


def ideal_of(spec: str, C: int) -> Ideal:
    return Ideal.of(Question.of(languages.get(spec)), C)


@pytest.mark.parametrize(("spec", "C"), [("parity", 2), ("dyck-2", 2), ("dyck-2", 3), ("tomita-3", 3)])
def test_windows_are_counted_as_they_are_listed(spec: str, C: int):
    ideal = ideal_of(spec, C)
    rng = np.random.default_rng(C)
    size = 1 + int(ideal.of_elements.max())
    for extra in (0, 1, 7):
        elements = np.append(np.arange(size), rng.integers(size, size=extra))
        book = Codebook(torch.zeros(len(elements), 1), elements)
        listed, _ = expanded(ideal.elements, ideal.of_elements, elements)
        assert windows_of(ideal, book) == len(listed)


def test_no_codebook_has_more_windows_than_a_proof_looks_at(monkeypatch: pytest.MonkeyPatch):
    ideal = ideal_of("dyck-2", 2)
    torch.manual_seed(0)
    network = Exact(RegularGPT(2, 2, chunk_size=2, d_model=16, n_heads=2, d_ff=32))
    monkeypatch.setattr(codebook, "WORST", 1.0)
    sizes = [windows_of(ideal, book) for book in itertools.islice(by_class(network, ideal), 6)]
    assert len(sizes) == 6
    assert sizes == sorted(sizes)
    monkeypatch.setattr(codebook, "MOST_WINDOWS", sizes[2])
    assert [windows_of(ideal, book) for book in by_class(network, ideal)] == sizes[:3]
