"""xPos: rotary positions that decay (Sun et al. 2022, section 3.2, Eqs. 8-12 and Algorithm 1)."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regulargpt.encodings.base import Keys, Positions, Queries
from regulargpt.encodings.options import XposOptions
from regulargpt.encodings.rotary import Rotary


class Xpos(Rotary):
    """Rotary, with the pairs of query m times zeta_i^((m-c)/B) and those of key n times zeta_i^(-(n-c)/B).

    zeta_i = (2i/D + gamma)/(1 + gamma), B = `scale_base`. Their product has zeta_i^((m-n)/B): the centre c cancels. It
    is the middle of the keys' positions, in a single call the same for queries and keys, so that no factor grows large.

    Raises `UserError` in a model that is not causal, and where the width of a head is odd.

    >>> encoding = Xpos(d_model=32, n_heads=1)
    >>> encoding.zeta[[0, -1]]
    tensor([0.2857, 0.9554], dtype=torch.float64)
    """

    Options = XposOptions

    def __init__(
        self,
        *,
        gamma: float = 0.4,
        scale_base: float = 512.0,
        zeta: str = "pairs",
        rotate: bool = True,
        **sizes: Any,
    ):
        super().__init__(**sizes)
        pairs = torch.arange(0, self.d_head, 2, dtype=torch.float64) / self.d_head
        self.zeta = ((pairs if zeta == "pairs" else 0 * pairs) + gamma) / (1 + gamma)
        self.scale_base, self.turns = scale_base, rotate

    def rotate(self, q: Queries, k: Keys, at: Positions) -> tuple[Queries, Keys]:
        """Turned, and scaled about the middle of the keys' positions."""
        if self.turns:
            q, k = super().rotate(q, k, at)
        centre = (at.n[0] + at.n[-1]) / 2
        return q * self.decay(at.m - centre, q), k * self.decay(centre - at.n, k)

    def decay(self, steps: Float[Tensor, "length"], x: Tensor) -> Float[Tensor, "length d_head"]:
        zeta = self.zeta.to(steps.device) ** (steps[:, None] / self.scale_base)
        return zeta.repeat_interleave(2, -1).to(x.dtype)  # (length, d_head)
