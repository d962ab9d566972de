"""Numbers as they are written: rounded to six digits, so that a file says nothing that a last bit could change."""

from __future__ import annotations

from typing import Any


def rounded(value: Any) -> Any:
    """The value with every float in it rounded to six decimals; tuples become lists.

    >>> rounded({"a": 0.12345678, "b": (1, None, 2.0000001)})
    {'a': 0.123457, 'b': [1, None, 2.0]}
    """
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(entry) for entry in value]
    return value
