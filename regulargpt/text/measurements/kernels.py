"""What a bias is as a kernel: shift invariance, (conditional) positive definiteness, and the constant that repairs it.

Section 3.3 of the thesis calls a symmetric f(m, n) positive definite (PD) if sum c_i c_j f(x_i, x_j) >= 0 for all
points and all c, and conditionally so (CPD) if that holds for the c that sum to 0. Everything here is float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped
from numpy import ndarray

from languages.errors import UserError

Profile = Callable[[Float[ndarray, "*shape"]], Float[ndarray, "*shape"]]
"""f of the distance |m - n|, entry by entry."""

TOLERANCE = 1e-10
"""An eigenvalue counts as negative below minus this share of the norm of its matrix."""

MOST_POINTS = 2048  # a matrix of 32 MiB, and 2-3 seconds for its eigenvalues


@dataclass(frozen=True)
class Definiteness:
    """A kernel on n points: its smallest eigenvalue among all vectors, and among those that sum to 0.

    `norm` is the largest absolute eigenvalue. Where the kernel is -inf somewhere, the eigenvalues are those of the
    limit: -inf as soon as the forbidden pairs alone break the condition.
    """

    n: int
    smallest: float
    smallest_on_sum_zero: float
    norm: float

    @property
    def is_pd(self) -> bool:
        """Whether it is positive definite on these points, up to rounding."""
        return self.smallest >= -TOLERANCE * self.norm

    @property
    def is_cpd(self) -> bool:
        """Whether it is conditionally positive definite on these points, up to rounding."""
        return self.smallest_on_sum_zero >= -TOLERANCE * self.norm

    @property
    def verdict(self) -> str:
        """The finding in words.

        >>> Definiteness(8, -24.6, 0.51, 24.6).verdict
        'conditionally positive definite on 8 points: 0.51 is the smallest eigenvalue on vectors of sum 0'
        """
        if self.is_pd:
            return f"positive definite on {self.n} points: the smallest eigenvalue is {self.smallest:.3g}"
        negation = "" if self.is_cpd else "not "
        value = f"{self.smallest_on_sum_zero:.3g} is the smallest eigenvalue on vectors of sum 0"
        return f"{negation}conditionally positive definite on {self.n} points: {value}"

    def as_json(self) -> dict[str, Any]:
        """Its numbers and its verdict."""
        return {**asdict(self), "is_pd": self.is_pd, "is_cpd": self.is_cpd, "verdict": self.verdict}


@dataclass(frozen=True)
class Shift:
    """The smallest c for which c + f is positive definite on n points, by n; None where no c does it."""

    smallest: dict[int, float | None]

    @property
    def trend(self) -> str:
        """Whether one c serves these lengths, or c grows over them, as it does for every f without a lower bound.

        >>> [Shift(dict(enumerate(c, 2))).trend for c in ((3.5, 15.5), (7.9, 8.0), (-1.0, 0.0), (0.0, None))]
        ['grows over these lengths', 'settles', 'is not needed', 'does not exist']
        """
        known = [c for c in self.smallest.values() if c is not None]
        if len(known) < len(self.smallest):
            return "does not exist"
        if max(known) <= 0:
            return "is not needed"
        return "grows over these lengths" if grows(known) else "settles"

    @property
    def verdict(self) -> str:
        """The finding in words.

        >>> Shift({8: 3.5, 32: 15.5}).verdict
        'the smallest c grows over these lengths: 3.5 (n = 8), 15.5 (n = 32)'
        >>> Shift({8: 0.5, 32: None}).verdict
        'the smallest c does not exist: 0.5 (n = 8), none (n = 32)'
        """
        values = (f"{'none' if c is None else f'{c:.4g}'} (n = {n})" for n, c in self.smallest.items())
        return f"the smallest c {self.trend}: {', '.join(values)}"

    def as_json(self) -> dict[str, Any]:
        """The constants by length, and what they say."""
        smallest = {str(n): c for n, c in self.smallest.items()}
        return {"smallest_c": smallest, "trend": self.trend, "verdict": self.verdict}


def grows(values: Sequence[float]) -> bool:
    """Whether the last of these values is more than 5 % above the length before.

    >>> grows([3.5, 15.5]), grows([7.9, 8.0])
    (True, False)
    """
    return len(values) > 1 and values[-1] > max(0.0, values[-2]) * 1.05


def gram(f: Profile, points: Sequence[float] | Shaped[ndarray, "n"]) -> Float[ndarray, "n n"]:
    """K_ij = f(|x_i - x_j|).

    >>> gram(lambda x: -x, [0.0, 1.0, 3.0]).tolist()
    [[-0.0, -1.0, -3.0], [-1.0, -0.0, -2.0], [-3.0, -2.0, -0.0]]
    """
    x = np.asarray(points, dtype=float)
    if x.ndim != 1 or not 1 <= len(x) <= MOST_POINTS:
        raise UserError(f"points of shape {x.shape}; give between 1 and {MOST_POINTS:,} numbers")
    return np.asarray(f(np.abs(x[:, None] - x[None, :])), dtype=float)  # (n, n)


def sum_zero_basis(n: int) -> Float[ndarray, "n n_less_1"]:
    """An orthonormal basis of the vectors of n numbers that sum to 0, one a column.

    >>> basis = sum_zero_basis(4)
    >>> bool(np.allclose(basis.sum(0), 0) and np.allclose(basis.T @ basis, np.eye(3)))
    True
    """
    # The reflection that swaps the first unit vector and the normalised vector of ones.
    v = np.full(n, n**-0.5)
    v[0] += 1.0
    reflection = np.eye(n) - 2 * np.outer(v, v) / (v @ v)
    return reflection[:, 1:]


def definiteness(K: Float[ndarray, "n n"]) -> Definiteness:
    """The eigenvalues that decide whether K is (conditionally) positive definite. Raises UserError for a K with nan.

    >>> definiteness(gram(lambda x: -x, np.arange(8))).is_cpd
    True
    >>> definiteness(gram(lambda x: -(x**2.5), np.arange(8))).is_cpd
    False
    """
    n = len(K)
    if np.isnan(K).any() or np.isposinf(K).any():
        raise UserError("the kernel has entries that are nan or infinite; a kernel has real values")
    if np.isneginf(K).any():
        # Against -inf nothing finite counts: what decides is where it stands.
        limit = definiteness(-np.isneginf(K).astype(float))
        return Definiteness(n, -np.inf, limit.smallest_on_sum_zero if limit.is_cpd else -np.inf, limit.norm)
    basis = sum_zero_basis(n)
    values = np.linalg.eigvalsh(K)
    inner = np.linalg.eigvalsh(basis.T @ K @ basis) if n > 1 else np.zeros(1)
    return Definiteness(n, float(values[0]), float(inner[0]), float(np.abs(values).max()))


def smallest_shift(K: Float[ndarray, "n n"]) -> float | None:
    """The smallest c for which c + K (c added to every entry) is positive semidefinite; None if there is none.

    Split R^n into the vectors of sum 0, with basis B, and u = 1/sqrt(n). As c enters at u alone, c + K is positive
    semidefinite exactly if B'KB is, B'Ku lies in its range, and the Schur complement c n + u'Ku - u'KB (B'KB)^+ B'Ku
    is not negative. For an invertible K with B'KB > 0 this is c = -1/(1'K^-1 1), which a test compares.

    >>> smallest_shift(gram(lambda x: -x, np.arange(8)))
    3.5
    >>> smallest_shift(gram(lambda x: -(x**2), np.arange(3)))
    >>> smallest_shift(np.diag([1.0, -1.0]))
    """
    n = len(K)
    if not np.isfinite(K).all() or not definiteness(K).is_cpd:
        return None
    u, basis = np.full(n, n**-0.5), sum_zero_basis(n)
    values, vectors = np.linalg.eigh(basis.T @ K @ basis)
    across = vectors.T @ (basis.T @ K @ u)
    scale = np.abs(K).max() * n
    # Rounding alone makes eigenvalues of about n eps |K| where there should be zeros.
    is_zero = values <= 16 * np.finfo(float).eps * scale
    if (np.abs(across[is_zero]) > np.sqrt(TOLERANCE) * scale).any():
        return None  # some v of sum 0 has v'Kv = 0 but 1'Kv != 0: v + t 1 makes the form negative, whatever c is
    complement = u @ K @ u - (across[~is_zero] ** 2 / values[~is_zero]).sum()
    return round(float(-complement / n), 12)


def shift_by_length(f: Profile, lengths: Sequence[int]) -> Shift:
    """The smallest c on the points 0..n-1, for each length n.

    >>> shift_by_length(lambda x: -x, (8, 32)).smallest
    {8: 3.5, 32: 15.5}
    """
    return Shift({n: smallest_shift(gram(f, np.arange(n))) for n in lengths})


def least_universal_shift(f: Profile, length: int) -> float:
    """A bound from two points: c + f is positive definite on a set only if c >= -(f(0) + f(x)) / 2 for its distances x.

    The 2 x 2 matrix of two points at distance x has the determinant (c + f(0))^2 - (c + f(x))^2, which is negative
    if c is smaller and f(x) < f(0). So an f without a lower bound has no c for all lengths, and a CPD f has one exactly
    if it is bounded.

    >>> least_universal_shift(lambda x: -x, 8)
    3.5
    """
    values = f(np.arange(length, dtype=float))
    return float(-(values[0] + values.min()) / 2)


def softmax_change(bias: Float[ndarray, "*rows keys"], c: float) -> float:
    """The largest change of the softmax over the keys when c is added to every entry: rounding, and nothing else.

    >>> softmax_change(np.array([0.0, -1.0, -2.0]), 100.0) < 1e-12
    True
    """
    return float(np.abs(softmax(bias + c) - softmax(bias)).max())


def softmax(x: Float[ndarray, "*rows keys"]) -> Float[ndarray, "*rows keys"]:
    """The softmax over the last axis, of which an entry at least is finite.

    >>> softmax(np.array([0.0, -np.inf])).tolist()
    [1.0, 0.0]
    """
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def shift_error(
    bias: Callable[[Float[ndarray, "n"], Float[ndarray, "n"]], Float[ndarray, "*heads n n"]],
    length: int,
    shifts: Sequence[int] = (1, 7, 1000),
) -> float:
    """How much b(m + p, n + p) differs from b(m, n) at most, over m >= n < length and the shifts p; 0 if invariant.

    >>> shift_error(lambda m, n: -np.abs(m[:, None] - n[None, :]), 8)
    0.0
    """
    at = np.arange(length, dtype=float)
    seen = np.tri(length, dtype=bool)
    here = bias(at, at)[..., seen]
    return max(largest_difference(here, bias(at + p, at + p)[..., seen]) for p in shifts)


def largest_difference(a: Float[ndarray, "*shape"], b: Float[ndarray, "*shape"]) -> float:
    """The largest difference of two arrays, in which an infinite entry equals itself.

    >>> largest_difference(np.array([-np.inf, 1.0]), np.array([-np.inf, 1.5]))
    0.5
    """
    differs = a != b
    return float(np.abs(a[differs] - b[differs]).max()) if differs.any() else 0.0
