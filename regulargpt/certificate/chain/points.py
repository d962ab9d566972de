"""Where the points come from by which a chain's states are replaced.

With the machine: the mean of the states that words lead to, for each state of the machine, or for each with the last
symbol. From the network alone: a net over all states that come up, from coarse to fine. And of points that do not do,
more of them: where replacing a state makes a word wrong, that state becomes a point of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor

from languages.automata import MooreMachine
from languages.errors import UserError
from regulargpt.certificate.chain.product import ChainProduct, alive
from regulargpt.certificate.search.codebook import group_means
from regulargpt.data.base import Words
from regulargpt.finite.chain import Chain
from regulargpt.finite.chain_rows import Rows
from regulargpt.finite.growing_codebook import GrowingCodebook
from regulargpt.finite.nonempty import Word

Ints = npt.NDArray[np.int64]
Points = Float[Tensor, "K D"]

# Words whose states are averaged: all short ones, up to so many.
SHORT = 2048
# Short words that the network is asked about: so many, and so many numbers of their states.
MOST_ASKED, NUMBERS = 1 << 15, 1 << 23
# The most points of a net, and the most that are added to points that do not do.
MOST_OF_NET, MOST_ADDED = 512, 128
# How fine nets become: their radii are the largest distance of two states, divided by powers of the square root of 2.
FINEST = 14
# Moves of points to the mean of what comes to them.
CENTRINGS = 8


@dataclass(frozen=True)
class Sampled:
    """States that words lead to, with the machine's state there and the last symbol."""

    states: Float[Tensor, "n D"]
    machine_states: Int[Tensor, "n"]
    symbols: Int[Tensor, "n"]

    def means(self, group: Int[Tensor, "n"]) -> Points:
        """The mean state of each group that there is."""
        _, numbers = group.unique(return_inverse=True)
        return group_means(self.states, numbers, int(numbers.max()) + 1)[0]

    def per_state(self) -> Points:
        """A point for each state of the machine."""
        return self.means(self.machine_states)

    def per_edge(self) -> Points:
        """A point for each state of the machine and last symbol."""
        return self.means(self.machine_states * (1 + int(self.symbols.max())) + self.symbols)


Part = tuple[Tensor, Tensor, Tensor]


@dataclass(frozen=True)
class Candidate:
    """A network, as a chain, and the machine that it may be."""

    chain: Chain
    machine: MooreMachine

    def product(self, points: Points) -> ChainProduct:
        """Whether it is the machine with its states replaced by these."""
        return ChainProduct.explore(Rows.compute(self.chain, points), self.machine)

    def sampled(self, words: Sequence[Words]) -> Sampled:
        """States after all short words, and along batches (n, T) of others; none where nothing is asked any more."""
        steps = [*self.short(), *map(self.along, words)]
        states, reached, symbols = (torch.cat(parts) for parts in zip(*steps, strict=True))
        kept = torch.from_numpy(alive(self.machine))[reached]
        return Sampled(states[kept], reached[kept], symbols[kept])

    def short(self) -> Iterator[Part]:
        """The states after all words of 1, 2, .. symbols, as long as they are few and something is asked after them."""
        for words, _, states, reached in self.levels(SHORT):
            yield states, torch.from_numpy(reached), torch.from_numpy(words[:, -1])

    def levels(self, most: int) -> Iterator[tuple[Ints, Float[Tensor, "n n_outputs"], Float[Tensor, "n D"], Ints]]:
        """All words (n, T) of 1, 2, .. symbols, up to `most` in all: with logits, states and the machine's states.

        Words after which there is no question are not gone on with.
        """
        machine, symbols = self.machine, np.arange(self.chain.n_symbols)
        table, is_alive = machine.table.astype(np.int64), alive(machine)
        words, reached = symbols[:, None], table[machine.initial_index]
        logits, states = self.chain.first(torch.from_numpy(symbols))
        total = 0
        while len(words) and ((total := total + len(words)) <= most or words.shape[1] == 1):
            yield words, logits, states, reached
            kept = is_alive[reached]
            words = np.column_stack([words[kept].repeat(len(symbols), 0), np.tile(symbols, int(kept.sum()))])
            reached = table[reached[kept]].ravel()  # (words,)
            if total + len(words) <= most:
                both = self.chain.every(states[torch.from_numpy(kept)])
                logits, states = (part.flatten(0, 1) for part in both)  # (words, n_outputs), (words, D)

    def own_error(self) -> Word | None:
        """The shortest word that the network itself, its states not replaced, answers wrongly, among all short ones."""
        output, most = self.machine.output_table, max(SHORT, NUMBERS // self.chain.dimension)
        for words, logits, _, reached in self.levels(min(MOST_ASKED, most)):
            right = output[reached]
            if (wrong := np.flatnonzero((right >= 0) & (logits.argmax(1).numpy() != right))).size:
                return tuple(words[wrong[0]].tolist())
        return None

    def along(self, words: Words) -> Part:
        """The states after each symbol of these words."""
        reached = np.zeros(words.shape, dtype=np.int64)
        state = np.full(len(words), self.machine.initial_index)
        for t, symbols in enumerate(words.T):
            reached[:, t] = state = self.machine.table[state, symbols]
        given = torch.from_numpy(words.astype(np.int64))
        states = self.chain.along(given)[1].flatten(0, 1)  # (n * length, D)
        return states, torch.from_numpy(reached).flatten(), given.flatten()

    def nets(self, states: Float[Tensor, "n D"]) -> Iterator[Points]:
        """Points of which one is near to every state that words lead to, each net finer than the net before.

        Nothing of the machine is used. A net that would have too many points is the last.
        """
        first = self.chain.first(torch.arange(self.chain.n_symbols))[1]
        largest = float((states - states[0]).norm(dim=1).max())
        for k in range(FINEST if largest else 0):
            book = GrowingCodebook(first[:1], largest * 2 ** (-k / 2), MOST_OF_NET)
            try:
                book(first)
                book.close(lambda new: self.chain.every(new)[1].flatten(0, 1))  # (new * n_symbols, D)
            except UserError:
                return
            yield book.prototypes

    def mended(self, product: ChainProduct) -> Iterator[ChainProduct]:
        """The product with another point after the other, each a state that must not be replaced by another point.

        It ends where every answer is right, and where the network itself errs on the word that the points have wrong.
        """
        for _ in range(MOST_ADDED):
            if product.wrong is None or (point := self.parted(product.rows, product.wrong)) is None:
                return
            product = ChainProduct.explore(product.rows.with_point(self.chain, point), self.machine)
            yield product

    def parted(self, rows: Rows, word: Word) -> Float[Tensor, "D"] | None:
        """The first state on the way along a word, wrong with all states replaced, whose replacing makes it wrong.

        None if the network itself answers the word wrongly.
        """
        carried = [0]
        for symbol in word[:-1]:
            carried.append(int(rows.images[carried[-1], symbol]))
        # Run j has its states replaced after the first j symbols only. All go on together, each joining in at its row.
        states, logits = rows.states[:0, 0], rows.logits[:0, 0]
        for k, symbol in zip(carried, word, strict=True):
            if len(states):
                logits, states = self.chain.step(states, torch.full((len(states),), symbol))
            logits = torch.cat([logits, rows.logits[k, [symbol]]])
            states = torch.cat([states, rows.states[k, [symbol]]])
        is_right = (logits.argmax(1) == int(self.machine.answers(np.array([word]))[0])).tolist()
        if not is_right[0]:
            return None
        j = is_right.index(False)
        return rows.states[carried[j - 1], word[j - 1]]
