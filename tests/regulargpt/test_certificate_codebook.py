"""Prototypes from the true transitions: how many, and when no more."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
import torch

import languages
from languages.automata.monoid import TransitionMonoid
from regulargpt.certificate.search import codebook
from regulargpt.certificate.search.certify import Certifier, QuantisedNetwork, unlabelled
from regulargpt.certificate.search.codebook import (
    Codebook,
    Target,
    codebooks,
    count_windows,
    element_means,
    missed_share,
    prototype_windows,
    refine,
    right_table,
)
from regulargpt.finite.float64_network import Float64Network
from regulargpt.finite.specification import Specification
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.tree.depth import depth


def target_of(spec: str, C: int) -> Target:
    return Target.from_specification(Specification.from_task(languages.get(spec)), C)


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


def untrained(C: int = 2, seed: int = 0) -> RegularGPT:
    generator = torch.Generator().manual_seed(seed)
    return RegularGPT(2, 2, chunk_size=C, d_model=16, n_heads=2, d_ff=32, generator=generator)


@pytest.mark.parametrize(("spec", "C"), [("dyck-2", 2), ("parity", 3)])
def test_an_element_that_is_taken_for_others_gets_the_mean_of_what_is_most_often_so_taken(
    spec: str, C: int, monkeypatch: pytest.MonkeyPatch
):
    """By a plain walk over all windows; so is the share of those that are taken for another element."""
    monkeypatch.setattr(codebook, "ROWS", 5)
    target, network = target_of(spec, C), Float64Network(untrained(C))
    book = next(codebooks(network, target))
    for _ in range(3):
        windows, products = target.of_prototypes(book.elements)
        states = torch.cat([network.over_symbols(target.symbol_windows), network.over(book.prototypes, windows)])
        right = np.append(target.symbol_products, products)
        taken = np.array([book.elements[int((book.prototypes - state).norm(dim=1).argmin())] for state in states])
        assert book.nearest(states).tolist() == taken.tolist()
        assert np.isclose(missed_share(network, target, book), (taken != right).mean())
        assert (right_table(network, target, book) is None) == (taken != right).any()
        more = refine(network, target, book)
        new = {}
        for element in np.unique(right[taken != right]).tolist():
            counts = np.bincount(taken[(right == element) & (taken != element)])
            new[element] = states[(right == element) & (taken == counts.argmax())].mean(0)
        assert more.elements.tolist() == [*book.elements, *new]
        assert torch.equal(more.prototypes[: len(book)], book.prototypes)
        assert torch.allclose(more.prototypes[len(book) :], torch.stack([*new.values()]))
        book = more


def test_of_codebooks_that_prove_nothing_the_one_that_is_right_farthest_is_taken():
    """By the shortest wrong words of each, given prototypes before its own."""
    certifier, lengths = Certifier.for_task(languages.get("tomita-4"), 2), []
    for seed in range(8):
        model = untrained(seed=seed)
        given = torch.randn(3, 16, generator=torch.Generator().manual_seed(seed))
        books = [unlabelled(given), *codebooks(Float64Network(model), certifier.target)]
        each = [QuantisedNetwork.compute(Float64Network(model), book, certifier.specification) for book in books]
        wrong = [len(one.proof.wrong) for one in each if one.proof.wrong is not None]
        assert len(wrong) == len(books)
        found = certifier.certify(model, given).proof.wrong
        assert found is not None
        assert len(found) == max(wrong)
        lengths.append((wrong, [one.smallest_margin for one in each]))
    # The margin alone, or the order, would choose others.
    assert any(wrong[int(np.argmax(margins))] != max(wrong) for wrong, margins in lengths)
    assert any(wrong[0] != max(wrong) for wrong, _ in lengths)


@pytest.mark.parametrize(("spec", "C"), [("parity", 2), ("dyck-2", 3), ("tomita-3", 2)])
def test_means_of_elements_are_those_of_their_windows_once_each_has_one(spec: str, C: int):
    """From the leaves up, each round over the windows of which all elements have a mean already."""
    target, network = target_of(spec, C), Float64Network(untrained(C))
    book = element_means(network, target)
    leaves = network.over_symbols(target.symbol_windows)
    means = {e: leaves[target.symbol_products == e].mean(0) for e in np.unique(target.symbol_products).tolist()}
    while True:
        known = [i for i, window in enumerate(target.windows) if all(row == 0 or row - 1 in means for row in window)]
        rows = torch.stack([means.get(e, torch.zeros(16).double()) for e in range(target.size)])
        states = torch.cat([leaves, network.over(rows, target.windows[known])])
        products = np.append(target.symbol_products, target.products[known])
        means = {e: states[products == e].mean(0) for e in np.unique(products).tolist()}
        if len(known) == len(target.windows):
            break
    assert book.elements.tolist() == [*means]
    assert torch.allclose(book.prototypes, torch.stack([*means.values()]))


@pytest.mark.parametrize(("spec", "C"), [("parity", 3), ("dyck-2", 2), ("tomita-3", 2)])
def test_the_windows_and_answers_are_those_of_all_trees_of_short_words(spec: str, C: int):
    task, target = languages.get(spec), target_of(spec, C)
    machine = task.machine.minimise()
    monoid = TransitionMonoid.from_machine(machine)
    # Each tree of each word that has an answer: its windows of symbols, of elements, and what they give.
    of_symbols, of_elements, answers = set(), set(), {}
    for length in range(1, max(7, C**2 + 1) + 1):
        for word in itertools.product(range(machine.n_symbols), repeat=length):
            if machine.answers(np.array([word]))[0] < 0:
                continue
            nodes, is_leaf = list(word), True
            for _ in range(depth(length, C)):
                groups = [nodes[max(0, at - C) : at] for at in range(len(nodes), 0, -C)][::-1]
                values = [monoid.generators[group] if is_leaf else group for group in groups]
                products = [functools.reduce(lambda x, y: int(monoid.table[x, y]), map(int, value)) for value in values]
                for group, product in zip(groups, products, strict=True):
                    window = tuple(1 + int(x) for x in reversed(group)) + (0,) * (C - len(group))
                    (of_symbols if is_leaf else of_elements).add((window, monoid.words[product]))
                nodes, is_leaf = products, False
            answers[monoid.words[nodes[0]]] = int(machine.answers(np.array([word]))[0])
    name = Specification.from_task(task).monoid.words
    leaves = {(tuple(w), name[p]) for w, p in zip(target.symbol_windows.tolist(), target.symbol_products, strict=True)}
    assert leaves == of_symbols
    number = {word: i for i, word in enumerate(monoid.words)}
    inner = {
        (tuple(row and 1 + number[name[row - 1]] for row in window), name[product])
        for window, product in zip(target.windows.tolist(), target.products, strict=True)
    }
    assert of_elements <= inner
    said = {name[e]: int(answer) for e, answer in enumerate(target.answers) if e in target.elements}
    assert {word: said[word] for word in answers} == answers


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
