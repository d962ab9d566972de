"""Where a network's map can bring its image when the states under it move in balls: what all networks share."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
from flint import arb

from regulargpt.certificate.checker.affine_forms import ErrorSource, TooFar, WrittenForm, activation, layer_norm
from regulargpt.certificate.checker.balls import Balls, constant, norm
from regulargpt.certificate.checker.network import Ints, Network

Kind = TypeVar("Kind", bound=Network)


class CheckedImageBounds(Generic[Kind]):
    """The map over windows of states that move in balls of `radii` (K,) around `prototypes` (K, d).

    Rows of windows are 0, what is absent, the prototypes, and of trees that follow brackets the symbols.
    """

    def __init__(self, network: Kind, prototypes: Any, radii: Balls):
        self.network, self.prototypes, self.radii = network, prototypes, radii
        self.eye = constant(np.eye(network.d), prototypes)

    def work(self) -> int:
        """About how many multiplications the image of a window takes: each weight meets the d columns of C children."""
        return self.network.work() * self.network.d

    def image(self, window: Ints) -> WrittenForm:
        """The new state over a window (C,) of rows, 0 absent. Raises TooFar where nothing follows for it."""
        raise NotImplementedError

    def distance(self, window: Ints, image: int) -> arb:
        """At most how far the new state lies from the prototype `image`, from 1; infinite where nothing follows."""
        try:
            state = self.image(window)
        except TooFar:
            return arb("inf")
        return norm(state.centre - self.prototypes[image - 1]) + state.deviation

    def row(self, row: int) -> WrittenForm:
        """A prototype in its ball, each time another vector there; or row 0 or a symbol, which do not move."""
        if row == 0:
            return WrittenForm(self.network.absent[0], {})
        if row > len(self.prototypes):
            return WrittenForm(self.network.symbols[row - len(self.prototypes)], {})
        return WrittenForm(self.prototypes[row - 1], {ErrorSource(self.radii[row - 1]): self.eye})

    def norm(self, name: str, x: WrittenForm) -> WrittenForm:
        """LayerNorm with gain and bias."""
        return layer_norm(x).scaled(self.network.w[f"{name}.weight"], self.network.w[f"{name}.bias"])

    def linear(self, name: str, x: WrittenForm) -> WrittenForm:
        return x.linear(self.network.w[f"{name}.weight"], self.network.w.get(f"{name}.bias", arb(0)))

    def ffn(self, block: str, x: WrittenForm, kind: str) -> WrittenForm:
        """The two-layer network of a block, without a residual."""
        return self.linear(f"{block}ff_out", activation(self.linear(f"{block}ff_in", x), kind))

    def gates(self, layers: tuple[str, str, str], x: WrittenForm) -> WrittenForm:
        """A network of three layers with ReLU."""
        for name in layers[:2]:
            x = activation(self.linear(name, x), "relu")
        return self.linear(layers[2], x)
