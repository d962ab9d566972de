"""Prototypes of the node states from the states alone: nobody says what the network should compute.

The node states over short and sample words are clustered; the means are the first prototypes. From the leaves up, every
window that occurs in the tree of some word is put through the block; a state farther than rho from all prototypes is a
new one, until nothing new comes. Then each prototype moves to the mean of its states, once. At which distance to cut
is tried: the first, by the width of the gap, with which the quantised network answers the sample words as the network
does. That, too, asks no automaton.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor

from languages.automata import Dfa, MooreMachine
from languages.automata.moore import UNDEFINED
from languages.automata.pushdown import PushdownTransducer
from languages.context_free.nested import NestedTask
from languages.errors import UserError
from languages.tasks import TreeTask
from regulargpt.extraction.clusters import Cut, cuts
from regulargpt.finite.float64_network import Float64Network
from regulargpt.finite.growing_codebook import MAX_PROTOTYPES, GrowingCodebook
from regulargpt.finite.learn import short_words
from regulargpt.finite.nested_specification import AnySpecification, NestedSpecification
from regulargpt.finite.nested_trees import nested_roots, nested_states
from regulargpt.finite.proof import prove
from regulargpt.finite.specification import Specification
from regulargpt.finite.table import Entries, QuantisedTable, image_of
from regulargpt.finite.trees import roots, states, states_of_short_words

Ints = npt.NDArray[np.int64]
SHORT = 300  # words with brackets of each length whose states are looked at first


@dataclass(frozen=True)
class Blind:
    """A network brought to prototypes that its states gave; `agreement` is the share of sample words it kept."""

    table: QuantisedTable
    cut: Cut
    agreement: float

    @property
    def n_prototypes(self) -> int:
        return len(self.table.prototypes)

    @classmethod
    def quantise(
        cls,
        network: Float64Network,
        specification: AnySpecification,
        words: Sequence[Ints],
        max_prototypes: int = MAX_PROTOTYPES,
    ) -> Blind:
        """The quantised network, given sample words, batches (count, length), one a length.

        Raises UserError if at no cut at most `max_prototypes` prototypes are enough.

        >>> from regulargpt.models.regulargpt import RegularGPT
        >>> network = Float64Network(RegularGPT(2, 2, chunk_size=2, d_model=16, n_heads=2, d_ff=32))
        >>> words = [np.array([[0, 1, 1, 0]])]
        >>> Blind.quantise(network, every_word(("0", "1")), words, max_prototypes=400).n_prototypes <= 400
        True
        """
        of_words = nested_states if isinstance(specification, NestedSpecification) else states
        nodes, at_roots = zip(*(of_words(network, batch) for batch in words), strict=True)
        right = network.readout(torch.cat(at_roots)).argmax(1).numpy()
        best, failure = None, None
        # The states of the deepest sub-words are left out where they are too many: `closure` comes to them anyway.
        for cut in cuts(torch.cat([of_short_words(network, specification), *nodes])):
            try:
                table = QuantisedTable(network, closure(network, specification, cut, max_prototypes))
            except UserError as error:
                failure = failure or error
                continue
            given = np.concatenate([table_answers(table, batch) for batch in words])
            agreement = float(np.mean(given == right))
            if best is None or agreement > best.agreement:
                best = cls(table, cut, agreement)
            if agreement == 1.0:
                break
        if best is None:
            assert failure is not None, "there is a cut"
            raise failure
        return best


def table_answers(table: QuantisedTable, words: Ints) -> Ints:
    """The quantised network's answers (n,) to words (n, T)."""
    if table.before_symbols:
        at = nested_roots(table.network, table.before_symbols, table.image, words)
    else:
        at = roots(table.chunk_size, table.image, words, table.aligned)
    return table.answers()[0][at - 1]


def of_short_words(network: Float64Network, specification: AnySpecification) -> Float[Tensor, "nodes d_model"]:
    """The states of the lowest nodes."""
    if not isinstance(specification, NestedSpecification):
        return states_of_short_words(network, specification)
    words = short_words(specification.machine.n_symbols, SHORT)
    with_answers = [batch[specification.machine.answers(batch) >= 0] for batch in words]
    return torch.cat([network.symbols[:0], *(nested_states(network, batch)[0] for batch in with_answers if len(batch))])


def every_word_of(task: TreeTask) -> AnySpecification:
    """The specification that asks nothing of the words of a task, and does not ask others."""
    return every_nested_word(task.machine) if isinstance(task, NestedTask) else every_word(task.alphabet, task.domain)


def every_nested_word(machine: PushdownTransducer) -> NestedSpecification:
    """The specification that asks nothing of the words to which a machine has an answer, and does not ask others."""
    outputs = tuple(np.minimum(machine.outputs, 0).tolist())
    return NestedSpecification.of_machine(replace(machine, outputs=outputs, output_names=("any",)))


def every_word(alphabet: tuple[str, ...], domain: Dfa | None = None) -> Specification:
    """The specification that asks nothing of the words of the domain, and does not ask other words.

    >>> every_word(("0", "1")).monoid.size
    1
    """
    if domain is None:
        machine = MooreMachine(("any",), alphabet, ((0,) * len(alphabet),), "any", (0,), ("any",))
    else:
        inside = domain.minimise()
        outputs = tuple(np.where(inside.is_accepting, 0, UNDEFINED).tolist())
        machine = MooreMachine(inside.states, alphabet, inside.delta, inside.initial, outputs, ("any",))
    return Specification.of_machine(machine)


def closure(
    network: Float64Network, specification: AnySpecification, cut: Cut, max_prototypes: int = MAX_PROTOTYPES
) -> Float[Tensor, "K d_model"]:
    """The prototypes that all windows of all words come to; UserError if they are more than `max_prototypes`."""
    book = GrowingCodebook(cut.means, cut.rho, max_prototypes)

    def grow(states: Tensor) -> tuple[Ints, npt.NDArray[np.float64]]:
        images = book(states)
        return images, np.zeros(len(images))

    def over(windows: Ints) -> tuple[Ints, npt.NDArray[np.float64]]:
        # Windows are numbered to the base of the most prototypes there may be: there will be more than there are.
        behind = windows > max_prototypes  # symbols, along brackets
        return grow(network.over(book.prototypes, windows - behind * (max_prototypes - len(book.prototypes))))

    symbols = Entries(len(network.symbols), lambda windows: grow(network.over_symbols(windows)))
    nodes = Entries(max_prototypes + 1 + len(network.beside), over)
    before_symbols = max_prototypes if len(network.beside) else 0
    image = partial(image_of, symbols, nodes, before_symbols)
    # There is one answer, at the clusters, too, where they are more than prototypes may be: so every level is followed.
    answers = np.zeros(max(max_prototypes, len(cut.means)), dtype=np.int64)
    prove(specification, network.chunk_size, image, answers, network.aligned, before_symbols)
    return book.means()
