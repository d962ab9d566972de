"""Numbers in binary added, multiplied, and their square roots: three tasks of Deletang et al. 2023."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from languages.automata.moore import UNDEFINED
from languages.automata.words import Indices
from languages.context_sensitive.rows import check_choice, row_machine
from languages.context_sensitive.strings import SOURCE
from languages.drawn import DrawnTask
from languages.specification import spec

SIGN = END = 2  # the index of the sign among the symbols, and of END among the answers
Bits = npt.NDArray[np.int64]


def binary_addition() -> DrawnTask:
    """The sum of two numbers, all in binary with the lowest digit first, without zeros behind its highest 1; then END.

    Numbers may have zeros behind their highest 1. None is 0 in words that are drawn, as in the code; and of its words
    of one and two symbols, which are no sums, there are none here.

    >>> task = binary_addition()
    >>> task.written([*task.machine.encode("001+01101"), *[3] * 10])
    ('001+01101', '0 1 0 1 1 END')

    Source: Deletang et al. 2023, "Binary Addition", and its code.
    """
    examples = (("001+01101", "0 1 0 1 1 END"), ("1+1", "0 1 END"))
    return arithmetic("binary-addition", "+", int.__add__, 1, "the sum of two binary numbers", examples)


def binary_multiplication() -> DrawnTask:
    """The product of two numbers, written and drawn as those of `binary_addition`.

    >>> task = binary_multiplication()
    >>> task.written([*task.machine.encode("11*11"), *[3] * 5])
    ('11*11', '1 0 0 1 END')

    Source: Deletang et al. 2023, "Binary Multiplication", and its code.
    """
    examples = (("001*01101", "0 0 0 1 1 0 1 END"), ("1*1", "1 END"))
    return arithmetic("binary-multiplication", "*", int.__mul__, 0, "the product of two binary numbers", examples)


def arithmetic(
    name: str,
    sign: str,
    operation: Callable[[int, int], int],
    more: int,
    summary: str,
    examples: tuple[tuple[str, str], ...],
) -> DrawnTask:
    """The task of an operation; a word of n symbols is asked for n + `more` answers."""

    def rows(words: Bits) -> Bits:
        answers = np.full((len(words), words.shape[1] + more), UNDEFINED)
        at = (words == SIGN).argmax(1)
        is_question = ((words == SIGN).sum(1) == 1) & (at > 0) & (at < words.shape[1] - 1)
        whole = numbers(words[is_question] % SIGN)  # the sign is a 0 between the two
        values = [
            operation(n & ((1 << p) - 1), n >> (p + 1)) for n, p in zip(whole, at[is_question].tolist(), strict=True)
        ]
        digits = np.array([max(1, value.bit_length()) for value in values], dtype=np.int64)[:, None]  # (asked, 1)
        places = np.arange(answers.shape[1])
        row = np.where(places < digits, binary(values, answers.shape[1]), UNDEFINED)  # (asked, n + more)
        answers[is_question] = np.where(places == digits, END, row)
        return answers

    return DrawnTask(
        name=name,
        machine=row_machine(("0", "1", sign), ("0", "1", "END"), rows),
        summary=f"{summary}, lowest digit first",
        source=SOURCE,
        examples=examples,
        draw=operands,
        asked=lambda length: length + more,
        has=lambda length: length > 2,
        level="context-sensitive",
    )


def operands(random: np.random.Generator, length: int, count: int) -> Indices:
    """Words (count, length) of two numbers and the sign between them: any place is as likely, and no number is 0."""
    at, places = random.integers(1, length - 1, size=count)[:, None], np.arange(length)
    words = random.integers(2, size=(count, length), dtype=np.uint8)
    for part in (places < at, places > at):
        not_zero(random, words, part)
    words[places == at] = SIGN
    return words


def not_zero(random: np.random.Generator, words: Indices, part: npt.NDArray[np.bool_]) -> None:
    """Draw the bits of `part` (count, length) anew in words (count, length) where all are 0."""
    while (zero := part & ~(words * part).any(1, keepdims=True)).any():
        words[zero] = random.integers(2, size=int(zero.sum()), dtype=np.uint8)


def compute_sqrt(version: str = "code") -> DrawnTask:
    """The whole part of the square root of a number, in half as many binary digits, rounded up.

    `version`: in the "code" the highest digit comes first, in number and root; in the "paper" the lowest.
    The number is not 0 in words that are drawn.

    LanguageError: another version.

    >>> task = compute_sqrt()
    >>> task.machine.answers("100101___", every=True)[6:].tolist()  # of 37
    [1, 1, 0]

    Source: Deletang et al. 2023, "Compute Sqrt", and its code.
    """
    check_choice("compute-sqrt", "version", version)
    way = slice(None, None, -1 if version == "code" else 1)

    def rows(words: Bits) -> Bits:
        roots = map(math.isqrt, numbers(words[:, way]))
        return binary(roots, (words.shape[1] + 1) // 2)[:, way]

    def draw(random: np.random.Generator, length: int, count: int) -> Indices:
        words = random.integers(2, size=(count, length), dtype=np.uint8)
        not_zero(random, words, np.ones((count, length), dtype=np.bool_))
        return words

    high_first = (("100101", "110"), ("111", "10"))  # of 37 and of 7
    return DrawnTask(
        name=spec("compute-sqrt", {"version": (version, "code")}),
        machine=row_machine("01", "01", rows),
        summary=f"the square root of a binary number, {'highest' if version == 'code' else 'lowest'} digit first",
        source=SOURCE,
        examples=high_first if version == "code" else tuple((number[::-1], root[::-1]) for number, root in high_first),
        draw=draw,
        asked=lambda length: (length + 1) // 2,
        level="context-sensitive",
    )


def numbers(bits: Bits) -> list[int]:
    """The numbers of binary digits (batch, length), lowest first.

    >>> numbers(np.array([[0, 0, 1], [1, 1, 0]]))
    [4, 3]
    """
    packed = np.packbits(bits.astype(np.uint8), axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def binary(values: Iterable[int], length: int) -> Bits:
    """The binary digits (batch, length) of numbers, lowest first.

    >>> binary([4, 3], 3).tolist()
    [[0, 0, 1], [1, 1, 0]]
    """
    size = (length + 7) // 8
    packed = np.frombuffer(b"".join(value.to_bytes(size, "little") for value in values), dtype=np.uint8)
    packed = packed.reshape(-1, size)  # (batch, size)
    return np.unpackbits(packed, axis=1, count=length, bitorder="little").astype(np.int64)
