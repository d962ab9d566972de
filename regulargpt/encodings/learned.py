"""Learned absolute positions (Gehring et al. 2017; GPT)."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from languages.errors import UserError
from regulargpt.encodings.base import Encoding
from regulargpt.encodings.options import PUBLISHED, TableOptions


class Learned(Encoding):
    """Row m of a table added to the embedding of the symbol at position m; rows start at N(0, 0.02^2).

    The table has as many rows as a training word has symbols: behind it there is nothing. With beyond="clamp" every
    position behind it has its last row.

    >>> Learned(d_model=4, n_heads=1, train_len=2).embed(torch.zeros(1, 3, 4), torch.arange(3.0))
    Traceback (most recent call last):
    languages.errors.UserError: learned positions end at length 2, not 3; set encoding.beyond = 'clamp'
    """

    Options = TableOptions
    shift_invariant = False
    weight: nn.Parameter  # (train_len, d_model)

    def __init__(self, *, train_len: int = 0, beyond: str = "refuse", **sizes: Any):
        self.rows, self.clamps = train_len or PUBLISHED, beyond == "clamp"
        super().__init__(**sizes)

    def draw(self, generator: torch.Generator) -> None:
        self.weight = nn.Parameter(0.02 * torch.randn(self.rows, self.d_model, generator=generator))

    def embed(
        self, x: Float[Tensor, "batch length d_model"], n: Float[Tensor, "length"]
    ) -> Float[Tensor, "batch length d_model"]:
        if not self.clamps and (length := int(n.max()) + 1) > self.rows:
            raise UserError(f"learned positions end at length {self.rows}, not {length}; set encoding.beyond = 'clamp'")
        return x + self.weight[n.long().clamp(max=self.rows - 1)].to(x.dtype)
