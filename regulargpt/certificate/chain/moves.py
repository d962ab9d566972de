"""Which points of a product lead to which, and what has to be answered there: all that a search for boxes asks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from regulargpt.certificate.chain.product import ChainProduct


@dataclass(frozen=True)
class PointMoves:
    """From which point, by which symbol, to which: (n,) each; the first points (n_symbols,), -1 for a symbol that no
    word begins with; and the answers (m,) that must be those of the points `answered` (m,), once the symbols `by` (m,)
    have led to them. `before` (m', 3) are the places where a symbol is read that has an answer, 0 the start and k the
    point k - 1, the symbol, and the answer."""

    source: Int[Tensor, "n"]
    symbols: Int[Tensor, "n"]
    target: Int[Tensor, "n"]
    first: Int[Tensor, "n_symbols"]
    answered: Int[Tensor, "m"]
    by: Int[Tensor, "m"]
    answers: Int[Tensor, "m"]
    before: Int[Tensor, "m' 3"]

    @cached_property
    def begins(self) -> Int[Tensor, "symbols"]:
        """The symbols that words begin with."""
        return (self.first >= 0).nonzero()[:, 0]

    @property
    def n_points(self) -> int:
        """How many points come up."""
        return 1 + int(torch.cat([self.target, self.first]).max())

    @classmethod
    def from_product(cls, product: ChainProduct) -> PointMoves:
        """Those that come up in a product."""
        used, to = torch.from_numpy(product.used), torch.from_numpy(product.rows.images) - 1  # (K + 1, n_symbols)
        source, symbols = used[1:].nonzero().unbind(1)
        (k, q), machine = product.pairs.T, product.machine
        right = machine.output_table[machine.table[q]].astype(np.int64)  # (pairs, n_symbols)
        pair, by = torch.from_numpy(right >= 0).nonzero().unbind(1)
        place, answers = torch.from_numpy(k)[pair], torch.from_numpy(right)[pair, by]
        asked, after, given = torch.unique(torch.stack([to[place, by], by, answers]), dim=1)
        before = torch.unique(torch.stack([place, by, answers], 1), dim=0)
        first = torch.where(used[0], to[0], -1)
        later = to[1:][source, symbols]
        return cls(source, symbols, later, first, asked, after, given, before)
