"""A trained network in, a certificate or the shortest wrong word out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor, nn

from languages.errors import UserError
from languages.task import Task
from regulargpt.anchors import Anchors, Verdict
from regulargpt.certificate.apart import apart
from regulargpt.certificate.codebook import Codebook, Ideal, by_class, misses
from regulargpt.certificate.machine import Question
from regulargpt.certificate.proof import Proof, prove
from regulargpt.certificate.table import Exact, Table
from regulargpt.models.regulargpt import RegularGPT

# An entry that lies this much nearer to its prototype than to the next is the same in float32.
SAFE = 1e-2
# With more windows than this taken for another element there is no use in a proof; some may be, where no word tells.
HOPELESS = 0.05


@dataclass(frozen=True)
class Snapped:
    """A network brought to the prototypes of a codebook, and what was decided about it."""

    question: Question
    book: Codebook
    table: Table
    answers: npt.NDArray[np.int64]
    answer_margins: npt.NDArray[np.float64]
    proof: Proof

    @classmethod
    def of(cls, network: Exact, book: Codebook, question: Question) -> Snapped:
        """Compute the table as far as it occurs, and decide."""
        table = Table(network, book.prototypes)
        answers, margins = table.answers()
        return cls(question, book, table, answers, margins, prove(question, network.chunk_size, table.image, answers))

    @property
    def smallest_margin(self) -> float:
        """The smallest margin of an entry of the table."""
        return min(float(part.margins.min(initial=np.inf)) for part in (self.table.leaves, self.table.nodes))

    @property
    def asked(self) -> npt.NDArray[np.bool_]:
        """The prototypes (K,) that are the root of a word with an answer."""
        states, elements = self.proof.roots.T
        found = np.zeros(len(self.book), dtype=bool)
        found[states[self.question.answers[elements] >= 0] - 1] = True
        return found

    @property
    def smallest_answer_margin(self) -> float:
        """The smallest margin of an answer that is asked for."""
        return float(self.answer_margins[self.asked].min(initial=np.inf))

    @property
    def certain(self) -> bool:
        """Whether it is proven, by margins that rounding does not reach."""
        return self.proof.holds and min(self.smallest_margin, self.smallest_answer_margin) > SAFE

    @property
    def reach(self) -> tuple[float, float]:
        """How far it is right, the length of the shortest wrong word, and by which margin."""
        wrong = self.proof.wrong
        return (float("inf") if wrong is None else len(wrong)), self.smallest_margin


@dataclass(frozen=True)
class Certifier:
    """What is asked of the networks of one task and chunk size, computed once.

    >>> import languages, torch
    >>> from regulargpt.models.regulargpt import RegularGPT
    >>> certifier = Certifier.of(languages.get("parity"), chunk_size=2)
    >>> untrained = RegularGPT(2, 2, chunk_size=2, d_model=16, n_heads=2, d_ff=32)
    >>> certifier.judge(untrained).certain, len(certifier.certify(untrained).proof.wrong) < 5
    (False, True)
    """

    question: Question
    ideal: Ideal

    @classmethod
    def of(cls, task: Task, chunk_size: int) -> Certifier:
        """Raises AutomatonError or UserError where the monoid, or what is to be looked at, is too large or trivial."""
        question = Question.of(task)
        if question.monoid.size < 2 or len(task.output_names) < 2:
            raise UserError(f"all words of {task.name} are alike: there is nothing to prove, choose another language")
        return cls(question, Ideal.of(question, chunk_size))

    def certify(self, model: nn.Module, prototypes: Tensor | None = None) -> Snapped:
        """The first codebook that proves the language; else the one with which the network is right farthest.

        `prototypes` (K, d_model), if there are any, are tried first.
        """
        assert isinstance(model, RegularGPT), "validation refuses other models"
        network, best = Exact(model), None
        given = [] if prototypes is None else [nameless(prototypes)]
        for book in chain(given, by_class(network, self.ideal)):
            snapped = Snapped.of(network, book, self.question)
            if snapped.certain:
                return snapped
            if best is None or snapped.reach > best.reach:
                best = snapped
        assert best is not None
        return best

    def judge(self, model: nn.Module, anchors: Anchors | None = None, allowed: float = 0.0) -> Verdict:
        """The quick question of a training: does the certificate hold, by the prototypes of `anchors` if there are any,
        else by the network's own?

        If so, there is its table to train on. If not, but no more than the share `allowed` of its windows is taken for
        another element, there is the true table.
        """
        assert isinstance(model, RegularGPT), "validation refuses other models"
        network = Exact(model)
        if anchors is not None and Snapped.of(network, nameless(anchors.prototypes), self.question).certain:
            return Verdict(True, lambda: anchors)
        book = next(by_class(network, self.ideal))
        missed = misses(network, self.ideal, book)
        snapped = Snapped.of(network, book, self.question) if missed <= HOPELESS else None
        if snapped is not None and snapped.certain:
            return Verdict(True, partial(Anchors.of, snapped), missed=missed)

        def true() -> Anchors:
            return Anchors.true(self.question, self.ideal, apart(network, book))

        wrong = None if snapped is None else snapped.proof.wrong
        return Verdict(False, true if missed <= allowed else None, wrong, missed)


def nameless(prototypes: Float[Tensor, "K d_model"]) -> Codebook:
    """A codebook of which it does not matter what its prototypes stand for."""
    return Codebook(prototypes.to("cpu", torch.float64), np.zeros(len(prototypes), dtype=np.int64))
