"""Prototypes of the node states, from the true transitions.

The transition monoid says which windows there are and what each should give. The prototype of an element is the mean
of what its windows give, found by iteration from the leaves up; an element whose states do not lie about one point
gets more prototypes. Whether the network then computes the language is not decided here: the proof decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regulargpt.certificate.levels import MOST_WINDOWS, levels
from regulargpt.certificate.machine import Question
from regulargpt.certificate.table import ROWS, Entries, Exact

Ints = npt.NDArray[np.int64]

# An element gets at most one more prototype a round.
SPLITTING = 12
# Where more windows than this are taken for another element, more prototypes help nothing.
WORST = 0.2
# Windows that means are taken over: more change them little and cost time where there are 820^2.
FEW = 20_000


@dataclass(frozen=True)
class Codebook:
    """Prototypes (K, d_model), and the element of the machine's transition monoid that each stands for (K,)."""

    prototypes: Float[Tensor, "K d_model"]
    elements: Ints

    def __len__(self) -> int:
        return len(self.prototypes)

    def nearest(self, states: Float[Tensor, "n d_model"]) -> Ints:
        """The element (n,) of the prototype nearest to each state."""
        return self.elements[torch.cdist(states, self.prototypes).argmin(1).numpy()]


@dataclass(frozen=True)
class Ideal:
    """The windows there are if every node's state tells its element, and the element each should give."""

    symbols: Ints  # (m, C), from 1, 0 the pad
    of_symbols: Ints  # (m,)
    elements: Ints  # (n, C), from 1, 0 the pad
    of_elements: Ints  # (n,)

    @classmethod
    def of(cls, question: Question, chunk_size: int) -> Ideal:
        """The windows of all trees of all words with an answer.

        >>> import languages
        >>> ideal = Ideal.of(Question.of(languages.get("parity")), 2)
        >>> ideal.symbols.tolist(), ideal.of_symbols.tolist()
        ([[1, 0], [1, 1], [1, 2], [2, 0], [2, 1], [2, 2]], [0, 0, 1, 1, 1, 0])
        """
        times, size = question.monoid.table, question.monoid.size

        def entries(value: Ints) -> Entries:
            def product(windows: Ints) -> tuple[Ints, npt.NDArray[np.float64]]:
                e = np.zeros(len(windows), dtype=np.int64)
                for column in reversed(windows.T):
                    e = np.where(column > 0, times[e, value[column - 1]], e).astype(np.int64)
                return 1 + e, np.zeros(len(e))

            return Entries(1 + len(value), product)

        symbols, elements = entries(question.monoid.generators.astype(np.int64)), entries(np.arange(size))
        for _ in levels(question, chunk_size, lambda level, windows: (elements if level else symbols)(windows)):
            pass
        classes = question.classes
        windows = np.concatenate([[0], 1 + classes])[elements.windows(chunk_size)]
        windows, first = np.unique(windows, axis=0, return_index=True)
        of_symbols, of_elements = classes[symbols.images - 1], classes[elements.images[first] - 1]
        return cls(symbols.windows(chunk_size), of_symbols, windows, of_elements)

    @cached_property
    def few(self) -> Ideal:
        """About FEW windows of elements, as many for each product, evenly spread."""
        order = np.argsort(self.of_elements, kind="stable")
        sizes = np.bincount(self.of_elements)
        rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        steps = -(-sizes // max(4, FEW // np.count_nonzero(sizes)))
        chosen = np.sort(order[rank % np.repeat(steps, sizes) == 0])
        return Ideal(self.symbols, self.of_symbols, self.elements[chosen], self.of_elements[chosen])


def by_class(network: Exact, ideal: Ideal) -> Iterator[Codebook]:
    """Prototypes that follow the true transitions, one an element, then more and more of them where one is too few.

    Elements that no node can have get none. It ends where there would be more windows than a proof can look at.
    """
    book = settle(network, ideal.few)
    yield book
    if misses(network, ideal, book) > WORST:
        return
    for _ in range(SPLITTING):
        before, book = book, refine(network, ideal, book)
        if len(book) == len(before) or windows_of(ideal, book) > MOST_WINDOWS:
            break
        yield book


def settle(network: Exact, ideal: Ideal) -> Codebook:
    """One prototype an element: the mean of what its windows give, from the leaves up until every element has one.

    No further: iterated means drift as deep states do, away from where training has put the states.
    """
    n = int(max(ideal.of_symbols.max(), ideal.of_elements.max(initial=0))) + 1
    leaves, of_leaves = network.over_symbols(ideal.symbols), torch.from_numpy(ideal.of_symbols)
    means, count = grouped(leaves, of_leaves, n)
    while True:
        known = np.append(True, count.numpy() > 0)[ideal.elements].all(1)
        states, products = network.over(means, ideal.elements[known]), torch.from_numpy(ideal.of_elements[known])
        means, count = grouped(torch.cat([leaves, states]), torch.cat([of_leaves, products]), n)
        if known.all():
            return Codebook(means[count > 0], np.flatnonzero(count.numpy()))


def grouped(
    states: Float[Tensor, "rows d_model"], group: Int[Tensor, "rows"], n: int
) -> tuple[Float[Tensor, "n d_model"], Int[Tensor, "n"]]:
    """The mean state of each group and its size; 0 where it has none."""
    count = group.bincount(minlength=n)
    return states.new_zeros(n, states.shape[1]).index_add(0, group, states) / count[:, None].clamp(min=1), count


def refine(network: Exact, ideal: Ideal, book: Codebook) -> Codebook:
    """The codebook and, for each element that is taken for others, the mean of the states most often so taken."""
    size = int(book.elements.max()) + 1
    sums: dict[tuple[int, int], Tensor] = {}
    counts = np.zeros((size, size), dtype=np.int64)
    for states, products in outcomes(network, ideal, book):
        taken = book.nearest(states)
        for i in np.flatnonzero(taken != products).tolist():
            pair = int(products[i]), int(taken[i])
            sums[pair] = sums.get(pair, 0) + states[i]
            counts[pair] += 1
    split = np.flatnonzero(counts.any(1))
    if not len(split):
        return book
    most = counts[split].argmax(1)
    new = torch.stack([sums[pair] / counts[pair] for pair in zip(split.tolist(), most.tolist(), strict=True)])
    return Codebook(torch.cat([book.prototypes, new]), np.append(book.elements, split))


def misses(network: Exact, ideal: Ideal, book: Codebook) -> float:
    """The share of a few windows that is taken for another element than theirs."""
    wrong = [book.nearest(states) != products for states, products in outcomes(network, ideal.few, book)]
    return float(np.concatenate(wrong).mean())


def outcomes(network: Exact, ideal: Ideal, book: Codebook) -> Iterator[tuple[Float[Tensor, "n d_model"], Ints]]:
    """The states over all windows of symbols and of prototypes, and the elements that they should stand for."""
    yield network.over_symbols(ideal.symbols), ideal.of_symbols
    for at in range(0, len(ideal.elements), ROWS):
        windows, products = expanded(ideal.elements[at : at + ROWS], ideal.of_elements[at : at + ROWS], book.elements)
        yield network.over(book.prototypes, windows), products


def windows_of(ideal: Ideal, book: Codebook) -> int:
    """How many windows of prototypes there are."""
    prototypes = np.append(1, np.bincount(book.elements, minlength=int(ideal.elements.max(initial=0))))
    return int(prototypes[ideal.elements].prod(1).sum())


def expanded(windows: Ints, products: Ints, elements: Ints) -> tuple[Ints, Ints]:
    """Windows of elements as windows of prototypes: each element stands for all prototypes it has.

    >>> expanded(np.array([[1, 0], [2, 1]]), np.array([0, 1]), np.array([0, 1, 1]))[0].tolist()
    [[1, 0], [2, 1], [3, 1]]
    """
    order = np.argsort(elements, kind="stable")
    count = np.bincount(elements, minlength=int(windows.max(initial=0)))
    first = np.cumsum(count) - count
    for j in range(windows.shape[1]):
        element = windows[:, j] - 1
        times = np.where(element >= 0, count[element], 1)
        windows, products = np.repeat(windows, times, axis=0), np.repeat(products, times)
        rank = np.arange(len(windows)) - np.repeat(np.cumsum(times) - times, times)
        element = windows[:, j] - 1
        windows[:, j] = np.where(element >= 0, 1 + order[np.minimum(first[element] + rank, len(order) - 1)], 0)
    return windows, products
