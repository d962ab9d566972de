"""CoPE: contextual positions (Golovneva et al. 2024, section 4)."""

from typing import Any

import torch
from torch import nn

from regulargpt.encodings.base import Encoding, Keys, Logits, Positions, Queries
from regulargpt.encodings.options import CopeOptions


class Cope(Encoding):
    """q_m e[p_mn] added to the logits, p_mn = sum_{k=n..m} sigmoid(logit_mk): the keys that the query counts.

    p is cut at p_max - 1, and between whole numbers e is interpolated. The vectors e, p_max for each layer, start at 0.

    Raises `UserError` in a model that is not causal.

    >>> from regulargpt.encodings.base import consecutive
    >>> encoding, q = Cope(d_model=4, n_heads=1), torch.zeros(1, 1, 3, 4)
    >>> encoding.counts(torch.zeros(1, 1, 3, 3), consecutive(q, q))[0, 0]
    tensor([[0.5000, 0.0000, 0.0000],
            [1.0000, 0.5000, 0.0000],
            [1.5000, 1.0000, 0.5000]])
    """

    Options = CopeOptions
    weight: nn.Parameter  # e, (n_layers, p_max, d_head)

    def __init__(self, *, p_max: int = 16, **sizes: Any):
        self.p_max = p_max
        super().__init__(**sizes)

    def draw(self, generator: torch.Generator) -> None:
        self.weight = nn.Parameter(torch.zeros(self.n_layers, self.p_max, self.d_head))

    def score(self, logits: Logits, q: Queries, k: Keys, at: Positions) -> Logits:
        p = self.counts(logits, at)
        low = p.detach().floor().clamp(max=self.p_max - 2)
        whole = q @ self.weight[at.layer].mT  # (batch, n_heads, queries, p_max)
        below, above = whole.gather(-1, low.long()), whole.gather(-1, low.long() + 1)
        return logits + below + (p - low) * (above - below)

    def counts(self, logits: Logits, at: Positions) -> Logits:
        gates = logits.sigmoid().masked_fill(at.distances < 0, 0)
        return gates.flip(-1).cumsum(-1).flip(-1).clamp(max=self.p_max - 1)
