"""Vectors inside a network while the states under it move in balls around prototypes, and what its maps do to them.

Every vector is written as its value at the prototypes plus sum_s M_s e_s: matrices M_s that are known, times vectors
e_s, the sources, of which only a bound of the length is known. The first e_s are the displacements of the children. A
linear map takes M_s to W M_s. Each of the other maps (LayerNorm, activation, product, attention) has a derivative at
the centre, which multiplies the M_s; what it does beyond that is another e_s, whose length is bounded here, and for
attention in block_bounds.py. An activation or a product acts on each coordinate alone, so there each coordinate of e_s
is bounded, too. That is the sharper bound by far where few units change sign: a ReLU leaves nothing on all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb

from regulargpt.certificate.checker.balls import (
    Balls,
    constant,
    erf,
    exp,
    greatest,
    joined,
    largest,
    norm,
    positive,
    product,
    spectral,
    where,
)
from regulargpt.certificate.checker.network import ACTIVATIONS

# A source counts hardly if it moves a vector by less than this share of what all do; by less than the second, it need
# not be told apart.
NEGLIGIBLE, LITTLE = 0.02, 1e-5


class TooFar(ValueError):
    """The balls are so large that nothing follows, at the precision at hand."""


@dataclass(frozen=True, eq=False)
class ErrorSource:
    """Any vector e with |e| <= size, and, where they are given, with |e_i| <= each_i for all i.

    Two sources are never equal: they are different vectors.
    """

    size: arb
    each: Any = None  # balls (m,)

    def reach(self, m: Balls) -> arb:
        """At least |M e|, by the Frobenius norm, or by the columns M_i: |M e| <= sum_i |M_i| each_i."""
        far = self.size * norm(m.reshape(-1))  # m as (n * m,)
        return far if self.each is None else far.min((norm(m, 0) * self.each).sum(0))

    def coordinate_reach(self, m: Balls) -> Any:
        """At least |(M e)_j| for every j."""
        return self.size * norm(m) if self.each is None else product(abs(m), self.each[:, None])[:, 0]


@dataclass(frozen=True)
class WrittenForm:
    """centre (m,) + sum_s written[s] (m, d_s) e_s, and e_s itself for s = `bare`, if any.

    A source of two forms is one vector in both.
    """

    centre: Balls
    written: Mapping[ErrorSource, Balls]
    bare: ErrorSource | None = None

    @cached_property
    def maps(self) -> Mapping[ErrorSource, Balls]:
        """The maps of all sources. That of `bare` is left out until it is requested: a linear map needs no (m, m)."""
        if self.bare is None:
            return self.written
        return {**self.written, self.bare: constant(np.eye(len(self.centre)), self.centre)}

    def linear(self, weight: Balls, bias: Any = 0) -> WrittenForm:
        # One product for all: columns (n, 1 + sum d_s), the centre first.
        columns = product(weight, joined([self.centre[:, None], *self.written.values()], 1))
        ends = np.cumsum([1, *(m.shape[1] for m in self.written.values())])
        maps = {s: columns[:, start:end] for s, start, end in zip(self.written, ends, ends[1:], strict=False)}
        return WrittenForm(columns[:, 0] + bias, maps if self.bare is None else {**maps, self.bare: weight})

    def scaled(self, gain: Balls, bias: Any = 0) -> WrittenForm:
        return WrittenForm(gain * self.centre + bias, {s: gain[:, None] * m for s, m in self.maps.items()})

    def plus(self, other: WrittenForm) -> WrittenForm:
        maps = dict(self.maps)
        for s, m in other.maps.items():
            maps[s] = maps[s] + m if s in maps else m
        return WrittenForm(self.centre + other.centre, maps)

    def times(self, other: WrittenForm) -> WrittenForm:
        """The product, coordinate by coordinate. With x = c + dx and y = e + dy it is c e + c dy + e dx, and dx dy.

        If |dx_i| <= h_i and |dy_i| <= k_i, the last vector has coordinates of at most h_i k_i, and a length of at most
        |h k|, and of at most max h_i |dy|, and of at most max k_i |dx|.
        """
        h, k = self.coordinate_deviations(), other.coordinate_deviations()
        size = norm(h * k).min(greatest(h) * other.deviation).min(greatest(k) * self.deviation)
        first = self.scaled(other.centre).plus(other.scaled(self.centre))
        return WrittenForm(self.centre * other.centre, first.maps).with_remainder(size, h * k)

    def part(self, cut: slice) -> WrittenForm:
        return WrittenForm(self.centre[cut], {s: m[cut] for s, m in self.maps.items()})

    def with_remainder(self, size: Any, each: Any = None) -> WrittenForm:
        """And another source, any vector of at most this length, and of at most these coordinates.

        It takes in the sources that move the form by little: together they are one such vector, and one is less work.
        """
        if size.upper().is_zero():
            return self
        reaches = {s: s.reach(m) for s, m in self.maps.items()}
        few = float(sum(reaches.values())) * LITTLE
        little = {s for s, far in reaches.items() if float(far) < few}
        size = sum((reaches[s] for s in little), size).upper()
        if each is not None:
            each = sum((s.coordinate_reach(self.maps[s]) for s in little), each)
        return WrittenForm(
            self.centre, {s: m for s, m in self.maps.items() if s not in little}, ErrorSource(size, each)
        )

    def with_sources(self, new: Mapping[ErrorSource, ErrorSource]) -> WrittenForm:
        return WrittenForm(self.centre, {new[s]: m for s, m in self.maps.items()})

    @cached_property
    def deviation(self) -> arb:
        """The largest |x - centre|. Quick bounds that may be too large serve for the sources that hardly count."""
        quick = [s.reach(m) for s, m in self.maps.items()]
        # Which norm is taken is a matter of speed alone: either is a bound.
        counts = [float(far) > NEGLIGIBLE * float(sum(quick)) for far in quick]
        sources = zip(self.maps.items(), quick, counts, strict=True)
        return sum((far.min(s.size * spectral(m)) if large else far for (s, m), far, large in sources), arb(0)).upper()

    def coordinate_deviations(self) -> Any:
        """The largest |x_i - centre_i| (m,)."""
        none = constant(np.zeros(len(self.centre)), self.centre)
        return sum((s.coordinate_reach(m) for s, m in self.maps.items()), none)


def side_by_side(forms: Sequence[WrittenForm]) -> WrittenForm:
    ends = np.cumsum([0, *(len(form.centre) for form in forms)])
    maps: dict[ErrorSource, Balls] = {}
    for form, start, end in zip(forms, ends, ends[1:], strict=False):
        for s, m in form.maps.items():
            maps.setdefault(s, constant(np.zeros((ends[-1], m.shape[1])), m))[start:end] = m
    return WrittenForm(joined([form.centre for form in forms], 0), maps)


def layer_norm(x: WrittenForm) -> WrittenForm:
    """LayerNorm without gain and bias: sqrt(d) v with v = u / s, u = x - mean(x), s^2 = |u|^2 + d epsilon.

    (u, sqrt(d epsilon)) is a vector a of length s, and v the first d coordinates of a / s. Let b be another such
    vector, |b - a| <= h < s, t = |b| / s, q = 1 - the cosine of their angle and D = (h / s)^2. Beyond the derivative
    (I - a a^T / s^2) / s, the unit vector moves by R with |R|^2 = q^2 + q (2 - q) (1 - t)^2, as one sees in the plane
    of a and b; and D >= (1 - t)^2 + 2 t q. With y = (1 - t)^2 and t >= 1 - h / s this gives
    |R|^2 <= ((D - y)^2 / 4 + (D - y) y) / (1 - h / s)^2 <= D^2 / (3 (1 - h / s)^2): |R| <= h^2 / (sqrt(3) s (s - h)).
    """
    d = len(x.centre)
    u = WrittenForm(x.centre - x.centre.sum(0) / d, {source: m - m.sum(0) / d for source, m in x.maps.items()})
    s = ((u.centre * u.centre).sum(0) + d * arb("1e-5")).sqrt()
    # All that moves u, at once: the remainder needs only how far in all.
    h, v = u.deviation, u.centre / s
    if not h < s:
        raise TooFar
    root = arb(d).sqrt()
    maps = {source: (m - v[:, None] * product(v[None], m)) * (root / s) for source, m in u.maps.items()}
    return WrittenForm(v * root, maps).with_remainder(root * h * h / (arb(3).sqrt() * s * (s - h)))


def activation(x: WrittenForm, kind: str) -> WrittenForm:
    """GELU, ReLU or sigmoid. Beyond the derivative, coordinate i moves by at most `remainder`, if it moves by at most
    h_i.

    GELU: h_i^2 / 2 times the largest |g''| on the way, g''(z) = phi(z) (2 - z^2), evaluated on the whole interval as
    one ball. ReLU: nothing while the sign stays, else by how much h_i exceeds |z_i|; where the sign of z_i itself is
    not certain, the slope is taken to be 0, and h_i bounds all. Sigmoid s: h_i^2 / 2 times the largest |s''|, with
    s'' = s (1 - s) (1 - 2 s) = u (1 - u^2) / 4 for u = 1 - 2 s, so |s''| <= 1 / (6 sqrt(3)), at u^2 = 1/3.
    """
    z, h = x.centre, x.coordinate_deviations()
    value = ACTIVATIONS[kind](z)
    if kind == "gelu":
        interval = z + h * arb(0, 1)  # the ball of all values on the way
        slope = (1 + erf(z / arb(2).sqrt())) / 2 + z * density(z)
        remainder = largest(density(interval) * (2 - interval * interval)) * h * h / 2
    elif kind == "sigmoid":
        slope, remainder = value * (1 - value), h * h / (12 * arb(3).sqrt())
    else:
        up, down = z > 0, z < 0  # type: ignore[operator]
        slope, remainder = constant(up, z), where(up | down, positive(h - abs(z)), h)
    maps = {s: slope[:, None] * m for s, m in x.maps.items()}
    return WrittenForm(value, maps).with_remainder(norm(remainder), remainder)


def density(x: Balls) -> Balls:
    """The normal density phi."""
    return exp(-x * x / 2) / (2 * arb.pi()).sqrt()
