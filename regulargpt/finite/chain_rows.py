"""The quantised chain: after every symbol its state is replaced by the nearest of K points, so it is a table of rows.

Row (k, x) is what symbol x makes of point k, or of the start where k is 0, which is never replaced: the answer, and
the point that is nearest to the new state. The answer is given before that is replaced.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import cast

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regulargpt.finite.chain import Chain
from regulargpt.finite.float64_network import ROWS
from regulargpt.finite.table import nearest_two
from regulargpt.models.base import Model
from regulargpt.models.layers import Readout, check_words

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Rows:
    """All rows over some points, computed in float64: the logits, and the states that are to be replaced.

    >>> from regulargpt.models.rnn import Rnn
    >>> chain = Chain(Rnn(2, 3, d_model=4))
    >>> rows = Rows.compute(chain, torch.eye(4, dtype=torch.float64))
    >>> rows.images.shape, rows.answers.shape
    ((5, 2), (5, 2))
    """

    points: Float[Tensor, "K D"]
    logits: Float[Tensor, "K+1 n_symbols n_outputs"]
    states: Float[Tensor, "K+1 n_symbols D"]

    @classmethod
    def compute(cls, chain: Chain, points: Float[Tensor, "K D"]) -> Rows:
        """The rows over these points."""
        logits, states = chain.every(points)
        from_start, first = chain.first(torch.arange(chain.n_symbols))  # (n_symbols, ...)
        return cls(points, torch.cat([from_start[None], logits]), torch.cat([first[None], states]))

    def with_point(self, chain: Chain, point: Float[Tensor, "D"]) -> Rows:
        """The rows with another point, the last."""
        logits, states = chain.every(point[None])
        points = torch.cat([self.points, point[None]])
        return Rows(points, torch.cat([self.logits, logits]), torch.cat([self.states, states]))

    def only(self, kept: npt.NDArray[np.bool_]) -> Rows:
        """The rows without the points that are not among the `kept` (K,)."""
        of_points = torch.from_numpy(kept)
        of_rows = torch.cat([of_points.new_ones(1), of_points])
        return Rows(self.points[of_points], self.logits[of_rows], self.states[of_rows])

    @cached_property
    def nearest(self) -> tuple[Ints, Floats]:
        """The point that is nearest to each state, from 1, and how much farther the second nearest is: (K+1, Sigma)."""
        flat = self.states.flatten(0, 1)  # ((K+1) * Sigma, D)
        two = [nearest_two(part, self.points) for part in flat.split(ROWS)]
        distances, numbers = (torch.cat(parts).numpy() for parts in zip(*two, strict=True))
        shape = self.states.shape[:2]
        return 1 + numbers[:, 0].reshape(shape), (distances[:, 1] - distances[:, 0]).reshape(shape)  # (K+1, Sigma)

    @property
    def images(self) -> Ints:
        """The point to which each row leads, from 1: (K+1, Sigma)."""
        return self.nearest[0]

    @property
    def margins(self) -> Floats:
        """How much farther the second nearest point is: (K+1, Sigma). Infinite where there is one point only."""
        return self.nearest[1]

    @cached_property
    def answers(self) -> Ints:
        """The largest logit of each row: (K+1, Sigma)."""
        return self.logits.argmax(-1).numpy()

    @cached_property
    def answer_margins(self) -> Floats:
        """By how much it is larger than the second: (K+1, Sigma)."""
        if self.logits.shape[-1] == 1:
            return np.full(self.logits.shape[:2], np.inf)
        two = self.logits.topk(2).values  # (K+1, Sigma, 2)
        return cast(Floats, (two[..., 0] - two[..., 1]).numpy())


class QuantisedChain(Model):
    """The quantised chain as a model: it looks its rows up, so a long word takes little time."""

    logits: Tensor

    def __init__(self, rows: Rows):
        super().__init__()
        self.register_buffer("logits", rows.logits.flatten(0, 1))  # ((K+1) * Sigma, n_outputs)
        self.first: list[int] = (rows.images * rows.images.shape[1]).ravel().tolist()  # symbol 0's row at each image

    def forward(
        self, words: Int[Tensor, "batch length"], readout: Readout = "last"
    ) -> Float[Tensor, "batch n_outputs"] | Float[Tensor, "batch length n_outputs"]:
        check_words(words, readout)
        # Numbers of Python: of few words, a step of torch takes a hundred times as long.
        row_numbers = [list(accumulate(word, lambda at, symbol: self.first[at] + symbol)) for word in words.tolist()]
        if readout == "last":
            row_numbers = [rows[-1] for rows in row_numbers]
        return self.logits[torch.tensor(row_numbers, device=self.logits.device)]
