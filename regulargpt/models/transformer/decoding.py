"""Cached decoding (thesis, section 4.9.2): each symbol is computed once, and attends to what is kept of the others."""

from __future__ import annotations

from copy import copy
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regulargpt.encodings.base import Encoding
from regulargpt.models.decoding import Decoder
from regulargpt.models.layers import Readout, check_words
from regulargpt.models.transformer.attention import Pass
from regulargpt.models.transformer.cache import Cache
from regulargpt.options.views import Sliding, View

PIECE = 256
"""Symbols read at once: it bounds the memory of a long prompt and changes no result."""


@runtime_checkable
class Attending(Protocol):
    """What is asked of a Transformer."""

    view: View
    encoding: Encoding

    @property
    def n_layers(self) -> int:
        """How many layers have keys and values."""
        ...

    def logits(
        self, words: Int[Tensor, "batch length"], n: Float[Tensor, "length"], readout: Readout, passing: Pass
    ) -> Tensor:
        """The logits of symbols at the positions n, with what `passing` keeps of those before."""
        ...


class CachedDecoder(Decoder):
    """A Transformer that reads on, in memory that does not grow where its attention is restricted.

    With a `window` its answers are those of a forward pass with attention `sliding:window`, else those of a model with
    the attention that the model has: keys of a layer were themselves computed under that view.

    >>> from regulargpt.models.transformer import Transformer
    >>> model = Transformer(2, 3, d_model=8, n_heads=2, d_ff=16, n_layers=2, encoding="alibi")
    >>> word, decoder = torch.tensor([[0, 1, 1, 0, 1]]), CachedDecoder(model, window=2)
    >>> for symbol in word.split(1, dim=1):
    ...     logits = decoder.feed(symbol)
    >>> model.set_attention("sliding:2", train_len=40)
    >>> torch.allclose(logits, model(word), atol=1e-6), decoder.kept
    (True, 1)
    """

    def __init__(self, model: Attending, window: int | None = None):
        self.model = model
        self.view = model.view if window is None else Sliding(window)
        self.caches = [Cache() for _ in range(model.n_layers)]
        self.seen = self.begin = 0

    @property
    def kept(self) -> int:
        return self.seen - self.begin

    @property
    def bytes(self) -> int:
        return sum(cache.bytes for cache in self.caches)

    @torch.no_grad()
    def feed(self, symbols: Int[Tensor, "batch some"]) -> Float[Tensor, "batch n_outputs"]:
        check_words(symbols, "last")
        return [self.advance(piece) for piece in symbols.split(PIECE, dim=1)][-1]

    def fork(self) -> CachedDecoder:
        other = copy(self)
        other.caches = [copy(cache) for cache in self.caches]
        return other

    def advance(self, piece: Int[Tensor, "batch some"]) -> Float[Tensor, "batch n_outputs"]:
        n = torch.arange(self.seen, self.seen + piece.shape[1], dtype=torch.float64, device=piece.device)
        logits = self.model.logits(piece, n, "last", Pass(self.view, begin=self.begin, caches=self.caches))
        self.seen += piece.shape[1]
        span = self.model.encoding.span
        oldest = max(self.begin, self.view.first(self.seen), 0 if span is None else self.seen - span + 1)
        for cache in self.caches:
            cache.drop(oldest - self.begin)
        self.begin = oldest
        return logits
