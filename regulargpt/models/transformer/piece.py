"""A piece of an attention pattern: some queries with the keys that they see. The whole pattern is one too."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regulargpt.encodings.base import Encoding, Keys, Logits, Positions, Queries
from regulargpt.models.transformer.slices import cut
from regulargpt.options.views import View

Bias: TypeAlias = Float[Tensor, "#batch #n_heads queries keys"]


@dataclass(frozen=True)
class Piece:
    """Queries and keys as the encoding turned them, where they stand, and which of the keys a query sees.

    In a causal model the queries are the last of the keys, and `begin` is the index of the first key. In another cache
    `first` is the index of the first query.

    >>> from regulargpt.encodings.base import consecutive
    >>> from regulargpt.options.views import Sliding
    >>> q, encoding = torch.zeros(1, 1, 3, 4), Encoding(d_model=4, n_heads=1)
    >>> piece = Piece(q, q, encoding, consecutive(q, q), Sliding(2))
    >>> piece.hidden.int()
    tensor([[0, 1, 1],
            [0, 0, 1],
            [1, 0, 0]], dtype=torch.int32)
    >>> piece.pattern(piece.bias())[0, 0]
    tensor([[1.0000, 0.0000, 0.0000],
            [0.5000, 0.5000, 0.0000],
            [0.0000, 0.5000, 0.5000]])
    """

    q: Queries
    k: Keys
    encoding: Encoding
    at: Positions
    view: View
    begin: int = 0
    first: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        return self.q.shape[-2], self.k.shape[-2]

    @property
    def hidden(self) -> Bool[Tensor, "queries keys"]:
        """Where a query of a causal model may not look."""
        n_queries, n_keys = self.shape
        n = torch.arange(self.begin, self.begin + n_keys, device=self.q.device)
        m = n[n_keys - n_queries :, None]  # (queries, 1)
        return (n > m) if self.view.most is None else (n > m) | (n < self.view.first(m))

    def cut(self, where: Sequence[tuple[slice, slice]]) -> Iterator[Piece]:
        q, k = cut(self.q, [queries for queries, _ in where]), cut(self.k, [keys for _, keys in where])
        for (queries, keys), some_q, some_k in zip(where, q, k, strict=True):
            at, begin = self.at.piece(queries, keys), self.begin + keys.start
            first = 0 if self.encoding.causal else self.first + queries.start
            yield Piece(some_q, some_k, self.encoding, at, self.view, begin, first)

    def bias(self) -> Bias | None:
        return self.encoding.bias(self.q, self.k, self.at)

    def mask(self, bias: Bias | None) -> Bias:
        """The bias, with -inf where a query may not look."""
        if bias is None:
            bias = self.q.new_zeros(1, 1, *self.shape)
        return bias.masked_fill(self.hidden, -math.inf) if self.encoding.causal else bias

    def logits(self, bias: Bias | None, *, is_masked: bool = False) -> Logits:
        """score(q k / sqrt(d_head)) + bias, -inf for the keys that may not be seen, if the bias is not a mask."""
        scaled = (self.q / math.sqrt(self.q.shape[-1])) @ self.k.mT  # (batch, n_heads, queries, keys)
        logits = self.encoding.score(scaled, self.q, self.k, self.at)
        if bias is not None:
            # In a model of half precision the sum and its softmax are float32, as the bias is.
            logits = logits.add_(bias) if bias.dtype == logits.dtype else logits + bias
        if self.encoding.causal and not is_masked:
            # Hidden from autograd: where its result is 0, softmax hands no gradient on.
            logits.detach().masked_fill_(self.hidden, -math.inf)
        return logits

    def pattern(self, bias: Bias | None, *, is_masked: bool = False) -> Logits:
        """softmax of the `logits` over the keys; the rows sum to 1."""
        return self.logits(bias, is_masked=is_masked).softmax(-1).to(self.q.dtype)
