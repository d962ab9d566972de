"""KERPLE: kernelised relative positions (Chi et al. 2022; sections 3.4, 3.5 and 3.7.2 of the thesis).

x = |m - n|. The published code keeps one set of numbers for all layers, one a head, and clamps them (distance.py).
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


class KerplePower(Kernel):
    """-r_1 x^{r_2} added to the logits (Eq. 3.3), r_1 > 0, 0 < r_2 <= 2; r_1 starts at U(0, 1), r_2 at U(0, 2).

    At r_2 = 1 it is ALiBi with learned slopes.

    >>> KerplePower(d_model=8, n_heads=2).r2.shape
    torch.Size([2, 1, 1])
    """

    Options = KernelOptions
    drawn: ClassVar = {"r1": (1.0, inf), "r2": (2.0, 2.0)}
    r1: nn.Parameter  # (n_heads, 1, 1)
    r2: nn.Parameter

    def bias(self, q: Queries, k: Keys, at: Positions) -> Float[Tensor, "1 n_heads queries keys"]:
        x = self.distances(q, at)
        return -(self.r1.to(x) * power(x, self.r2.to(x)))[None]  # (1, n_heads, queries, keys)


class KerpleLog(Kernel):
    """-r_1 ln(1 + r_2 x) added to the logits (Eq. 3.4), r_1, r_2 > 0; r_1 starts at U(0, 2), r_2 at U(0, 1).

    >>> from regulargpt.encodings.base import consecutive
    >>> encoding, q = KerpleLog(d_model=4, n_heads=1), torch.zeros(1, 1, 3, 4)
    >>> with torch.no_grad():
    ...     _ = encoding.r1.fill_(1), encoding.r2.fill_(torch.e - 1)
    >>> encoding.bias(q, q, consecutive(q, q))[0, 0, 1].tolist()
    [-1.0, -0.0, -1.0]
    """

    Options = KernelOptions
    drawn: ClassVar = {"r1": (2.0, inf), "r2": (1.0, inf)}
    r1: nn.Parameter  # (n_heads, 1, 1)
    r2: nn.Parameter

    def bias(self, q: Queries, k: Keys, at: Positions) -> Float[Tensor, "1 n_heads queries keys"]:
        x = self.distances(q, at)
        return -(self.r1.to(x) * torch.log1p(self.r2.to(x) * self.inner(x)))[None]  # (1, n_heads, queries, keys)

    def inner(self, x: Float[Tensor, "queries keys"]) -> Float[Tensor, "*n_heads queries keys"]:
        return x


class KerpleLog3(KerpleLog):
    """-r_1 ln(1 + r_2 x^{r_3}) added to the logits, 0 < r_3 <= 2: the form with three parameters of section 3.7.2.

    The public code does not have it; r_3 starts at U(0, 2).

    >>> sum(p.numel() for p in KerpleLog3(d_model=8, n_heads=2).parameters())
    6
    """

    drawn: ClassVar = KerpleLog.drawn | {"r3": (2.0, 2.0)}
    r3: nn.Parameter  # (n_heads, 1, 1)

    def inner(self, x: Float[Tensor, "queries keys"]) -> Float[Tensor, "n_heads queries keys"]:
        return power(x, self.r3.to(x))


class KerpleBiasWeight(KerplePower):
    """The logits times exp(-r_3 x^{r_4}), then -r_1 x^{r_2} added: "bias+wht" of section 3.7.2, 4 numbers a head.

    r_1 and r_3 start at U(0, 1), r_2 and r_4 at U(0, 2).

    >>> sum(p.numel() for p in KerpleBiasWeight(d_model=12, n_heads=12).parameters())
    48
    """

    drawn: ClassVar = KerplePower.drawn | {"r3": (1.0, inf), "r4": (2.0, 2.0)}
    r3: nn.Parameter  # (n_heads, 1, 1)
    r4: nn.Parameter

    def score(self, logits: Logits, q: Queries, k: Keys, at: Positions) -> Logits:
        x = self.distances(q, at)
        weight = torch.exp(-self.r3.to(x) * power(x, self.r4.to(x)))  # (n_heads, queries, keys)
        return logits * weight.to(logits.dtype)
