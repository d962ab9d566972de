"""Prototypes of the node states, from the true elements.

The transition monoid says which windows there are and what each should give. The prototype of an element is the mean
of what its windows give, found by iteration from the leaves up; an element whose states do not lie about one point
gets more prototypes. Whether the network then computes the language is not decided here: the proof decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regulargpt.certificate.search.nested_labels import Labels
from regulargpt.finite.float64_network import ROWS, Float64Network
from regulargpt.finite.levels import MAX_WINDOWS, from_left
from regulargpt.finite.nested_specification import NestedSpecification
from regulargpt.finite.proof import prove
from regulargpt.finite.specification import Specification
from regulargpt.finite.table import Entries, QuantisedTable, image_of
from regulargpt.models.tree.shape import Side

Ints = npt.NDArray[np.int64]

# An element gets at most another prototype a round.
MAX_ROUNDS = 12
# Where more windows than this are taken for another element, more prototypes help nothing.
MAX_MISSED_TO_REFINE = 0.2
# Windows that means are taken over: more change them little and cost time where there are 820^2.
SAMPLED_WINDOWS = 20_000


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
class Target:
    """The windows there are if every node's state tells its element, and the element that each should give."""

    symbol_windows: Ints  # (m, C), from 1, 0 the pad
    symbol_products: Ints  # (m,)
    windows: Ints  # (n, C), of elements, from 1, 0 the pad
    products: Ints  # (n,)
    answers: Ints  # (size,) of words of each element, -1 where none has an element
    size: int  # elements, behind which windows may have the symbols
    n_symbols: int = 0

    @classmethod
    def from_specification(
        cls, specification: Specification | NestedSpecification, chunk_size: int, aligned: Side = "right"
    ) -> Target:
        """The windows of all trees of all words with an answer.

        >>> import languages
        >>> target = Target.from_specification(Specification.from_task(languages.get("parity")), 2)
        >>> target.symbol_windows.tolist(), target.symbol_products.tolist()
        ([[1, 0], [1, 1], [1, 2], [2, 0], [2, 1], [2, 2]], [0, 0, 1, 1, 1, 0])
        """
        if isinstance(specification, NestedSpecification):
            return cls.of_nested(specification, chunk_size, aligned)
        times, size = specification.monoid.table, specification.monoid.size

        def entries(value: Ints) -> Entries:
            """A network that makes no mistake: it gives the product of what the window's entries stand for."""

            def product(windows: Ints) -> tuple[Ints, npt.NDArray[np.float64]]:
                e = np.zeros(len(windows), dtype=np.int64)
                for column in from_left(list(windows.T), aligned):
                    e = np.where(column > 0, times[e, value[column - 1]], e).astype(np.int64)
                return 1 + e, np.zeros(len(e))

            return Entries(1 + len(value), product)

        symbols, nodes = entries(specification.monoid.generators.astype(np.int64)), entries(np.arange(size))

        # The entries note which windows occur.
        prove(specification, chunk_size, partial(image_of, symbols, nodes, 0), specification.answers, aligned)
        # The task's own machine may tell fewer elements apart: windows that are then the same are joined.
        elements = specification.task_elements
        windows = np.concatenate([[0], 1 + elements])[nodes.windows(chunk_size)]
        # As numbers, which sort as the windows do and much faster.
        first = np.unique(windows @ (2 + elements.max()) ** np.arange(chunk_size - 1, -1, -1), return_index=True)[1]
        symbol_products, products = elements[symbols.images - 1], elements[nodes.images[first] - 1]
        answers = specification.target_answers
        return cls(symbols.windows(chunk_size), symbol_products, windows[first], products, answers, len(answers))

    @classmethod
    def of_nested(cls, specification: NestedSpecification, chunk_size: int, aligned: Side) -> Target:
        """Those of all trees that follow the brackets of words with an answer; elements are labels."""
        labels, n_symbols = Labels(specification, chunk_size, aligned), len(specification.letters)

        def without_margins(windows: Ints) -> tuple[Ints, npt.NDArray[np.float64]]:
            return labels.image(windows), np.zeros(len(windows))

        def of_symbols(windows: Ints) -> tuple[Ints, npt.NDArray[np.float64]]:
            return without_margins(np.where(windows > 0, windows + labels.count, 0))

        symbols, nodes = Entries(1 + n_symbols, of_symbols), Entries(1 + labels.count + n_symbols, without_margins)
        image = partial(image_of, symbols, nodes, labels.count)
        prove(specification, chunk_size, image, labels.answers, aligned, labels.count)
        parts = (symbols.windows(chunk_size), symbols.images - 1, nodes.windows(chunk_size), nodes.images - 1)
        return cls(*parts, labels.answers, labels.count, n_symbols)

    def of_prototypes(self, elements: Ints, rows: slice = slice(None)) -> tuple[Ints, Ints]:
        """The windows over prototypes of these elements (K,), and the element that each should give."""
        symbols = self.size + np.arange(self.n_symbols)
        return prototype_windows(self.windows[rows], self.products[rows], np.concatenate([elements, symbols]))

    @cached_property
    def elements(self) -> Ints:
        """The elements that nodes can have."""
        return np.union1d(self.symbol_products, self.products)

    @property
    def is_large(self) -> bool:
        """Whether means and shares are taken over a sample."""
        return len(self.sample.windows) < len(self.windows)

    @cached_property
    def sample(self) -> Target:
        """About SAMPLED_WINDOWS windows of elements, as many for each product, evenly spread."""
        order = np.argsort(self.products, kind="stable")
        sizes = np.bincount(self.products)
        rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # (n,): 0, 1, ... in each product
        steps = -(-sizes // max(4, SAMPLED_WINDOWS // np.count_nonzero(sizes)))
        chosen = np.union1d(order[rank % np.repeat(steps, sizes) == 0], self.first)
        return replace(self, windows=self.windows[chosen], products=self.products[chosen])

    @cached_property
    def first(self) -> Ints:
        """The windows, one an element, from which all elements follow from the leaves up: means need all of them."""
        known = np.zeros(1 + self.size + self.n_symbols, dtype=bool)
        known[[0, *(1 + self.symbol_products)]] = True  # the pad, and what symbols give
        known[1 + self.size :] = True  # the symbols
        windows = [np.zeros(0, dtype=np.int64)]
        while len(new := np.flatnonzero(known[self.windows].all(1) & ~known[1 + self.products])):
            windows.append(new[np.unique(self.products[new], return_index=True)[1]])
            known[1 + self.products[new]] = True
        return np.concatenate(windows)


def codebooks(network: Float64Network, target: Target) -> Iterator[Codebook]:
    """The means of the true elements, one prototype an element, then more and more of them where one is too few.

    Elements that no node can have get none. It ends where there would be more windows than a proof can look at.
    """
    book = element_means(network, target.sample)
    yield book
    if missed_share(network, target, book) > MAX_MISSED_TO_REFINE:
        return
    for _ in range(MAX_ROUNDS):
        before, book = book, refine(network, target, book)
        if len(book) == len(before) or count_windows(target, book) > MAX_WINDOWS:
            break
        yield book


def element_means(network: Float64Network, target: Target) -> Codebook:
    """One prototype an element: the mean of what its windows give, from the leaves up until every element has one.

    No further: iterated means drift as deep states do, away from where training has put the states.
    """
    n, symbols = target.size, np.ones(target.n_symbols, dtype=bool)
    leaves, leaf_products = network.over_symbols(target.symbol_windows), torch.from_numpy(target.symbol_products)
    means, count = group_means(leaves, leaf_products, n)
    while True:
        # From the leaves up: a window counts as soon as all its entries have a mean, or are the pad (0).
        known = np.concatenate([[True], count.numpy() > 0, symbols])[target.windows].all(1)
        states, products = network.over(means, target.windows[known]), torch.from_numpy(target.products[known])
        means, count = group_means(torch.cat([leaves, states]), torch.cat([leaf_products, products]), n)
        if known.all():
            return Codebook(means[count > 0], np.flatnonzero(count.numpy()))


def group_means(
    states: Float[Tensor, "rows d_model"], group: Int[Tensor, "rows"], n: int
) -> tuple[Float[Tensor, "n d_model"], Int[Tensor, "n"]]:
    """The mean state of each group and its size; 0 where it has none."""
    count = group.bincount(minlength=n)
    sums = states.new_zeros(n, states.shape[1]).index_add(0, group, states)
    return sums / count[:, None].clamp(min=1), count  # the sizes as a column (n, 1)


def refine(network: Float64Network, target: Target, book: Codebook) -> Codebook:
    """The codebook and, for each element that is taken for others, the mean of the states most often so taken."""
    size = int(book.elements.max()) + 1
    sums: dict[tuple[int, int], Tensor] = {}
    counts = np.zeros((size, size), dtype=np.int64)
    for states, products in outcomes(network, target, book):
        taken = book.nearest(states)
        for i in np.flatnonzero(taken != products).tolist():
            pair = int(products[i]), int(taken[i])
            sums[pair] = sums.get(pair, 0) + states[i]
            counts[pair] += 1
    split = np.flatnonzero(counts.any(1))
    if not len(split):
        return book
    # One prototype more for each, where most of its mistakes are: the others may go with it.
    taken_for = counts[split].argmax(1)
    new = torch.stack([sums[pair] / counts[pair] for pair in zip(split.tolist(), taken_for.tolist(), strict=True)])
    return Codebook(torch.cat([book.prototypes, new]), np.append(book.elements, split))


def missed_share(network: Float64Network, target: Target, book: Codebook) -> float:
    """The share of a sample of windows that is taken for another element than theirs."""
    wrong = [book.nearest(states) != products for states, products in outcomes(network, target.sample, book)]
    return float(np.concatenate(wrong).mean())


def right_table(network: Float64Network, target: Target, book: Codebook) -> QuantisedTable | None:
    """The table of all windows there are, if each gives its element; None once one does not."""
    table, at, n = QuantisedTable(network, book.prototypes), 0, ROWS

    def right(images: Entries, windows: Ints, products: Ints) -> bool:
        return bool((book.elements[images(windows) - 1] == products).all())

    if not right(table.leaves, target.symbol_windows, target.symbol_products):
        return None
    # Each part is as large as all before: what is found is put between what is there, which takes as long as that is.
    while at < len(target.windows):
        part = slice(at, at + n)
        if not right(table.nodes, *target.of_prototypes(book.elements, part)):
            return None
        at, n = at + n, at + n
    return table


def outcomes(
    network: Float64Network, target: Target, book: Codebook
) -> Iterator[tuple[Float[Tensor, "n d_model"], Ints]]:
    """The states over all windows of symbols and of prototypes, and the elements that they should stand for."""
    yield network.over_symbols(target.symbol_windows), target.symbol_products
    for at in range(0, len(target.windows), ROWS):
        windows, products = target.of_prototypes(book.elements, slice(at, at + ROWS))
        yield network.over(book.prototypes, windows), products


def count_windows(target: Target, book: Codebook) -> int:
    """How many windows of prototypes there are."""
    prototypes = np.append(1, np.bincount(book.elements, minlength=target.size))
    prototypes = np.append(prototypes, np.ones(target.n_symbols, dtype=np.int64))
    return int(prototypes[target.windows].prod(1).sum())


def prototype_windows(windows: Ints, products: Ints, elements: Ints) -> tuple[Ints, Ints]:
    """Windows of elements as windows of prototypes: each element stands for all prototypes it has.

    >>> prototype_windows(np.array([[1, 0], [2, 1]]), np.array([0, 1]), np.array([0, 1, 1]))[0].tolist()
    [[1, 0], [2, 1], [3, 1]]
    """
    order = np.argsort(elements, kind="stable")
    count = np.bincount(elements, minlength=int(windows.max(initial=0)))
    first = np.cumsum(count) - count
    # One offset after the other: every row becomes as many rows as its entry has prototypes.
    for j in range(windows.shape[1]):
        element = windows[:, j] - 1
        times = np.where(element >= 0, count[element], 1)
        windows, products = np.repeat(windows, times, axis=0), np.repeat(products, times)
        rank = np.arange(len(windows)) - np.repeat(np.cumsum(times) - times, times)
        element = windows[:, j] - 1
        windows[:, j] = np.where(element >= 0, 1 + order[np.minimum(first[element] + rank, len(order) - 1)], 0)
    return windows, products
