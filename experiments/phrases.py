"""Values in sentences: what the notes of a page are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

Value = TypeVar("Value")


def unlike(pattern: str, values: Iterable[str], expected: str) -> Iterator[str]:
    """The pattern filled, if the values are not all as expected."""
    found = distinct(values)
    if found != [expected]:
        yield f"{pattern.format(' and '.join(found))}, not {expected}"


def distinct(values: Iterable[Value]) -> list[Value]:
    """The values, each once, in their order."""
    return list(dict.fromkeys(values))


def span(low: int, high: int) -> str:
    """A range of lengths."""
    return f"{low}..{high}" if low != high else str(low)


def ordinal(number: int) -> str:
    """A number as a rank.

    >>> ordinal(2), ordinal(10), ordinal(23)
    ('2nd', '10th', '23rd')
    """
    last = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else last}"


def listed(values: Sequence[Any]) -> str:
    """Values in a sentence.

    >>> listed([1e-4, 3e-4, 5e-4]), listed([True])
    ('0.0001, 0.0003 and 0.0005', 'true')
    """
    texts = [text_of(value) for value in values]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def text_of(value: Any) -> str:
    """A value as config.toml has it, nearly.

    >>> text_of(1e-5), text_of(()), text_of((8, 16))
    ('1e-05', 'none', '8, 16')
    """
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value).lower() if isinstance(value, bool) else str(value)
