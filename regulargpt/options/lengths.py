"""Lengths as people write them on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from regulargpt.options import ConfigError

MOST_LENGTHS = 1_000_000
LONGEST_WORD = 100_000_000
# More than from one symbol to the longest word: a damaged file may say that the first length is 0.
DOUBLINGS = 32


def read_lengths(text: str) -> tuple[int, ...]:
    """Lengths as people write them: "41-500,1000,10000".

    >>> read_lengths("3-5,10")
    (3, 4, 5, 10)
    >>> read_lengths("5-3")
    Traceback (most recent call last):
    regulargpt.options.ConfigError: lengths '5-3': '5-3' is not a length or an increasing range; write...
    """
    lengths: list[int] = []
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        first, last = _length(low), _length(high if dash else low)
        if not 1 <= first <= last:
            raise ConfigError(
                f"lengths {text!r}: {part.strip()!r} is not a length or an increasing range; write 41-500,1000"
            )
        if last > LONGEST_WORD:
            raise ConfigError(f"lengths {text!r}: a word has at most {LONGEST_WORD:,} symbols")
        if len(lengths) + last - first >= MOST_LENGTHS:
            raise ConfigError(f"lengths {text!r}: at most {MOST_LENGTHS:,} at once; name single long ones, as in 10000")
        lengths += range(first, last + 1)
    return tuple(sorted(set(lengths)))


def scored_lengths(first: int, last: int, stride: int = 1, factor: int = 1) -> Sequence[int]:
    """From the first to the last in steps of the stride or, with a factor above 1, each so many times the one before.

    >>> scored_lengths(41, 500, stride=2), scored_lengths(50, 500, factor=2)
    (range(41, 501, 2), (50, 100, 200, 400))
    """
    if factor == 1:
        return range(first, last + 1, stride)
    return tuple(takewhile(lambda length: length <= last, (first * factor**i for i in range(DOUBLINGS))))


def spread(lengths: Sequence[int], count: int) -> list[int]:
    """So many of the lengths, at even distances, the first and the last among them; all if they are no more.

    >>> spread(range(41, 501), 5), spread([3, 5], 5)
    ([41, 155, 270, 385, 500], [3, 5])
    """
    if len(lengths) <= count:
        return list(lengths)
    return [lengths[at * (len(lengths) - 1) // (count - 1)] for at in range(count)]


def _length(text: str) -> int:
    # Python reads no numbers of thousands of digits; any that is longer than the longest word's is too large.
    return int(text.lstrip("0")[:10] or 0) if text.isascii() and text.isdecimal() else 0
