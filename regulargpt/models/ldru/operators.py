"""The operators of ldru: the states of two neighbouring nodes become one vector."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.models.layers import linear
from regulargpt.models.ldru.layers import fan_average, identity


class MlpOperator(nn.Module):
    """z = D(A(g_x * x) + B(g_y * y)) with gates (g_x, g_y) = MLP(x, y): 2 d -> 2 d -> 4 d -> 2 d with ReLU.

    A, B and D start as the identity: the operator begins as a gated sum. Source: Pert et al. 2026, MLP-LDRU.
    """

    def __init__(self, d_model: int, generator: torch.Generator):
        super().__init__()
        self.wide = fan_average(2 * d_model, 2 * d_model, generator)
        self.wider = fan_average(2 * d_model, 4 * d_model, generator)
        self.gates = fan_average(4 * d_model, 2 * d_model, generator)
        self.left, self.right, self.out = (identity(d_model) for _ in "ABD")

    def forward(self, x: Float[Tensor, "n d_model"], y: Float[Tensor, "n d_model"]) -> Float[Tensor, "n d_model"]:
        hidden = F.relu(self.wider(F.relu(self.wide(torch.cat([x, y], -1)))))
        g_x, g_y = self.gates(hidden).chunk(2, -1)
        return self.out(self.left(g_x * x) + self.right(g_y * y))


class GatedSumOperator(nn.Module):
    """z = g * x + (1 - g) * y with g = sigmoid(W (x, y) + b)."""

    def __init__(self, d_model: int, generator: torch.Generator):
        super().__init__()
        self.gates = linear(2 * d_model, d_model, generator)

    def forward(self, x: Float[Tensor, "n d_model"], y: Float[Tensor, "n d_model"]) -> Float[Tensor, "n d_model"]:
        g = self.gates(torch.cat([x, y], -1)).sigmoid()
        return g * x + (1 - g) * y


class SumOperator(nn.Module):
    """z = x + y, which forgets the order of the two."""

    def __init__(self, d_model: int, generator: torch.Generator):
        super().__init__()

    def forward(self, x: Float[Tensor, "n d_model"], y: Float[Tensor, "n d_model"]) -> Float[Tensor, "n d_model"]:
        return x + y


class LinearOperator(nn.Module):
    """z = A x + B y."""

    def __init__(self, d_model: int, generator: torch.Generator):
        super().__init__()
        self.left, self.right = (linear(d_model, d_model, generator) for _ in "AB")

    def forward(self, x: Float[Tensor, "n d_model"], y: Float[Tensor, "n d_model"]) -> Float[Tensor, "n d_model"]:
        return self.left(x) + self.right(y)


OPERATORS = {"mlp": MlpOperator, "gated-sum": GatedSumOperator, "sum": SumOperator, "linear": LinearOperator}
