"""Affine forms with balls: what a vector inside the network can be while the states under it move in balls.

A form is centre + sum_s maps[s] e_s. The sources e_s are vectors of which only the length is bounded, or each
coordinate: the states' own displacements, and for every map that is not linear (LayerNorm, attention, activation)
what its first-order expansion leaves. Linear maps act on a form exactly; so all that is lost is in the lengths of
the later sources.

The maps depend on the centres alone, the lengths on the balls: the first are computed once, the second for every
choice of radii.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from regulargpt.certificate.network import erf, gelu

Floats = npt.NDArray[np.float64]
Source = Hashable
Lengths = dict[Source, Floats]  # ||e_s|| at most (n,), or each |e_si| at most (n, k_s)
Remainder = Callable[[Floats, Floats], Floats]  # (centre, displacement) to the largest remainder

EPS = 1e-5  # LayerNorm's
# Norms come out of LAPACK with relative errors below 1e-11.
ABOVE = 1 + 1e-9


def spectral(matrices: Floats) -> Floats:
    """The spectral norms (...) of matrices (..., m, k), rounded up.

    >>> spectral(np.diag([3.0, -4.0])).round(6).tolist()
    4.0
    """
    return np.sqrt(np.maximum(np.linalg.eigvalsh(gram(matrices))[..., -1], 0)) * ABOVE


def gram(matrices: Floats) -> Floats:
    """M M^T or M^T M, whichever is smaller."""
    turned = np.swapaxes(matrices, -1, -2)
    return matrices @ turned if matrices.shape[-2] < matrices.shape[-1] else turned @ matrices


def quick(matrices: Floats) -> Floats:
    """At most 7 % above the spectral norms (...) of matrices (..., m, k), m or k <= 64, and five times as quick.

    ||M||^64 = ||G^32|| <= tr G^32 = ||G^16||_F^2 for G = M M^T.

    >>> bool(4 < quick(np.diag([3.0, -4.0])) < 4.1)
    True
    """
    power = gram(matrices)
    log = np.zeros(power.shape[:-2])  # of what was divided out, for the power at hand
    for squarings in range(5):
        size = np.sqrt(np.square(power).sum((-1, -2))) + 1e-300
        log = log + np.log(size)
        if squarings < 4:
            power = power / size[..., None, None]
            power, log = power @ power, 2 * log
    return np.exp(log / 32) * ABOVE


def lengths(matrices: Floats, axis: int) -> Floats:
    """The lengths of columns (axis 1) or rows (axis 2)."""
    return np.sqrt(np.square(matrices).sum(axis))


# The sources that are known coordinate by coordinate.
COORDINATES = ("pattern",)


@dataclass
class Form:
    """centre (n, m) and maps {s: (n or 1, m, k_s)}."""

    centre: Floats
    maps: dict[Source, Floats]

    def linear(self, weight: Floats, bias: Floats | float = 0.0) -> Form:
        """x W^T + b."""
        return Form(self.centre @ weight.T + bias, {s: weight @ m for s, m in self.maps.items()})

    def scaled(self, gain: Floats, bias: Floats) -> Form:
        """gain x + bias, coordinate by coordinate."""
        return Form(self.centre * gain + bias, {s: gain[:, None] * m for s, m in self.maps.items()})

    def plus(self, other: Form) -> Form:
        """The sum; a source in both is the same vector in both."""
        maps = dict(self.maps)
        for s, m in other.maps.items():
            maps[s] = maps[s] + m if s in maps else m
        return Form(self.centre + other.centre, maps)

    def centred(self) -> Form:
        """x - mean(x)."""
        maps = {s: m - m.mean(1, keepdims=True) for s, m in self.maps.items()}
        return Form(self.centre - self.centre.mean(1, keepdims=True), maps)


@dataclass(frozen=True)
class Reach:
    """How far a form can be from its centre, in the Euclidean norm, as a function of the sources' lengths.

    `norms` (n or 1,) are those of the other sources, (n or 1, k_s) of each column for the sources in COORDINATES.
    `pairs` (n, C, C) are ||A_i^T A_j|| for the maps A_j of the C states: with ||delta_j|| <= r_j,
    ||sum_j A_j delta_j||^2 <= sum_ij r_i r_j ||A_i^T A_j||.
    """

    pairs: Floats
    norms: Lengths

    @classmethod
    def of(cls, form: Form, C: int, norm: Callable[[Floats], Floats] = quick) -> Reach:
        """The norms of a form's maps; the states are the sources 0 .. C-1."""
        pairs = np.zeros((len(form.centre), C, C))
        for i in range(C):
            for j in range(i, C):
                a, b = form.maps[i], form.maps[j]
                pairs[:, i, j] = pairs[:, j, i] = norm(a) ** 2 if i == j else norm(np.swapaxes(a, 1, 2) @ b)
        others = {s: m for s, m in form.maps.items() if not isinstance(s, int)}
        return cls(pairs, {s: lengths(m, 1) if s in COORDINATES else norm(m) for s, m in others.items()})

    def linear(self, radii: Floats) -> Floats:
        """How far the states alone, within these radii (n, C), move it in first order: (n,)."""
        return np.sqrt(np.einsum("ni,nij,nj->n", radii, self.pairs, radii))

    def __call__(self, radii: Floats, lengths: Lengths) -> Floats:
        """At most this far (n,)."""
        far = self.linear(radii)
        for s, norm in self.norms.items():
            far = far + (norm * lengths[s] if s not in COORDINATES else (norm * lengths[s]).sum(1))
        return far * ABOVE


# sup of ||D^2 v(u)[h, h]|| s^2 / ||h||^2 for v(u) = u / s, s = sqrt(|u|^2 + c).
BEND = 2 / math.sqrt(3) * ABOVE


@dataclass(frozen=True)
class Bent:
    """What LayerNorm's first-order expansion leaves.

    LN(x) = sqrt(d) v(u), u = x - mean(x), v(u) = u / s, s^2 = |u|^2 + d eps. For a unit vector h at the angle t to u,
    and k = |u| / s <= 1, s^2 D^2 v(u)[h, h] has the components -(2 k cos^2 t + k - 3 k^3 cos^2 t) along u and
    -2 k cos t sin t along the part of h across u. The length is largest at k = 1: its square is
    1 + 2 z - 3 z^2 for z = cos^2 t, at most 4/3.
    """

    length: Floats  # (n,): |u| at the centre
    reach: Reach
    d: int

    def __call__(self, radii: Floats, lengths: Lengths) -> Floats:
        """At most this long (n,)."""
        far = self.reach(radii, lengths)
        nearest = np.square(np.maximum(self.length - far, 0)) + self.d * EPS
        return math.sqrt(self.d) * BEND / 2 * far**2 / nearest


def layer_norm(form: Form, name: Source, C: int) -> tuple[Form, Bent]:
    """LayerNorm without gain and bias; `name` is the new source."""
    form = form.centred()
    u, d = form.centre, form.centre.shape[1]
    bent = Bent(np.sqrt(np.square(u).sum(1)) / ABOVE, Reach.of(form, C), d)
    s = np.sqrt(np.square(u).sum(1) + d * EPS)
    maps = {source: along_sphere(u, s, m) for source, m in form.maps.items()}
    return Form(math.sqrt(d) * u / s[:, None], {**maps, name: np.eye(d)[None]}), bent


def along_sphere(u: Floats, s: Floats, maps: Floats) -> Floats:
    """sqrt(d) (1 / s - u u^T / s^3) M: the derivative of LayerNorm."""
    radial = u[:, :, None] * ((u[:, None, :] @ maps) / np.square(s)[:, None, None])
    return math.sqrt(u.shape[1]) * (maps - radial) / s[:, None, None]


@dataclass(frozen=True)
class Curved:
    """What the activation's first-order expansion leaves."""

    centre: Floats  # (n, m)
    rows: Lengths  # (n or 1, m) each: the lengths of the maps' rows; (n or 1, m, k_s), the maps, for COORDINATES
    reach: Reach
    remainder: Remainder

    def __call__(self, radii: Floats, lengths: Lengths) -> Floats:
        """At most this long (n,)."""
        far = np.zeros_like(self.centre)
        for s, row in self.rows.items():
            if s in COORDINATES:
                far += (row * lengths[s][:, None]).sum(2)
            else:
                far += row * (radii[:, s] if isinstance(s, int) else lengths[s])[:, None]
        far *= ABOVE
        largest = self.remainder(self.centre, far)
        # For both activations |remainder_i| / |h_i| is largest at |h_i| = far_i: ||remainder|| <= max slope ||h||.
        slope = np.divide(largest, far, out=np.zeros_like(far), where=far > 0).max(1)
        return np.minimum(np.sqrt(np.square(largest).sum(1)), slope * self.reach(radii, lengths)) * ABOVE


def activation(form: Form, kind: str, name: Source, C: int) -> tuple[Form, Curved]:
    """GELU or ReLU; `name` is the new source."""
    x = form.centre
    value, slope, remainder = (
        (gelu, gelu_slope, gelu_remainder) if kind == "gelu" else (relu, relu_slope, relu_remainder)
    )
    rows = {s: np.abs(m) if s in COORDINATES else lengths(m, 2) for s, m in form.maps.items()}
    curved = Curved(x, rows, Reach.of(form, C), remainder)
    slopes = slope(x)[:, :, None]
    maps = {s: slopes * m for s, m in form.maps.items()}
    return Form(value(x), {**maps, name: np.eye(x.shape[1])[None]}), curved


def density(x: Floats) -> Floats:
    """The standard normal density."""
    return np.exp(-np.square(x) / 2) / math.sqrt(2 * math.pi)


def gelu_slope(x: Floats) -> Floats:
    """Phi(x) + x phi(x)."""
    return 0.5 * (1 + erf(x / math.sqrt(2))) + x * density(x)


def gelu_bend(x: Floats) -> Floats:
    """phi(x) (2 - x^2)."""
    return density(x) * (2 - np.square(x))


def gelu_remainder(x: Floats, far: Floats) -> Floats:
    """At most |g(x + h) - g(x) - g'(x) h| for |h| <= far: far^2 / 2 times the largest |g''|.

    g'' has its extremes at the ends of the interval or where its derivative phi(x) (x^3 - 4 x) vanishes: 0, 2, -2.
    """
    largest = np.maximum(np.abs(gelu_bend(x - far)), np.abs(gelu_bend(x + far)))
    for extreme in (0.0, 2.0, -2.0):
        at = np.abs(gelu_bend(np.array(extreme)))
        largest = np.where(np.abs(x - extreme) <= far, np.maximum(largest, at), largest)
    return largest * np.square(far) / 2


def relu(x: Floats) -> Floats:
    """max(x, 0)."""
    return np.maximum(x, 0)


def relu_slope(x: Floats) -> Floats:
    """1 where x > 0."""
    return (x > 0).astype(np.float64)


def relu_remainder(x: Floats, far: Floats) -> Floats:
    """At most |relu(x + h) - relu(x) - relu'(x) h| for |h| <= far: none where the sign stays, else the overhang."""
    return np.maximum(far - np.abs(x), 0)
