"""A receptive field, as a page draws it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Field:
    """The receptive field: c (T,) is the share of the gradient that the m = 1..T last symbols hold, with its band.

    `erf` is the number of last symbols that hold 99 %.
    """

    c: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    erf: int | None
