"""Arrays of balls in float64: quick, and wide enough for the rounding of every operation.

A number x is known by a double m and a radius r, both finite: |x - m| <= r. What is not finite is known by nothing: no
comparison of it is true. Needed is IEEE 754 arithmetic that rounds to nearest, with gradual underflow, and sums and
matrix products of n terms that add the rounded or exact products in any order, as every BLAS does: with u = 2^-53 and
t = 2^-1074, what they give lies within n u / (1 - n u) sum |a_i b_i| + n t of the true one (Higham 2002, Accuracy and
Stability, section 3.1). A radius is itself computed with rounding: a sum of non-negative terms, products and quotients
of such, in far fewer than 2^20 operations one on the other. `up` adds the share 2^-30, which is more than 2^20 u, and
2^-1000, which is more than the underflow of them all. The functions erf, exp, cos, sin and log(1 + exp) are
polynomials below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import arb, arb_series, ctx

Floats = npt.NDArray[np.float64]
Ends = tuple[Floats, Floats]

OF_DOUBLES = 53  # bits
U = 2.0**-52  # twice the unit roundoff
TINY = 2.0**-1000
WIDE = 2.0**-4  # radii of balls for which the values at both ends are taken; of smaller ones plain formulas lose little
# erf is expanded about the multiples of 1 / GRID up to FLAT, beyond which it is 1 or -1 to 3e-17.
GRID, FLAT, TERMS = 64, 6, 6
ERF_ERROR = 1e-13
EXP_ERROR, EXP_MOST, EXP_TERMS = 1e-14, 700.0, 14
LOG_ERROR, LOG_TERMS = 4e-14, 17
TURN_ERROR, TURN_TERMS, MOST_TURNS = 1e-14, 9, 2.0**20  # quarter turns
# The number of squarings in `spectral`: what it gives is at most m^(1/64) times the norm, 7 % too much for 64 rows.
SQUARINGS = 4
# ln 2 and a quarter turn in two parts: the first has 30 and 31 bits, so that its products with integers below 2^11 and
# up to 2^20 are exact.
LN2, QUARTER = 0x2C5C85FD * 2.0**-30, 0x6487ED51 * 2.0**-30
with ctx.workprec(128):
    LN2_REST = float(arb.const_log2() - arb(LN2))
    QUARTER_REST = float(arb.pi() / 2 - arb(QUARTER))


def is_ieee() -> bool:
    """Whether doubles round to nearest and underflow gradually now: a library may switch that off for its process."""
    ones, least = np.ones(4), np.full(4, 2.0**-1074)
    nearest = (ones + 2.0**-53 == 1).all() and (ones + 3 * 2.0**-54 == 1 + 2.0**-52).all()
    gradual = (least * 2.0**1000 > 0).all() and (ones * 2.0**-1000 * 2.0**-60 > 0).all()
    return bool(nearest and gradual) and multiplies_plainly()


@cache
def multiplies_plainly(multiply: Callable[[Floats, Floats], Floats] = np.matmul) -> bool:
    """Whether matrix products add ordinary products, as far as three tell that are exact: of sums of equal size, and of
    single terms of many sizes.

    Fewer bits, or fixed points, or a quick method that mixes rows of different size, as Strassen's does, would lose
    some.
    """
    random = np.random.default_rng(0)
    a, b = random.integers(1 << 20, size=(2, 128, 128))  # sums of 47 bits
    order = random.permutation(512)
    odd, sizes = random.integers(1 << 52, 1 << 53, size=(512, 512)) | 1, random.integers(-40, 40, size=(512, 512))
    numbers, single = np.ldexp(odd.astype(np.float64), sizes), np.eye(512)[order]
    sums = (multiply(a.astype(np.float64), b.astype(np.float64)) == a @ b).all()
    rows, columns = multiply(single, numbers) == numbers[order], multiply(numbers, single.T) == numbers[:, order]
    return bool(sums and rows.all() and columns.all())


def up(radius: Floats) -> Floats:
    """At least what a radius is before it was rounded."""
    radius = radius * (1 + 2.0**-30)
    radius += TINY
    return radius


@dataclass(frozen=True, eq=False)
class Doubles:
    """Balls `middle` +/- `radius`, arrays of equal shape."""

    middle: Floats
    radius: Floats

    # An array or ball on the left leaves the operation to the operation here.
    __array_ufunc__ = None

    @classmethod
    def from_value(cls, value: Any) -> Doubles:
        """Balls of FLINT, a ball alone, or a number, as balls in float64."""
        if isinstance(value, Doubles):
            return value
        balls = np.asarray(value, dtype=object)
        middle = np.array([float(arb(x).mid()) for x in balls.ravel()])
        far = [abs(x - arb(m)).upper() for x, m in zip(balls.ravel(), middle, strict=True)]
        # A radius that is 0 stays so: weights are doubles. One that is too small for a double does not become 0.
        radius = np.where([r.is_zero() for r in far], 0, up(np.array([float(r) for r in far])))
        return cls(middle.reshape(balls.shape), radius.reshape(balls.shape))  # as the balls

    def map(self, f: Callable[[Floats], Floats]) -> Doubles:
        """The same numbers in other places."""
        return Doubles(f(self.middle), f(self.radius))

    def __len__(self) -> int:
        return len(self.middle)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.middle.shape

    @property
    def T(self) -> Doubles:
        return self.map(np.transpose)

    def __getitem__(self, at: Any) -> Any:
        return self.map(lambda x: np.array(x[at])).item()

    def item(self) -> Any:
        """These balls; if it is only one, that of FLINT, as an array of objects gives its only one."""
        if self.shape:
            return self
        middle, radius = float(self.middle), float(self.radius)
        return arb(middle, radius) if np.isfinite([middle, radius]).all() else arb("nan")

    def __setitem__(self, at: Any, value: Doubles) -> None:
        self.middle[at], self.radius[at] = value.middle, value.radius

    def reshape(self, *shape: Any) -> Doubles:
        return self.map(lambda x: x.reshape(*shape))  # as requested

    def transpose(self, *axes: int) -> Doubles:
        return self.map(lambda x: x.transpose(*axes))  # as requested

    def repeat(self, times: int, axis: int) -> Doubles:
        return self.map(lambda x: x.repeat(times, axis))

    def __neg__(self) -> Doubles:
        return Doubles(-self.middle, self.radius)

    def __add__(self, other: Any) -> Doubles:
        other = Doubles.from_value(other)
        middle = self.middle + other.middle
        return Doubles(middle, up(self.radius + other.radius + U * abs(middle)))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Doubles:
        return self + -Doubles.from_value(other)

    def __rsub__(self, other: Any) -> Doubles:
        return -self + other

    def __mul__(self, other: Any) -> Doubles:
        other = Doubles.from_value(other)
        middle = self.middle * other.middle
        radius = U * abs(middle)
        radius += abs(self.middle) * other.radius
        radius += self.radius * (abs(other.middle) + other.radius)
        return Doubles(middle, up(radius))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Doubles:
        """|x / y - m / n| = |x n - m y| / |y n| <= (r |n| + |m| s) / ((|n| - s) |n|), for y = n +/- s without 0.

        Of a wide y the quotients lie between those of the ends, if both are on one side of 0.
        """
        other = Doubles.from_value(other)
        size = abs(other.middle)
        # 2^-30 |n| is more than the rounding of |n| - s, and of this difference.
        apart = size - other.radius - 2.0**-30 * size
        apart = np.where(apart > 0, apart, np.nan)
        middle = self.middle / other.middle
        radius = (self.radius + abs(middle) * (1 + 2 * U) * other.radius + TINY) / apart
        quotient, is_near = Doubles(middle, up(radius + U * abs(middle))), ~(other.radius > WIDE * size)
        if is_near.all():
            return quotient
        low, high = ends(other)
        return quotient.where(is_near, of_ends(Doubles.__truediv__, self, other, (low > 0) | (high < 0)))

    def __rtruediv__(self, other: Any) -> Doubles:
        return Doubles.from_value(other) / self

    def __abs__(self) -> Doubles:
        return Doubles(abs(self.middle), self.radius)

    def __gt__(self, other: Any) -> npt.NDArray[np.bool_]:
        apart = self - other
        return apart.middle > apart.radius

    def __lt__(self, other: Any) -> npt.NDArray[np.bool_]:
        return -self > -Doubles.from_value(other)

    def where(self, condition: npt.NDArray[np.bool_], other: Any) -> Doubles:
        """These balls where the condition holds, elsewhere the others."""
        other = Doubles.from_value(other)
        return Doubles(np.where(condition, self.middle, other.middle), np.where(condition, self.radius, other.radius))

    def largest(self) -> Doubles:
        """At least the |x|, as balls of radius 0; none where the sum is too large for a double."""
        # One sum, rounded to nearest: the next double is above it. The share that `up` adds would be much of 1 - |x|.
        far = np.nextafter(abs(self.middle) + self.radius, np.inf)
        return Doubles(far, far - far)

    def scaled(self) -> tuple[Doubles, arb]:
        """The same over a power of 2 by which no midpoint is larger than 1, and that power.

        Only what becomes subnormal is rounded, by less than `up` adds.
        """
        power = int(np.frexp(abs(self.middle).max(initial=0.0))[1])  # 0 for what is not finite
        return Doubles(np.ldexp(self.middle, -power), up(np.ldexp(self.radius, -power))), arb(2) ** power

    def sum(self, axis: int, keepdims: bool = False) -> Any:
        """As of an array; n terms, in any order."""
        size = abs(self.middle).sum(axis, keepdims=keepdims)
        radius = self.radius.sum(axis, keepdims=keepdims) + U * self.middle.shape[axis] * size
        return Doubles(np.asarray(self.middle.sum(axis, keepdims=keepdims)), np.asarray(up(radius))).item()

    def product(self, other: Any) -> Doubles:
        """The matrix product (m, k) of (m, n) and (n, k)."""
        other = Doubles.from_value(other)
        rounding = U * (self.middle.shape[1] + 1) * abs(other.middle)
        # One product for the rounding of the midpoints' product and for the other's radii: weights have none.
        radius = abs(self.middle) @ (other.radius + rounding + TINY)
        if self.radius.any():
            radius = radius + self.radius @ (abs(other.middle) + other.radius)
        middle = self.middle @ other.middle
        return Doubles(middle, up(radius + U * abs(middle)))  # no finite radius where the sum is too large

    def spectral(self) -> arb:
        """At least max |a x| / |x| for a matrix (m, n): the norm of the midpoints, and the Frobenius norm of the radii.

        The norm of P is the root of that of P P^T. What is computed for it is Q, and Q - P P^T has a Frobenius norm of
        at most n u / (1 - n u) |P|_F^2: so |P| <= sqrt(|Q| + n U |P|_F^2), and the last of the Q is at most its own
        Frobenius norm. As for balls of FLINT, else (balls.py, `spectral`).
        """
        # Powers of large or small numbers would be nothing.
        scaled, scale = self.scaled()
        powers = [scaled.middle if self.shape[0] <= self.shape[1] else scaled.middle.T]
        for _ in range(1 + SQUARINGS):
            powers.append(powers[-1] @ powers[-1].T)
        bound = frobenius(powers.pop())
        for P in reversed(powers):
            bound = np.sqrt(up(bound + U * P.shape[1] * frobenius(P) ** 2))
        return scale * arb(float(up(bound + frobenius(scaled.radius))))

    def positive(self) -> Doubles:
        """max(x, 0), which moves by no more than x."""
        return Doubles(np.maximum(self.middle, 0), self.radius)

    def nonnegative_part(self) -> Doubles:
        """The part of balls that is not below 0."""
        low, high = ends(self)
        return self.where(~(low < 0), between(np.maximum(low, 0), high))

    def sqrt(self) -> Doubles:
        """Roots of what is not negative: |sqrt x - sqrt m| = |x - m| / (sqrt x + sqrt m) <= r / sqrt m, if m > 0.

        Where r is the larger, the root lies between 0 and sqrt(m + r).
        """
        root = np.sqrt(np.where(self.middle > self.radius, self.middle, np.nan))
        half = np.sqrt(up(np.maximum(self.middle + self.radius, 0))) / 2
        near = Doubles(root, up(self.radius / root + U * root))
        return near.where(self.middle > self.radius, Doubles(half, up(half)))

    def erf(self) -> Doubles:
        """As the polynomial of degree 5 about the nearest multiple z of 1/64 has it, for |z| <= 6.

        With H the Hermite polynomials, the sixth derivative is 2 / sqrt(pi) H_5(x) exp(-x^2), at most
        2 / sqrt(pi) 1.09 2^(5/2) sqrt(5!) < 77 by Cramer's inequality |H_k(x)| exp(-x^2 / 2) <= 1.09 sqrt(2^k k!); so
        the remainder is at most 77 / 6! / 128^6 < 3e-14. The other coefficients are at most 1.2 (the k-th derivative
        over k!, by the same), and |x - z| <= 1/128: rounding moves the value by less than 20 u. Beyond, erfc(6) is
        below 3e-17. The slope of erf is at most 2 / sqrt(pi) < 1.13.
        """
        inside = np.clip(self.middle, -FLAT, FLAT)
        # Not a number stays so, and stands in any row of the table.
        row = np.nan_to_num(np.rint(inside * GRID)).astype(np.int64)
        step, coefficients = inside - row / GRID, erf_coefficients()[row + FLAT * GRID]  # (..., TERMS)
        value = coefficients[..., TERMS - 1]
        for k in range(TERMS - 2, -1, -1):
            value = value * step + coefficients[..., k]
        return Doubles(value, up(1.13 * self.radius + ERF_ERROR))

    def exp(self) -> Doubles:
        """2^k exp(x - k ln 2), by the polynomial of degree 13 about 0.

        For |x| <= 700 the rest is at most 0.35, and rounding moves it by less than 8 u: its product with the first part
        of ln 2 is exact, and the second is below 2^-29. The remainder is at most 0.35^14 / 14! exp(0.35) < 1e-17, and
        rounding moves the value by less than 60 u. Below -700 the value is less than 1e-304. For |h| <= r,
        |exp(x + h) - exp(x)| <= (exp(r) - 1) exp(x), and exp(r) - 1 <= r + r^2 for r <= 1.
        """
        value, r = exp_of(self.middle), self.radius
        relative = np.where(r <= 1, r * (1 + r), exp_of(r) * (1 + EXP_ERROR) - 1) + EXP_ERROR
        # Below -700 exp lies between 0 and exp(-700), and so does what stands for it.
        return Doubles(value, up(value * relative))

    def sigmoid(self) -> Doubles:
        """1 / (1 + exp(-x)), which rises. At -600 it is less than 1e-260, and so it is below."""
        values = 1 / (1 + Doubles(np.minimum(-self.middle, 600.0), self.radius).exp())
        return Doubles(values.middle, values.radius + 1e-260)

    def softplus(self) -> Doubles:
        """log(1 + exp(x)) = max(x, 0) + log(1 + t) for t = exp(-|x|), whose slope lies between 0 and 1.

        log(1 + t) = 2 artanh z for z = t / (2 + t), at most 1/3: 2 (z + z^3 / 3 + .. + z^33 / 33), all terms positive.
        The remainder is at most a share 3^-34 9/8 / 35 < 2e-18, and rounding moves the sum by a share below 100 u. The
        share by which t is off is at most EXP_ERROR, and that of log(1 + t) is no larger, for it rises by less than in
        proportion. All that and the sum with max(x, 0) is less than LOG_ERROR of the value. Where |x| > 700, both what
        log(1 + t) is and what stands for it lie between 0 and exp(-700), which is less than `up` adds.
        """
        t = exp_of(-abs(self.middle))
        z = t / (2 + t)
        square, artanh = z * z, np.full_like(z, 1 / (2 * LOG_TERMS - 1))
        for k in range(LOG_TERMS - 2, -1, -1):
            artanh = artanh * square + 1 / (2 * k + 1)
        value = np.maximum(self.middle, 0) + 2 * z * artanh
        return Doubles(value, up(self.radius + LOG_ERROR * value))

    def cos(self) -> Doubles:
        """A quarter turn on from sin: see there."""
        return self.turned(1)

    def sin(self) -> Doubles:
        """sin(r + k pi / 2) is sin r, cos r, -sin r or -cos r, as k mod 4 is, by polynomials of r of degree 19 and 18.

        For at most 2^20 quarter turns |r| < 0.79, and rounding moves it by less than 8 u: the product with the first
        part of pi / 2 is exact, and the second is below 2^-30. The remainders are at most 0.79^20 / 20! < 1e-20, and
        rounding moves the values by less than 30 u. Both slopes lie between -1 and 1.
        """
        return self.turned(0)

    def turned(self, quarters: int) -> Doubles:
        """sin of so many quarter turns more."""
        k = np.rint(self.middle / (QUARTER + QUARTER_REST))
        k = np.where(abs(k) <= MOST_TURNS, k, np.nan)
        rest = (self.middle - k * QUARTER) - k * QUARTER_REST
        square, sine, cosine = rest * rest, np.ones_like(rest), np.ones_like(rest)
        for i in range(2 * TURN_TERMS, 0, -2):
            sine, cosine = 1 - sine * square / (i * (i + 1)), 1 - cosine * square / ((i - 1) * i)
        quadrant = (np.nan_to_num(k).astype(np.int64) + quarters) % 4
        value = np.where(quadrant % 2 == 0, rest * sine, cosine)
        return Doubles(np.where(quadrant < 2, value, -value), up(self.radius + TURN_ERROR))


def frobenius(a: Floats) -> Floats:
    """At least the root of the sum of squares."""
    return np.sqrt(up(np.square(a).sum() * (1 + U * a.size)))


def exp_of(x: Floats) -> Floats:
    """exp to a share of EXP_ERROR, and not a number above 700."""
    x = np.where(x <= EXP_MOST, np.maximum(x, -EXP_MOST), np.nan)
    power = np.nan_to_num(np.rint(x / (LN2 + LN2_REST)))
    rest = (x - power * LN2) - power * LN2_REST
    value = np.ones_like(x)
    for k in range(EXP_TERMS - 1, 0, -1):
        value = 1 + value * rest / k
    return np.ldexp(value, power.astype(np.int64))


@cache
def erf_coefficients() -> Floats:
    """The Taylor coefficients (2 * FLAT * GRID + 1, TERMS) of erf about the multiples of 1 / GRID, nearest doubles."""
    with ctx.workprec(128):
        points = [arb(i) / GRID for i in range(-FLAT * GRID, FLAT * GRID + 1)]
        series = [arb_series([z, 1], prec=TERMS).erf().coeffs() for z in points]
    return np.array([[float(c) for c in (*row, *[arb(0)] * (TERMS - len(row)))] for row in series])


def concatenated(parts: Sequence[Doubles], axis: int = 0) -> Doubles:
    return Doubles(*(np.concatenate(some, axis) for some in ([p.middle for p in parts], [p.radius for p in parts])))


def known(values: Floats) -> Doubles:
    """Doubles as balls of radius 0."""
    return Doubles(values, np.zeros_like(values))


def ends(x: Doubles) -> Ends:
    """At most the least, and at least the largest number of each ball; no number where a ball is not finite."""
    reach = up(x.radius + U * abs(x.middle))
    reach = np.where(np.isfinite(reach), reach, np.nan)
    return x.middle - reach, x.middle + reach


def between(low: Floats, high: Floats) -> Doubles:
    """Balls that hold all from `low` to `high`, which are no numbers where nothing is known."""
    return Doubles(low / 2 + high / 2, up((high - low) / 2 + U * (abs(low) + abs(high))))


def rising(f: Callable[[Any], Any], x: Doubles) -> Doubles:
    """What a function that nowhere falls makes of balls."""
    low, high = ends(x)
    return between(ends(f(known(low)))[0], ends(f(known(high)))[1])


def within(x: Doubles, low: float, high: float) -> Doubles:
    """The part of balls between two numbers; of a number of which nothing is known, but that it is there, all of that.

    >>> within(Doubles(np.array([3.0, np.nan]), np.array([9.0, 0.0])), -4, 4).largest().middle.round(6).tolist()
    [4.0, 4.0]
    """
    a, b = ends(x)
    a, b = np.clip(np.where(np.isfinite(a), a, low), low, high), np.clip(np.where(np.isfinite(b), b, high), low, high)
    part = between(a, b)
    return x.where((x.radius <= part.radius) & np.isfinite(x.middle), part)


def of_ends(f: Callable[[Doubles, Doubles], Doubles], left: Doubles, other: Doubles, where: Any = True) -> Doubles:
    """Products or quotients of two balls each: the least and the largest are among those of their ends.

    Quotients are between those of the ends `where` both ends of the other are on one side of 0.
    """
    (a, b), (c, d) = ends(left), ends(other)
    pairs = [ends(f(known(x), known(np.where(where, y, np.nan)))) for x in (a, b) for y in (c, d)]
    low, high = np.minimum.reduce([x for x, _ in pairs]), np.maximum.reduce([x for _, x in pairs])
    return between(low, high)


def flatness(t: Doubles) -> Doubles:
    """1 - t^2 for numbers in balls: largest where |t| is least."""
    low, high = ends(t)
    near = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(abs(low), abs(high)))
    far = np.maximum(abs(low), abs(high))
    least, most = (1 - known(x) * known(x) for x in (far, near))
    return between(ends(least)[0], ends(most)[1])


def times(one: Doubles, other: Doubles) -> Doubles:
    """Products of two balls each."""
    return of_ends(Doubles.__mul__, one, other)
