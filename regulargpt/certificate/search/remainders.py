"""What LayerNorm and the activations leave beyond their first-order expansion, over affine forms."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from regulargpt.certificate.search.affine_forms import (
    ROUND_UP,
    AffineForm,
    Coordinates,
    DeviationBound,
    Floats,
    Lengths,
    Source,
    euclidean,
)

Remainder = Callable[[Floats, Floats], Floats]  # (centre, displacement) to the largest remainder

EPS = 1e-5  # LayerNorm's
# sup of ||D^2 v(u)[h, h]|| s^2 / ||h||^2 for v(u) = u / s, s = sqrt(|u|^2 + c).
LAYER_NORM_CURVATURE = 2 / math.sqrt(3) * ROUND_UP


@dataclass(frozen=True)
class LayerNormRemainder:
    """What LayerNorm's first-order expansion leaves.

    LN(x) = sqrt(d) v(u), u = x - mean(x), v(u) = u / s, s^2 = |u|^2 + d eps. For a unit vector h at the angle t to u,
    and k = |u| / s <= 1, s^2 D^2 v(u)[h, h] has the components -(2 k cos^2 t + k - 3 k^3 cos^2 t) along u and
    -2 k cos t sin t along the part of h across u. The length is largest at k = 1: its square is
    1 + 2 z - 3 z^2 for z = cos^2 t, at most 4/3.
    """

    length: Floats  # (n,): |u| at the centre
    deviation: DeviationBound
    d: int

    def __call__(self, radii: Floats, lengths: Lengths) -> Floats:
        """At most this long (n,)."""
        far = self.deviation(radii, lengths)
        nearest = np.square(np.maximum(self.length - far, 0)) + self.d * EPS
        return math.sqrt(self.d) * LAYER_NORM_CURVATURE / 2 * far**2 / nearest


def layer_norm(form: AffineForm, name: Source, C: int) -> tuple[AffineForm, LayerNormRemainder]:
    """LayerNorm without gain and bias; `name` is the new source."""
    form = form.centred()
    u, d = form.centre, form.centre.shape[1]
    remainder = LayerNormRemainder(np.sqrt(np.square(u).sum(1)) / ROUND_UP, DeviationBound.from_form(form, C), d)
    s = np.sqrt(np.square(u).sum(1) + d * EPS)
    maps = {source: layer_norm_derivative(u, s, m) for source, m in form.maps.items()}
    return AffineForm(math.sqrt(d) * u / s[:, None], {**maps, name: np.eye(d)[None]}), remainder


def layer_norm_derivative(u: Floats, s: Floats, maps: Floats) -> Floats:
    """sqrt(d) (1 / s - u u^T / s^3) M: the derivative of LayerNorm."""
    # Without the d x d matrix: u as a column (n, d, 1) times u^T M as a row (n, 1, k), s as (n, 1, 1).
    radial = u[:, :, None] * ((u[:, None, :] @ maps) / np.square(s)[:, None, None])  # (n, d, k)
    return math.sqrt(u.shape[1]) * (maps - radial) / s[:, None, None]


@dataclass(frozen=True)
class CoordinateBound:
    """How far each coordinate of a form can be from its centre, as a function of the sources' lengths."""

    shape: tuple[int, ...]  # (n, m)
    rows: Lengths  # (n or 1, m) each: the lengths of the maps' rows; (n or 1, m, k_s), |M|, for `Coordinates`

    @classmethod
    def from_form(cls, form: AffineForm) -> CoordinateBound:
        """The lengths of a form's rows."""
        rows = {s: np.abs(m) if isinstance(s, Coordinates) else euclidean(m, 2) for s, m in form.maps.items()}
        return cls(form.centre.shape, rows)

    def __call__(self, radii: Floats, lengths: Lengths) -> Floats:
        """At most this far (n, m)."""
        far = np.zeros(self.shape)
        for s, row in self.rows.items():
            if isinstance(s, Coordinates):
                far += (row @ lengths[s][:, :, None])[:, :, 0]  # (n, m, k_s) times (n, k_s, 1)
            else:
                far += row * (radii[:, s] if isinstance(s, int) else lengths[s])[:, None]  # (n, m) times (n, 1)
        return far * ROUND_UP


@dataclass(frozen=True)
class ActivationRemainder:
    """What the activation's first-order expansion leaves."""

    centre: Floats  # (n, m)
    coordinates: CoordinateBound
    largest: Remainder  # of the activation

    def __call__(self, radii: Floats, lengths: Lengths) -> Floats:
        """Each coordinate at most (n, m)."""
        return self.largest(self.centre, self.coordinates(radii, lengths)) * ROUND_UP


def activation(form: AffineForm, kind: str, name: Coordinates) -> tuple[AffineForm, ActivationRemainder]:
    """GELU, ReLU or sigmoid; `name` is the new source."""
    x, (value, slope, largest) = form.centre, EXPANSIONS[kind]
    remainder = ActivationRemainder(x, CoordinateBound.from_form(form), largest)
    slopes = slope(x)[:, :, None]  # (n, m, 1)
    maps = {s: slopes * m for s, m in form.maps.items()}
    return AffineForm(value(x), {**maps, name: np.eye(x.shape[1])[None]}), remainder


@dataclass(frozen=True)
class ProductRemainder:
    """dx dy, coordinate by coordinate: what the first order of a product leaves."""

    x: CoordinateBound
    y: CoordinateBound

    def __call__(self, radii: Floats, lengths: Lengths) -> Floats:
        """Each coordinate at most (n, m)."""
        return self.x(radii, lengths) * self.y(radii, lengths) * ROUND_UP


def product(x: AffineForm, y: AffineForm, name: Coordinates) -> tuple[AffineForm, ProductRemainder]:
    """The product, coordinate by coordinate; `name` is the new source."""
    remainder = ProductRemainder(CoordinateBound.from_form(x), CoordinateBound.from_form(y))
    first = {s: y.centre[:, :, None] * m for s, m in x.maps.items()}  # (n, m, 1) times (n, m, k_s)
    for s, m in y.maps.items():
        first[s] = first.get(s, 0.0) + x.centre[:, :, None] * m
    return AffineForm(x.centre * y.centre, {**first, name: np.eye(x.centre.shape[1])[None]}), remainder


def gelu(x: Floats) -> Floats:
    """x Phi(x)."""
    return x * 0.5 * (1 + erf(x / math.sqrt(2)))


def relu(x: Floats) -> Floats:
    """max(x, 0)."""
    return np.maximum(x, 0)


def sigmoid(x: Floats) -> Floats:
    """1 / (1 + exp(-x)).

    >>> sigmoid(np.array([-1e4, 0.0, 1e4])).tolist()
    [0.0, 0.5, 1.0]
    """
    return 0.5 * (1 + np.tanh(x / 2))


def erf(x: Floats) -> Floats:
    """The error function.

    >>> erf(np.array([0.0, 9.0])).tolist()
    [0.0, 1.0]
    """
    return torch.erf(torch.from_numpy(np.asarray(x, dtype=np.float64))).numpy()


def density(x: Floats) -> Floats:
    """The standard normal density."""
    return np.exp(-np.square(x) / 2) / math.sqrt(2 * math.pi)


def gelu_slope(x: Floats) -> Floats:
    """Phi(x) + x phi(x)."""
    return 0.5 * (1 + erf(x / math.sqrt(2))) + x * density(x)


def gelu_curvature(x: Floats) -> Floats:
    """phi(x) (2 - x^2)."""
    return density(x) * (2 - np.square(x))


def gelu_remainder(x: Floats, far: Floats) -> Floats:
    """At most |g(x + h) - g(x) - g'(x) h| for |h| <= far: far^2 / 2 times the largest |g''|.

    g'' has its extremes at the ends of the interval or where its derivative phi(x) (x^3 - 4 x) vanishes: 0, 2, -2.
    """
    largest = np.maximum(np.abs(gelu_curvature(x - far)), np.abs(gelu_curvature(x + far)))
    for extreme in (0.0, 2.0, -2.0):
        at = np.abs(gelu_curvature(np.array(extreme)))
        largest = np.where(np.abs(x - extreme) <= far, np.maximum(largest, at), largest)
    return largest * np.square(far) / 2


def relu_slope(x: Floats) -> Floats:
    """1 where x > 0."""
    return (x > 0).astype(np.float64)


def relu_remainder(x: Floats, far: Floats) -> Floats:
    """At most |relu(x + h) - relu(x) - relu'(x) h| for |h| <= far: none where the sign stays, else the overhang."""
    return np.maximum(far - np.abs(x), 0)


def sigmoid_slope(x: Floats) -> Floats:
    """s (1 - s)."""
    return sigmoid(x) * sigmoid(-x)


def sigmoid_remainder(x: Floats, far: Floats) -> Floats:
    """At most far^2 / 2 times the largest |s''| = |s (1 - s) (1 - 2 s)|, 1 / (6 sqrt(3)) at (1 - 2 s)^2 = 1/3."""
    return np.square(far) / (12 * math.sqrt(3)) * ROUND_UP + 0 * x


# The function, its derivative, and what its first order leaves.
EXPANSIONS: dict[str, tuple[Callable[[Floats], Floats], Callable[[Floats], Floats], Remainder]] = {
    "gelu": (gelu, gelu_slope, gelu_remainder),
    "relu": (relu, relu_slope, relu_remainder),
    "sigmoid": (sigmoid, sigmoid_slope, sigmoid_remainder),
}
