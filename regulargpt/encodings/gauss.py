"""The Gaussian-like kernels of the thesis (section 3.7.3): sums with the logits, and products with them.

x = |m - n|; all exponents lie in (0, 2]. The public code has the products alone. The sums start as KERPLE-log does:
the height r_1 at U(0, 2), what stands within at U(0, 1).
"""

from __future__ import annotations

from math import inf
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regulargpt.encodings.base import Keys, Logits, Positions, Queries
from regulargpt.encodings.distance import Kernel, power
from regulargpt.encodings.options import KernelOptions


class GaussBias2(Kernel):
    """+r_1 exp(-r_2 x^2) added to the logits.

    >>> sum(p.numel() for p in GaussBias2(d_model=8, n_heads=2).parameters())
    4
    """

    Options = KernelOptions
    drawn: ClassVar = {"r1": (2.0, inf), "r2": (1.0, inf)}
    r1: nn.Parameter  # (n_heads, 1, 1)
    r2: nn.Parameter

    def bias(self, q: Queries, k: Keys, at: Positions) -> Float[Tensor, "1 n_heads queries keys"]:
        x = self.distances(q, at)
        return (self.r1.to(x) * torch.exp(-self.r2.to(x) * self.inner(x)))[None]  # (1, n_heads, queries, keys)

    def inner(self, x: Float[Tensor, "queries keys"]) -> Float[Tensor, "*n_heads queries keys"]:
        return x * x


class GaussBias3(GaussBias2):
    """+r_1 exp(-r_2 x^{r_3}) added to the logits; r_3 starts at U(0, 2).

    >>> sum(p.numel() for p in GaussBias3(d_model=8, n_heads=2).parameters())
    6
    """

    drawn: ClassVar = GaussBias2.drawn | {"r3": (2.0, 2.0)}
    r3: nn.Parameter  # (n_heads, 1, 1)

    def inner(self, x: Float[Tensor, "queries keys"]) -> Float[Tensor, "n_heads queries keys"]:
        return power(x, self.r3.to(x))


class GaussWeight1(Kernel):
    """The logits times exp(-r_1 x^2); r_1 starts at U(0, 1).

    >>> sum(p.numel() for p in GaussWeight1(d_model=8, n_heads=2).parameters())
    2
    """

    Options = KernelOptions
    drawn: ClassVar = {"r1": (1.0, inf)}
    r1: nn.Parameter  # (n_heads, 1, 1)

    def score(self, logits: Logits, q: Queries, k: Keys, at: Positions) -> Logits:
        x = self.distances(q, at)
        return logits * torch.exp(-self.r1.to(x) * self.inner(x)).to(logits.dtype)

    def inner(self, x: Float[Tensor, "queries keys"]) -> Float[Tensor, "*n_heads queries keys"]:
        return x * x


class GaussWeight2(GaussWeight1):
    """The logits times exp(-r_1 x^{r_2}), "2-para-wht"; r_2 starts at U(0, 2).

    >>> sum(p.numel() for p in GaussWeight2(d_model=8, n_heads=2).parameters())
    4
    """

    drawn: ClassVar = GaussWeight1.drawn | {"r2": (2.0, 2.0)}
    r2: nn.Parameter  # (n_heads, 1, 1)

    def inner(self, x: Float[Tensor, "queries keys"]) -> Float[Tensor, "n_heads queries keys"]:
        return power(x, self.r2.to(x))
