"""Gated RegularGPT: attention decides the mixture, and gates computed from the whole window multiply what is mixed.

The thesis's block adds up one linear map of each child. Here child j is first multiplied, number by number, by a gate
that depends on all children. With gates the network composes the states of large monoids from final answers alone,
where attention by itself does not (docs/certificate.md). The gates are those of Pert et al. 2026, arXiv 2605.26035.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from languages.errors import UserError
from regulargpt.models.layers import Readout, linear
from regulargpt.models.regulargpt.block import Attention, Block
from regulargpt.models.regulargpt.model import Computation, RegularGPT


class GatedAttention(Attention):
    """Attention over a window whose values are W_V (g_j * x_j), g = MLP(x_0, ..., x_{C-1})."""

    reads_window = True

    def __init__(
        self, d_model: int, n_heads: int, chunk_size: int, *, bias: bool, masked: bool, generator: torch.Generator
    ):
        super().__init__(d_model, n_heads, chunk_size, bias=bias, masked=masked, generator=generator)
        self.gates = Gates(d_model, chunk_size, generator)

    def keys_and_values(
        self, x: Float[Tensor, "rows d_model"]
    ) -> tuple[Float[Tensor, "rows d_model"], Float[Tensor, "rows d_model"]]:
        """The keys, and the rows themselves: a value depends on the window that it is in."""
        keys = self.key(x)
        if self.hook_k.listened_to():
            keys = self.hook_k(self.heads(keys)).flatten(-2)  # (rows, d_model)
        return keys, x

    def values_of(
        self, children: Int[Tensor, "windows C"], values: Float[Tensor, "nodes d_model"]
    ) -> Float[Tensor, "windows C n_heads d_head"]:
        """The values of each window's nodes, gated."""
        rows = F.embedding(children, values)  # (windows, C, d_model)
        return self.hook_v(self.heads(self.value(self.gates(rows) * rows)))


class Gates(nn.Module):
    """A gate for every number of every child, from all children: C d -> 2 d -> 4 d -> C d with ReLU."""

    def __init__(self, d_model: int, chunk_size: int, generator: torch.Generator):
        super().__init__()
        self.wide = linear(chunk_size * d_model, 2 * d_model, generator)
        self.wider = linear(2 * d_model, 4 * d_model, generator)
        self.gate = linear(4 * d_model, chunk_size * d_model, generator)

    def forward(self, rows: Float[Tensor, "windows C d_model"]) -> Float[Tensor, "windows C d_model"]:
        """The gates of windows."""
        hidden = F.relu(self.wider(F.relu(self.wide(rows.flatten(1)))))
        return self.gate(hidden).view_as(rows)  # (windows, C, d_model)


class GatedBlock(Block):
    """The block with gated attention."""

    attention = GatedAttention


class GatedRegularGPT(RegularGPT):
    """RegularGPT with gates: its options, but for the ablations of the mask and the pad.

    >>> model = GatedRegularGPT(2, 2, chunk_size=3, d_model=16, n_heads=2, d_ff=32)
    >>> words = torch.tensor([[0, 1, 1, 0, 1]])
    >>> torch.allclose(model(words), model(words, readout="all")[:, -1], atol=1e-6)
    True
    """

    block = GatedBlock

    def __init__(self, n_symbols: int, n_outputs: int, **options: object):
        for name, usual in (("pad", "learned"), ("attention", "dilated")):
            if options.get(name, usual) != usual:
                raise UserError(f"{name} = {options[name]!r}: gates need {name} = {usual!r}")
        super().__init__(n_symbols, n_outputs, **options)  # type: ignore[arg-type]

    def forward(
        self, words: Int[Tensor, "batch length"], readout: Readout = "last", computation: Computation = "auto"
    ) -> Float[Tensor, "batch n_outputs"] | Float[Tensor, "batch length n_outputs"]:
        """Logits of the answer at the last position, or at every position; Eq. (6.1) has no gates, so not `dense`."""
        if computation == "dense":
            raise UserError("computation = 'dense' is Eq. (6.1), which has no gates; choose 'tree' or 'every'")
        return super().forward(words, readout, computation)
