"""How far from its prototype ldru's image of each window of balls can be."""

from __future__ import annotations

import numpy as np

from regulargpt.certificate.search.affine_forms import AffineForm, side_by_side
from regulargpt.certificate.search.expansion import Expansion
from regulargpt.certificate.search.image_bounds import Floats, ImageBounds, Ints, WindowBatch


class LdruBounds(ImageBounds):
    """Pairs of states, and single states."""

    def bytes_of_window(self) -> int:
        """The gates' hidden layer has 4 d units, and about ten sources of up to 4 d numbers."""
        return 8 * 160 * self.rows.shape[1] ** 2

    def groups(self) -> list[Ints]:
        """Pairs and single states."""
        alone = self.windows[:, 1] == 0
        return [np.flatnonzero(alone), np.flatnonzero(~alone)]

    def batch(self, windows: Ints, targets: Floats) -> WindowBatch:
        """Windows that are all pairs, or all single states."""
        expansion = Expansion(self.network, 2)
        x, y = expansion.children(self.rows, windows)
        z = x if windows[0, 1] == 0 else operator(expansion, self.network.options["operator"], x, y)
        form = expansion.norm("state_norm", z.plus(expansion.ffn("ffn.", z, "relu")))
        return WindowBatch(windows, expansion.steps, *WindowBatch.parts(form, targets, 2))


def operator(expansion: Expansion, kind: str, x: AffineForm, y: AffineForm) -> AffineForm:
    """The vectors over x on the left and y on the right."""
    if kind == "sum":
        return x.plus(y)
    if kind == "linear":
        return expansion.linear("operator.left", x).plus(expansion.linear("operator.right", y))
    both, d = side_by_side([x, y]), x.centre.shape[1]
    if kind == "gated-sum":
        g = expansion.activation("sigmoid", expansion.linear("operator.gates", both), "operator.gates")
        difference = x.plus(y.scaled(-np.ones(d), np.zeros(d)))
        return y.plus(expansion.times(g, difference, "gated"))  # y + g (x - y)
    gates = expansion.gates(("operator.wide", "operator.wider", "operator.gates"), both)
    gated = expansion.times(gates, both, "gated")
    left, right = gated.part(slice(d)), gated.part(slice(d, None))
    z = expansion.linear("operator.left", left).plus(expansion.linear("operator.right", right))
    return expansion.linear("operator.out", z)
