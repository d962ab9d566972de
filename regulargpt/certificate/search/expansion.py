"""The layers of a network on affine forms, and the steps that bound what they leave, in the order of the network."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from regulargpt.certificate.search.affine_forms import AffineForm, Coordinates, Floats, Lengths, Source
from regulargpt.certificate.search.remainders import activation, layer_norm, product
from regulargpt.finite.float64_network import Float64Network, Ints

# The length (n,) of a source, or of each coordinate (n, k), for radii (n, C) of the children and the sources before it.
Step = Callable[[Floats, Lengths], Floats]


class Expansion:
    """Forms over windows of C children, which are the sources 0 .. C-1; `steps` bound all other sources."""

    def __init__(self, network: Float64Network, C: int):
        self.network, self.w, self.C = network, network.w, C
        self.steps: dict[Source, Step] = {}

    def children(self, rows: Floats, windows: Ints) -> list[AffineForm]:
        """The states of windows (n, C) of rows, each in its ball."""
        eye = np.eye(rows.shape[1])[None]
        return [AffineForm(rows[column], {c: eye}) for c, column in enumerate(windows.T)]

    def linear(self, name: str, x: AffineForm) -> AffineForm:
        """W x + b."""
        return x.linear(self.w[f"{name}.weight"], self.w.get(f"{name}.bias", 0.0))

    def norm(self, name: str, x: AffineForm, source: str = "") -> AffineForm:
        """LayerNorm with gain and bias."""
        source = source or name
        x, self.steps[source] = layer_norm(x, source, self.C)
        return x.scaled(self.w[f"{name}.weight"], self.w[f"{name}.bias"])

    def activation(self, kind: str, x: AffineForm, source: str = "activation") -> AffineForm:
        """GELU, ReLU or sigmoid."""
        own = Coordinates(source)
        x, self.steps[own] = activation(x, kind, own)
        return x

    def ffn(self, block: str, x: AffineForm, kind: str) -> AffineForm:
        """The two-layer network of a block, without a residual."""
        return self.linear(f"{block}ff_out", self.activation(kind, self.linear(f"{block}ff_in", x)))

    def gates(self, layers: tuple[str, str, str], x: AffineForm) -> AffineForm:
        """A network of three layers with ReLU."""
        for name in layers[:2]:
            x = self.activation("relu", self.linear(name, x), name)
        return self.linear(layers[2], x)

    def times(self, x: AffineForm, y: AffineForm, source: str) -> AffineForm:
        """The product, coordinate by coordinate."""
        own = Coordinates(source)
        x, self.steps[own] = product(x, y, own)
        return x
