"""A trained network in, a certificate or the shortest wrong word out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from regulargpt.certificate.check import MARGIN
from regulargpt.certificate.codebook import Codebook, by_class
from regulargpt.certificate.machine import Question
from regulargpt.certificate.proof import Proof, prove
from regulargpt.certificate.table import Exact, Table

# An entry that lies this much nearer to its prototype than to the next is the same in float32.
SAFE = 1e-2
assert SAFE > MARGIN


@dataclass(frozen=True)
class Snapped:
    """A network brought to the prototypes of a codebook, and what was decided about it."""

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
        return cls(book, table, answers, margins, prove(question, network.chunk_size, table.image, answers))

    @property
    def smallest_margin(self) -> float:
        """The smallest margin of an entry of the table."""
        return min(float(part.margins.min(initial=np.inf)) for part in (self.table.leaves, self.table.nodes))

    @property
    def certain(self) -> bool:
        """Whether it is proven, by margins that rounding does not reach."""
        return self.proof.holds and self.smallest_margin > SAFE and bool(self.answer_margins.min() > SAFE)


def certify(network: Exact, question: Question) -> Snapped:
    """The first codebook that proves the language; else the one that comes farthest.

    Farthest is the one whose shortest wrong word is longest. Raises UserError where nothing can be decided.
    """
    best: Snapped | None = None
    for book in by_class(network, question):
        snapped = Snapped.of(network, book, question)
        if snapped.certain:
            return snapped
        if best is None or reach(snapped) > reach(best):
            best = snapped
    assert best is not None
    return best


def reach(snapped: Snapped) -> tuple[float, float]:
    """How far a snapped network is right, and by which margin."""
    wrong = snapped.proof.wrong
    return (float("inf") if wrong is None else len(wrong)), snapped.smallest_margin
