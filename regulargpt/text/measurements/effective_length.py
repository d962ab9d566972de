"""Effective length (section 3.7.5 of the thesis): the distance from which a bias weakens a key by e^-2 and more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

THRESHOLD = -2.0
LONGEST = 20_480
"""So far the curve of the thesis goes."""


@dataclass(frozen=True)
class EffectiveLength:
    """The first distance with bias(x) - bias(0) < -2, or None if none below `range` has it.

    Only an `is_constant` bias is known to have none at all; others may fall later.
    """

    value: int | None
    range: int
    is_constant: bool

    def __str__(self) -> str:
        """As a table shows it.

        >>> [str(EffectiveLength(*given)) for given in ((5, 9, False), (None, 9, False), (None, 9, True))]
        ['5', '>= 9', 'inf']
        """
        if self.value is not None:
            return str(self.value)
        return "inf" if self.is_constant else f">= {self.range}"

    def as_json(self) -> dict[str, Any]:
        """The number or null, how far was looked, and how it is shown."""
        return {"value": self.value, "range": self.range, "text": str(self)}


def effective_lengths(bias: Float[ndarray, "n_heads distances"]) -> list[EffectiveLength]:
    """One a head, from its bias at the distances 0, 1, 2, ...

    The thesis wants a bias that falls strictly; here it may rise and fall, and the first crossing counts. The bias at
    distance 0 is subtracted first, as softmax does not see it.

    >>> slopes = np.array([[0.5], [0.01], [0.0]])
    >>> [str(length) for length in effective_lengths(-slopes * np.arange(100))]
    ['5', '>= 100', 'inf']
    """
    lowered = bias - bias[:, :1]
    below = lowered < THRESHOLD
    return [
        EffectiveLength(int(row.argmax()) if row.any() else None, len(row), not head.any())
        for row, head in zip(below, lowered, strict=True)
    ]


def heads_within(lengths: Sequence[EffectiveLength], longest: int = LONGEST) -> Int[ndarray, "longest_plus_1"]:
    """How many heads have an effective length of at most x, for x = 0..longest (Figure 3.6).

    >>> heads_within([EffectiveLength(1, 9, False), EffectiveLength(3, 9, False), EffectiveLength(None, 9, True)], 4)
    array([0, 1, 1, 2, 2])
    """
    values = np.sort([length.value for length in lengths if length.value is not None])
    return np.searchsorted(values, np.arange(longest + 1), side="right")
