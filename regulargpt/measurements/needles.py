"""How often a network finds what stands at each depth of a document.

The depths of Kamradt's "needle in a haystack" test and of RULER (Hsieh et al. 2024, arXiv:2404.06654), for any length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from languages.text.retrieval import Retrieval
from regulargpt.data.base import Words
from regulargpt.evaluation.by_length import words_at_once
from regulargpt.evaluation.interval import Interval
from regulargpt.models.base import Model
from regulargpt.objectives.retrieval import Retrieve


@dataclass(frozen=True)
class ByDepth:
    """The needles of one length in bins of equal width, from the beginning of the document to its end.

    >>> ByDepth.of(np.array([True, False, True]), np.array([0.0, 0.49, 0.5]), bins=2)
    ByDepth(found=(1, 1), needles=(2, 1))
    """

    found: tuple[int, ...]
    needles: tuple[int, ...]

    @classmethod
    def of(cls, found: Bool[ndarray, "needles"], depths: Float[ndarray, "needles"], bins: int) -> ByDepth:
        """Which needles are found, and where in the document they stand: from 0 to below 1."""
        bin_of = (depths * bins).astype(np.int64)
        counts = (np.bincount(chosen, minlength=bins).tolist() for chosen in (bin_of[found], bin_of))
        return cls(*map(tuple, counts))

    @property
    def values(self) -> tuple[Interval | None, ...]:
        """The share found in each bin in percent, with Wilson's interval; None where no needle stands."""
        return tuple(
            Interval.of_right(*pair) if pair[1] else None for pair in zip(self.found, self.needles, strict=True)
        )

    @property
    def value(self) -> Interval:
        """The same of all needles."""
        return Interval.of_right(sum(self.found), sum(self.needles))


def needle_depths(task: Retrieval, words: Words) -> Float[ndarray, "batch needles"]:
    """Where each needle stands: of answers that belong together, the first.

    >>> from languages.text.retrieval import retrieval
    >>> task = retrieval("retrieval:needles:questions=2")
    >>> needle_depths(task, task.encode("n0 n0 k3 v2 v7 n0 ?1 k3 ?2 k3")[None])
    array([[0.5]])
    """
    return task.depths(words)[:, :: task.together]


@torch.no_grad()
def found_in(objective: Retrieve, model: Model, words: Words) -> Bool[ndarray, "batch needles"]:
    """Which needles of these words the model finds, which is on the CPU."""
    cpu, at_once = torch.device("cpu"), words_at_once(model, words.shape[1])
    parts = [objective.right(model, words[at : at + at_once], cpu) for at in range(0, len(words), at_once)]
    return torch.cat(parts).numpy()


def found_at(objective: Retrieve, model: Model, words: Words, bins: int) -> ByDepth:
    """The same by depth."""
    found, depths = found_in(objective, model, words), needle_depths(objective.task, words)
    return ByDepth.of(found.flatten(), depths.flatten(), bins)


def edges(bins: int) -> Int[ndarray, "edges"] | Float[ndarray, "edges"]:
    """Where bins begin and end, in percent of the document.

    >>> edges(4).tolist()
    [0.0, 25.0, 50.0, 75.0, 100.0]
    """
    return 100 * np.arange(bins + 1) / bins
