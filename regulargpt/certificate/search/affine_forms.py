"""Affine forms over balls: what a vector inside the network can be while the states under it move in balls.

A form is centre + sum_s maps[s] e_s. The sources e_s are vectors of which only the length is bounded, or each
coordinate: the states' own displacements, and for every map that is not linear (LayerNorm, attention, activation)
what its first-order expansion leaves. Linear maps act on a form exactly; so all that is lost is in the lengths of
the later sources.

The maps depend on the centres alone, the lengths on the balls: the first are computed once, the second for every
choice of radii.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Coordinates:
    """The name of a source of which each coordinate is bounded, not only the length."""

    name: str


Source = int | str | Coordinates  # the states are 0 .. C-1
Lengths = dict[Source, Floats]  # ||e_s|| at most (n,), or, of `Coordinates`, each |e_si| at most (n, k_s)

# Norms come out of LAPACK with relative errors below 1e-11.
ROUND_UP = 1 + 1e-9


def spectral_norm(matrices: Floats) -> Floats:
    """The spectral norms (...) of matrices (..., m, k), rounded up.

    >>> spectral_norm(np.diag([3.0, -4.0])).round(6).tolist()
    4.0
    """
    return np.sqrt(np.maximum(np.linalg.eigvalsh(gram(matrices))[..., -1], 0)) * ROUND_UP


def gram(matrices: Floats) -> Floats:
    """M M^T or M^T M, whichever is smaller."""
    transposed = np.swapaxes(matrices, -1, -2)  # (..., k, m)
    return matrices @ transposed if matrices.shape[-2] < matrices.shape[-1] else transposed @ matrices


def spectral_bound(matrices: Floats) -> Floats:
    """At most 7 % above the spectral norms (...) of matrices (..., m, k), m or k <= 64, and five times as fast.

    ||M||^64 = ||G^32|| <= tr G^32 = ||G^16||_F^2 for G = M M^T.

    >>> bool(4 < spectral_bound(np.diag([3.0, -4.0])) < 4.1)
    True
    """
    power = gram(matrices)
    log = np.zeros(power.shape[:-2])  # of what was divided out, for the power at hand
    for squarings in range(5):
        # Scaled to norm 1 before each squaring, or a 32nd power would leave the range of doubles.
        size = np.sqrt(np.square(power).sum((-1, -2))) + 1e-300
        log = log + np.log(size)
        if squarings < 4:
            power = power / size[..., None, None]
            power, log = power @ power, 2 * log
    return np.exp(log / 32) * ROUND_UP


def euclidean(matrices: Floats, axis: int) -> Floats:
    """The lengths of columns (axis 1) or rows (axis 2)."""
    return np.sqrt(np.square(matrices).sum(axis))


@dataclass
class AffineForm:
    """centre (n, m) and maps {s: (n or 1, m, k_s)}."""

    centre: Floats
    maps: dict[Source, Floats]

    def linear(self, weight: Floats, bias: Floats | float = 0.0) -> AffineForm:
        """x W^T + b."""
        return AffineForm(self.centre @ weight.T + bias, {s: weight @ m for s, m in self.maps.items()})

    def scaled(self, gain: Floats, bias: Floats) -> AffineForm:
        """gain x + bias, coordinate by coordinate."""
        return AffineForm(self.centre * gain + bias, {s: gain[:, None] * m for s, m in self.maps.items()})

    def plus(self, other: AffineForm) -> AffineForm:
        """The sum; a source in both is the same vector in both."""
        maps = dict(self.maps)
        for s, m in other.maps.items():
            maps[s] = maps[s] + m if s in maps else m
        return AffineForm(self.centre + other.centre, maps)

    def minus(self, other: AffineForm) -> AffineForm:
        """The difference."""
        return self.plus(AffineForm(-other.centre, {s: -m for s, m in other.maps.items()}))

    def part(self, cut: slice) -> AffineForm:
        """Some of the coordinates."""
        return AffineForm(self.centre[:, cut], {s: m[:, cut] for s, m in self.maps.items()})

    def centred(self) -> AffineForm:
        """x - mean(x)."""
        maps = {s: m - m.mean(1, keepdims=True) for s, m in self.maps.items()}
        return AffineForm(self.centre - self.centre.mean(1, keepdims=True), maps)


def side_by_side(forms: Sequence[AffineForm]) -> AffineForm:
    """One vector of the coordinates of all."""
    centre = np.concatenate([form.centre for form in forms], 1)
    maps: dict[Source, Floats] = {}
    for s, m in {s: m for form in forms for s, m in form.maps.items()}.items():
        shapes = [(len(centre), form.centre.shape[1], m.shape[2]) for form in forms]
        blocks = (np.broadcast_to(f.maps.get(s, 0.0), shape) for f, shape in zip(forms, shapes, strict=True))
        maps[s] = np.concatenate([*blocks], 1)
    return AffineForm(centre, maps)


@dataclass(frozen=True)
class DeviationBound:
    """How far a form can be from its centre, in the Euclidean norm, as a function of the sources' lengths.

    `norms` (n or 1,) are those of the other sources' maps, `columns` (n or 1, k_s) the lengths of their columns for
    those of which each coordinate is bounded.
    `pairs` (n, C, C) are ||A_i^T A_j|| for the maps A_j of the C states: with ||delta_j|| <= r_j,
    ||sum_j A_j delta_j||^2 <= sum_ij r_i r_j ||A_i^T A_j||.
    """

    pairs: Floats
    norms: Lengths
    columns: Lengths

    @classmethod
    def from_form(cls, form: AffineForm, C: int, norm: Callable[[Floats], Floats] = spectral_bound) -> DeviationBound:
        """The norms of a form's maps; the states are among the sources 0 .. C-1."""
        pairs, states = np.zeros((len(form.centre), C, C)), [c for c in range(C) if c in form.maps]
        for i in states:
            for j in (c for c in states if c >= i):
                a, b = form.maps[i], form.maps[j]
                pairs[:, i, j] = pairs[:, j, i] = norm(a) ** 2 if i == j else norm(np.swapaxes(a, 1, 2) @ b)
        others = {s: m for s, m in form.maps.items() if not isinstance(s, int)}
        columns: Lengths = {s: euclidean(m, 1) for s, m in others.items() if isinstance(s, Coordinates)}
        return cls(pairs, {s: norm(m) for s, m in others.items()}, columns)

    def first_order(self, radii: Floats) -> Floats:
        """How far the states alone, within these radii (n, C), move it in first order: (n,)."""
        return np.sqrt(np.einsum("ni,nij,nj->n", radii, self.pairs, radii))

    def __call__(self, radii: Floats, lengths: Lengths) -> Floats:
        """At most this far (n,)."""
        far = self.first_order(radii)
        for s, norm in self.norms.items():
            if s in self.columns:
                whole = np.sqrt(np.square(lengths[s]).sum(1))
                far = far + np.minimum(norm * whole, (self.columns[s] * lengths[s]).sum(1))
            else:
                far = far + norm * lengths[s]
        return far * ROUND_UP
