"""The gates of RegularGPT (`model.gates`): attention decides the mixture, gates multiply what is mixed.

docs/models.md has the formula and what it is good for. The gates are those of Pert et al. 2026, arXiv 2605.26035.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.models.layers import linear
from regulargpt.models.regulargpt.block import WindowAttention


class GatedAttention(WindowAttention):
    """Attention over a window whose values are W_V (g_j * x_j), g = MLP(x_0, ..., x_{C-1})."""

    def __init__(
        self, d_model: int, n_heads: int, chunk_size: int, *, bias: bool, masked: bool, generator: torch.Generator
    ):
        super().__init__(d_model, n_heads, chunk_size, bias=bias, masked=masked, generator=generator)
        self.gates = Gates(d_model, chunk_size, generator)

    def keys_and_values(
        self, x: Float[Tensor, "rows d_model"]
    ) -> tuple[Float[Tensor, "rows d_model"], Float[Tensor, "rows d_model"]]:
        return self.through(self.hook_k, self.key(x)), x

    def values_of(
        self, children: Int[Tensor, "windows C"], values: Float[Tensor, "nodes d_model"]
    ) -> Float[Tensor, "windows C n_heads d_head"]:
        return self.gated(F.embedding(children, values))

    def gated(self, rows: Float[Tensor, "windows C d_model"]) -> Float[Tensor, "windows C n_heads d_head"]:
        return self.hook_v(self.heads(self.value(self.gates(rows) * rows)))


class Gates(nn.Module):
    """A gate for every number of every child, from all children: C d -> 2 d -> 4 d -> C d with ReLU."""

    def __init__(self, d_model: int, chunk_size: int, generator: torch.Generator):
        super().__init__()
        self.wide = linear(chunk_size * d_model, 2 * d_model, generator)
        self.wider = linear(2 * d_model, 4 * d_model, generator)
        self.gate = linear(4 * d_model, chunk_size * d_model, generator)

    def forward(self, rows: Float[Tensor, "windows C d_model"]) -> Float[Tensor, "windows C d_model"]:
        hidden = F.relu(self.wider(F.relu(self.wide(rows.flatten(1)))))
        return self.gate(hidden).view_as(rows)  # (windows, C, d_model)
