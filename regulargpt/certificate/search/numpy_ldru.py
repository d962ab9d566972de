"""The LDRU in numpy and float64."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from regulargpt.certificate.search.numpy_network import Floats, Ints, NumpyNetwork, relu, sigmoid


class NumpyLdru(NumpyNetwork):
    """ldru's maps: leaves, the operator over two nodes, or a single node, then FFN and LayerNorm."""

    def __init__(self, weights: Mapping[str, Floats], model: Mapping[str, Any]):
        super().__init__(weights, model)
        embedded = self.norm("embedding_norm", weights["embedding.weight"])
        self.absent = np.zeros_like(embedded[:1])
        self.symbols = np.concatenate([self.absent, embedded + self.ffn("embedding_ffn.", embedded, "relu")])

    def merge(self, rows: Floats, windows: Ints) -> Floats:
        """The new states (n, d) over pairs of rows, or over a single row, whose neighbour is 0."""
        x, y = (rows[column] for column in windows.T)
        z = np.where(windows[:, 1:] > 0, self.operator(x, y), x)
        return self.norm("state_norm", z + self.ffn("ffn.", z, "relu"))

    def operator(self, x: Floats, y: Floats) -> Floats:
        """The vectors over x on the left and y on the right."""
        kind, both = self.model["operator"], np.concatenate([x, y], 1)  # (n, 2 d)
        if kind == "mlp":
            hidden = relu(self.linear("operator.wider", relu(self.linear("operator.wide", both))))
            left, right = np.split(self.linear("operator.gates", hidden) * both, 2, axis=1)
            z = self.linear("operator.left", left) + self.linear("operator.right", right)
            return self.linear("operator.out", z)
        if kind == "gated-sum":
            g = sigmoid(self.linear("operator.gates", both))
            return g * x + (1 - g) * y
        return x + y if kind == "sum" else self.linear("operator.left", x) + self.linear("operator.right", y)
