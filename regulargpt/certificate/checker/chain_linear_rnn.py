"""The network of linear recurrences (Orvieto et al. 2023), a step of it.

h = embedding[symbol]; then, in each block, with LN the norm with gain and bias and epsilon 10^-5,

    u = LN(h);  v = gamma * pairs(B u);  s' = a s + v;  y = C pairs(s') + D * u;  h = h + p * s(q),  (p, q) = G gelu(y)

s is complex, d numbers: `pairs` are (re, im) of the first, (re, im) of the second, ... a = exp(-exp(nu) + i theta), and
gamma = sqrt(1 - |a|^2). The logits are W LN_final(h) + b. A block carries the pairs (d, 2).
"""

from __future__ import annotations

from typing import Any, ClassVar

from flint import arb

from regulargpt.certificate.checker.balls import exp, joined
from regulargpt.certificate.checker.chain_diagonal import Diagonal
from regulargpt.certificate.checker.chain_mixing import alike, halves
from regulargpt.certificate.checker.chain_network import ChainNetwork
from regulargpt.certificate.checker.network import Shapes, gelu, linear_shapes, norm_shapes, sigmoid


class LinearRnn(Diagonal):
    """The linear recurrent unit, which carries complex numbers, as pairs."""

    CHOICES: ClassVar = {}
    LAYOUT = "real and imaginary parts"

    def layout(self) -> str:
        return ChainNetwork.layout(self)

    def parts(self, layer: int) -> list[tuple[int, ...]]:
        return [(self.d, 2)]

    def shapes(self) -> Shapes:
        d, shapes = self.d, {"embedding.weight": (len(self.alphabet), self.d)}
        for block in map(self.place, range(self.layers)):
            shapes |= linear_shapes(f"{block}lru.b", 2 * d, d, bias=False)
            shapes |= linear_shapes(f"{block}lru.c", d, 2 * d, bias=False) | linear_shapes(f"{block}glu", 2 * d, d)
            shapes |= {f"{block}lru.{name}": (d,) for name in ("d", "nu", "theta")}
        norms = ["ln_final", *(f"blocks.{layer}.ln" for layer in range(self.layers))]
        return shapes | linear_shapes("readout", len(self.output_names), d) | norm_shapes(norms, d)

    def place(self, layer: int) -> str:
        return f"blocks.{layer}."

    def entered(self, layer: int, h: Any) -> Any:
        return self.norm(f"blocks.{layer}.ln", h)

    def brings(self, name: str, own: Any, old: list[Any]) -> tuple[Any, Any, Any]:
        re, im, gamma = self.turn(name, own)
        v = self.linear(f"{name}lru.b", own).reshape(len(own), self.d, 2)  # (n, d, 2)
        return (re, im), v * gamma[..., None], own

    def sizes(self, name: str, rest: Any) -> Any:
        return exp(-exp(self.w[f"{name}lru.nu"]))[None]

    def made(self, name: str, S: Any, rest: Any) -> Any:
        pairs = S.reshape(len(rest), 2 * self.d)  # (n, 2 d)
        y = self.linear(f"{name}lru.c", pairs) + self.w[f"{name}lru.d"] * rest
        p, q = halves(self.linear(f"{name}glu", gelu(y)))
        return p * sigmoid(q)

    def fed(self, block: str, h: Any) -> Any:
        return h

    def head(self, h: Any) -> Any:
        return self.norm("ln_final", h)

    def pairs(self, S: Any) -> tuple[Any, Any] | None:
        return S[..., 0], S[..., 1]

    def unpaired(self, re: Any, im: Any) -> Any:
        return joined([re[..., None], im[..., None]], -1)

    def turn(self, name: str, like: Any) -> list[Any]:
        """The real and the imaginary part of a, and gamma, (1, d) each."""
        nu, theta = ([arb(float(x)) for x in self.raw[f"{name}lru.{part}"]] for part in ("nu", "theta"))
        rates = [x.exp() for x in nu]
        sizes, gamma = (
            [(-rate).exp() for rate in rates],
            [(-(-2 * rate).expm1()).nonnegative_part().sqrt() for rate in rates],
        )
        re, im = ([a * f(t) for a, t in zip(sizes, theta, strict=True)] for f in (arb.cos, arb.sin))
        return [alike([row], like) for row in (re, im, gamma)]
