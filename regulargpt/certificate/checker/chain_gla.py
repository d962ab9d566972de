"""Gated linear attention (Yang et al. 2023) and RetNet (Sun et al. 2023), a step of them.

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

from regulargpt.certificate.checker.balls import exp, highest, joined, softplus
from regulargpt.certificate.checker.chain_diagonal import Diagonal
from regulargpt.certificate.checker.chain_mixing import alike, outer, read_by, split
from regulargpt.certificate.checker.files import Malformed
from regulargpt.certificate.checker.network import Shapes, linear_shapes, silu

RANK, TEMPERATURE, BASE = 16, 16, 10_000


class Gla(Diagonal):
    """Sums of k v^T that decay."""

    SIZES = (*Diagonal.SIZES, "n_heads")
    CHOICES: ClassVar = {**Diagonal.CHOICES, "decay": ("channel", "head", "retention")}

    def measure(self) -> None:
        self.H, self.kind = self.heads(), self.model["decay"]
        wide = self.d // self.H
        if wide % 2:
            raise Malformed(f"config.json: heads of {wide} numbers have no halves")
        self.K, self.V = (wide, 2 * wide) if self.kind == "retention" else (wide // 2, wide)
        super().measure()

    def mixer_shapes(self, layer: int) -> Shapes:
        d, K, V = self.d, self.H * self.K, self.H * self.V
        shapes = linear_shapes("qkv", 2 * K + V, d, bias=False) | linear_shapes("gate", V, d, bias=False)
        shapes |= {"norm.weight": (self.V,)} | linear_shapes("out", d, V, bias=False)
        if self.kind == "head":
            shapes |= linear_shapes("decay", self.H, d)
        if self.kind == "channel":
            shapes |= linear_shapes("decay.0", RANK, d, bias=False) | linear_shapes("decay.1", K, RANK)
        return shapes

    def parts(self, layer: int) -> list[tuple[int, ...]]:
        return [(self.H, self.K, self.V)]

    def brings(self, name: str, own: Any, old: list[Any]) -> tuple[Any, Any, Any]:
        parts = split(self.linear(f"{name}qkv", own), self.H * self.K, self.H * self.K, self.H * self.V)
        q, k, v = (part.reshape(len(own), self.H, -1) for part in parts)  # (n, H, K or V)
        a = self.turns(own) if self.kind == "retention" else self.gates(self.rates(name, own))
        return a, outer(k, v), (own, q)

    def sizes(self, name: str, rest: Any) -> Any:
        if self.kind == "retention":
            return alike([[[[a]] for a in self.fading()]], rest[0])
        return self.gates(highest(self.rates(name, rest[0])))

    def made(self, name: str, S: Any, rest: Any) -> Any:
        x, q = rest
        o = self.rms(f"{name}norm", read_by(S, q) / arb(self.K).sqrt()).reshape(len(x), self.H * self.V)  # (n, H V)
        return self.linear(f"{name}out", silu(self.linear(f"{name}gate", x)) * o)

    def rates(self, name: str, x: Any) -> Any:
        """What the gates are made of, (n, H or H K)."""
        return (
            self.linear(f"{name}decay.1", self.linear(f"{name}decay.0", x))
            if self.kind == "channel"
            else self.linear(f"{name}decay", x)
        )

    def gates(self, rates: Any) -> Any:
        """a (n, H, K or 1, 1): the root of s(x) is exp(-log(1 + e^-x) / 16)."""
        return exp(-softplus(-rates) / TEMPERATURE).reshape(len(rates), self.H, -1, 1)  # (n, H, K or 1, 1)

    def fading(self) -> list[arb]:
        """|a| of each head of retention."""
        return [1 - arb(2) ** (-5 - h) for h in range(self.H)]

    def turns(self, like: Any) -> tuple[Any, Any]:
        """The parts of a of retention, (1, H, K/2, 1)."""
        angles = [arb(BASE) ** (arb(-2 * i) / self.K) for i in range(self.K // 2)]
        re, im = ([[[[a * f(z)] for z in angles] for a in self.fading()]] for f in (arb.cos, arb.sin))
        return alike(re, like), -alike(im, like)

    def pairs(self, S: Any) -> tuple[Any, Any] | None:
        half = self.K // 2
        return (S[:, :, :half], S[:, :, half:]) if self.kind == "retention" else None

    def unpaired(self, re: Any, im: Any) -> Any:
        return joined([re, im], 2)
