"""Expressions with brackets as Deletang et al. 2023 draw them: any place may part the two operands, so few are deep."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from languages.automata.words import Indices
from languages.errors import LanguageError

Draw = Callable[[np.random.Generator, int, int], Indices]
SAMPLERS = ("grammar", "published")


def check_sampler(name: str, sampler: str, depth: str) -> None:
    """LanguageError for another sampler, and for a depth that is asked of the published one."""
    if sampler not in SAMPLERS:
        raise LanguageError(f"{name}: sampler is {sampler!r:.80}; it is 'grammar' or 'published'")
    if sampler == "published" and depth != "any":
        raise LanguageError(f"{name}: sampler=published draws depths of its own; leave out depth={depth:.80}")


def expression(random: np.random.Generator, length: int, modulus: int, operators: str) -> tuple[list[str], int]:
    """The symbols of an expression, and its value before mod m.

    Of 1 to 4 symbols it is d, -d, (d) or (-d); of n >= 5 it is (E_l op E_(n-3-l)), l uniform in 1..n-4. The mean depth
    grows as the logarithm of the length: 13.6 at 500 symbols, where 124 is possible.

    Source: Deletang et al. 2023, the code of Modular Arithmetic (brackets).
    """
    if length < 5:
        digit = int(random.integers(modulus))
        signed = ["-", str(digit)] if length in (2, 4) else [str(digit)]
        return (["(", *signed, ")"] if length > 2 else signed), -digit if length in (2, 4) else digit
    first = int(random.integers(1, length - 3))
    left, a = expression(random, first, modulus, operators)
    right, b = expression(random, length - 3 - first, modulus, operators)
    operator = operators[int(random.integers(len(operators)))]
    value = a + b if operator == "+" else a - b if operator == "-" else a * b
    return ["(", *left, operator, *right, ")"], value % modulus


def expressions(alphabet: Sequence[str], modulus: int, operators: str) -> Draw:
    """Draws expressions (count, length)."""
    index = {symbol: i for i, symbol in enumerate(alphabet)}

    def draw(random: np.random.Generator, length: int, count: int) -> Indices:
        words = [expression(random, length, modulus, operators)[0] for _ in range(count)]
        return np.array([[index[symbol] for symbol in word] for word in words], dtype=np.uint8)

    return draw


def equations(alphabet: Sequence[str], modulus: int) -> Draw:
    """Draws equations (count, length): x stands for the first digit at a uniform place or behind it, round the end."""
    index = {symbol: i for i, symbol in enumerate(alphabet)}

    def equation(random: np.random.Generator, length: int) -> list[int]:
        symbols, value = expression(random, length - 2, modulus, "+-")
        place = int(random.integers(length - 2))
        while not symbols[place].isdigit():
            place = (place + 1) % (length - 2)
        symbols[place] = "x"
        return [index[symbol] for symbol in (*symbols, "=", str(value % modulus))]

    def draw(random: np.random.Generator, length: int, count: int) -> Indices:
        return np.array([equation(random, length) for _ in range(count)], dtype=np.uint8)

    return draw
