"""How the nodes of forests are put together: windows of C neighbours from one end, or in random bracketings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from regulargpt.models.tree.forests import Ints


@dataclass(frozen=True)
class Groups:
    """How the nodes of several forests, one forest after the other, are put together: neighbours form a group.

    A group is one window of the map, or a node that waits; groups are numbered from the left.
    """

    group: Ints  # (nodes,) the group of each
    place: Ints  # (nodes,) its place in the window, by offset
    waits: npt.NDArray[np.bool_]  # (groups,)
    size: Ints  # (forests,) how many groups each has


def windows_of_rows(size: Ints, C: int, right: bool) -> Groups:
    """Windows of C neighbours in forests of so many nodes, counted from the right or the left.

    >>> found = windows_of_rows(np.array([3, 1]), 2, right=True)
    >>> found.group.tolist(), found.place.tolist(), found.size.tolist()
    ([0, 1, 1, 2], [0, 1, 0, 0], [2, 1])
    """
    count, within = -(-size // C), numbered(size)
    if right:
        within = np.repeat(size, size) - 1 - within
    window = np.repeat(count, size) - 1 - within // C if right else within // C
    group = np.repeat(np.cumsum(count) - count, size) + window
    return Groups(group, within % C, np.zeros(int(count.sum()), dtype=np.bool_), count)


def numbered(size: Ints) -> Ints:
    """0, 1, ... for the nodes of each forest.

    >>> numbered(np.array([2, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    return np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size)


@dataclass(frozen=True)
class RandomBracketing:
    """Another tree in every forest: above level 1 about the share `share` of the windows is merged at a time.

    The other nodes wait meanwhile; C nodes or fewer are merged at once. The answer must stay: see bracketings.py, which
    does this to words.
    """

    share: float
    random: np.random.Generator

    def groups(self, size: Ints, C: int, right: bool) -> Groups:
        """Windows of C neighbours from a random place on, each merged by a coin, but one at least in each forest."""
        few, within = np.repeat(size <= C, size), numbered(size)
        shift = self.random.integers(np.clip(size - C, 0, C - 1) + 1)
        block = (within - np.repeat(shift, size)) // C  # -1 before the first
        full = (block >= 0) & (np.repeat(shift, size) + (block + 1) * C <= np.repeat(size, size))
        number = np.repeat(np.cumsum(size) - size, size) + np.maximum(block, 0)  # of the block, as good as a name
        coins = self.random.random(len(within)) < self.share
        tossed = full & coins[number]
        none = ~np.logical_or.reduceat(tossed, np.cumsum(size) - size)
        merged = few | tossed | (full & np.repeat(none, size) & (block == 0))
        at_end = (within - np.repeat(shift, size)) % C
        begins = np.where(few, within == 0, ~merged | (at_end == 0))
        place = np.where(few, within, np.where(merged, at_end, 0))
        if right:
            place = np.where(few, np.repeat(size, size) - 1, np.where(merged, C - 1, 0)) - place
        group = np.cumsum(begins) - 1
        count = np.add.reduceat(begins.astype(np.intp), np.cumsum(size) - size)
        return Groups(group, place, ~merged[begins], count)
