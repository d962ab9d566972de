"""Seven languages of the FLaRe benchmark: membership, with its members and near misses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from languages.automata.words import Indices
from languages.context_free.flare import SOURCE
from languages.context_sensitive.numbers import binary, numbers
from languages.drawn import Draw, DrawnTask
from languages.membership import Member, membership
from languages.sampling.sampler import uniform_words

Examples = tuple[tuple[str, str], ...]
Image = Callable[[Indices], Indices]
"""Of words (batch, n) words (batch, n)."""


def task(
    name: str,
    alphabet: Sequence[str],
    member: Member,
    draw: Draw,
    has: Callable[[int], bool],
    summary: str,
    examples: Examples,
) -> DrawnTask:
    return DrawnTask(
        name=f"flare-{name}",
        machine=membership(alphabet, member),
        summary=f"membership: {summary}",
        source=SOURCE,
        examples=examples,
        draw=draw,
        has=has,
        sampling="balanced",
        level="context-sensitive",
        perturbs=True,
    )


def marked(
    name: str, letters: Sequence[str], image: Image, summary: str, examples: tuple[tuple[str, str], ...]
) -> DrawnTask:
    """A word w, #, and its image; w may be empty."""
    mark = len(letters)

    def member(words: Indices) -> npt.NDArray[np.bool_]:
        half = words.shape[1] // 2
        word, rest = words[:, :half], words[:, half + 1 :]
        if words.shape[1] % 2 == 0:
            return np.zeros(len(words), dtype=np.bool_)
        return ((words == mark).sum(1) == 1) & (words[:, half] == mark) & (rest == image(word)).all(1)

    def draw(random: np.random.Generator, length: int, count: int) -> Indices:
        word = uniform_words(random, len(letters), length // 2, count)
        return np.concatenate([word, np.full((count, 1), mark, dtype=np.uint8), image(word)], axis=1)

    return task(name, (*letters, "#"), member, draw, lambda length: length % 2 == 1, summary, examples)


def flare_marked_copy() -> DrawnTask:
    """Is the word w#w?

    >>> flare_marked_copy().machine.answers("01#01").item()
    1

    Source: Butoi et al. 2025, "Marked Copy".
    """
    examples = (("01#01", "accept"), ("01#10", "reject"))
    return marked("marked-copy", "01", lambda word: word, "a word, a mark, and the word again", examples)


def flare_odds_first() -> DrawnTask:
    """Is the word w#v, v the symbols of w at odd places, counted from 1, then those at even places?

    >>> flare_odds_first().machine.answers("0011#0101").item()
    1

    Source: Butoi et al. 2025, "Odds First".
    """
    examples = (("011#011", "accept"), ("0011#0011", "reject"))

    def image(word: Indices) -> Indices:
        return np.concatenate([word[:, ::2], word[:, 1::2]], axis=1)

    return marked("odds-first", "01", image, "a word, a mark, its odd places, then its even ones", examples)


def flare_bucket_sort() -> DrawnTask:
    """Is the word w#v, v the symbols of w in order, over 1 to 5?

    >>> flare_bucket_sort().machine.answers("312#123").item()
    1

    Source: Butoi et al. 2025, "Bucket Sort".
    """
    examples = (("521#125", "accept"), ("521#152", "reject"))
    summary = "a word, a mark, and its symbols in order"
    return marked("bucket-sort", "12345", lambda word: np.sort(word, axis=1), summary, examples)


def flare_missing_duplicate() -> DrawnTask:
    """Is the word twice the same with one 1 of it replaced by `_`?

    >>> flare_missing_duplicate().machine.answers("010_").item()
    1

    Source: Butoi et al. 2025, "Missing Duplicate".
    """

    def member(words: Indices) -> npt.NDArray[np.bool_]:
        half = words.shape[1] // 2
        filled = np.where(words == 2, 1, words)
        twice = (filled[:, :half] == filled[:, half : 2 * half]).all(1) & (words.shape[1] % 2 == 0)
        return ((words == 2).sum(1) == 1) & twice

    def draw(random: np.random.Generator, length: int, count: int) -> Indices:
        rows, half = np.arange(count), length // 2
        once = random.integers(2, size=(count, half), dtype=np.uint8)
        once[rows, random.integers(half, size=count)] = 1
        words = np.concatenate([once, once], axis=1)
        words[rows, (random.random(words.shape) * (words == 1)).argmax(1)] = 2
        return words

    examples = (("011_", "reject"), ("110_", "reject"), ("010_", "accept"))
    return task(
        "missing-duplicate",
        "01_",
        member,
        draw,
        lambda length: length % 2 == 0,
        "a word twice, a 1 of it missing",
        examples,
    )


def flare_binary_addition() -> DrawnTask:
    """Is the word x+y=z in binary, the lowest digit first, and true? Numbers may have zeros behind their highest 1.

    >>> flare_binary_addition().machine.answers("1+1=01").item()
    1

    Source: Butoi et al. 2025, "Binary Addition".
    """
    examples = (("1+10=010", "accept"), ("1+1=1", "reject"))
    return operation(
        "binary-addition", "+", int.__add__, lambda z, x: z - x, (1, 1, 1), "a sum of two numbers", examples
    )


def flare_binary_multiplication() -> DrawnTask:
    """Is the word x*y=z in binary, as in `flare_binary_addition`, and true?

    >>> flare_binary_multiplication().machine.answers("01*1=01").item()
    1

    Source: Butoi et al. 2025, "Binary Multiplication"; the bound of a factor is exact, where theirs is rounded.
    """
    examples = (("01*01=001", "accept"), ("1*1=01", "reject"))

    def most(z: int, x: int) -> int | None:
        return z // x if x else None

    parts, summary = (1, 1, 2), "a product of two numbers"
    return operation("binary-multiplication", "*", int.__mul__, most, parts, summary, examples)


def operation(
    name: str,
    sign: str,
    result: Callable[[int, int], int],
    most: Callable[[int, int], int | None],
    parts: tuple[int, int, int],
    summary: str,
    examples: Examples,
) -> DrawnTask:
    """Of two numbers; `most(z, x)` is the largest y that leaves the result at most z, None where any does.

    The lengths of the three are drawn from a Dirichlet distribution, each at least 1.
    """

    def true(word: list[int]) -> bool:
        at, equals = word.index(2), word.index(3)
        x, y, z = (number(part) for part in (word[:at], word[at + 1 : equals], word[equals + 1 :]))
        return result(x, y) == z

    def member(words: Indices) -> npt.NDArray[np.bool_]:
        at, equals = (words == 2).argmax(1), (words == 3).argmax(1)
        form = ((words == 2).sum(1) == 1) & ((words == 3).sum(1) == 1)
        form &= (at > 0) & (equals > at + 1) & (equals < words.shape[1] - 1)
        form[form] = [true(word) for word in words[form].tolist()]
        return form

    def drawn_word(random: np.random.Generator, length: int) -> list[int]:
        n_x, n_y, n_z = lengths_of_parts(random, length - 2, parts)
        n_x, n_y = sorted((n_x, n_y))
        largest = (1 << n_z) - 1
        # A factor of 0 may be written with any other: x itself is bounded for sums alone.
        x = up_to(random, min((1 << n_x) - 1, largest) if most(largest, 0) is not None else (1 << n_x) - 1)
        bound = most(largest, x)
        y = up_to(random, (1 << n_y) - 1 if bound is None else min((1 << n_y) - 1, bound))
        written = [binary([x], n_x)[0].tolist(), binary([y], n_y)[0].tolist()]
        first, second = written[:: 1 if random.integers(2) else -1]
        return [*first, 2, *second, 3, *binary([result(x, y)], n_z)[0].tolist()]

    def draw(random: np.random.Generator, length: int, count: int) -> Indices:
        return np.array([drawn_word(random, length) for _ in range(count)], dtype=np.uint8)

    return task(name, ("0", "1", sign, "="), member, draw, lambda length: length >= 5, summary, examples)


def flare_compute_sqrt() -> DrawnTask:
    """Is the word x=z in binary, the lowest digit first, z the whole part of the square root of x?

    >>> flare_compute_sqrt().machine.answers("101001=011").item()  # of 37
    1

    Source: Butoi et al. 2025, "Compute Sqrt"; roots are exact here, where theirs are rounded from about 100 digits on.
    """

    def member(words: Indices) -> npt.NDArray[np.bool_]:
        at = (words == 2).argmax(1)
        form = ((words == 2).sum(1) == 1) & (at > 0) & (at < words.shape[1] - 1)
        form[form] = [
            math.isqrt(number(word[:p])) == number(word[p + 1 :])
            for word, p in zip(words[form].tolist(), at[form].tolist(), strict=True)
        ]
        return form

    def drawn_word(random: np.random.Generator, length: int) -> list[int]:
        n_x, n_z = lengths_of_parts(random, length - 1, (2, 1))
        x = up_to(random, (1 << min(n_x, 2 * n_z)) - 1)
        return [*binary([x], n_x)[0].tolist(), 2, *binary([math.isqrt(x)], n_z)[0].tolist()]

    def draw(random: np.random.Generator, length: int, count: int) -> Indices:
        return np.array([drawn_word(random, length) for _ in range(count)], dtype=np.uint8)

    examples = (("101001=011", "accept"), ("111=11", "reject"))
    summary = "a number and its square root"
    return task("compute-sqrt", "01=", member, draw, lambda length: length >= 3, summary, examples)


def number(digits: list[int]) -> int:
    """The number of binary digits, lowest first."""
    return numbers(np.array([digits]))[0]


def lengths_of_parts(random: np.random.Generator, length: int, weights: tuple[int, ...]) -> list[int]:
    """Lengths of at least 1 that add up, their shares of the rest from a Dirichlet distribution."""
    rest = length - len(weights)
    ends = np.floor(random.dirichlet(weights)[:-1].cumsum() * rest).astype(int).tolist()
    return [1 + end - begin for begin, end in zip([0, *ends], [*ends, rest], strict=True)]


def up_to(random: np.random.Generator, largest: int) -> int:
    """A number 0..largest, all equally likely."""
    bits = largest.bit_length()
    while (drawn := int.from_bytes(random.bytes((bits + 7) // 8), "little") & ((1 << bits) - 1)) > largest:
        pass
    return drawn
