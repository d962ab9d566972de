"""Prototypes from the true transitions: how many, and when no more."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import languages
from regulargpt.certificate.search import codebook
from regulargpt.certificate.search.codebook import Codebook, Target, codebooks, count_windows, prototype_windows
from regulargpt.finite.float64_network import Float64Network
from regulargpt.finite.specification import Specification
from regulargpt.models.regulargpt import RegularGPT


def target_of(spec: str, C: int) -> Target:
    return Target.of(Specification.of(languages.get(spec)), C)


@pytest.mark.parametrize(("spec", "C"), [("parity", 2), ("dyck-2", 2), ("dyck-2", 3), ("tomita-3", 3)])
def test_windows_are_counted_as_they_are_listed(spec: str, C: int):
    target = target_of(spec, C)
    rng = np.random.default_rng(C)
    size = 1 + int(target.products.max())
    for extra in (0, 1, 7):
        elements = np.append(np.arange(size), rng.integers(size, size=extra))
        book = Codebook(torch.zeros(len(elements), 1), elements)
        listed, _ = prototype_windows(target.windows, target.products, elements)
        assert count_windows(target, book) == len(listed)


def test_no_codebook_has_more_windows_than_a_proof_looks_at(monkeypatch: pytest.MonkeyPatch):
    target = target_of("dyck-2", 2)
    torch.manual_seed(0)
    network = Float64Network(RegularGPT(2, 2, chunk_size=2, d_model=16, n_heads=2, d_ff=32))
    monkeypatch.setattr(codebook, "MAX_MISSED_TO_REFINE", 1.0)
    sizes = [count_windows(target, book) for book in itertools.islice(codebooks(network, target), 6)]
    assert len(sizes) == 6
    assert sizes == sorted(sizes)
    monkeypatch.setattr(codebook, "MAX_WINDOWS", sizes[2])
    assert [count_windows(target, book) for book in codebooks(network, target)] == sizes[:3]


@pytest.mark.parametrize("spec", ["cyclic-300", "dyck-14"])
def test_means_of_a_sample_come_to_every_element(spec: str):
    """Of a large table a part of the windows is looked at; from them, too, every element follows from the leaves up."""
    target = target_of(spec, 2)
    assert target.is_large
    known = {0, *(1 + target.symbol_products)}
    windows, products = target.sample.windows, target.sample.products
    while True:
        reached = np.isin(windows, list(known)).all(1)
        if known >= set(1 + products[reached]):
            break
        known |= set(1 + products[reached])
    assert reached.all()
    assert known == {0, *(1 + target.elements)}
