"""Rotary positions (RoFormer: Su et al. 2021, Eqs. 15 and 34)."""

import torch
from jaxtyping import Float
from torch import Tensor

from languages.errors import UserError
from regulargpt.encodings.base import Encoding, Positions

BASE = 10_000.0


def rotate(x: Float[Tensor, "*rows length width"], angle: Float[Tensor, "length pairs"]) -> Tensor:
    """Turn each pair (x_{2i}, x_{2i+1}) by its angle (the paper's interleaved pairs, not halves).

    >>> rotate(torch.tensor([[1.0, 0.0]]), torch.tensor([[torch.pi / 2]])).round(decimals=4)
    tensor([[-0., 1.]])
    """
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1)  # (*rows, length, pairs, 2)
    return turned.flatten(-2)  # (*rows, length, width)


class Rotary(Encoding):
    """Query m and key n turned by m theta_i and n theta_i, theta_i = 10000^(-2i/d).

    Their product depends on the positions through m - n alone.

    Raises `UserError` where the width of a head, d_model / n_heads, is odd.

    >>> from regulargpt.encodings.base import consecutive
    >>> q = torch.ones(1, 1, 5, 4)
    >>> q, k = Rotary(d_model=4, n_heads=1).rotate(q, q, consecutive(q, q))
    >>> logits = q @ k.mT
    >>> bool(logits[0, 0, 1, 0].isclose(logits[0, 0, 4, 3]))
    True
    """

    def draw(self, generator: torch.Generator) -> None:
        """No parameters, but a width that must come in pairs."""
        if self.d_head % 2:
            raise UserError(
                f"rotary needs heads of even width, d_model / n_heads = {self.d_model} / {self.n_heads} "
                f"= {self.d_head}; change d_model or n_heads"
            )

    def rotate(
        self,
        q: Float[Tensor, "batch n_heads queries d_head"],
        k: Float[Tensor, "batch n_heads keys d_head"],
        at: Positions,
    ) -> tuple[Float[Tensor, "batch n_heads queries d_head"], Float[Tensor, "batch n_heads keys d_head"]]:
        """R_m q_m and R_n k_n."""
        theta = BASE ** -(torch.arange(0, self.d_head, 2, dtype=torch.float64, device=q.device) / self.d_head)
        # Angles in float64: near position 100,000, numbers in float32 are 0.008 apart.
        return rotate(q, at.m[:, None] * theta), rotate(k, at.n[:, None] * theta)
