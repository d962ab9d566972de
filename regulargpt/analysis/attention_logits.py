"""The mean attention logits of a Transformer by distance, gathered some queries at a time."""

from __future__ import annotations

import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn

from regulargpt.data.base import Words
from regulargpt.encodings.base import Encoding
from regulargpt.evaluation.by_length import words_at_once
from regulargpt.models.transformer import Attention, Transformer
from regulargpt.models.transformer.attention import Pass, pieces
from regulargpt.objectives.answers import to_tensor


class Gathering:
    """Sums of logits and numbers of visible pairs, of every layer and head, at each distance."""

    def __init__(self, n_layers: int, n_heads: int, length: int):
        self.sums = torch.zeros(n_layers, n_heads, length, dtype=torch.float64)
        self.pairs = torch.zeros(n_layers, n_heads, length, dtype=torch.float64)

    def hear(self, attn: Attention, inputs: tuple[Tensor, Encoding, Tensor, int, str, Pass]) -> None:
        """Add the logits of a layer that is about to attend: a piece is let go before the next one is made."""
        x, encoding, n, layer, _, passing = inputs
        whole, _ = attn.turned(x, encoding, n, layer, "all", passing)
        for queries, keys in pieces(whole):
            piece = whole.cut(queries, keys)
            self.add(layer, piece.logits(piece.bias()), queries, keys)

    def add(self, layer: int, logits: Float[Tensor, "batch n_heads queries keys"], queries: slice, keys: slice) -> None:
        """Add a piece; what is minus infinity may not be seen."""
        m, n = (torch.arange(part.start, part.stop) for part in (queries, keys))
        distance = (m[:, None] - n[None, :]).clamp(min=0).flatten()  # (queries * keys,)
        seen = logits > -torch.inf
        summed = logits.double().where(seen, 0.0).sum(0).flatten(1)  # (n_heads, queries * keys)
        self.sums[layer].index_add_(1, distance, summed)
        self.pairs[layer].index_add_(1, distance, seen.double().sum(0).flatten(1))  # (n_heads, queries * keys)

    @property
    def means(self) -> Float[ndarray, "layers n_heads distances"]:
        """The mean logits; nan at a distance that no pair has."""
        return (self.sums / self.pairs).numpy()


@torch.no_grad()
def mean_logits(model: Transformer, words: Words) -> Float[ndarray, "layers n_heads distances"]:
    """s[x] of Eq. 13 for each head: the mean over words and visible pairs at distance x = 0, 1, ...; nan without any.

    The logits are those that softmax reads, after the scaling, with positions and bias in them; the sums are float64.
    Memory is linear in the length, since no whole pattern is ever there.

    >>> import numpy as np
    >>> model = Transformer(2, 2, d_model=4, n_heads=2, d_ff=4, n_layers=3, encoding="alibi")
    >>> mean_logits(model, np.zeros((1, 5), dtype=int)).shape
    (3, 2, 5)
    """
    length = words.shape[1]
    blocks: list[nn.Module] = list(model.blocks)
    attns = [block.attn for block in blocks]
    gathering = Gathering(len(attns), attns[0].n_heads, length)  # type: ignore[union-attr]  # an Attention
    handles = [attn.register_forward_pre_hook(gathering.hear) for attn in attns]  # type: ignore[union-attr]
    at_once = words_at_once(model.eval(), length)
    try:
        for at in range(0, len(words), at_once):
            model(to_tensor(words[at : at + at_once], torch.device("cpu")), readout="all")
    finally:
        for handle in handles:
            handle.remove()
    return gathering.means
