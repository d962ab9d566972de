"""Sandwich (Chi et al. 2023, section 6.1 and appendix E; sections 4.6 and 4.9.5 of the thesis), and its smooth form."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regulargpt.encodings.base import Keys, Positions, Queries
from regulargpt.encodings.distance import DistanceEncoding
from regulargpt.encodings.options import SandwichOptions, SmoothOptions
from regulargpt.encodings.sinusoidal import BASE

# y = -a ln(1 + x) - b at h = 8; b shifts whole rows, which the softmax does not see.
FITS = {"figure": 0.825, "nearest": 1.024}


def exponents(n_heads: int) -> Float[Tensor, "n_heads"]:
    """h_n = 8n/H for n = 1..H, by which the bias of head n is divided.

    >>> exponents(4)
    tensor([2., 4., 6., 8.], dtype=torch.float64)
    """
    return 8 / n_heads * torch.arange(1, n_heads + 1, dtype=torch.float64)


class Sandwich(DistanceEncoding):
    """(sum_i cos(x / 10000^(2i/d_bar)) - d_bar/2) / h_n, x = |m - n|: the product of two sinusoids, and no parameters.

    The subtraction makes it 0 at x = 0. It is not monotone: from x = 11 to 12 it rises.

    >>> encoding = Sandwich(d_model=8, n_heads=8)
    >>> [round(y, 3) for y in (encoding.at_distances(5) / 8).tolist()]
    [0.0, -0.238, -0.827, -1.477, -1.927]
    """

    Options = SandwichOptions
    fixed_bias = True

    def __init__(self, *, d_bar: int = 128, first_index: int = 0, **sizes: Any):
        super().__init__(**sizes)
        i = torch.arange(d_bar // 2, dtype=torch.float64) + first_index
        self.frequencies = BASE ** (-2 * i / d_bar)
        self.table = torch.empty(0, dtype=torch.float64)

    def bias(self, q: Queries, k: Keys, at: Positions) -> Float[Tensor, "1 n_heads queries keys"]:
        x = self.distances(q, at)
        scaled = self.at_distances(int(x.max()) + 1).to(x.device) / exponents(self.n_heads).to(x.device)[:, None]
        return scaled.to(x)[None, :, x.long()]  # (1, n_heads, queries, keys)

    def at_distances(self, count: int) -> Float[Tensor, "count"]:
        """What stands above h_n, for x = 0, 1, ..., count - 1; a table of a power of two is kept from call to call."""
        if len(self.table) < count:
            # A tensor made in inference mode could not be used in training later.
            with torch.inference_mode(False):
                x = torch.arange(1 << (count - 1).bit_length(), dtype=torch.float64)
                # One cosine at a time: (count, d_bar / 2) numbers would be many.
                self.table = sum((torch.cos(x * w) - 1 for w in self.frequencies), torch.zeros_like(x))
        return self.table[:count]


class SandwichSmooth(DistanceEncoding):
    """-8 a ln(1 + x) / h_n: the smooth curve through Sandwich, a = 0.825 (Fig. 9) or 1.024 (the nearest 50 distances).

    It is KERPLE-log with r_1 = 8a/h_n and r_2 = 1 (section 6.3). The paper's -8b/h_n, the same for all keys of a query,
    is left out: the softmax does not see it.

    >>> from regulargpt.encodings.base import consecutive
    >>> q = torch.zeros(1, 1, 2, 4)
    >>> SandwichSmooth(d_model=4, n_heads=1).bias(q, q, consecutive(q, q))[0, 0]
    tensor([[-0.0000, -0.5718],
            [-0.5718, -0.0000]])
    """

    Options = SmoothOptions
    fixed_bias = True

    def __init__(self, *, fit: str = "figure", **sizes: Any):
        super().__init__(**sizes)
        self.slopes = 8 * FITS[fit] / exponents(self.n_heads)

    def bias(self, q: Queries, k: Keys, at: Positions) -> Float[Tensor, "1 n_heads queries keys"]:
        x = self.distances(q, at)
        return -self.slopes.to(x)[None, :, None, None] * x.log1p()  # (1, n_heads, queries, keys)
