"""Attention with linear biases (Press et al. 2022, section 3; Eq. 4.3 of the thesis)."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regulargpt.encodings.base import Keys, Positions, Queries
from regulargpt.encodings.distance import DistanceEncoding
from regulargpt.encodings.options import AlibiOptions


def geometric(n_heads: int) -> Float[Tensor, "n_heads"]:
    """2^(-8n/H) for n = 1..H (Eq. 4.3); for H a power of two also what the ALiBi paper prints.

    >>> geometric(8)[:3]
    tensor([0.5000, 0.2500, 0.1250], dtype=torch.float64)
    """
    return 2.0 ** -(8.0 / n_heads * torch.arange(1, n_heads + 1, dtype=torch.float64))


def press(n_heads: int) -> Float[Tensor, "n_heads"]:
    """As the published code: those of the largest power of two P <= H, then every second one of 2P heads.

    >>> [-int(2 * e) / 2 for e in press(12).log2()]
    [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 0.5, 1.5, 2.5, 3.5]
    """
    power = 1 << (n_heads.bit_length() - 1)
    return torch.cat([geometric(power), geometric(2 * power)[0::2][: n_heads - power]])


def equal(n_heads: int) -> Float[Tensor, "n_heads"]:
    """1 in every head: with a shift h, the slopes 2^-h of the Sandwich paper's section 4.2.

    >>> equal(2)
    tensor([1., 1.], dtype=torch.float64)
    """
    return torch.ones(n_heads, dtype=torch.float64)


SLOPES = {"geometric": geometric, "press": press, "equal": equal}


class Alibi(DistanceEncoding):
    """-|m - n| 2^-(h + shift) added to the logits: Eq. 4.3 in a causal model, its symmetric form in another.

    It is added behind the division by sqrt(d_head), as in the published code, not before it as in Eq. 4.3.

    >>> from regulargpt.encodings.base import consecutive
    >>> q = torch.zeros(1, 1, 3, 4)
    >>> Alibi(d_model=4, n_heads=1).bias(q, q, consecutive(q, q))[0, 0] * 256
    tensor([[-0., -1., -2.],
            [-1., -0., -1.],
            [-2., -1., -0.]])
    """

    Options = AlibiOptions
    fixed_bias = True

    def __init__(self, *, slopes: str = "geometric", shift: float = 0.0, **sizes: Any):
        super().__init__(**sizes)
        self.slopes = SLOPES[slopes](self.n_heads) * 2.0**-shift

    def bias(self, q: Queries, k: Keys, at: Positions) -> Float[Tensor, "1 n_heads queries keys"]:
        x = self.distances(q, at)
        return -self.slopes.to(x)[None, :, None, None] * x  # (1, n_heads, queries, keys)
