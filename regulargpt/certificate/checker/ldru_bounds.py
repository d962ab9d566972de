"""The images of ldru's map when the states under it move in balls."""

from __future__ import annotations

import numpy as np

from regulargpt.certificate.checker.affine_forms import WrittenForm, activation, side_by_side
from regulargpt.certificate.checker.balls import exact
from regulargpt.certificate.checker.image_bounds import CheckedImageBounds
from regulargpt.certificate.checker.ldru import Ldru
from regulargpt.certificate.checker.network import Ints


class CheckedLdruBounds(CheckedImageBounds[Ldru]):
    """An operator over two states, or a single state, then FFN and LayerNorm."""

    def image(self, window: Ints) -> WrittenForm:
        """The new state over (k_0, k_1), or (k_0, 0)."""
        z = self.row(window[0])
        if window[1] > 0:
            z = self.operator(z, self.row(window[1]))
        return self.norm("state_norm", z.plus(self.ffn("ffn.", z, "relu")))

    def operator(self, x: WrittenForm, y: WrittenForm) -> WrittenForm:
        """The vector over x on the left and y on the right."""
        kind, d = self.network.model["operator"], self.network.d
        if kind == "sum":
            return x.plus(y)
        if kind == "linear":
            return self.linear("operator.left", x).plus(self.linear("operator.right", y))
        both = side_by_side([x, y])
        if kind == "gated-sum":
            gate = activation(self.linear("operator.gates", both), "sigmoid")
            return gate.times(x.plus(y.scaled(exact(-np.ones(d))))).plus(y)  # g (x - y) + y
        gated = self.gates(("operator.wide", "operator.wider", "operator.gates"), both).times(both)
        left, right = gated.part(slice(d)), gated.part(slice(d, 2 * d))
        z = self.linear("operator.left", left).plus(self.linear("operator.right", right))
        return self.linear("operator.out", z)
