"""Which call a return closes: the nearest open call, whatever its kind. What stays unmatched is pending.

Source: Alur and Madhusudan, Adding nesting structure to words, JACM 2009.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

UNMATCHED = -1


def partners(direction: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.intp]:
    """(batch, length) the position of each bracket's partner, -1 of a symbol without.

    `direction` (batch, length) is 1 where a symbol calls, -1 where it returns, else 0.

    >>> partners(np.array([[-1, 1, 1, 0, -1, 1, -1]])).tolist()  # ) ( ( x ) ( )
    [[-1, -1, 4, -1, 2, 6, 5]]
    """
    batch, length = direction.shape
    height = np.cumsum(direction, axis=1, dtype=np.int64)
    # A call and the return that closes it stand between the same two heights. Among the brackets there, calls and
    # returns take turns, as each step up is followed by a step down: a call and the next of them are a pair.
    upper = height + (direction < 0)
    row, place = np.nonzero(direction)
    order = np.lexsort((place, upper[row, place], row))
    row, place = row[order], place[order]
    kind, level = direction[row, place], upper[row, place]
    pair = np.flatnonzero((kind[:-1] > 0) & (kind[1:] < 0) & (level[:-1] == level[1:]) & (row[:-1] == row[1:]))
    positions = np.full((batch, length), UNMATCHED, dtype=np.intp)
    positions[row[pair], place[pair]], positions[row[pair], place[pair + 1]] = place[pair + 1], place[pair]
    return positions
