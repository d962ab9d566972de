"""mLSTM and sLSTM (xLSTM: Beck et al. 2024), a step of them.

`blocks` has m or s for each block in turn, over again; nothing stands for m in mlstm and for s in slstm. H heads. N is
the norm (x - mean x) / sqrt(mean (x - mean x)^2 + 10^-5) of each head, times a gain for each number; u* = conv(u) with
a bias, or u where there is no convolution; s(x) = 1 / (1 + e^-x).

m   u and z are the halves of up x, 2 d numbers each, K = 2 d / H in each head. q, k = blocks of 4 numbers of u*, each
    times its matrix 4 x 4, v of u; i and g are the halves of gates (q, k, v), one a head. In each head

        m' = max(log s(g) + m, i);  C' = e^(log s(g) + m - m') C + e^(i - m') k v^T / sqrt(K);  n' as C' with k alone;
        o = C'^T q / max(|n'.q|, e^-m');    mixer(x) = down ((N(o) + skip * u*) * silu(z))

    A block carries C (H, K, K), n (H, K) and m (H), then the old u of the convolution.

s   i, f, z, o = d numbers each of w x, of which i and f read x*, + R h in each head, whose rows r (4 d, P = d / H)
    has, gate after gate and in it head after head:

        t = i - log s(f) - l;  a' = a + s(t) (tanh z - a);  l' = i - log s(t);  h' = s(o) a';    mixer(x) = N(h')

    A block carries h, a and l (d each), then the old x of the convolution. At the start h = a = 0 and l = -64.

As it is, the network is bounded where it is one block of s without a convolution.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from flint import arb

from regulargpt.certificate.checker.balls import exp, joined, positive, product, softplus, sqrt, within_root
from regulargpt.certificate.checker.boxes import Box, State, between, ends, flatness, known, times
from regulargpt.certificate.checker.chain_mixing import Mixing, halves, outer, read_by, split
from regulargpt.certificate.checker.chain_network import MAX_LAYERS, Bounded, applied
from regulargpt.certificate.checker.doubles import Doubles
from regulargpt.certificate.checker.files import Floats, Malformed
from regulargpt.certificate.checker.network import EPS, Shapes, linear_shapes, root_mean_square, silu

BLOCK = 4
EMPTY = -64.0


class Xlstm(Mixing, Bounded):  # pyright: ignore[reportIncompatibleVariableOverride]
    """Blocks of either kind."""

    GATES = 4
    SIZES = (*Mixing.SIZES, "n_heads", "conv")
    CHOICES: ClassVar = {**Mixing.CHOICES, "blocks": ("",)}

    def options(self, record: Any) -> dict[str, Any]:
        """`blocks` is any text of m and s."""
        blocks = record.get("blocks") if isinstance(record, dict) else None
        if isinstance(blocks, str) and len(blocks) <= MAX_LAYERS and not set(blocks) - set("ms"):
            self.CHOICES = {**self.CHOICES, "blocks": (blocks,)}  # type: ignore[misc]
        return super().options(record)

    def measure(self) -> None:
        self.H, self.kinds = self.heads(), self.model["blocks"] or self.model["name"][0]
        self.P, self.K = self.d // self.H, 2 * self.d // self.H
        if "m" in self.kinds and self.d % 2:
            raise Malformed(f"config.json: {2 * self.d} numbers are not cut into blocks of {BLOCK}")
        super().measure()

    def kind(self, layer: int) -> str:
        return self.kinds[layer % len(self.kinds)]

    def mixer_shapes(self, layer: int) -> Shapes:
        d, H, P = self.d, self.H, self.P
        if self.kind(layer) == "s":
            shapes = self.conv_shapes("conv", d, bias=True) | linear_shapes("w", 4 * d, d)
            return shapes | {"r": (4 * d, P), "head_norm.weight": (d,)}
        shapes = linear_shapes("up", 4 * d, d, bias=False) | self.conv_shapes("conv", 2 * d, bias=True)
        shapes |= dict.fromkeys("qkv", (2 * d, BLOCK)) | linear_shapes("gates", 2 * H, 6 * d)
        shapes |= {"head_norm.weight": (2 * d,), "skip": (2 * d,)}
        return shapes | linear_shapes("down", d, 2 * d, bias=False)

    def parts(self, layer: int) -> list[tuple[int, ...]]:
        if self.kind(layer) == "s":
            return [*[(self.d,)] * 3, *self.conv_parts(self.d)]
        return [(self.H, self.K, self.K), (self.H, self.K), (self.H,), *self.conv_parts(2 * self.d)]

    def first_state(self) -> Floats:
        parts = []
        for layer in range(self.layers):
            for number, shape in enumerate(self.parts(layer)):
                parts.append(np.full(shape, EMPTY if self.kind(layer) == "s" and number == 2 else 0.0).ravel())
        return np.concatenate(parts)

    def mixed(self, layer: int, x: Any, carried: list[Any]) -> tuple[Any, list[Any]]:
        name, of_conv = f"blocks.{layer}.mixer.", carried[3:]
        return (self.matrix if self.kind(layer) == "m" else self.vector)(name, x, carried[:3], of_conv)

    def reached(self, name: str, x: Any, carried: list[Any]) -> tuple[Any, list[Any]]:
        """x*, and what the convolution carries on."""
        return self.convolved(f"{name}conv", x, carried) if carried else (x, [])

    def matrix(self, name: str, x: Any, carried: list[Any], old: list[Any]) -> tuple[Any, list[Any]]:
        (C, n, m), (u, z) = carried, halves(self.linear(f"{name}up", x))
        reached, old = self.reached(name, u, old)
        q, k, v = (self.blockwise(name + of, u if of == "v" else reached) for of in "qkv")
        i, g = halves(self.linear(f"{name}gates", joined([q, k, v], -1)))  # (n, H) each
        q, k, v = (part.reshape(len(x), self.H, self.K) for part in (q, k, v))  # (n, H, K)
        k, left = k / arb(self.K).sqrt(), m - softplus(-g)
        m = larger(left, i)
        kept, new = exp(left - m), exp(i - m)[..., None] * k
        C, n = kept[..., None, None] * C + outer(new, v), kept[..., None] * n + new
        size = larger(abs((n * q).sum(-1)), exp(-m))  # (n, H)
        o = self.head_norm(name, read_by(C, q) / size[..., None])
        made = (o + self.w[f"{name}skip"] * reached) * silu(z)
        return self.linear(f"{name}down", made), [C, n, m, *old]

    def blockwise(self, name: str, x: Any) -> Any:
        """Blocks of numbers (n, 2 d), each times its matrix."""
        blocks = x.reshape(len(x), -1, 1, BLOCK)  # (n, 2 d / 4, 1, 4)
        return (blocks * self.w[name].reshape(-1, BLOCK, BLOCK)).sum(-1).reshape(len(x), -1)  # (n, 2 d)

    def vector(self, name: str, x: Any, carried: list[Any], old: list[Any]) -> tuple[Any, list[Any]]:
        reached, old = self.reached(name, x, old)
        sums = self.sums(name, x, reached) + product(carried[0], self.recurrent(name).T)
        after = cell(split(sums, *[self.d] * 4), carried)
        return self.head_norm(name, after[0].reshape(len(x), self.H, self.P)), [*after, *old]  # heads as (n, H, P)

    def sums(self, name: str, x: Any, reached: Any) -> Any:
        """w x and its bias (n, 4 d)."""
        weight, bias = self.w[f"{name}w.weight"], self.w[f"{name}w.bias"]
        return joined([product(reached, weight[: 2 * self.d].T), product(x, weight[2 * self.d :].T)], -1) + bias

    def recurrent(self, name: str) -> Any:
        """R as one matrix (4 d, d), with zeros between heads."""
        H, P = self.H, self.P
        r, R = self.raw[f"{name}r"].reshape(4, H, P, P), np.zeros((4, H, P, self.d))  # gate, head, row, ...
        for head in range(H):
            R[:, head, :, head * P : (head + 1) * P] = r[:, head]
        return self.of(R.reshape(4 * self.d, self.d))  # (4 d, d)

    def head_norm(self, name: str, x: Any, is_box: bool = False) -> Any:
        """N of heads (n, H, m), as (n, H m)."""
        m = x.shape[-1]
        centred = x - x.sum(-1, keepdims=True) / m
        scaled = over(centred, size_of(centred)) if is_box else within_root(centred / root_mean_square(centred), m)
        return scaled.reshape(len(x), -1) * self.w[f"{name}head_norm.weight"]  # (n, H m)

    def why_no_boxes(self) -> str | None:
        if self.layers > 1 or self.kind(0) != "s" or self.model["conv"]:
            return "boxes are proven of xLSTM where it is one block of sLSTM without a convolution"
        return None

    def image(self, point: Floats, radii: Floats, symbol: int, alone: bool = True) -> Doubles:
        name, d = "blocks.0.mixer.", self.d
        x = self.rms("blocks.0.norm", self.w["embedding.weight"][[symbol]])
        state = State(point, radii)
        carried = [state.part(at, at + d) for at in range(0, 3 * d, d)]
        sums = carried[0].linear(self.recurrent(name), self.sums(name, x, x)[0])
        after = cell([sums.part(at, at + d) for at in range(0, 4 * d, d)], carried)
        return joined([part.values for part in after], -1)

    def margin(self, point: Floats, radii: Floats, answer: int, symbol: int) -> float:
        h = Doubles(point[: self.d], radii[: self.d]).reshape(1, self.H, self.P)  # (1, H, P)
        x = self.w["embedding.weight"][[symbol]] + self.head_norm("blocks.0.mixer.", h, is_box=True)
        x = self.fed("blocks.0.", x)
        weight, bias = self.w["readout.weight"], self.w["readout.bias"]
        others = np.delete(np.arange(len(self.output_names)), answer)
        apart = (weight[[answer]] - weight[others]) * self.w["norm.weight"]
        gaps = over(product(x, apart.T), size_of(x))[0] + (bias[[answer]] - bias[others])
        return float(np.min(ends(gaps)[0], initial=np.inf))


def cell(sums: list[Any], carried: list[Any]) -> list[Any]:
    """h', a' and l' of sLSTM, from the sums i, f, z and o and from h, a and l."""
    (i, f, z, o), (_, a, l) = sums, carried  # noqa: E741
    t = i - log_sigmoid(f) - l
    share, new = applied("sigmoid", t), applied("tanh", z)
    after = a.mixed(new, share) if isinstance(a, Box) else a + share * (new - a)
    return [applied("sigmoid", o) * after, after, i - log_sigmoid(t)]


def log_sigmoid(x: Any) -> Any:
    """log(1 / (1 + exp(-x)))."""
    return x.log_sigmoid() if isinstance(x, Box) else -softplus(-x)


def larger(a: Any, b: Any) -> Any:
    return b + positive(a - b)


def size_of(x: Doubles) -> Doubles:
    """sqrt(mean x^2 + 10^-5) of a box, along the last axis, which stays; squares of -1 to 2 are from 0 to 4."""
    squares = 1 - flatness(x)
    return sqrt(squares.sum(-1, keepdims=True) / x.shape[-1] + arb(EPS))


def over(x: Doubles, size: Doubles) -> Doubles:
    """x / size of a box, for what is above 0: largest and least where both are at an end."""
    low, high = (known(np.where(end > 0, end, np.nan)) for end in ends(size))
    return times(x, between(ends(1 / high)[0], ends(1 / low)[1]))
