"""S4D (Gu et al. 2022), one step of it.

Each channel of x (d_model) has n = d_state / 2 complex numbers h. In each,

    alpha = -e^a_log + i a_imag,  t = e^dt_log,  a = e^(t alpha)
    h' = a h + (a - 1) / alpha x,  y = 2 Re(sum c h') + d x
    mixer(x) = p * s(q),  (p, q) = halves of out gelu(y),  s(x) = 1 / (1 + e^-x)

c is pairs (d_model, n, 2); out has a bias. A block carries h as pairs (d_model, n, 2).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import acb, arb

from regulargpt.certificate.checker.chain_mixing import Mixing, alike, complex_product, halves
from regulargpt.certificate.checker.files import Malformed
from regulargpt.certificate.checker.network import Shapes, gelu, linear_shapes, sigmoid


class S4d(Mixing):
    """A sum over the word, which fades."""

    SIZES = (*Mixing.SIZES, "d_state")

    def measure(self) -> None:
        self.n = self.model["d_state"] // 2
        if self.n < 1 or self.model["d_state"] % 2:
            raise Malformed("config.json: the sizes are not those of a network")
        super().measure()

    def mixer_shapes(self, layer: int) -> Shapes:
        d, n = self.d, self.n
        found: Shapes = {"dt_log": (d,), "a_log": (d, n), "a_imag": (d, n), "c": (d, n, 2), "d": (d,)}
        return found | linear_shapes("out", 2 * d, d)

    def parts(self, layer: int) -> list[tuple[int, ...]]:
        return [(self.d, self.n, 2)]

    def mixed(self, layer: int, x: Any, carried: list[Any]) -> tuple[Any, list[Any]]:
        name = f"blocks.{layer}.mixer."
        (a_re, a_im), b = self.factors(name, x)
        h = complex_product(a_re, a_im, carried[0]) + b * x[..., None, None]
        both = self.w[f"{name}c"] * h
        y = 2 * (both[..., 0] - both[..., 1]).sum(-1) + self.w[f"{name}d"] * x
        p, q = halves(self.linear(f"{name}out", gelu(y)))
        return p * sigmoid(q), [h]

    def factors(self, name: str, like: Any) -> tuple[tuple[Any, Any], Any]:
        """The real and the imaginary part of a, (d, n) each, and (a - 1) / alpha as pairs (d, n, 2)."""
        dt, log, imaginary = (self.raw[name + part] for part in ("dt_log", "a_log", "a_imag"))
        alpha = [
            [acb(-arb(r).exp(), arb(i)) for r, i in zip(*of, strict=True)] for of in zip(log, imaginary, strict=True)
        ]
        times = [arb(t).exp() for t in dt]
        a = np.array([[(t * x).exp() for x in row] for t, row in zip(times, alpha, strict=True)], dtype=object)
        b = (a - 1) / np.array(alpha, dtype=object)
        pairs = [[[z.real, z.imag] for z in row] for row in b]
        real, imag = ([[getattr(z, part) for z in row] for row in a] for part in ("real", "imag"))
        return (alike(real, like), alike(imag, like)), alike(pairs, like)
