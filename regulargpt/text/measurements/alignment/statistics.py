"""How sharp attention is: the mean largest probability and the mean entropy of every head, in a single pass."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from languages.errors import UserError
from regulargpt.data.base import Words
from regulargpt.models.transformer.attentive import Attentive
from regulargpt.models.transformer.piece import Piece
from regulargpt.text.measurements.patterns import listen

ByHead = Float[ndarray, "n_layers n_heads"]


@dataclass(frozen=True)
class Sharpness:
    """P_max, the mean of the largest probability, and H, the mean entropy in nats, of every layer and head."""

    p_max: ByHead
    entropy: ByHead


@dataclass(frozen=True)
class Logits:
    """The average logit vector (section 5.6.1): sorted vectors, their mean, with its own mean subtracted.

    `sigma` is its standard deviation, `largest` its largest entry, `gaussian` the correlation of a QQ plot against
    the normal distribution: 1 if Assumption 5.1 holds.
    """

    values: Float[ndarray, "keys"]

    @property
    def sigma(self) -> float:
        """The standard deviation."""
        return float(self.values.std())

    @property
    def largest(self) -> float:
        """l_max of Assumption 5.2."""
        return float(self.values.max())

    @cached_property
    def quantiles(self) -> Float[ndarray, "keys"]:
        """The standard normal quantiles at (i - 1/2) / L."""
        count = len(self.values)
        return np.array([NormalDist().inv_cdf((i - 0.5) / count) for i in range(1, count + 1)])

    @property
    def gaussian(self) -> float:
        """The correlation of sorted logits and normal quantiles; nan where all logits are equal."""
        return float(np.corrcoef(self.values, self.quantiles)[0, 1]) if self.sigma > 0 else math.nan


def sharpness(model: Attentive, words: Words) -> Sharpness:
    """Of every head, over the words and the queries that see at least half of the word.

    In a causal model the first queries see few keys, and are sharp whatever the length is; in another one all queries
    count. Sums are float64; a piece of the pattern is let go before the next piece is made, so that memory is linear in
    the length. Raises `UserError` for words so short that the model attends to nothing.

    >>> from regulargpt.models.transformer import Transformer
    >>> model = Transformer(2, 2, d_model=4, n_heads=2, d_ff=4, n_layers=1, encoding="none")
    >>> for weights in model.blocks[0].attn.parameters():
    ...     _ = torch.nn.init.zeros_(weights)
    >>> found = sharpness(model, np.zeros((1, 4), dtype=int))
    >>> found.p_max, found.entropy.round(4)  # of queries that see 2, 3 and 4 symbols alike
    (array([[0.36111111, 0.36111111]]), array([[1.0594, 1.0594]]))
    """
    attns = model.attentions
    sums = np.zeros((2, len(attns), attns[0].n_heads))
    counts = np.zeros(len(attns))
    least = math.ceil(words.shape[1] / 2) if model.causal else 0

    def hear(layer: int, piece: Piece) -> None:
        n_queries, n_keys = piece.shape
        # The first of these queries sees so many keys, each later query a key more.
        sees = piece.begin + n_keys - n_queries + 1
        if sees + n_queries <= least:
            return
        counted = slice(max(0, least - sees), None)
        p = piece.logits(piece.bias())[..., counted, :].softmax(-1)  # (batch, n_heads, queries, keys)
        largest, entropy = p.amax(-1).double(), torch.special.entr(p).sum(-1, dtype=torch.float64)
        for at, each in enumerate((largest, entropy)):
            sums[at, layer] += each.sum((0, 2)).cpu().numpy()
        counts[layer] += largest.shape[0] * largest.shape[2]

    listen(model, words, hear)
    if not counts.all():
        raise UserError(f"words of length {words.shape[1]} leave nothing to attend to; choose longer ones")
    p_max, entropy = sums / counts[None, :, None]
    return Sharpness(p_max, entropy)


def average_logits(model: Attentive, words: Words) -> Logits:
    """The average logit vector of layer 0, over heads, words and queries; in a causal model of the last query alone."""
    vectors: list[Float[ndarray, "keys"]] = []
    rows = 0

    def hear(layer: int, piece: Piece) -> None:
        last = piece.begin + piece.shape[1] == words.shape[1]
        if layer or (model.causal and not last):
            return
        logits = piece.logits(piece.bias()).double()
        logits = (logits[..., -1:, :] if model.causal else logits).sort(-1).values.flatten(0, 2)  # (rows, keys)
        vectors.append(logits.sum(0).cpu().numpy())
        nonlocal rows
        rows += len(logits)

    listen(model, words, hear)
    mean = np.sum(vectors, axis=0) / rows
    return Logits(mean - mean.mean())
