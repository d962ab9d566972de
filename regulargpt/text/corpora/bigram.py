"""Which symbol follows which in a text: the least that a language model must know to have learned from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

BLOCKS, BLOCK = 64, 65_536
"""A text of more symbols than these is counted in so many blocks that lie evenly in it: 4 million symbols."""


@dataclass(frozen=True, eq=False)
class Bigram:
    """p(b | a) = (c(ab) + d(a) p(b)) / (c(a) + d(a)) from counts c, d(a) of the different symbols that follow a.

    The smoothing of Witten and Bell (1991), without a number to choose. p(b) = (c(b) + 1) / (N + V) for V symbols.

    >>> bigram = Bigram.fit(np.array([0, 1, 0, 1, 0, 2]), vocabulary_size=3)
    >>> np.exp(-bigram.nats(np.array([[0, 1], [0, 2], [2, 1]]))).round(3).tolist()
    [[0.533], [0.289], [0.333]]
    """

    pairs: Int[np.ndarray, "pairs"]  # a V + b, in order
    counts: Int[np.ndarray, "pairs"]
    followed: Int[np.ndarray, "V"]  # c(a)
    kinds: Int[np.ndarray, "V"]  # d(a)
    alone: Float[np.ndarray, "V"]  # p(b)

    @classmethod
    def fit(cls, symbols: np.ndarray, vocabulary_size: int) -> Bigram:
        size, many = vocabulary_size, len(symbols) > BLOCKS * BLOCK
        starts = np.linspace(0, len(symbols) - BLOCK, BLOCKS, dtype=np.int64) if many else [0]
        blocks = [symbols[at : at + (BLOCK if many else len(symbols))].astype(np.int64) for at in starts]
        pairs, counts = np.unique(
            np.concatenate([block[:-1] * size + block[1:] for block in blocks]), return_counts=True
        )
        followed = np.bincount(pairs // size, weights=counts, minlength=size).astype(np.int64)
        single = np.bincount(np.concatenate(blocks), minlength=size)
        alone = (single + 1) / (single.sum() + size)
        return cls(pairs, counts, followed, np.bincount(pairs // size, minlength=size), alone)

    def nats(self, symbols: Int[np.ndarray, "segments length"]) -> Float[np.ndarray, "segments predicted"]:
        a, b = symbols[:, :-1].astype(np.int64), symbols[:, 1:].astype(np.int64)
        pair = a * len(self.alone) + b  # (segments, predicted)
        at = np.searchsorted(self.pairs, pair).clip(max=len(self.pairs) - 1)
        count = np.where(self.pairs[at] == pair, self.counts[at], 0)
        # What nothing follows in the training part is followed by anything.
        kinds = self.kinds[a].clip(min=1)
        return -np.log((count + kinds * self.alone[b]) / (self.followed[a] + kinds))
