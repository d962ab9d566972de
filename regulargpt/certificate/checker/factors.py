"""How a symbol, or a word, moves the numbers x of a state: to a x, |a| < 1, and from there to other places.

Numbers are in discs of the complex plane, or in intervals, the discs of real ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import acb, arb, ctx

from regulargpt.certificate.checker.balls import above, as_complex, constant, finite, middle, where
from regulargpt.certificate.checker.complex_doubles import ComplexDoubles
from regulargpt.certificate.checker.doubles import Doubles, U, known, up
from regulargpt.certificate.checker.network import Ints

_below_one: Any = np.frompyfunc(lambda x: x if x > 0 else arb("nan"), 1, 1)
_complex: Any = np.frompyfunc(lambda x: complex(acb(x)), 1, 1)


@dataclass(frozen=True)
class Factor:
    """Numbers a (n or 1, ..), and at least their |a|, which boxes of numbers that turn do not show."""

    numbers: Any
    size: Any

    def at(self, i: int) -> Factor:
        row = i if len(self.numbers) > 1 else 0
        return Factor(self.numbers[row], self.size[row])

    def on(self, x: Any) -> Any:
        return self.numbers * x

    def of_sizes(self, r: Any) -> Any:
        return self.size * r

    def after(self, first: Factor) -> Factor:
        return Factor(self.numbers * first.numbers, above(self.size * first.size))

    def fixed(self, b: Any) -> Any:
        """s, exact, near to a s + b."""
        return middle(b / (1 - middle(self.numbers)))

    def from_on(self, n: int, r: Any) -> Any:
        """At least |a|^m r for all m >= n: as |a| is below 1, it falls."""
        return powers(self.size, n) * r

    def summed(self, r: Any) -> Any:
        """At least r + |a| r + |a|^2 r + .. ; of |a| that may be 1 nothing is known."""
        return r / below_one(1 - self.size)


@dataclass(frozen=True)
class Routed(Factor):
    """a x, each number of which then goes to a place, (.., N), where numbers that meet are added up; `by_rows`, each
    number of a x is that from a place.

    Of places that are not certain no a of the symbol is a number, and nothing is known of any number after it.
    """

    places: Ints
    by_rows: bool

    def at(self, i: int) -> Routed:
        return Routed(self.numbers[i], self.size[i], self.places[i], self.by_rows)

    def on(self, x: Any) -> Any:
        return self.moved(self.numbers, x)

    def of_sizes(self, r: Any) -> Any:
        return self.moved(self.size, r)

    def moved(self, a: Any, x: Any) -> Any:
        """a x, there. To a place at which nothing arrives may come anything, if that is not certain."""
        return a * fetched(x, self.places) if self.by_rows else gathered(a * x, self.places) + 0 * a

    def after(self, first: Factor) -> Routed:
        assert isinstance(first, Routed), "both are of one network"
        outer, other = (self, first) if self.by_rows else (first, self)
        # By rows a number comes from where its place has it from; by columns it goes on to where its place leads.
        numbers, size = outer.numbers * other.numbers[outer.places], above(outer.size * other.size[outer.places])
        return Routed(numbers, size, other.places[outer.places], self.by_rows)

    def fixed(self, b: Any) -> Any:
        inverse = inverted(self.matrix(floats(self.numbers)))
        s = like_these(inverse @ floats(b), b)
        # Each turn adds the digits that doubles have, but for those that the inverse lacks.
        for _ in range(1 + ctx.prec // 16):
            s = middle(s + like_these(inverse @ floats(self.on(s) + b - s), b))
        return s

    def from_on(self, n: int, r: Any) -> Any:
        """What a number has goes on to other places: none ever has more than all of them at n together."""
        power: Routed = self
        while n:
            r = above(power.of_sizes(r)) if n & 1 else r
            power, n = power.after(power), n >> 1
        return together(r)

    def summed(self, r: Any) -> Any:
        """Any y >= 0 is no less than the sum of |M|^k r if |M| y + r <= y, for x -> M x + b.

        That is one inequality for each number. Where it fails nothing is known, nor of numbers that come from there.
        """
        y = constant(2 * abs(inverted(self.matrix(abs(floats(self.size)))) @ abs(floats(r))) + 1e-200, r)
        nothing = constant(np.full(y.shape, np.nan), r)
        while not (holds := (y > self.of_sizes(y) + r).astype(bool) | ~finite(y).astype(bool)).all():
            y = where(holds, y, nothing)
        return y

    def matrix(self, a: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """(N, N), of numbers a (N,)."""
        matrix, own = np.zeros((len(a), len(a)), dtype=a.dtype), np.arange(len(a))
        matrix[(own, self.places) if self.by_rows else (self.places, own)] = a
        return matrix


def inverted(a: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """1 / (1 - a) of a matrix, as far as doubles go; no numbers where there is none."""
    try:
        return np.linalg.inv(np.eye(len(a)) - a)
    except np.linalg.LinAlgError:
        return np.full(a.shape, np.nan, dtype=a.dtype)


def floats(x: Any) -> npt.NDArray[Any]:
    """Complex doubles near to these numbers."""
    if isinstance(x, ComplexDoubles):
        return x.real.middle + 1j * x.imag.middle
    return x.middle + 0j if isinstance(x, Doubles) else _complex(middle(x)).astype(np.complex128)


def like_these(x: npt.NDArray[Any], like: Any) -> Any:
    """The same numbers, exact, of the kind of complex ones."""
    kind = like.real if isinstance(like, ComplexDoubles) else like
    return as_complex(constant(np.real(x), kind), constant(np.imag(x), kind))


def fetched(x: Any, places: Ints) -> Any:
    """The numbers of x (.., N) at the places (.., N)."""
    if isinstance(x, Doubles | ComplexDoubles):
        return x.map(lambda part: fetched(part, places))
    return np.take_along_axis(x, places, -1)


def gathered(x: Any, places: Ints) -> Any:
    """Sums of those numbers of x (.., N) that go to the same one of the places (.., N)."""
    if isinstance(x, ComplexDoubles):
        return x.map(lambda part: gathered(part, places))
    if not isinstance(x, Doubles):
        return sums(x, places, arb(0))
    # Of at most N terms each, in some order.
    rounding = U * x.shape[-1] * sums(abs(x.middle), places, 0.0)
    return Doubles(sums(x.middle, places, 0.0), up(sums(x.radius, places, 0.0) + rounding))


def sums(x: npt.NDArray[Any], places: Ints, nothing: Any) -> npt.NDArray[Any]:
    N = x.shape[-1]
    rows = np.full((x.size // N, N), nothing)
    into = np.arange(len(rows))[:, None], places.reshape(-1, N)  # (rows, N)
    np.add.at(rows, into, x.reshape(-1, N))  # (rows, N)
    return rows.reshape(x.shape)  # (.., N)


def together(r: Any) -> Any:
    """At least the sum of sizes (.., N), in place of each: no symbol makes it larger, whichever way numbers go.

    By columns that is so of the sum, by rows of the largest one, which is no more.
    """
    return above(r.sum(-1, keepdims=True) + 0 * r)


def powers(p: Any, n: int) -> Any:
    """p^n, by squaring in float64."""
    if not isinstance(p, Doubles):
        return p**n
    power = known(np.ones(p.shape))
    while n:
        if n & 1:
            power = power * p
        p, n = p * p, n >> 1
    return power


def below_one(x: Any) -> Any:
    """Of 1 - p, above 0; what is not certainly so leaves no bound."""
    return x.where(x > 0, known(np.full(x.shape, np.nan))) if isinstance(x, Doubles) else _below_one(x)
