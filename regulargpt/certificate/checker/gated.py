"""Gated RegularGPT in balls: RegularGPT whose rows are multiplied by gates before they become values."""

from __future__ import annotations

from regulargpt.certificate.checker.balls import Balls, positive
from regulargpt.certificate.checker.network import Shapes, linear_shapes
from regulargpt.certificate.checker.regulargpt import ATTENTION, RegularGPT

GATES = ATTENTION + "gates."


class GatedRegularGPT(RegularGPT):
    """Values are W_V (g_j * x_j), with gates g = MLP(x_0, ..., x_{C-1}) of all children: C d -> 2 d -> 4 d -> C d."""

    def measure(self) -> None:
        """And the gates'."""
        super().measure()
        self.hidden = max(self.hidden, 4 * self.d, self.C * self.d)

    def shapes(self) -> Shapes:
        """Also the gates."""
        d, C = self.d, self.C
        wide, wider = linear_shapes(GATES + "wide", 2 * d, C * d), linear_shapes(GATES + "wider", 4 * d, 2 * d)
        return super().shapes() | wide | wider | linear_shapes(GATES + "gate", C * d, 4 * d)

    def before_values(self, x: Balls) -> Balls:
        """The rows themselves: a value depends on the window that it is in."""
        return x

    def values(self, before: Balls) -> Balls:
        """The values (n, C, d) of rows (n, C, d), gated."""
        n = len(before)
        x = before.reshape(n, -1)  # (n, C d), the own node first
        hidden = positive(self.linear(GATES + "wider", positive(self.linear(GATES + "wide", x))))  # (n, 4 d)
        gated = (self.linear(GATES + "gate", hidden) * x).reshape(-1, self.d)  # (n C, d)
        return self.linear(ATTENTION + "value", gated).reshape(n, -1, self.d)  # (n, C, d)
