"""The mean attention logits of a Transformer by distance, gathered some queries at a time."""

from __future__ import annotations

import torch
from jaxtyping import Float
from numpy import ndarray

from regulargpt.data.base import Words
from regulargpt.models.base import device_of
from regulargpt.models.transformer import Transformer
from regulargpt.models.transformer.piece import Piece
from regulargpt.text.measurements.patterns import listen


class Gathering:
    """Sums of logits and numbers of visible pairs, of every layer and head, at each distance."""

    def __init__(self, n_layers: int, n_heads: int, length: int, device: torch.device):
        self.sums = torch.zeros(n_layers, n_heads, length, dtype=torch.float64, device=device)
        self.pairs = torch.zeros_like(self.sums)

    def hear(self, layer: int, piece: Piece) -> None:
        """Add a piece of a layer's pattern; what is minus infinity may not be seen."""
        n_queries, n_keys = piece.shape
        n = torch.arange(n_keys, device=self.sums.device)
        m = n[n_keys - n_queries :]
        distance = (m[:, None] - n[None, :]).clamp(min=0).flatten()  # (queries * keys,)
        logits = piece.logits(piece.bias())
        seen = logits > -torch.inf
        summed = logits.double().where(seen, 0.0).sum(0).flatten(1)  # (n_heads, queries * keys)
        self.sums[layer].index_add_(1, distance, summed)
        self.pairs[layer].index_add_(1, distance, seen.double().sum(0).flatten(1))  # (n_heads, queries * keys)

    @property
    def means(self) -> Float[ndarray, "layers n_heads distances"]:
        """The mean logits; nan at a distance that no pair has."""
        return (self.sums / self.pairs).cpu().numpy()


def mean_logits(model: Transformer, words: Words) -> Float[ndarray, "layers n_heads distances"]:
    """s[x] of Eq. 13 for each head: the mean over words and visible pairs at distance x = 0, 1, ...; nan without any.

    The logits are those that softmax reads, after the scaling, with positions and bias in them; the sums are float64.
    Memory is linear in the length, since no whole pattern is ever there.

    >>> import numpy as np
    >>> model = Transformer(2, 2, d_model=4, n_heads=2, d_ff=4, n_layers=3, encoding="alibi")
    >>> mean_logits(model, np.zeros((1, 5), dtype=int)).shape
    (3, 2, 5)
    """
    attns = model.attentions
    gathering = Gathering(len(attns), attns[0].n_heads, words.shape[1], device_of(model))
    listen(model, words, gathering.hear)
    return gathering.means
