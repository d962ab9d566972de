"""The LDRU in balls: a binary tree, counted from the left, of an operator and an FFN.

* is number by number, LN as in regulargpt.py, FFN(x) = x + W_out ReLU(W_in x + b_in) + b_out.

    leaf of symbol a          FFN_embedding(LN_embedding(embedding[a]))
    x without a neighbour     LN_state(FFN(x))
    x left of y               LN_state(FFN(z)), where
        mlp                z = out(left(g_x * x) + right(g_y * y)),  (g_x, g_y) = gates(ReLU(wider(ReLU(wide(x, y)))))
        gated-sum          z = g * x + (1 - g) * y,  g = sigmoid(gates(x, y))
        sum; linear        z = x + y;  z = left(x) + right(y)
    logits = W x + b
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from regulargpt.certificate.checker.balls import Balls, exact, joined, positive
from regulargpt.certificate.checker.files import Floats, Malformed
from regulargpt.certificate.checker.network import Ints, Network, Shapes, linear_shapes, norm_shapes, sigmoid


class Ldru(Network):
    """Windows are (k_0, k_1), the left node first, or (k_0, 0): row 0 is never read."""

    SIZES, CHOICES = ("d_model",), {"operator": ("mlp", "gated-sum", "sum", "linear"), "tree": ("flat", "nested")}
    UNREAD = ("dropout", "state_noise", "noise_loss", "noise_growth")
    aligned, C = "left", 2

    def __init__(self, weights: Mapping[str, Floats], record: object):
        super().__init__(weights, record)
        self.absent = exact(np.zeros((1, self.d)))
        leaves = self.with_ffn("embedding_ffn.", self.norm("embedding_norm", self.w["embedding.weight"]))
        self.symbols = np.concatenate([self.absent, leaves])

    def measure(self) -> None:
        if self.d < 1:
            raise Malformed("config.json: the sizes are not those of a network")
        self.hidden = self.widest = 4 * self.d

    def shapes(self) -> Shapes:
        d = self.d
        shapes = {"embedding.weight": (len(self.alphabet), d)} | norm_shapes(["embedding_norm", "state_norm"], d)
        for ffn in ("embedding_ffn.", "ffn."):
            shapes |= linear_shapes(ffn + "ff_in", 4 * d, d) | linear_shapes(ffn + "ff_out", d, 4 * d)
        for name, (n_out, n_in) in self.operator_shapes().items():
            shapes |= linear_shapes(f"operator.{name}", n_out, n_in)
        return shapes | linear_shapes("readout", len(self.output_names), d)

    def operator_shapes(self) -> dict[str, tuple[int, int]]:
        """The linear layers of the operator."""
        d = self.d
        pair = {"left": (d, d), "right": (d, d)}
        mlp = {"wide": (2 * d, 2 * d), "wider": (4 * d, 2 * d), "gates": (2 * d, 4 * d), "out": (d, d), **pair}
        layers = {"mlp": mlp, "gated-sum": {"gates": (d, 2 * d)}, "sum": {}, "linear": pair}
        return layers[self.model["operator"]]

    def project(self, rows: Balls) -> Balls:
        return rows

    def merge(self, projected: Balls, windows: Ints) -> Balls:
        """The states (n, d) over pairs of rows, or over a single row, whose neighbour is 0."""
        z, paired = projected[windows[:, 0]], windows[:, 1] > 0
        if paired.any():
            z[paired] = self.operator(z[paired], projected[windows[paired, 1]])
        return self.norm("state_norm", self.with_ffn("ffn.", z))

    def with_ffn(self, block: str, x: Balls) -> Balls:
        return x + self.ffn(block, x, "relu")

    def operator(self, x: Balls, y: Balls) -> Balls:
        """The vectors (n, d) over x on the left and y on the right."""
        kind, both = self.model["operator"], joined([x, y], 1)  # (n, 2 d)
        if kind == "mlp":
            hidden = positive(self.linear("operator.wider", positive(self.linear("operator.wide", both))))
            gated = self.linear("operator.gates", hidden) * both  # (n, 2 d)
            x, y = gated[:, : self.d], gated[:, self.d :]
            return self.linear("operator.out", self.linear("operator.left", x) + self.linear("operator.right", y))
        if kind == "gated-sum":
            g = sigmoid(self.linear("operator.gates", both))
            return g * x + (1 - g) * y
        return x + y if kind == "sum" else self.linear("operator.left", x) + self.linear("operator.right", y)
