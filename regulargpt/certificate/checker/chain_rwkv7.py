"""RWKV-7 (Peng et al. 2025), a step of it.

H heads of K numbers, d = H K; s(x) = 1 / (1 + e^-x). From x and the x before it, x~, which the block carries,

    x_i = x + mu_i * (x~ - x),  in the order r, w, k, v, a, g
    r, k, v = three linear maps of x_r, x_k, x_v
    w = exp(-e^(-1/2) s(w_0 + W_2 tanh(W_1 x_w))),  a = s(a_0 + A_2 A_1 x_a),  g = G_2 s(G_1 x_g)
    v = v + (v' - v) * s(v_0 + V_2 V_1 x_v)         (from the second block on; v' is v of the first)

and in each head, with c = 1, or 2 for range = signed,

    z = k * k_k / max(|k * k_k|, 10^-12),  k~ = k * (1 + (a - 1) * k_a)
    S' = S diag(w) - c (S z) (a * z)^T + v k~^T,  o = S' r
    y = (o - mean o) / sqrt(mean (o - mean o)^2 + 10^-5 K) * gain + bias + (sum r * r_k * k~) v
    mixer(x) = out (y * g)

The inner width of W, A, G and V is 32, or d where that is less. A block carries S (H, K, K), whose columns are those of
k, then x.
"""

from __future__ import annotations

from typing import Any, ClassVar

from flint import arb

from regulargpt.certificate.checker.balls import exp, positive, sqrt
from regulargpt.certificate.checker.chain_mixing import Mixing, outer
from regulargpt.certificate.checker.network import ACTIVATIONS, EPS, Shapes, linear_shapes, root_mean_square, sigmoid

RANK, LEAST = 32, "1e-12"
INPUTS = "rwkvag"


class Rwkv7(Mixing):
    """Sums of v k^T that decay by channel, and from which each symbol removes along a key."""

    SIZES = (*Mixing.SIZES, "n_heads")
    CHOICES: ClassVar = {**Mixing.CHOICES, "range": ("unit", "signed")}

    def measure(self) -> None:
        self.H = self.heads()
        self.K = self.d // self.H
        super().measure()

    def mixer_shapes(self, layer: int) -> Shapes:
        d = self.d
        shapes: Shapes = dict.fromkeys(("w_0", "a_0", "k_k", "k_a", "r_k", "gain", "bias"), (d,)) | {"mu": (6, d)}
        for name in ("r", "k", "v", "out"):
            shapes |= linear_shapes(name, d, d, bias=False)
        for name in "wag":
            shapes |= low_rank(name, d)
        return shapes | (low_rank("mix", d) | {"v_0": (d,)} if layer else {})

    def parts(self, layer: int) -> list[tuple[int, ...]]:
        return [(self.H, self.K, self.K), (1, self.d)]

    def block(self, layer: int, h: Any, carried: list[Any], shown: dict[str, Any]) -> tuple[Any, list[Any]]:
        name = f"blocks.{layer}.mixer."
        x, before = self.rms(f"blocks.{layer}.norm", h), carried[1][:, 0]
        at = {key: x + (before - x) * self.w[f"{name}mu"][i] for i, key in enumerate(INPUTS)}
        v = self.linear(f"{name}v", at["v"])
        first = shown.setdefault("values", v)
        if layer:
            v = v + (first - v) * sigmoid(self.w[f"{name}v_0"] + self.ranked(f"{name}mix", at["v"]))
        y, S = self.recurrence(name, at, v, carried[0])
        y = y * self.ranked(f"{name}g", at["g"], "sigmoid")
        h = h + self.linear(f"{name}out", y)
        return self.fed(f"blocks.{layer}.", h), [S, x]

    def recurrence(self, name: str, at: dict[str, Any], v: Any, S: Any) -> tuple[Any, Any]:
        """y (n, d) and S'."""
        w, shape = self.w, (len(v), self.H, self.K)
        decay = exp(-arb(-0.5).exp() * sigmoid(w[f"{name}w_0"] + self.ranked(f"{name}w", at["w"], "tanh")))
        a = sigmoid(w[f"{name}a_0"] + self.ranked(f"{name}a", at["a"]))
        k, r = self.linear(f"{name}k", at["k"]), self.linear(f"{name}r", at["r"])
        z, k = (k * w[f"{name}k_k"]).reshape(*shape), k * (1 + (a - 1) * w[f"{name}k_a"])  # (n, H, K), (n, d)
        bonus = (r * w[f"{name}r_k"] * k).reshape(*shape).sum(-1, keepdims=True)  # (n, H, 1)
        decay, a, k, r, v = (x.reshape(*shape) for x in (decay, a, k, r, v))  # (n, H, K) each
        z = z / at_least(sqrt((z * z).sum(-1, keepdims=True)), LEAST)
        removed = outer((S * z[..., None, :]).sum(-1), a * z)
        S = S * decay[..., None, :] - (2 * removed if self.model["range"] == "signed" else removed) + outer(v, k)
        o = (S * r[..., None, :]).sum(-1)  # (n, H, K)
        o = o - o.sum(-1, keepdims=True) / self.K
        o = (o / root_mean_square(o, arb(EPS) * self.K)).reshape(len(o), self.d)  # (n, d)
        return o * w[f"{name}gain"] + w[f"{name}bias"] + (bonus * v).reshape(len(o), self.d), S  # (n, d)

    def ranked(self, name: str, x: Any, inner: str | None = None) -> Any:
        """A map of low rank, with a function between its two factors."""
        x = self.linear(f"{name}.0", x)
        return self.linear(f"{name}.2", x if inner is None else ACTIVATIONS[inner](x))


def low_rank(name: str, d: int) -> Shapes:
    """The tensors of a map of low rank."""
    rank = min(RANK, d)
    return linear_shapes(f"{name}.0", rank, d, bias=False) | linear_shapes(f"{name}.2", d, rank, bias=False)


def at_least(x: Any, least: str) -> Any:
    return positive(x - arb(least)) + arb(least)
