"""Sinusoidal absolute positions (Vaswani et al. 2017, section 3.5)."""

import torch
from jaxtyping import Float
from torch import Tensor

from regulargpt.encodings.base import Encoding

BASE = 10_000.0


def sinusoid(at: Float[Tensor, "length"], width: int) -> Float[Tensor, "length width"]:
    """PE(m, 2i) = sin(m / 10000^(2i/d)), PE(m, 2i+1) = cos(m / 10000^(2i/d)), in the precision of `at`.

    >>> sinusoid(torch.tensor([0.0, 1.0]), 4)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    even = torch.arange(0, width, 2, dtype=at.dtype, device=at.device)
    angle = at[:, None] * BASE ** (-even / width)  # (length, width / 2, rounded up)
    # An odd width has one sine more than cosines: the last cosine is cut off.
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)[:, :width]  # (length, width)


class Sinusoidal(Encoding):
    """p_m added to the embedding of the symbol at position m.

    >>> Sinusoidal(d_model=4, n_heads=1).embed(torch.zeros(1, 2, 4), torch.arange(2.0))
    tensor([[[0.0000, 1.0000, 0.0000, 1.0000],
             [0.8415, 0.5403, 0.0100, 0.9999]]])
    """

    shift_invariant = False

    def embed(
        self, x: Float[Tensor, "batch length d_model"], n: Float[Tensor, "length"]
    ) -> Float[Tensor, "batch length d_model"]:
        return x + sinusoid(n, self.d_model).to(x.dtype)
