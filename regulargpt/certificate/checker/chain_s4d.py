"""S4D (Gu et al. 2022), a step of it.

Each channel of x (d_model) has n = d_state / 2 complex numbers h. In each,

    alpha = -e^a_log + i a_imag,  t = e^dt_log,  a = e^(t alpha)
    h' = a h + (a - 1) / alpha x,  y = 2 Re(sum c h') + d x
    mixer(x) = p * s(q),  (p, q) = halves of out gelu(y),  s(x) = 1 / (1 + e^-x)

c is pairs (d_model, n, 2); out has a bias. A block carries h as pairs (d_model, n, 2).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from regulargpt.certificate.checker.balls import as_complex, exact, imaginary, joined, real
from regulargpt.certificate.checker.chain_diagonal import Diagonal
from regulargpt.certificate.checker.chain_mixing import alike, halves
from regulargpt.certificate.checker.files import Malformed
from regulargpt.certificate.checker.network import Shapes, gelu, linear_shapes, sigmoid


class S4d(Diagonal):
    """A sum over the word, which fades."""

    SIZES = (*Diagonal.SIZES, "d_state")

    def measure(self) -> None:
        self.n = self.model["d_state"] // 2
        if self.n < 1 or self.model["d_state"] % 2:
            raise Malformed("config.json: the sizes are not those of a network")
        super().measure()

    def mixer_shapes(self, layer: int) -> Shapes:
        d, n = self.d, self.n
        shapes: Shapes = {"dt_log": (d,), "a_log": (d, n), "a_imag": (d, n), "c": (d, n, 2), "d": (d,)}
        return shapes | linear_shapes("out", 2 * d, d)

    def parts(self, layer: int) -> list[tuple[int, ...]]:
        return [(self.d, self.n, 2)]

    def brings(self, name: str, own: Any, old: list[Any]) -> tuple[Any, Any, Any]:
        a, b = self.factors(name, own)
        return a, b * own[..., None, None], own

    def made(self, name: str, S: Any, rest: Any) -> Any:
        both = self.w[f"{name}c"] * S
        y = 2 * (both[..., 0] - both[..., 1]).sum(-1) + self.w[f"{name}d"] * rest
        p, q = halves(self.linear(f"{name}out", gelu(y)))
        return p * sigmoid(q)

    def pairs(self, S: Any) -> tuple[Any, Any] | None:
        return S[..., 0], S[..., 1]

    def unpaired(self, re: Any, im: Any) -> Any:
        return joined([re[..., None], im[..., None]], -1)

    def factors(self, name: str, like: Any) -> tuple[tuple[Any, Any], Any]:
        """The real and the imaginary part of a, (1, d, n) each, and (a - 1) / alpha as pairs (d, n, 2)."""
        alpha, t = self.rates(name)
        a = exponential(t * alpha)
        b = (a - 1) / alpha
        parts = alike(real(a)[None], like), alike(imaginary(a)[None], like)
        return parts, alike(np.stack([real(b), imaginary(b)], -1), like)

    def rates(self, name: str) -> tuple[Any, Any]:
        """alpha (d, n) and t (d, 1)."""
        times, log, imag = (self.raw[name + part] for part in ("dt_log", "a_log", "a_imag"))
        return as_complex(-exponential(exact(log)), exact(imag)), exponential(exact(times))[:, None]

    def sizes(self, name: str, rest: Any) -> Any:
        alpha, t = self.rates(name)
        return alike(exponential(t * real(alpha))[None], rest)


exponential: Any = np.frompyfunc(lambda x: x.exp(), 1, 1)
