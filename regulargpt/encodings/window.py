"""Windowed attention (section 3.3 of the Sandwich paper; section 4.3 of the thesis)."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regulargpt.encodings.base import Encoding, Keys, Positions, Queries
from regulargpt.encodings.options import WindowOptions


class Window(Encoding):
    """0 if m - n < width, else minus infinity: a query sees `width` keys, its own among them.

    R layers see R (width - 1) + 1 symbols; the papers call width R the theoretical receptive field. In a model that is
    not causal the window goes to both sides.

    >>> from regulargpt.encodings.base import consecutive
    >>> q = torch.zeros(1, 1, 3, 4)
    >>> Window(d_model=4, n_heads=1, width=2).bias(q, q, consecutive(q, q))[0, 0, 2]
    tensor([-inf, 0., 0.])
    """

    Options = WindowOptions
    fixed_bias = shared_bias = True

    def __init__(self, *, width: int = 40, **sizes: Any):
        super().__init__(**sizes)
        self.width = width

    @property
    def span(self) -> int | None:
        return self.width if self.causal else None

    def bias(self, q: Queries, k: Keys, at: Positions) -> Float[Tensor, "1 n_heads queries keys"]:
        far = (at.distances if self.causal else at.distances.abs()) >= self.width
        open = torch.zeros(far.shape, dtype=torch.promote_types(q.dtype, torch.float32), device=q.device)
        return open.masked_fill(far, -torch.inf).expand(1, self.n_heads, -1, -1)  # (1, n_heads, queries, keys)
