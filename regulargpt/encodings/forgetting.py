"""The Forgetting Transformer (Lin et al. 2025, section 3)."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.encodings.base import Encoding, Keys, Logits, Positions, Queries
from regulargpt.encodings.options import ForgettingOptions


class Forgetting(Encoding):
    """sum_{l=n+1..m} ln f_l added to the logits, f_l = sigmoid(w x_l + b) in each head: what was read fades as it goes.

    x is what the attention reads; w and b are learned per layer. A decay like ALiBi's, but the symbols decide on it. w
    starts as N(0, 0.02^2) and b at 0, as in the authors' code.

    Raises `UserError` in a model that is not causal.

    >>> encoding = Forgetting(d_model=4, n_heads=2)
    >>> encoding.prepare(torch.zeros(1, 3, 4), 0)[0, 0]
    tensor([-0.6931, -0.6931], grad_fn=<SelectBackward0>)
    """

    Options = ForgettingOptions
    weight: nn.Parameter  # (n_layers, n_heads, d_model)
    offset: nn.Parameter  # (n_layers, n_heads)

    def __init__(self, *, gate_bias: float = 0.0, **sizes: Any):
        self.gate_bias = gate_bias
        super().__init__(**sizes)

    def draw(self, generator: torch.Generator) -> None:
        drawn = torch.randn(self.n_layers, self.n_heads, self.d_model, generator=generator)
        self.weight = nn.Parameter(0.02 * drawn)
        self.offset = nn.Parameter(torch.full((self.n_layers, self.n_heads), self.gate_bias))

    def prepare(self, x: Float[Tensor, "batch length d_model"], layer: int) -> Float[Tensor, "batch length n_heads"]:
        gates = F.linear(x, self.weight[layer], self.offset[layer])
        return F.logsigmoid(gates.to(torch.promote_types(x.dtype, torch.float32)))

    def bias(self, q: Queries, k: Keys, at: Positions) -> Logits:
        assert at.state is not None
        return faded(at.state, len(at.m))


def faded(gates: Float[Tensor, "batch keys n_heads"], n_queries: int) -> Float[Tensor, "batch n_heads queries keys"]:
    """The sum of logarithms of gates over the symbols behind n up to m: a difference of two sums.

    >>> faded(torch.tensor([[[-1.0], [-2.0], [-4.0]]]), 1)
    tensor([[[[-6., -4.,  0.]]]])
    """
    # In float64, since the difference of two long sums would lose the digits of a short sum.
    c = gates.double().cumsum(1).transpose(1, 2)  # (batch, n_heads, keys)
    bias = c[..., -n_queries:, None] - c[..., None, :]  # (batch, n_heads, queries, keys)
    return bias.to(gates.dtype)
