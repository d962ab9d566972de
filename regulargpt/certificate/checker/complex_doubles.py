"""Arrays of complex numbers whose real and imaginary parts are balls in float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from regulargpt.certificate.checker.doubles import Doubles, known, up


@dataclass(frozen=True, eq=False)
class ComplexDoubles:
    """Numbers `real` + i `imag`, arrays of equal shape.

    >>> z = ComplexDoubles(Doubles.from_value([3.0]), Doubles.from_value([4.0]))
    >>> z.largest().middle.round(6).tolist(), (z / z).real.middle.tolist(), (1 - z).imag.middle.tolist()
    ([5.0], [1.0], [-4.0])
    """

    real: Doubles
    imag: Doubles

    # An array or ball on the left leaves the operation to the operation here.
    __array_ufunc__ = None

    @classmethod
    def from_value(cls, value: Any) -> ComplexDoubles:
        """Real numbers as complex ones."""
        if isinstance(value, ComplexDoubles):
            return value
        real = Doubles.from_value(value)
        return cls(real, known(np.zeros(real.shape)))

    def map(self, f: Callable[[Doubles], Doubles]) -> ComplexDoubles:
        return ComplexDoubles(f(self.real), f(self.imag))

    def __len__(self) -> int:
        return len(self.real)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.real.shape

    def __getitem__(self, at: Any) -> ComplexDoubles:
        return self.map(lambda x: x[at])

    def __neg__(self) -> ComplexDoubles:
        return self.map(lambda x: -x)

    def __add__(self, other: Any) -> ComplexDoubles:
        other = ComplexDoubles.from_value(other)
        return ComplexDoubles(self.real + other.real, self.imag + other.imag)

    __radd__ = __add__

    def __sub__(self, other: Any) -> ComplexDoubles:
        return self + -ComplexDoubles.from_value(other)

    def __rsub__(self, other: Any) -> ComplexDoubles:
        return -self + other

    def __mul__(self, other: Any) -> ComplexDoubles:
        if not isinstance(other, ComplexDoubles):
            return self.map(lambda x: x * other)
        (a, b), (c, d) = (self.real, self.imag), (other.real, other.imag)
        return ComplexDoubles(a * c - b * d, a * d + b * c)

    __rmul__ = __mul__

    def __truediv__(self, other: ComplexDoubles) -> ComplexDoubles:
        size = other.real * other.real + other.imag * other.imag
        over = self * ComplexDoubles(other.real, -other.imag)
        return over.map(lambda x: x / size)

    def largest(self) -> Doubles:
        """At least the |z|, as balls of radius 0."""
        a, b = (part.largest().middle for part in (self.real, self.imag))
        far = up(np.sqrt(up(a * a + b * b)))
        return Doubles(far, far - far)
