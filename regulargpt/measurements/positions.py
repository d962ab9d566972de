"""What a symbol costs by its position in a segment, and whether context beyond the training length helps.

Section 3.5.5 of the thesis, Figures 3.5 and 3.7: the reference line is the same model with its attention restricted to
the last L_tr symbols. Above it, more context hurts; below, it is used.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from numpy import ndarray

from regulargpt.data.base import Words
from regulargpt.evaluation.by_length import words_at_once
from regulargpt.evaluation.interval import Interval
from regulargpt.models.base import Model
from regulargpt.objectives.language_model import LanguageModel

BINS_A_DOUBLING = 2
Files = Int[ndarray, " segments"] | None


@torch.no_grad()
def losses(model: Model, objective: LanguageModel, segments: Words) -> Float[ndarray, "segments length"]:
    """-ln p of the symbol at each position, 1 the first that is predicted, of every segment; in float64."""
    at_once, cpu = words_at_once(model.eval(), segments.shape[1] - 1), torch.device("cpu")
    parts = [objective.losses(model, segments[at : at + at_once], cpu) for at in range(0, len(segments), at_once)]
    return torch.cat(parts).double().numpy()


def edges(length: int) -> list[int]:
    """Where bins end that double every two, so that each position is in one: positions count from 1.

    >>> edges(10), edges(1)
    ([1, 2, 3, 4, 6, 8, 10], [1])
    """
    count = BINS_A_DOUBLING * length.bit_length()
    ends = {int(2 ** (i / BINS_A_DOUBLING) + 0.5) for i in range(count + 1)}
    return [*sorted(end for end in ends if end < length), length]


@dataclass(frozen=True)
class Bin:
    """The mean nats a symbol at the positions first..last, with its interval over segments."""

    first: int
    last: int
    nats: Interval


def bins(nats: Float[ndarray, "segments length"], files: Files = None) -> list[Bin]:
    """The positions in logarithmic bins; intervals are over the files that the segments lie in, if they are given.

    >>> import numpy as np
    >>> [(part.first, part.last, part.nats.value) for part in bins(np.array([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]]))]
    [(1, 1, 3.0), (2, 2, 2.0), (3, 3, 1.0)]
    """
    return [Bin(first, last, Interval.of_mean(each, files)) for (first, last), each in binned(nats).items()]


def binned(nats: Float[ndarray, "segments length"]) -> dict[tuple[int, int], Float[ndarray, " segments"]]:
    """The mean nats a symbol of every segment, by the first and the last position of a bin.

    >>> import numpy as np
    >>> binned(np.array([[3.0, 2.0]]))
    {(1, 1): array([3.]), (2, 2): array([2.])}
    """
    ends = edges(nats.shape[1])
    firsts = [1, *(end + 1 for end in ends[:-1])]
    return {(first, last): nats[:, first - 1 : last].mean(1) for first, last in zip(firsts, ends, strict=True)}


def beyond(
    nats: Float[ndarray, "segments length"],
    reference: Float[ndarray, "segments length"],
    train_len: int,
    files: Files = None,
) -> Interval | None:
    """How much more a symbol costs behind position `train_len` than in the reference, in pairs; None if none is there.

    >>> import numpy as np
    >>> beyond(np.array([[1.0, 2.0], [1.0, 2.5]]), np.array([[1.0, 1.5], [1.0, 2.0]]), 1).value
    0.5
    """
    if nats.shape[1] <= train_len:
        return None
    return Interval.of_mean((nats - reference)[:, train_len:].mean(1), files)
