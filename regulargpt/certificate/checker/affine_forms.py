"""How far the block's image can be from a prototype when the states under it move in balls around prototypes.

Inside the block every vector is written as its value at the prototypes plus sum_s M_s e_s: matrices M_s that are known,
times vectors e_s of which only a bound of the length is known. The first e_s are the displacements of the children.
A linear map takes M_s to W M_s. Each of the three other maps (LayerNorm, attention, activation) has a derivative at
the centre, which multiplies the M_s; what it does beyond that is one more e_s, whose length is bounded here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, zip_longest
from typing import Any

import numpy as np
from flint import arb

from regulargpt.certificate.checker.balls import (
    Balls,
    erf,
    exact,
    exp,
    largest,
    less,
    norm,
    positive,
    product,
    spectral,
)
from regulargpt.certificate.checker.network import ACTIVATIONS, Ints
from regulargpt.certificate.checker.regulargpt import R, RegularGPT, softmax

# A source counts hardly if it moves a vector by less than this share of what all do.
NEGLIGIBLE = 0.02


class TooFar(ValueError):
    """The balls are so large that nothing follows."""


@dataclass(frozen=True)
class AffineForm:
    """centre (m,) + sum_s maps[s] (m, d_s) e_s with |e_s| <= sizes[s]."""

    centre: Balls
    maps: tuple[Balls, ...]
    sizes: tuple[arb, ...]

    def linear(self, weight: Balls, bias: Any = 0) -> AffineForm:
        """W x + b."""
        ends = np.cumsum([1, *(m.shape[1] for m in self.maps)])
        # One product for all: columns (n, 1 + sum d_s), the centre first.
        columns = product(weight, np.hstack([self.centre[:, None], *self.maps]))
        centre, *maps, _ = np.split(columns, ends, axis=1)
        return AffineForm(centre[:, 0] + bias, tuple(maps), self.sizes)

    def scaled(self, gain: Balls, bias: Any = 0) -> AffineForm:
        """gain x + bias, coordinate by coordinate."""
        return AffineForm(gain * self.centre + bias, tuple(gain[:, None] * m for m in self.maps), self.sizes)

    def plus(self, other: AffineForm) -> AffineForm:
        """The sum, where `other` was made from `self` and so begins with the same sources."""
        maps = (b if a is None else a + b for a, b in zip_longest(self.maps, other.maps))
        return AffineForm(self.centre + other.centre, tuple(maps), other.sizes)

    def with_remainder(self, size: Any) -> AffineForm:
        """And one more source, any vector of at most this length."""
        return AffineForm(self.centre, (*self.maps, identity(len(self.centre))), (*self.sizes, size.upper()))

    @cached_property
    def deviation(self) -> arb:
        """The largest |x - centre|. Frobenius norms, quick and too large, serve for the sources that hardly count."""
        frobenius = [size * norm(m.ravel()) for size, m in zip(self.sizes, self.maps, strict=True)]
        # Which norm is taken is a matter of speed alone: either is a bound.
        counts = [float(far) > NEGLIGIBLE * float(sum(frobenius)) for far in frobenius]
        sources = zip(self.sizes, self.maps, frobenius, counts, strict=True)
        return sum((size * spectral(m) if large else far for size, m, far, large in sources), arb(0)).upper()

    def coordinate_deviations(self) -> Any:
        """The largest |x_i - centre_i| (m,)."""
        return sum(
            (size * norm(m) for size, m in zip(self.sizes, self.maps, strict=True)), exact(np.zeros(len(self.centre)))
        )


def identity(d: int) -> Balls:
    """The identity matrix (d, d)."""
    return exact(np.eye(d))


def zeros(*shape: int) -> Balls:
    """Balls at 0 of radius 0."""
    return exact(np.zeros(shape))


def layer_norm(x: AffineForm) -> AffineForm:
    """LayerNorm without gain and bias: sqrt(d) v with v = u / s, u = x - mean(x), s^2 = |u|^2 + d epsilon.

    (u, sqrt(d epsilon)) is a vector a of length s, and v the first d coordinates of a / s. Let b be another such
    vector, |b - a| <= h < s, t = |b| / s, q = 1 - the cosine of their angle and D = (h / s)^2. Beyond the derivative
    (I - a a^T / s^2) / s, the unit vector moves by R with |R|^2 = q^2 + q (2 - q) (1 - t)^2, as one sees in the plane
    of a and b; and D >= (1 - t)^2 + 2 t q. With y = (1 - t)^2 and t >= 1 - h / s this gives
    |R|^2 <= ((D - y)^2 / 4 + (D - y) y) / (1 - h / s)^2 <= D^2 / (3 (1 - h / s)^2): |R| <= h^2 / (sqrt(3) s (s - h)).
    """
    d = len(x.centre)
    u = AffineForm(x.centre - x.centre.sum() / d, tuple(m - m.sum(0) / d for m in x.maps), x.sizes)
    s = ((u.centre * u.centre).sum() + d * arb("1e-5")).sqrt()
    # All that moves u, at once: the remainder needs only how far in all.
    h, v = u.deviation, u.centre / s
    if not less(h, s):
        raise TooFar
    root = arb(d).sqrt()
    maps = tuple((m - np.outer(v, v @ m)) * (root / s) for m in u.maps)
    normed = AffineForm(v * root, maps, u.sizes)
    return normed.with_remainder(root * h * h / (arb(3).sqrt() * s * (s - h))) if maps else normed  # the pad stays


def activation(x: AffineForm, kind: str) -> AffineForm:
    """GELU or ReLU. Beyond the derivative, coordinate i moves by at most `remainder`, if it moves by at most h_i.

    GELU: h_i^2 / 2 times the largest |g''| on the way, g''(z) = phi(z) (2 - z^2), evaluated on the whole interval as
    one ball. ReLU: nothing while the sign stays, else by how much h_i exceeds |z_i|; where the sign of z_i itself is
    not certain, the slope is taken to be 0, and h_i bounds all.
    """
    z, h = x.centre, x.coordinate_deviations()
    if kind == "gelu":
        interval = z + h * arb(0, 1)  # the ball of all values on the way
        slope = (1 + erf(z / arb(2).sqrt())) / 2 + z * density(z)
        remainder = largest(density(interval) * (2 - interval * interval)) * h * h / 2
    else:
        up, down = np.greater(z, 0).astype(bool), np.less_equal(z, 0).astype(bool)
        slope, remainder = exact(up.astype(float)), np.where(up | down, positive(h - abs(z)), h)
    return AffineForm(ACTIVATIONS[kind](z), tuple(slope[:, None] * m for m in x.maps), x.sizes).with_remainder(
        norm(remainder)
    )


def density(x: Balls) -> Balls:
    """The normal density phi."""
    return exp(-x * x / 2) / (2 * arb.pi()).sqrt()


class BlockBounds:
    """The block over windows of states that move in balls of `radii` (K,) around `prototypes` (K, d)."""

    def __init__(self, network: RegularGPT, prototypes: Balls, radii: Balls):
        self.network, self.w = network, network.w
        self.prototypes, self.radii, self.eye = prototypes, radii, identity(network.d)
        self._heads: dict[int, Heads] = {}

    def image(self, window: Ints) -> AffineForm:
        """The new state over a window (C,) of rows, 0 the pad. Raises TooFar where nothing follows for it."""
        own = self.row(window[0])
        attended = attend(self.network, [self.heads(i) for i in window])
        # The own state's displacement is the first source of what was attended, if it moves at all.
        x = AffineForm(own.centre, own.maps, attended.sizes).plus(attended)
        if self.network.pre:
            x = x.plus(self.ffn(self.norm("blocks.0.ln2", x)))
        else:
            x = self.norm("blocks.0.ln1", x)
            x = self.norm("blocks.0.ln2", x.plus(self.ffn(x)))
        return self.norm("state_norm", x) if self.network.model["state_norm"] else x

    def row(self, row: int) -> AffineForm:
        """A prototype in its ball, or 0: the pad, which does not move."""
        if row == 0:
            return AffineForm(self.network.absent[0], (), ())
        return AffineForm(self.prototypes[row - 1], (self.eye,), (self.radii[row - 1],))

    def heads(self, row: int) -> Heads:
        """What attention makes of a row, computed once."""
        if row not in self._heads:
            x = self.row(row)
            self._heads[row] = Heads.of(self.network, self.norm("blocks.0.ln1", x) if self.network.pre else x)
        return self._heads[row]

    def norm(self, name: str, x: AffineForm) -> AffineForm:
        """LayerNorm with gain and bias."""
        return layer_norm(x).scaled(self.w[f"{name}.weight"], self.w[f"{name}.bias"])

    def ffn(self, x: AffineForm) -> AffineForm:
        """The two-layer network."""
        hidden = x.linear(self.w["blocks.0.ff_in.weight"], self.w["blocks.0.ff_in.bias"])
        hidden = activation(hidden, self.network.model["activation"])
        return hidden.linear(self.w["blocks.0.ff_out.weight"], self.w["blocks.0.ff_out.bias"])


@dataclass(frozen=True)
class Heads:
    """Queries, keys, and values through the output projection, of one row, head by head; queries over sqrt(d_head)."""

    q: list[AffineForm]
    k: list[AffineForm]
    v: list[AffineForm]

    @classmethod
    def of(cls, network: RegularGPT, x: AffineForm) -> Heads:
        """What attention makes of a row (d,)."""
        w, width = network.w, network.d // network.n_heads

        def parts(name: str) -> list[AffineForm]:
            whole = x.linear(w[f"blocks.0.attn.{name}.weight"], w.get(f"blocks.0.attn.{name}.bias", 0))
            cuts = [slice(at, at + width) for at in range(0, network.d, width)]
            return [AffineForm(whole.centre[cut], tuple(m[cut] for m in whole.maps), x.sizes) for cut in cuts]

        out = np.split(w["blocks.0.attn.out.weight"], network.n_heads, axis=1)
        scale = exact(np.ones(width)) / arb(width).sqrt()
        values = [v.linear(weight) for v, weight in zip(parts("value"), out, strict=True)]
        return cls([q.scaled(scale) for q in parts("query")], parts("key"), values)


def attend(network: RegularGPT, window: list[Heads]) -> AffineForm:
    """sum_jh p_jh v_jh + b over the heads h and offsets j of a window, p_h = softmax of the logits q_0h k_jh + r_hj.

    When everything moves, logit j moves by tau_j = a linear part + beta_j, |beta_j| <= |dq| |dk_j|. Let w be the
    largest tau_i - tau_j, and phi(t) = softmax(logits + t tau). Then phi_j' = phi_j (tau_j - m), m the mean of tau, and
    phi_j'' = phi_j ((tau_j - m)^2 - V), V its variance. |tau_j - m| <= (1 - phi_j) w and V <= (1 - phi_j) w^2, so with
    P = max over t of phi_j (1 - phi_j): |p_j' - p_j| <= P w, and beyond its first order p_j moves by at most P w^2 / 2.
    As the odds of j change by at most exp(w), P <= min(1/4, p_j (1 - p_j) exp(w)).
    The sum of the p_j stays 1, so of what they multiply only the distance from the mean value counts.
    """
    C, d, own = len(window), network.d, window[0]
    sources = [(c, s) for c in range(C) for s in range(len(window[c].k[0].maps))]
    sizes = tuple(window[c].k[0].sizes[s] for c, s in sources)
    centre, maps, rest = zeros(d) + network.w.get("blocks.0.attn.out.bias", 0), [zeros(d, d) for _ in sources], arb(0)
    for h in range(network.n_heads):
        q, k, v = own.q[h], [row.k[h] for row in window], [row.v[h] for row in window]
        logits = np.array([(q.centre * key.centre).sum() for key in k]) + network.w[R][h]
        p = softmax(logits, network.open[:, h])  # (C,)
        others = ~np.eye(C, dtype=bool) @ p  # 1 - p, without cancellation
        # The linear parts of the tau_j by each source: (C, d_s).
        parts = []
        for c, s in sources:
            part = zeros(C, k[c].maps[s].shape[1])
            part[c] += q.centre @ k[c].maps[s]
            parts.append(part + (np.array([key.centre @ q.maps[s] for key in k]) if c == 0 else 0))
        beta = np.array([q.deviation * key.deviation for key in k])
        w = arb(0)
        for i, j in combinations(np.flatnonzero(network.open[:, h]), 2):
            linear = sum((size * norm(part[i] - part[j]) for size, part in zip(sizes, parts, strict=True)), arb(0))
            w = w.max(linear + beta[i] + beta[j])
        mean = sum(p[j] * v[j].centre for j in range(C))
        centre = centre + mean
        for at, ((c, s), part) in enumerate(zip(sources, parts, strict=True)):
            of_pattern = p[:, None] * (part - p @ part)  # (C, d_s), the first order of the p_j
            maps[at] = (
                maps[at] + p[c] * v[c].maps[s] + sum(np.outer(v[j].centre - mean, of_pattern[j]) for j in range(C))
            )
        for j in range(C):
            P = (p[j] * others[j] * w.exp()).min(arb(0.25))
            first = p[j] * (others[j] * beta[j] + (p @ beta - p[j] * beta[j]))
            rest += norm(v[j].centre - mean) * (first + P * w * w / 2) + P * w * v[j].deviation
    return AffineForm(centre, tuple(maps), sizes).with_remainder(rest)
