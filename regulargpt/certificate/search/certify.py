"""A trained network in, a certificate or the shortest wrong word out."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor

from languages.automata import MooreMachine
from languages.automata.moore import UNDEFINED
from languages.automata.pushdown import PushdownTransducer
from languages.errors import UserError
from languages.tasks import TreeTask
from regulargpt.certificate.search.codebook import (
    Codebook,
    Target,
    codebooks,
    group_means,
    missed_share,
    right_table,
)
from regulargpt.certificate.search.separation import separated
from regulargpt.certificate.tuning.fine_tuning import CertificationAttempt, TrainingTable
from regulargpt.finite.float64_network import Float64Network
from regulargpt.finite.levels import TooManyWindows
from regulargpt.finite.nested_specification import AnySpecification, NestedSpecification, specification_of
from regulargpt.finite.proof import Proof, prove
from regulargpt.finite.specification import Specification
from regulargpt.finite.table import QuantisedTable
from regulargpt.models.tree.base import Tree
from regulargpt.models.tree.shape import Side

# An entry that lies this much nearer to its prototype than to the next is the same in float32.
CERTAIN_MARGIN = 1e-2
# With more windows than this taken for another element there is no use in a proof; some may be, where no word tells.
MAX_MISSED_TO_PROVE = 0.05
# Moving a prototype moves the images above it, by far less in a network that is trained to bring states back.
CENTRINGS = 3


@dataclass(frozen=True)
class QuantisedNetwork:
    """A network brought to the prototypes of a codebook, and what was decided about it."""

    specification: AnySpecification
    book: Codebook
    table: QuantisedTable
    answers: npt.NDArray[np.int64]
    answer_margins: npt.NDArray[np.float64]
    proof: Proof

    @classmethod
    def compute(
        cls,
        network: Float64Network,
        book: Codebook,
        specification: AnySpecification,
        table: QuantisedTable | None = None,
    ) -> QuantisedNetwork:
        """Compute the table as far as it occurs and is not known already, and decide."""
        table = QuantisedTable(network, book.prototypes) if table is None else table
        answers, margins = table.answers()
        sides = network.aligned, table.before_symbols
        proof = prove(specification, network.chunk_size, table.image, answers, *sides)
        return cls(specification, book, table, answers, margins, proof)

    @property
    def smallest_margin(self) -> float:
        """The smallest margin of an entry of the table."""
        return min(float(part.margins.min(initial=np.inf)) for part in (self.table.leaves, self.table.nodes))

    @property
    def has_answer(self) -> npt.NDArray[np.bool_]:
        """The prototypes (K,) that are the root of a word with an answer."""
        states, elements = self.proof.roots.T
        is_root = np.zeros(len(self.book), dtype=bool)
        is_root[states[self.specification.answers[elements] >= 0] - 1] = True
        return is_root

    @property
    def needed_answers(self) -> npt.NDArray[np.int64]:
        """The answers (K,), -1 at a prototype that is the root of no word with an answer."""
        return np.where(self.has_answer, self.answers, UNDEFINED)

    @property
    def smallest_answer_margin(self) -> float:
        """The smallest margin of an answer that some word needs."""
        return float(self.answer_margins[self.has_answer].min(initial=np.inf))

    @property
    def certain(self) -> bool:
        """Whether it is proven, by margins that rounding does not reach."""
        return self.proof.holds and min(self.smallest_margin, self.smallest_answer_margin) > CERTAIN_MARGIN

    @property
    def quality(self) -> tuple[float, float]:
        """How far it is right, the length of the shortest wrong word, and by which margin."""
        wrong = self.proof.wrong
        return (float("inf") if wrong is None else len(wrong)), self.smallest_margin

    def training_table(self) -> TrainingTable:
        """The table of a certified network, in float32, to train on."""
        table, C = self.table, self.table.chunk_size
        numbers = (
            self.needed_answers,
            table.leaves.windows(C),
            table.leaves.images - 1,
            table.nodes.windows(C),
            table.nodes.images - 1,
        )
        return TrainingTable(table.prototypes.float(), *map(torch.from_numpy, numbers))


@dataclass(frozen=True)
class Certifier:
    """What the networks of a task and chunk size have to compute, worked out once.

    >>> import languages, torch
    >>> from regulargpt.models.regulargpt import RegularGPT
    >>> certifier = Certifier.for_task(languages.get("parity"), chunk_size=2)
    >>> untrained = RegularGPT(2, 2, chunk_size=2, d_model=16, n_heads=2, d_ff=32)
    >>> certifier.attempt(untrained).certain, len(certifier.certify(untrained).proof.wrong) < 5
    (False, True)
    """

    specification: AnySpecification
    target: Target

    @classmethod
    def for_task(cls, task: TreeTask, chunk_size: int, aligned: Side = "right") -> Certifier:
        """Raises AutomatonError or UserError where the monoid, or what is to be looked at, is too large or trivial."""
        alike = f"all words of {task.name} are alike: there is nothing to prove, choose another language"
        if len(task.output_names) < 2:
            raise UserError(alike)
        return cls.specified(specification_of(task), chunk_size, aligned, alike)

    @classmethod
    def of_machine(
        cls, machine: MooreMachine | PushdownTransducer, chunk_size: int, aligned: Side = "right"
    ) -> Certifier:
        """The same for a machine that was learned. Raises AutomatonError or UserError where it is too large."""
        alike = "the automaton that was learned gives all words the same answer: there is nothing to prove"
        if isinstance(machine, PushdownTransducer):
            return cls.specified(NestedSpecification.of_machine(machine), chunk_size, aligned, alike)
        return cls.specified(Specification.of_machine(machine), chunk_size, aligned, alike)

    @classmethod
    def specified(cls, specification: AnySpecification, chunk_size: int, aligned: Side, alike: str) -> Certifier:
        """Raises UserError with the line `alike` where all non-empty words do the same."""
        target = Target.from_specification(specification, chunk_size, aligned)
        if len(target.elements) < 2:
            raise UserError(alike)
        return cls(specification, target)

    def certify(self, model: Tree, prototypes: Tensor | None = None) -> QuantisedNetwork:
        """The first codebook that proves the language; else the codebook with which the network is right farthest.

        `prototypes` (K, d_model), if there are any, are tried first. Raises TooManyWindows where the network errs on so
        much, whatever the codebook, that no proof can look at it.
        """
        network, best, too_many = Float64Network(model), None, None
        given = [] if prototypes is None else [unlabelled(prototypes)]
        for book in chain(given, codebooks(network, self.target)):
            try:
                quantised = QuantisedNetwork.compute(network, book, self.specification)
            except TooManyWindows as error:
                too_many = error
                continue
            if quantised.certain:
                return quantised
            if best is None or quantised.quality > best.quality:
                best = quantised
        if best is None:
            assert too_many is not None, "there is a codebook"
            raise too_many
        return best

    def centred(self, model: Tree, quantised: QuantisedNetwork) -> QuantisedNetwork | None:
        """The same with every prototype moved to the mean of the images that are brought to it; None as `quantised`.

        A training with dropout leaves the states that it teaches shorter than the prototypes that they are to reach.
        """
        network, table, prototypes = Float64Network(model), quantised.table, quantised.book.prototypes
        images = torch.from_numpy(np.concatenate([table.leaves.images, table.nodes.images])) - 1  # (entries,)
        leaves, nodes = (part.windows(table.chunk_size) for part in (table.leaves, table.nodes))
        for _ in range(CENTRINGS):
            states = torch.cat([network.over_symbols(leaves), network.over(prototypes, nodes)])  # (entries, d_model)
            means, count = group_means(states, images, len(prototypes))
            prototypes = torch.where(count[:, None] > 0, means, prototypes)  # a column (K, 1)
        return self.quantised(network, Codebook(prototypes, quantised.book.elements))

    def attempt(
        self,
        model: Tree,
        known: TrainingTable | None = None,
        allowed: float = 0.0,
        learned: Float[Tensor, "K d_model"] | None = None,
    ) -> CertificationAttempt:
        """Whether a network in training is certified, quickly: by the prototypes of a `known` table, else by its own.

        Its own are those that were `learned`, one an element, or the means of its states. If it is certified, there is
        its table to train on. If not, but no more than the share `allowed` of its windows is taken for another element,
        there is the true table.
        """
        network = Float64Network(model)
        if known is not None:
            quantised = self.quantised(network, unlabelled(known.prototypes))
            if quantised is not None and quantised.certain:
                return CertificationAttempt(True, lambda: known, missed=0.0)
        own = None if learned is None else Codebook(learned.to("cpu", torch.float64), self.target.elements)
        book = own or next(codebooks(network, self.target))
        missed = missed_share(network, self.target, book)
        # Of a large table a sample is asked first, then all of it: a proof of what is not quite right takes far longer.
        to_prove, table = missed <= MAX_MISSED_TO_PROVE, None
        if self.target.is_large:
            table = right_table(network, self.target, book) if missed == 0 else None
            to_prove = table is not None
        quantised = self.quantised(network, book, table) if to_prove else None
        if quantised is not None and quantised.certain:
            return CertificationAttempt(True, quantised.training_table, missed=missed)

        def true_table() -> TrainingTable:
            # Those that were learned stay: moved apart, the network would miss most of what it has learned with them.
            return self.true_table(separated(network, book) if own is None else book)

        wrong = None if quantised is None else quantised.proof.wrong
        return CertificationAttempt(False, true_table if missed <= allowed else None, wrong, missed)

    def quantised(
        self, network: Float64Network, book: Codebook, table: QuantisedTable | None = None
    ) -> QuantisedNetwork | None:
        """What is decided with this codebook; None where the network errs on more than can be looked at."""
        try:
            return QuantisedNetwork.compute(network, book, self.specification, table)
        except TooManyWindows:
            return None

    def true_table(self, book: Codebook) -> TrainingTable:
        """The table as the true elements have it, over these prototypes of them."""
        target = self.target
        # Here each element has one prototype, in ascending order; the symbols stand behind all elements.
        windows, products = target.of_prototypes(book.elements)
        numbers = (
            target.answers[book.elements],
            target.symbol_windows,
            np.searchsorted(book.elements, target.symbol_products),
            windows,
            np.searchsorted(book.elements, products),
        )
        return TrainingTable(book.prototypes.float(), *map(torch.from_numpy, numbers))


def unlabelled(prototypes: Float[Tensor, "K d_model"]) -> Codebook:
    """A codebook of which it does not matter what its prototypes stand for."""
    return Codebook(prototypes.to("cpu", torch.float64), np.zeros(len(prototypes), dtype=np.int64))
