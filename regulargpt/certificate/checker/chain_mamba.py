"""Mamba (Gu and Dao 2023), one step of it.

E = expand d channels, of N = d_state numbers each; R = d / 16, rounded up. f(x) = e^x, or 2 e^x - 1 for range = signed.

    u, z = halves of in_proj x;  u = conv(u);  delta, B, C = x_proj u (R, N and N numbers)
    t = log(1 + exp(dt_proj delta + dt_bias))                        (E)
    h' = f(-e^a_log * t) * h + B (t * u)^T,  y = C h' + d * u         (h and a_log: N, E)
    mixer(x) = out_proj (y * silu(z))

A block carries h, then the old u of the convolution, which has a bias. Without one (conv = 0), u = silu(u).
"""

from __future__ import annotations

from typing import Any, ClassVar

from regulargpt.certificate.checker.balls import exp, product, softplus
from regulargpt.certificate.checker.chain_mixing import Mixing, halves, outer, read_by, silu, split
from regulargpt.certificate.checker.files import Malformed
from regulargpt.certificate.checker.network import Shapes, linear_shapes


class Mamba(Mixing):
    """Mamba, with factors from 0 to 1, or from -1 to 1."""

    SIZES = (*Mixing.SIZES, "d_state", "expand", "conv")
    CHOICES: ClassVar = {**Mixing.CHOICES, "range": ("unit", "signed")}

    def measure(self) -> None:
        self.N, self.E, self.R = self.model["d_state"], self.model["expand"] * self.d, -(-self.d // 16)
        if min(self.N, self.E) < 1:
            raise Malformed("config.json: the sizes are not those of a network")
        super().measure()

    def mixer_shapes(self, layer: int) -> Shapes:
        E, N, R, d = self.E, self.N, self.R, self.d
        found = linear_shapes("in_proj", 2 * E, d, bias=False) | linear_shapes("x_proj", R + 2 * N, E, bias=False)
        found |= self.conv_shapes("conv", E, bias=True) | linear_shapes("out_proj", d, E, bias=False)
        return found | {"dt_proj": (E, R), "dt_bias": (E,), "a_log": (N, E), "d": (E,)}

    def parts(self, layer: int) -> list[tuple[int, ...]]:
        return [(self.N, self.E), *self.conv_parts(self.E)]

    def mixed(self, layer: int, x: Any, carried: list[Any]) -> tuple[Any, list[Any]]:
        name = f"blocks.{layer}.mixer."
        u, z = halves(self.linear(f"{name}in_proj", x))
        u, old = self.convolved(f"{name}conv", u, carried[1:])
        delta, B, C = split(self.linear(f"{name}x_proj", u), self.R, self.N, self.N)
        t = softplus(product(delta, self.w[f"{name}dt_proj"].T) + self.w[f"{name}dt_bias"])
        factor = exp(-exp(self.w[f"{name}a_log"]) * t[:, None])  # (n, N, E)
        h = (factor if self.model["range"] == "unit" else 2 * factor - 1) * carried[0] + outer(B, t * u)
        y = read_by(h, C) + self.w[f"{name}d"] * u
        return self.linear(f"{name}out_proj", y * silu(z)), [h, *old]
