"""Gated linear attention (Yang et al. 2023) and RetNet (Sun et al. 2023), one step of them.

H heads; qkv x is cut into q and k, of K numbers a head, and v, of V, each head by head. s(x) = 1 / (1 + e^-x).

    S' = a * S + k v^T,  o = R(S'^T q / sqrt(K)),  with one gain (V) for all heads
    mixer(x) = out (silu(gate x) * o)

    decay = channel      a = s(W_2 W_1 x + b)^(1/16), one for each row of S;  16 rows of W_1;  K = d / 2 H,  V = d / H
    decay = head         a = s(W x + b)^(1/16), one a head;  K = d / 2 H,  V = d / H
    decay = retention    a = 1 - 2^(-5-h) in head h = 0, 1, ..;  S is turned back before it decays: rows i and i + K/2
                         become c S_i + s S_(i+K/2) and c S_(i+K/2) - s S_i, where c and s are the cosine and sine of
                         10000^(-2i/K);  K = d / H,  V = 2 d / H

A block carries S (H, K, V).
"""

from __future__ import annotations

from typing import Any, ClassVar

from flint import arb

from regulargpt.certificate.checker.balls import exp, joined, softplus
from regulargpt.certificate.checker.chain_mixing import Mixing, alike, outer, read_by, silu, split
from regulargpt.certificate.checker.files import Malformed
from regulargpt.certificate.checker.network import Shapes, linear_shapes

RANK, TEMPERATURE, BASE = 16, 16, 10_000


class Gla(Mixing):
    """Sums of k v^T that decay."""

    SIZES = (*Mixing.SIZES, "n_heads")
    CHOICES: ClassVar = {**Mixing.CHOICES, "decay": ("channel", "head", "retention")}

    def measure(self) -> None:
        self.H, self.kind = self.heads(), self.model["decay"]
        wide = self.d // self.H
        if wide % 2:
            raise Malformed(f"config.json: heads of {wide} numbers have no halves")
        self.K, self.V = (wide, 2 * wide) if self.kind == "retention" else (wide // 2, wide)
        super().measure()

    def mixer_shapes(self, layer: int) -> Shapes:
        d, K, V = self.d, self.H * self.K, self.H * self.V
        found = linear_shapes("qkv", 2 * K + V, d, bias=False) | linear_shapes("gate", V, d, bias=False)
        found |= {"norm.weight": (self.V,)} | linear_shapes("out", d, V, bias=False)
        if self.kind == "head":
            found |= linear_shapes("decay", self.H, d)
        if self.kind == "channel":
            found |= linear_shapes("decay.0", RANK, d, bias=False) | linear_shapes("decay.1", K, RANK)
        return found

    def parts(self, layer: int) -> list[tuple[int, ...]]:
        return [(self.H, self.K, self.V)]

    def mixed(self, layer: int, x: Any, carried: list[Any]) -> tuple[Any, list[Any]]:
        name, (H, K, V) = f"blocks.{layer}.mixer.", (self.H, self.K, self.V)
        parts = split(self.linear(f"{name}qkv", x), H * K, H * K, H * V)
        q, k, v = (part.reshape(len(x), H, -1) for part in parts)  # (n, H, K or V)
        S = self.decayed(name, x, carried[0]) + outer(k, v)
        o = self.rms(f"{name}norm", read_by(S, q) / arb(K).sqrt()).reshape(len(x), H * V)  # (n, H V)
        return self.linear(f"{name}out", silu(self.linear(f"{name}gate", x)) * o), [S]

    def decayed(self, name: str, x: Any, S: Any) -> Any:
        """a * S."""
        if self.kind == "retention":
            size = alike([[[1 - arb(2) ** (-5 - h)]] for h in range(self.H)], S)  # (H, 1, 1)
            return size * self.turned_back(S)
        rates = self.linear(f"{name}decay.1", self.linear(f"{name}decay.0", x)) if self.kind == "channel" else None
        rates = self.linear(f"{name}decay", x) if rates is None else rates
        # The root of s(x) is exp(-log(1 + e^-x) / 16).
        return exp(-softplus(-rates) / TEMPERATURE).reshape(len(x), self.H, -1, 1) * S  # (n, H, K or 1, 1)

    def turned_back(self, S: Any) -> Any:
        """The rows of S, turned in pairs."""
        half = self.K // 2
        angles = [arb(BASE) ** (arb(-2 * i) / self.K) for i in range(half)]
        c, s = (alike([[f(angle)] for angle in angles], S) for f in (arb.cos, arb.sin))  # (K/2, 1)
        a, b = S[:, :, :half], S[:, :, half:]
        return joined([c * a + s * b, c * b - s * a], 2)
