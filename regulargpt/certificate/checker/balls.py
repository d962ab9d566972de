"""Arrays of balls: every real number is known to lie in an interval midpoint +/- radius, whatever was rounded.

A ball is an `arb` of FLINT (Johansson 2017, IEEE Trans. Computers 66); an array of balls is a numpy array of them.
Arithmetic on balls gives balls that contain every result on numbers in them. So a comparison is true, false, or
undecided at the precision at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import acb, arb, arb_mat

from regulargpt.certificate.checker import slopes
from regulargpt.certificate.checker.complex_doubles import ComplexDoubles
from regulargpt.certificate.checker.doubles import (
    SQUARINGS,
    WIDE,
    Doubles,
    concatenated,
    ends,
    flatness,
    known,
    up,
    within,
)
from regulargpt.certificate.checker.doubles import rising as between_ends
from regulargpt.certificate.checker.slopes import Sloped, step

Balls = npt.NDArray[np.object_]

exact: Any = np.frompyfunc(arb, 1, 1)  # a double is the midpoint of a ball of radius 0


def of_both(
    function: Callable[[Any], Any], quick: Callable[[Any], Any], slope: Callable[[Any], Any] | None = None
) -> Any:
    """A function of arrays of balls, or of balls in float64; or with its `slope`, of those in float64, of what has
    slopes."""
    exactly: Any = np.frompyfunc(function, 1, 1)

    def mapped(x: Any) -> Any:
        if isinstance(x, Sloped):
            assert slope is not None, "a function whose slopes are known"
            return x.through(mapped, slope)
        return quick(x) if isinstance(x, Doubles | ComplexDoubles) else exactly(x)

    return mapped


FEWEST_BITS = 64  # of balls of FLINT
NARROW = 2.0**-10  # radii of balls for which plain formulas lose little


def rising(function: Callable[[arb], arb]) -> Callable[[arb], arb]:
    """The same function, which rises: in a wide ball it is between its values at the ends, as few formulas show."""

    def mapped(x: arb) -> arb:
        return function(x) if x.rad() < NARROW else function(x.lower()).union(function(x.upper()))

    return mapped


def quickly_rising(function: Callable[[Doubles], Doubles]) -> Callable[[Doubles], Doubles]:
    def mapped(x: Doubles) -> Doubles:
        near, is_near = function(x), x.radius < WIDE
        return near if is_near.all() else near.where(is_near, between_ends(function, x))

    return mapped


def of_root(x: arb, d: int) -> arb:
    """The part of a ball in +-sqrt(d); all of that if the ball is of no number."""
    if x.rad() < NARROW:
        return x
    whole = arb(0, arb(d).sqrt().upper())
    return x.intersection(whole) if x.is_finite() else whole


exp = of_both(rising(arb.exp), quickly_rising(Doubles.exp), lambda x: exp(x))
erf = of_both(arb.erf, Doubles.erf, lambda x: 2 / arb.pi().sqrt() * exp(-square(x)))
cos = of_both(arb.cos, Doubles.cos, lambda x: -sin(x))
sin = of_both(arb.sin, Doubles.sin, lambda x: cos(x))
# log(1 + exp(x)) and its slope 1 / (1 + exp(-x))
softplus = of_both(rising(lambda x: x.exp().log1p()), quickly_rising(Doubles.softplus), lambda x: sigmoid(x))
sigmoid = of_both(
    rising(lambda x: 1 / (1 + (-x).exp())),
    quickly_rising(Doubles.sigmoid),
    lambda x: flatness(2 * sigmoid(x) - 1) * 0.25,
)
positive = of_both(arb.nonnegative_part, Doubles.positive, step)  # max(x, 0)
largest = of_both(lambda x: abs(x).upper(), Doubles.largest)  # at least |x|
middle = of_both(lambda x: x.mid(), lambda x: x.map(middle) if isinstance(x, ComplexDoubles) else known(x.middle))
lowest = of_both(lambda x: x.lower(), lambda x: known(ends(x)[0]))
highest = of_both(lambda x: x.upper(), lambda x: known(ends(x)[1]))
above = of_both(lambda x: abs(x).upper(), lambda x: x.largest())
finite = of_both(
    lambda x: x.is_finite(),
    lambda x: (
        finite(x.real) & finite(x.imag)
        if isinstance(x, ComplexDoubles)
        else np.isfinite(x.middle) & np.isfinite(x.radius)
    ),
)
real = of_both(lambda x: x.real, lambda x: x.real)
imaginary = of_both(lambda x: x.imag, lambda x: x.imag)
_maximum: Any = np.frompyfunc(arb.max, 2, 1)
_complex: Any = np.frompyfunc(acb, 2, 1)
_of_root: Any = np.frompyfunc(of_root, 2, 1)
# Not negative, as the product of two wide balls may be.
square = of_both(lambda x: (x * x).nonnegative_part(), lambda x: (x * x).nonnegative_part(), lambda x: 2 * x)
# Of what is not negative, whatever its ball.
sqrt = of_both(lambda x: x.nonnegative_part().sqrt(), quickly_rising(Doubles.sqrt), lambda x: 0.5 / sqrt(x))


class Undecided(ArithmeticError):
    """Two balls overlap: more bits may tell which number is the smaller."""


def less(a: Any, b: Any) -> npt.NDArray[np.bool_]:
    """Whether a < b, element by element. Raises Undecided where neither that nor a >= b is certain.

    >>> less(exact([1.0, 2.0]), arb(2)).tolist()
    [True, False]
    """
    below, above = np.less(a, b).astype(bool), np.greater_equal(a, b).astype(bool)
    if not (below | above).all():
        raise Undecided
    return below


def matrix(a: Balls) -> arb_mat:
    """The balls (m, n) as a matrix of FLINT."""
    return arb_mat(a.shape[0], a.shape[1], a.ravel().tolist())


def product(a: Any, b: Any) -> Any:
    """The matrix product (m, k) of (m, n) and (n, k)."""
    if isinstance(a, Sloped):
        return a.product(b)
    if isinstance(a, Doubles) or isinstance(b, Doubles):
        return Doubles.from_value(a).product(b)
    return np.array((matrix(a) * matrix(b)).entries(), dtype=object).reshape(len(a), b.shape[1])  # (m, k)


def joined(parts: Sequence[Any], axis: int) -> Any:
    """Arrays of balls, or of balls in float64, one behind the other."""
    if isinstance(parts[0], Sloped):
        return slopes.joined(parts, axis)
    return concatenated(parts, axis) if isinstance(parts[0], Doubles) else np.concatenate(parts, axis)


def constant(values: Any, like: Any) -> Any:
    """Doubles as balls of radius 0, of the kind of `like`."""
    known = np.asarray(values, dtype=np.float64)
    return Doubles(known, np.zeros_like(known)) if isinstance(like, Doubles) else exact(known)


def of_flint(a: Any) -> Balls:
    """The same numbers in balls of FLINT."""
    if not isinstance(a, Doubles):
        return a
    flat = a.reshape(-1)  # (numbers,)
    return np.array([flat[i] for i in range(len(flat))], dtype=object).reshape(a.shape)  # as they were


def as_complex(re: Any, im: Any) -> Any:
    """The complex numbers of these parts."""
    return ComplexDoubles(re, im) if isinstance(re, Doubles) else _complex(re, im)


def maximum(a: Any, b: Any) -> Any:
    """The larger of two, number by number."""
    return b + positive(a - b) if isinstance(a, Doubles | Sloped) else _maximum(a, b)


def stacked(parts: Sequence[Any]) -> Any:
    """Arrays of one shape as rows of one."""
    if isinstance(parts[0], ComplexDoubles):
        return ComplexDoubles(stacked([x.real for x in parts]), stacked([x.imag for x in parts]))
    if isinstance(parts[0], Doubles):
        return joined([x.map(lambda values: values[None]) for x in parts], 0)
    return np.stack(parts)


def where(condition: npt.NDArray[np.bool_], a: Any, b: Any) -> Any:
    """Those of a where the condition holds, else those of b."""
    if isinstance(a, ComplexDoubles):
        return ComplexDoubles(a.real.where(condition, b.real), a.imag.where(condition, b.imag))
    return a.where(condition, b) if isinstance(a, Doubles) else np.where(condition, a, b)


def greatest(a: Any) -> arb:
    """At least the largest |x| of some numbers (n,)."""
    bounds: Any = largest(a)
    if isinstance(a, Doubles):
        return arb(float(bounds.middle.max()))
    return _maximum.reduce(bounds)


def norm(a: Balls, axis: int = -1) -> Any:
    """Euclidean lengths along an axis."""
    return sqrt((a * a).sum(axis))


def within_root(x: Any, d: int) -> Any:
    """x_i / sqrt(mean x^2 + epsilon) of d numbers: it is below sqrt(d), which balls do not show where they are wide."""
    if not isinstance(x, Doubles | Sloped):
        return _of_root(x, d)
    root = float(up(np.sqrt(np.array([d]))).item())
    return x.within(-root, root) if isinstance(x, Sloped) else within(x, -root, root)


def spectral(a: Any) -> arb:
    """At least max |a x| / |x| for a matrix (m, n).

    For G = a a^T, with eigenvalues g >= 0 whose largest is the square of the norm, g_max^(2 N) <= tr G^(2 N), which is
    the sum of the squares of the entries of the symmetric G^N. Here N = 2^SQUARINGS.
    """
    if isinstance(a, Doubles):
        return a.spectral()
    # The smaller of a a^T and a^T a: both have the same eigenvalues but for zeros.
    wide = a if a.shape[0] <= a.shape[1] else a.T
    power: Any = product(wide, wide.T)  # (s, s), s = min(m, n)
    for _ in range(SQUARINGS):
        power = product(power, power)
    total = (power * power).sum(1).sum(0).upper()
    return arb(0) if total.is_zero() else total.root(4 << SQUARINGS).upper()
