"""Prototypes of the node states from the states alone: nobody says what the network should compute.

The node states over short and sample words are clustered; the means are the first prototypes. From the leaves up, every
window that occurs in the tree of some word is put through the block; a state farther than rho from all prototypes is a
new one, until nothing new comes. Then each prototype moves to the mean of its states, once. At which distance to cut
is tried: the first, by the width of the gap, with which the quantised network answers the sample words as the network
does. That, too, asks no automaton.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor

from languages.automata import Dfa, MooreMachine
from languages.errors import UserError
from languages.monoid import TransitionMonoid
from regulargpt.certificate.levels import levels
from regulargpt.certificate.machine import Question
from regulargpt.certificate.table import Entries, Exact, Table
from regulargpt.extraction.clusters import MOST_PROTOTYPES, Cut, Growing, cuts
from regulargpt.extraction.trees import roots, short, states

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Blind:
    """A network brought to prototypes that its states gave; `agreement` is the share of sample words it kept."""

    table: Table
    cut: Cut
    agreement: float

    @property
    def n_prototypes(self) -> int:
        """K."""
        return len(self.table.prototypes)

    @classmethod
    def of(cls, network: Exact, question: Question, words: Sequence[Ints], most: int = MOST_PROTOTYPES) -> Blind:
        """The quantised network, given sample words, batches (count, length), one a length.

        Raises UserError if at no cut at most `most` prototypes are enough.

        >>> from regulargpt.models.regulargpt import RegularGPT
        >>> network = Exact(RegularGPT(2, 2, chunk_size=2, d_model=16, n_heads=2, d_ff=32))
        >>> words = [np.array([[0, 1, 1, 0]])]
        >>> Blind.of(network, every_word(("0", "1")), words, most=400).n_prototypes <= 400
        True
        """
        nodes, at_roots = zip(*(states(network, batch) for batch in words), strict=True)
        right = network.readout(torch.cat(at_roots)).argmax(1).numpy()
        best, failure = None, None
        for cut in cuts(torch.cat([short(network, question), *nodes])):
            try:
                table = Table(network, closure(network, question, cut, most))
            except UserError as error:
                failure = failure or error
                continue
            given = table.answers()[0][np.concatenate([roots(network.chunk_size, table.image, w) for w in words]) - 1]
            agreement = float(np.mean(given == right))
            if best is None or agreement > best.agreement:
                best = cls(table, cut, agreement)
            if agreement == 1.0:
                break
        if best is None:
            assert failure is not None, "there is a cut"
            raise failure
        return best


def every_word(alphabet: tuple[str, ...], domain: Dfa | None = None) -> Question:
    """The question that asks nothing of the words of the domain, and does not ask other words.

    >>> every_word(("0", "1")).monoid.size
    1
    """
    if domain is None:
        machine = MooreMachine(("any",), alphabet, ((0,) * len(alphabet),), "any", (0,), ("any",))
    else:
        asked = domain.minimise()
        outputs = tuple(np.where(asked.is_accepting, 0, -1).tolist())
        machine = MooreMachine(asked.states, alphabet, asked.delta, asked.initial, outputs, ("any",))
    monoid = TransitionMonoid.of(machine)
    return Question(machine, monoid, monoid, np.arange(monoid.size))


def closure(network: Exact, question: Question, cut: Cut, most: int = MOST_PROTOTYPES) -> Float[Tensor, "K d_model"]:
    """The prototypes that all windows of all words come to; UserError if they are more than `most`."""
    grown = Growing(cut.means, cut.rho, most)

    def seen(states: Tensor) -> tuple[Ints, npt.NDArray[np.float64]]:
        images = grown(states)
        return images, np.zeros(len(images))

    symbols = Entries(len(network.symbols), lambda windows: seen(network.over_symbols(windows)))
    nodes = Entries(1 + most, lambda windows: seen(network.over(grown.prototypes, windows)))
    for _ in levels(question, network.chunk_size, lambda level, windows: (nodes if level else symbols)(windows)):
        pass
    return grown.means()
