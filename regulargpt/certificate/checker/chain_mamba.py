"""Mamba (Gu and Dao 2023), a step of it.

E = expand d channels, of N = d_state numbers each; R = d / 16, rounded up. f(x) = e^x, or 2 e^x - 1 for range = signed.

    u, z = halves of in_proj x;  u = conv(u);  delta, B, C = x_proj u (R, N and N numbers)
    t = log(1 + exp(dt_proj delta + dt_bias))                        (E)
    h' = f(-e^a_log * t) * h + B (t * u)^T,  y = C h' + d * u         (h and a_log: N, E)
    mixer(x) = out_proj (y * silu(z))

A block carries h, then the old u of the convolution, which has a bias. Without a convolution (conv = 0), u = silu(u).
"""

from __future__ import annotations

from typing import Any, ClassVar

from regulargpt.certificate.checker.balls import exp, highest, lowest, maximum, product, softplus
from regulargpt.certificate.checker.chain_diagonal import Diagonal
from regulargpt.certificate.checker.chain_mixing import halves, outer, read_by, split
from regulargpt.certificate.checker.files import Malformed
from regulargpt.certificate.checker.network import Shapes, linear_shapes, silu


class Mamba(Diagonal):
    """Mamba, with factors from 0 to 1, or from -1 to 1."""

    SIZES = (*Diagonal.SIZES, "d_state", "expand", "conv")
    CHOICES: ClassVar = {**Diagonal.CHOICES, "range": ("unit", "signed")}

    def measure(self) -> None:
        self.N, self.E, self.R = self.model["d_state"], self.model["expand"] * self.d, -(-self.d // 16)
        if min(self.N, self.E) < 1:
            raise Malformed("config.json: the sizes are not those of a network")
        super().measure()

    def mixer_shapes(self, layer: int) -> Shapes:
        E, N, R, d = self.E, self.N, self.R, self.d
        shapes = linear_shapes("in_proj", 2 * E, d, bias=False) | linear_shapes("x_proj", R + 2 * N, E, bias=False)
        shapes |= self.conv_shapes("conv", E, bias=True) | linear_shapes("out_proj", d, E, bias=False)
        return shapes | {"dt_proj": (E, R), "dt_bias": (E,), "a_log": (N, E), "d": (E,)}

    def parts(self, layer: int) -> list[tuple[int, ...]]:
        return [(self.N, self.E), *self.conv_parts(self.E)]

    def into(self, name: str, x: Any) -> Any:
        return self.linear(f"{name}in_proj", x)

    def kept(self, own: Any) -> Any:
        return halves(own)[0]

    def brings(self, name: str, own: Any, old: list[Any]) -> tuple[Any, Any, Any]:
        u, z = halves(own)
        u = self.convolution(f"{name}conv", u, old)
        delta, B, C = split(self.linear(f"{name}x_proj", u), self.R, self.N, self.N)
        times = product(delta, self.w[f"{name}dt_proj"].T) + self.w[f"{name}dt_bias"]  # (n, E)
        factor = self.factor(name, times)
        a = factor if self.model["range"] == "unit" else 2 * factor - 1
        return a, outer(B, softplus(times) * u), (times, u, z, C)

    def factor(self, name: str, times: Any) -> Any:
        """e^(-e^a_log t) (n, N, E), t = log(1 + exp(times))."""
        return exp(-exp(self.w[f"{name}a_log"]) * softplus(times)[:, None])  # (n, N, E)

    def sizes(self, name: str, rest: Any) -> Any:
        largest, least = (self.factor(name, end(rest[0])) for end in (lowest, highest))
        return largest if self.model["range"] == "unit" else maximum(2 * largest - 1, 1 - 2 * least)

    def made(self, name: str, S: Any, rest: Any) -> Any:
        _, u, z, C = rest
        return self.linear(f"{name}out_proj", (read_by(S, C) + self.w[f"{name}d"] * u) * silu(z))
