"""Copied symbols: those that continue a repeat whose last place lies so far back that only far context can tell.

Which symbols are copied is a property of the text alone: no network chooses them.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int

REPEATED = 8
"""So many symbols before a copied symbol are repeated with it, if nobody says otherwise."""
NEVER = 0


def copied(
    segments: Int[np.ndarray, "segments symbols"], repeated: int, far: int
) -> Bool[np.ndarray, "segments symbols"]:
    """Which symbols stood earlier behind the same `repeated` symbols, the last time more than `far` symbols back.

    >>> copied(np.array([[*b"abcd-----abc"]]), repeated=2, far=5)[0].nonzero()[0].tolist()
    [11]
    """
    back = np.stack([distances(row, repeated + 1) for row in segments])  # (segments, symbols)
    return back > far


def distances(row: Int[np.ndarray, " symbols"], width: int) -> Int[np.ndarray, " symbols"]:
    """How far back the `width` symbols that end here ended the last time before; 0 where they never did.

    >>> distances(np.array([*b"abcabab"]), 2).tolist()
    [0, 0, 0, 0, 3, 0, 2]
    """
    back = np.full(len(row), NEVER)  # (symbols,)
    if len(row) <= width:
        return back
    names = named(row, width)
    places = np.argsort(names, kind="stable")  # (grams,), equal ones side by side, in their order
    again = names[places[1:]] == names[places[:-1]]
    back[places[1:][again] + width - 1] = (places[1:] - places[:-1])[again]
    return back


def named(row: Int[np.ndarray, " symbols"], width: int) -> Int[np.ndarray, " grams"]:
    """A number for each `width` symbols in a row: equal numbers where the symbols are equal, and nowhere else.

    Names of long ones are made from two of half the width (Karp, Miller and Rosenberg 1972), so nothing collides.

    >>> named(np.array([*b"abcab"]), 2).tolist()
    [0, 1, 2, 0]
    """
    names, known = np.unique(row, return_inverse=True)[1], 1
    while known < width:
        step = min(known, width - known)
        pairs = names[:-step].astype(np.int64) * len(row) + names[step:]  # names are below len(row)
        names, known = np.unique(pairs, return_inverse=True)[1], known + step
    return names


def distance_slowly(row: Int[np.ndarray, " symbols"], at: int, width: int) -> int:
    """The readable reference of `distances`, at a symbol: look back symbol by symbol.

    >>> distance_slowly(np.array([*b"abcabab"]), 4, 2)
    3
    """
    if at + 1 < width:
        return NEVER
    here = row[at + 1 - width : at + 1].tolist()
    earlier = (j for j in range(at - 1, width - 2, -1) if row[j + 1 - width : j + 1].tolist() == here)
    return next((at - j for j in earlier), NEVER)
