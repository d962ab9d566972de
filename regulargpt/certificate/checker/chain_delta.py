"""DeltaNet, Gated DeltaNet and DeltaProduct, a step of them.

H heads, d = H K, n = `householders`. u = qkv x goes through a short convolution without a bias (conv = 0: u = silu(u)).
It is cut into q, k_1 .. k_n, v_1 .. v_n, of d numbers each, head by head; q and the k are divided by
sqrt(|.|^2 + 10^-6) in each head. With s(x) = 1 / (1 + e^-x), in each head

    b_1 .. b_n = s(n rows of beta x), twice that for range = signed
    S' = e^(-e^a_log * t) S,  t = log(1 + e^(decay x + dt_bias))     (if there is a `gate`)
    for j = 1 .. n:  S' <- S' + b_j k_j (v_j - S'^T k_j)^T
    o = R(S'^T q / sqrt(K)),  with one gain (K) for all heads

    mixer(x) = out o,  or out (o * silu(output_gate x)); `output_gate` is yes, no, or auto, which is as `gate`.

A block carries S (H, K, K), then the old u of the convolution.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from flint import arb

from regulargpt.certificate.checker.balls import softplus, sqrt
from regulargpt.certificate.checker.chain_mixing import Mixing, decay, outer, read_by, split
from regulargpt.certificate.checker.files import Malformed
from regulargpt.certificate.checker.network import Shapes, linear_shapes, sigmoid, silu

MAX_HOUSEHOLDERS = 64
UNIT_EPS = "1e-6"


class Delta(Mixing):
    """Steps along keys, with eigenvalues from 0 to 1, or from -1 to 1."""

    SIZES = (*Mixing.SIZES, "n_heads", "householders", "conv")
    SWITCHES = ("gate",)
    CHOICES: ClassVar = {**Mixing.CHOICES, "range": ("unit", "signed"), "output_gate": ("auto", "yes", "no")}

    def measure(self) -> None:
        self.H, self.n = self.heads(), self.model["householders"]
        self.K, self.has_gate = self.d // self.H, self.model["gate"]
        if not 1 <= self.n <= MAX_HOUSEHOLDERS:
            raise Malformed(f"config.json: {self.n} householders; there are 1 to {MAX_HOUSEHOLDERS}")
        usual = "yes" if self.has_gate else "no"
        self.gates_outputs = {"auto": usual}.get(self.model["output_gate"], self.model["output_gate"]) == "yes"
        super().measure()

    def mixer_shapes(self, layer: int) -> Shapes:
        d, wide = self.d, (1 + 2 * self.n) * self.d
        shapes = linear_shapes("qkv", wide, d, bias=False) | self.conv_shapes("conv", wide, bias=False)
        shapes |= linear_shapes("beta", self.H * self.n, d, bias=False)
        if self.has_gate:
            shapes |= linear_shapes("decay", self.H, d, bias=False) | {"a_log": (self.H,), "dt_bias": (self.H,)}
        if self.gates_outputs:
            shapes |= linear_shapes("output_gate", d, d, bias=False)
        return shapes | {"norm.weight": (self.K,)} | linear_shapes("out", d, d, bias=False)

    def parts(self, layer: int) -> list[tuple[int, ...]]:
        return [(self.H, self.K, self.K), *self.conv_parts((1 + 2 * self.n) * self.d)]

    def mixed(self, layer: int, x: Any, carried: list[Any]) -> tuple[Any, list[Any]]:
        name = f"blocks.{layer}.mixer."
        brings, old = self.brings(name, x, carried[1:])
        S = moved(carried[0], brings)
        return self.output(name, x, read_by(S, brings.q)), [S, *old]

    def brings(self, name: str, x: Any, carried: list[Any]) -> tuple[Brings, list[Any]]:
        """What symbols bring to the state, and the old inputs that the convolution carries on."""
        n = self.n
        beta = sigmoid(self.linear(f"{name}beta", x)).reshape(len(x), self.H, n)  # (n, H, sub-steps)
        u, old = self.convolved(f"{name}conv", self.linear(f"{name}qkv", x), carried)
        u = [part.reshape(len(x), self.H, self.K) for part in split(u, *[self.d] * (1 + 2 * n))]  # (n, H, K) each
        beta, left = 2 * beta if self.model["range"] == "signed" else beta, None
        if self.has_gate:
            t = softplus(self.linear(f"{name}decay", x) + self.w[f"{name}dt_bias"])
            left = decay(self.w[f"{name}a_log"], t)
        return Brings(unit(u[0]), [*map(unit, u[1 : 1 + n])], u[1 + n :], beta, left), old

    def output(self, name: str, x: Any, o: Any) -> Any:
        """What the mixer makes of what each head reads, (n, H, V)."""
        o = self.rms(f"{name}norm", o / arb(self.K).sqrt()).reshape(len(x), self.d)  # (n, d)
        if self.gates_outputs:
            o = o * silu(self.linear(f"{name}output_gate", x))
        return self.linear(f"{name}out", o)


class Brings(NamedTuple):
    """q (n, H, K), keys (n, H, K) and values (n, H, V) of each sub-step, beta (n, H, sub-steps), alpha (n, H) or no."""

    q: Any
    keys: list[Any]
    values: list[Any]
    beta: Any
    left: Any


def moved(S: Any, brings: Brings) -> Any:
    """The states (n, H, K, V) after the symbols."""
    S = S if brings.left is None else brings.left[..., None, None] * S
    for j, (k, v) in enumerate(zip(brings.keys, brings.values, strict=True)):
        S = S + outer(brings.beta[..., j : j + 1] * k, v - read_by(S, k))
    return S


def unit(x: Any) -> Any:
    """x / sqrt(|x|^2 + 10^-6) along the last axis."""
    return x / sqrt((x * x).sum(-1, keepdims=True) + arb(UNIT_EPS))
