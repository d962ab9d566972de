"""Networks whose state moves number by number: S' = a S + v, where a and v come from the symbols alone.

Numbers are real, or complex ones in pairs of real ones. A network says what a symbol brings, (a, v), and what is made
of S'; both may read what was `kept` of the symbols right before, as a short convolution does. A block carries S, then
what it kept, the oldest first.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from flint import acb

from regulargpt.certificate.checker.balls import above, as_complex, imaginary, real
from regulargpt.certificate.checker.chain_mixing import Mixing, one_later
from regulargpt.certificate.checker.complex_doubles import ComplexDoubles
from regulargpt.certificate.checker.doubles import Doubles
from regulargpt.certificate.checker.factors import Factor
from regulargpt.certificate.checker.files import Floats


class Diagonal(Mixing):
    routes: ClassVar[bool] = False  # whether numbers change places

    def place(self, layer: int) -> str:
        """Where the tensors of a mixer are."""
        return f"blocks.{layer}.mixer."

    def first(self, layer: int) -> Floats:
        """S before the first symbol."""
        return np.zeros(self.parts(layer)[0])

    def into(self, name: str, x: Any) -> Any:
        """What is made of each symbol (n, d) by itself."""
        return x

    def kept(self, own: Any) -> Any:
        """What of it the next symbols read, (n, numbers)."""
        raise NotImplementedError

    def brings(self, name: str, own: Any, old: list[Any]) -> tuple[Any, Any, Any]:
        """a, v (n, *shape of S), and what else `made` reads, from what the symbols `own` and what `old` ones kept.

        a has a row, or a row for each symbol. Of complex numbers it is two such, the real and the imaginary parts.
        """
        raise NotImplementedError

    def sizes(self, name: str, rest: Any) -> Any:
        """At least |a|, with as many rows, of `rest` of the symbols; below 1 where that can be told.

        In truth |a| is below 1. But a ball has a radius of few digits: its upper end can be 1 where a is just below.
        """
        raise NotImplementedError

    def as_factor(self, name: str, a: Any, rest: Any) -> Factor:
        return Factor(as_complex(*a) if isinstance(a, tuple) else a, above(self.sizes(name, rest)))

    def choosing(self) -> int:
        """About how many multiplications it takes to say where the numbers go."""
        return 0

    def made(self, name: str, S: Any, rest: Any) -> Any:
        """What the mixer makes of S' (n, *shape)."""
        raise NotImplementedError

    def pairs(self, S: Any) -> tuple[Any, Any] | None:
        """The real and the imaginary parts of complex numbers S (n, *shape); None of real ones."""
        return None

    def unpaired(self, re: Any, im: Any) -> Any:
        """S (n, *shape) of these parts."""
        raise NotImplementedError

    def numbers(self, S: Any) -> Any:
        """S as the numbers that move."""
        parts = self.pairs(S)
        return S if parts is None else as_complex(*parts)

    def of_numbers(self, numbers: Any) -> Any:
        is_complex = isinstance(numbers, ComplexDoubles) or (
            not isinstance(numbers, Doubles) and isinstance(numbers.flat[0], acb)
        )
        return self.unpaired(real(numbers), imaginary(numbers)) if is_complex else numbers

    def mixed(self, layer: int, x: Any, carried: list[Any]) -> tuple[Any, list[Any]]:
        name, (S, *old) = self.place(layer), carried
        own = self.into(name, x)
        a, v, rest = self.brings(name, own, old)
        S = self.moved(S, a, v)
        return self.made(name, S, rest), [S, *(one_later(before, self.kept(own)) for before in old)]

    def moved(self, S: Any, a: Any, v: Any) -> Any:
        if (parts := self.pairs(S)) is None:
            return a * S + v
        (re, im), (c, s) = parts, a
        return self.unpaired(c * re - s * im, c * im + s * re) + v
