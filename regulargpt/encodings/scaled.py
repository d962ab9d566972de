"""Attention that stays as sharp in longer words: queries times a logarithm, with any encoding of positions."""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regulargpt import encodings
from regulargpt.encodings.base import Keys, Positions, Queries
from regulargpt.encodings.options import PUBLISHED, EncodingOptions, ScaledOptions, SSMaxOptions
from regulargpt.encodings.wrapper import EncodingWrapper


class Scaled(EncodingWrapper):
    """Another encoding, whose queries are multiplied before it sees them; its biases stay as they are."""

    Options = ScaledOptions
    shift_invariant = False

    def __init__(self, *, inner: EncodingOptions | None = None, train_len: int = 0, **sizes: Any):
        self.train_len = train_len or PUBLISHED
        super().__init__(**sizes)
        shared = {name: sizes.get(name, default) for name, default in (("n_layers", 1), ("causal", True))}
        generator = sizes.get("generator")
        given = {
            "d_model": self.d_model,
            "n_heads": self.n_heads,
            "d_head": self.d_head,
            **shared,
            "generator": generator,
        }
        self.inner = encodings.build(inner or EncodingOptions("none"), **given)
        # A model has one learning rate for its encoding: without its own it is the other's.
        self.learning_rate = sizes.get("learning_rate", self.inner.learning_rate)

    def scale(self, n: Float[Tensor, "queries"], layer: int) -> Float[Tensor, "#n_heads queries 1"]:
        raise NotImplementedError

    def rotate(self, q: Queries, k: Keys, at: Positions) -> tuple[Queries, Keys]:
        scale = self.scale(at.n_visible(self.causal), at.layer)
        return self.inner.rotate(q * scale.to(q.dtype), k, at)


class LogN(Scaled):
    """Queries times ln n / ln L for n > L visible keys, L the length of training: the entropy stays about the same.

    Without parameters (Su 2021; Chiang and Cholak 2022). Up to the length of training it changes nothing.

    >>> encoding = LogN(d_model=4, n_heads=1, train_len=10)
    >>> encoding.scale(torch.tensor([5.0, 10.0, 100.0]), 0)[0, :, 0]
    tensor([1., 1., 2.])
    """

    def scale(self, n: Float[Tensor, "queries"], layer: int) -> Float[Tensor, "1 queries 1"]:
        return (n.log() / math.log(max(self.train_len, 2))).clamp(min=1)[None, :, None]


class SSMax(Scaled):
    """softmax(s ln n q k / sqrt(d_head)) over n visible keys, s learned in each head and layer (Nakanishi 2025).

    s starts at one over the mean of ln n in a training word, where attention is as sharp as without it.

    >>> round(float(SSMax(d_model=4, n_heads=1, train_len=1024).s[0, 0].detach()), 3)
    0.168
    """

    Options = SSMaxOptions
    s: nn.Parameter  # (n_layers, n_heads)

    def draw(self, generator: torch.Generator) -> None:
        start = self.train_len / max(math.lgamma(self.train_len + 1), math.log(2))
        self.s = nn.Parameter(torch.full((self.n_layers, self.n_heads), start))

    def scale(self, n: Float[Tensor, "queries"], layer: int) -> Float[Tensor, "n_heads queries 1"]:
        return self.s[layer, :, None, None] * n.log()[:, None]
