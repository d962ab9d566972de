"""FIRE: functional interpolation for relative positions (Li et al. 2024, section 3)."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regulargpt.encodings.base import Encoding, Keys, Positions, Queries
from regulargpt.encodings.options import PUBLISHED, FireOptions

EPSILON = 1e-6


class Fire(Encoding):
    """f(psi(|m-n|) / psi(max(m, L))), psi(x) = ln(|c x| + 1), added to the logits; one network f for all layers.

    f is a ReLU network of one hidden layer, with an output a head. The argument is at most 1, however long the word. L
    starts as the training length, c at 0.1; both are learned. The published code starts L at 512.

    >>> encoding = Fire(d_model=8, n_heads=2, train_len=64)
    >>> sum(p.numel() for p in encoding.parameters()) == 32 + 32 + 2 * 32 + 2 + 2
    True
    """

    Options = FireOptions
    shared_bias = True
    shift_invariant = False
    c: nn.Parameter  # ()
    L: nn.Parameter  # (), as a multiple of the training length
    w1: nn.Parameter  # (width,)
    b1: nn.Parameter
    w2: nn.Parameter  # (n_heads, width)
    b2: nn.Parameter  # (n_heads,)

    def __init__(self, *, width: int = 32, train_len: int = 0, **sizes: Any):
        self.width, self.train_len = width, train_len or PUBLISHED
        super().__init__(**sizes)

    def draw(self, generator: torch.Generator) -> None:
        """Linear maps from U(-1/sqrt(fan_in), 1/sqrt(fan_in)), as torch's."""

        def uniform(fan_in: int, *shape: int) -> nn.Parameter:
            return nn.Parameter((2 * torch.rand(shape, generator=generator) - 1) / fan_in**0.5)

        self.c, self.L = nn.Parameter(torch.tensor(0.1)), nn.Parameter(torch.tensor(1.0))
        self.w1, self.b1 = uniform(1, self.width), uniform(1, self.width)
        self.w2, self.b2 = uniform(self.width, self.n_heads, self.width), uniform(self.width, self.n_heads)

    def bias(self, q: Queries, k: Keys, at: Positions) -> Float[Tensor, "1 n_heads queries keys"]:
        dtype = torch.promote_types(q.dtype, torch.float32)
        farthest = at.m[:, None] if self.causal else torch.maximum(at.m[:, None], at.n)
        longest = torch.maximum((self.L.to(dtype) * self.train_len).abs(), farthest.to(dtype))
        x = self.psi(at.distances.abs().to(dtype)) / (self.psi(longest) + EPSILON)
        hidden = (x[..., None] * self.w1.to(dtype) + self.b1.to(dtype)).relu()  # (queries, keys, width)
        f = hidden @ self.w2.to(dtype).mT + self.b2.to(dtype)  # (queries, keys, n_heads)
        return f.permute(2, 0, 1)[None]  # (1, n_heads, queries, keys)

    def psi(self, x: Float[Tensor, "queries #keys"]) -> Float[Tensor, "queries #keys"]:
        return (self.c.to(x) * x).abs().log1p()
