"""When each node of trees along brackets is computed: as soon as its children are, with all that can be then.

Only numbers of nodes are handled here, in numpy; the states follow (nested.py). Nodes are numbered from 1 on, leaves
first; 0 is the pad. Equal nodes of a step have one number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from regulargpt.models.tree.forests import LEAF, Forests, Ints
from regulargpt.models.tree.groups import Groups, RandomBracketing, windows_of_rows

NONE = np.zeros(0, dtype=np.intp)


@dataclass(frozen=True)
class Schedule:
    """The windows (m, C) of each step, by offset, and the roots (batch,) of the words."""

    steps: list[Ints]
    roots: Ints

    @cached_property
    def counts(self) -> Ints:
        """How many nodes come before each step, leaves aside, and in all."""
        return np.cumsum([0, *map(len, self.steps)])

    def first(self, step: int, n_leaves: int) -> int:
        """The number of the first node of a step."""
        return 1 + n_leaves + int(self.counts[step])

    def last_uses(self, n_leaves: int) -> Ints:
        """The last step that needs each node; of leaves and roots one after all steps."""
        last = np.full(self.first(len(self.steps), n_leaves), -1)
        for step, windows in enumerate(self.steps):
            last[windows] = step
        last[: 1 + n_leaves] = last[self.roots] = len(self.steps)
        return last


class ForestLevel(NamedTuple):
    """Forests, in turn, with the nodes that they have come to and how many each has."""

    forests: Ints
    nodes: Ints
    size: Ints


class Scheduler:
    """Forests go on level by level, and then to the pair round them. Random bracketings begin above level 1."""

    def __init__(
        self, forests: Forests, n_leaves: int, C: int, right: bool, bracketing: RandomBracketing | None = None
    ) -> None:
        self.forests, self.C, self.right, self.bracketing = forests, C, right, bracketing
        self.count = 1 + n_leaves  # nodes so far, with the pad
        self.steps: list[Ints] = []
        # Of each forest: its root; the node over its call and that; the pair round it; the forest that this is in.
        self.root, self.opened, self.pair, self.outer = np.zeros((4, len(forests.size)), dtype=np.intp)
        is_pair, of_item = forests.inside != LEAF, np.repeat(np.arange(len(forests.size)), forests.size)
        self.outer[forests.inside[is_pair]] = of_item[is_pair]
        self.missing = np.bincount(of_item[is_pair], minlength=len(forests.size))  # pairs that are not there yet

    def schedule(self, batch: int) -> Schedule:
        """All steps, for words that are the first `batch` forests."""
        ready, C = np.flatnonzero(self.missing == 0), self.C
        is_empty = self.forests.size[ready] == 0
        # What is empty is the pad, and needs no step.
        rooted, opened = ready[is_empty & (ready >= batch)], NONE
        fresh, later = self.begun(ready[~is_empty]), ForestLevel(NONE, NONE, NONE)
        while any(map(len, (fresh.forests, later.forests, rooted, opened))):
            groups = self.usual(fresh.size), self.above(later.size)
            parts = [windows_over(level, of, C) for level, of in zip((fresh, later), groups, strict=True)]
            merged = [part[~of.waits] for part, of in zip(parts, groups, strict=True)]
            numbers = self.numbered([*merged, self.around(rooted), self.closing(opened)])
            closed = opened if C == 2 else rooted
            self.pair[closed] = numbers[3] if C == 2 else numbers[2]
            self.opened[rooted] = numbers[2]
            opened = rooted if C == 2 else NONE
            rests, roots = list[ForestLevel](), list[Ints]()
            for level, part, of, number in zip((fresh, later), parts, groups, numbers[:2], strict=True):
                rest, done = self.next_level(level, part, of, number)
                rests.append(rest)
                roots.append(done[done >= batch])
            fresh, later, rooted = self.begun(self.completed_by(closed)), joined(rests), np.concatenate(roots)
        return Schedule(self.steps, self.root[:batch])

    def begun(self, forests: Ints) -> ForestLevel:
        """Forests with the nodes of their items, which are all there."""
        items = self.forests.items_of(forests)
        inside = self.forests.inside[items]
        nodes = np.where(inside == LEAF, 1 + self.forests.symbol[items], self.pair[inside])
        return ForestLevel(forests, nodes, self.forests.size[forests])

    def usual(self, size: Ints) -> Groups:
        return windows_of_rows(size, self.C, self.right)

    def above(self, size: Ints) -> Groups:
        """Above level 1, where random bracketings begin."""
        if self.bracketing is None or not len(size):
            return self.usual(size)
        return self.bracketing.groups(size, self.C, self.right)

    def around(self, forests: Ints) -> Ints:
        """Windows (n, C) of the call and what stands behind it; of the return, too, where there is room."""
        call, root = 1 + self.forests.call[forests], self.root[forests]
        return self.window(call, root) if self.C == 2 else self.window(call, root, 1 + self.forests.close[forests])

    def closing(self, forests: Ints) -> Ints:
        """Windows (n, C) of what begins with the call, and the return: for C = 2."""
        return self.window(self.opened[forests], 1 + self.forests.close[forests])

    def window(self, *children: Ints) -> Ints:
        """Windows (n, C) of these children (n,) each, from the left."""
        windows = np.zeros((len(children[0]), self.C), dtype=np.intp)
        windows[:, : len(children)] = np.stack(children[::-1] if self.right else children, axis=1)
        return windows

    def numbered(self, windows: list[Ints]) -> list[Ints]:
        """The numbers of the nodes over these windows, which are the next step."""
        every = np.concatenate(windows)
        if self.count**self.C < 2**62:
            # As one number each, which sorts much faster.
            keys = every @ self.count ** np.arange(self.C)  # (m,)
            _, first, which = np.unique(keys, return_index=True, return_inverse=True)
            different = every[first]
        else:
            different, which = np.unique(every, axis=0, return_inverse=True)
        numbers = self.count + which.reshape(-1)  # (m,)
        self.steps.append(different)
        self.count += len(different)
        return np.split(numbers, np.cumsum([len(part) for part in windows[:-1]]))

    def next_level(self, level: ForestLevel, windows: Ints, groups: Groups, numbers: Ints) -> tuple[ForestLevel, Ints]:
        """The forests that go on, with their nodes; and those that have come to their roots."""
        nodes = windows.max(axis=1, initial=0)  # what waits stands alone in its window
        nodes[~groups.waits] = numbers
        done = groups.size == 1
        self.root[level.forests[done]] = nodes[np.cumsum(groups.size)[done] - 1]
        rest = ForestLevel(level.forests[~done], nodes[np.repeat(~done, groups.size)], groups.size[~done])
        return rest, level.forests[done]

    def completed_by(self, closed: Ints) -> Ints:
        """The forests whose last missing pairs are those round these."""
        outer, count = np.unique(self.outer[closed], return_counts=True)
        self.missing[outer] -= count
        return outer[self.missing[outer] == 0]


def windows_over(level: ForestLevel, groups: Groups, C: int) -> Ints:
    """The windows (groups, C) of the groups of some forests, by offset."""
    windows = np.zeros((len(groups.waits), C), dtype=np.intp)
    windows[groups.group, groups.place] = level.nodes
    return windows


def joined(levels: list[ForestLevel]) -> ForestLevel:
    """All of these forests."""
    return ForestLevel(*map(np.concatenate, zip(*levels, strict=True)))
