"""The levels of the trees over all rows of items, until they repeat: induction over a finite table.

A node of level l has C^l items under it (a *full* node), but for one (the *rest*), which has what remains: the leftmost
where the tree is aligned on the right, the rightmost where it is aligned on the left. A node's kind is its prototype,
or symbol, and what its items do. The kinds of a level follow from those of the level below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from regulargpt.certificate.checker.files import Rejected
from regulargpt.certificate.checker.forests import Forest, Function, Side

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Row = tuple[Ints, Flags, Flags]  # of products (n,): their numbers, whether they can be inside, and at the end
Kind = tuple[int, Function]

# Windows that are gone through, and that are looked at, before a certificate is refused as too large: some minutes.
MAX_WINDOWS, MAX_LOOKED_AT = 1 << 26, 1 << 33
MAX_LEVELS = 500
# Windows that are in memory at once.
SLICE = 1 << 18


class LevelWalk:
    """All levels of several forests: how many windows they have is counted together.

    `images` are the rows (n,), from 1, of windows (n, C) by offset; it gets to know, in words, where they occur.
    """

    def __init__(self, C: int, aligned: Side, images: Callable[[Ints, str], Ints]):
        self.C, self.images = C, images
        self.aligned: Side = aligned
        self.count = self.looked_at = self.levels = 0

    def through(
        self, forest: Forest, items: Iterable[Kind], place: str, root: Callable[[Kind, Ints], None]
    ) -> set[Kind]:
        """The kinds above these items. Each kind of root is given to `root`, with its window, as soon as it is there.

        Which nodes are part of a word with an answer depends on the span C^l, but a multiple of C^(l + 1) is one of
        C^l: rows of a multiple of C^(l + 1) items lead to no state that rows of a multiple of C^l do not. So once full
        nodes and rests are those of an earlier level, every later level has, step by step, no node, window or root
        beyond those that followed then.
        """
        functions = forest.functions
        inside = [(row, functions.number(f)) for row, f in items if forest.can_be_inside(f, 1, self.aligned)]
        rests = distinct([])
        full = distinct([np.array(inside, dtype=np.int64).reshape(-1, 2)])  # (items, 2), of none, too
        roots: set[tuple[int, int]] = set()
        kinds: set[tuple[int, int]] = set()
        seen: set[tuple[bytes, bytes]] = set()
        for level in range(1, MAX_LEVELS + 1):
            windows = OccurringWindows(forest, full, rests, self.C, self.C**level, self.aligned)
            next_full: list[Ints] = []
            next_rests: list[Ints] = []
            for n in range(1, self.C + 1):
                for level_windows in windows.of_nodes(n):
                    self.counted(len(level_windows.states), windows.looked_at, f"at {level} levels")
                    windows.looked_at = 0
                    if not len(level_windows.states):
                        continue
                    states = self.images(level_windows.states, f"at level {level}{place}")
                    node = np.column_stack([states, level_windows.functions])  # (m, 2)
                    next_full.append(distinct([node[level_windows.whole]]))
                    next_rests.append(distinct([node[level_windows.at_end & ~level_windows.whole]]))
                    # Of two items or more the root has two children: a single child would be the root.
                    if n > 1 or level == 1:
                        for state, f in distinct([node[level_windows.at_end]]).tolist():
                            if (state, f) not in roots:
                                roots.add((state, f))
                                row = (level_windows.at_end & (node == (state, f)).all(1)).argmax()
                                root((state, functions.all[f]), level_windows.states[row])
            full, rests = distinct(next_full), distinct(next_rests)
            kinds.update(map(tuple, np.concatenate([full, rests]).tolist()))
            reached = full.tobytes(), rests.tobytes()
            if reached in seen:
                self.levels = max(self.levels, level)
                return {(state, functions.all[f]) for state, f in kinds}
            seen.add(reached)
        raise Rejected(f"the levels do not repeat within {MAX_LEVELS}: too many to go through")

    def counted(self, windows: int, looked_at: int, where: str) -> None:
        """Count so many windows more. Raises Rejected for what would take too long."""
        self.count, self.looked_at = self.count + windows, self.looked_at + looked_at
        if self.count > MAX_WINDOWS or self.looked_at > MAX_LOOKED_AT:
            most = MAX_WINDOWS if self.count > MAX_WINDOWS else MAX_LOOKED_AT
            raise Rejected(f"more than {most:,} windows {where}: too many to go through")


def distinct(nodes: Sequence[Ints]) -> Ints:
    """All different nodes (n, 2) of these arrays of them: prototype or symbol, and the number of a function."""
    # As one number each, which sorts much faster.
    codes = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(node[:, 0] << 32 | node[:, 1] for node in nodes)]))
    return np.column_stack([codes >> 32, codes & 0xFFFFFFFF])


@dataclass(frozen=True)
class CheckedWindows:
    """Windows: the states (m, C) by offset from the side aligned, 0 for what is absent; the numbers (m,) of what they
    do; whether they are full nodes of the next level, and whether they can be a rest, or a root."""

    states: Ints
    functions: Ints
    whole: Flags
    at_end: Flags


class OccurringWindows:
    """The windows of full nodes, with any node at the far place, that are part of a word with an answer.

    They grow from the side aligned, and what cannot be inside is left out at once. Let s be what the places so far do,
    and x what the others will. Aligned on the right, the window does x and then s. If that can be inside, or a rest, a
    row that may begin so leads to a state, x on to another, and s on to a state from which the row may end: so s can be
    inside. Aligned on the left, it does s and then x. If that can be inside, or a rest, s leads to a state from which
    the row may end, by way of x: so s can be inside.
    """

    def __init__(self, forest: Forest, full: Ints, rests: Ints, C: int, span: int, aligned: Side):
        self.forest, self.functions, self.C, self.span = forest, forest.functions, C, span
        self.aligned: Side = aligned
        # A node that is full and a rest is there twice.
        self.states, does = np.concatenate([full, rests]).T
        self.n_full, self.looked_at = len(full), 0
        self.does, self.which = np.unique(does, return_inverse=True)  # the different functions, and each node's
        self._rows: dict[int, Row] = {}
        self._flags: dict[int, tuple[bool, bool]] = {}

    def of_nodes(self, n: int) -> Iterator[CheckedWindows]:
        yield from self.grown(np.zeros((1, 0), dtype=np.int64), np.zeros(0, dtype=np.int64), n)

    def grown(self, places: Ints, functions: Ints, n: int) -> Iterator[CheckedWindows]:
        """Those of n nodes that have at the first places these nodes (m, j), which do so much (m,)."""
        is_far = places.shape[1] == n - 1
        count = len(self.states) if is_far else self.n_full
        rows = max(1, SLICE // max(1, count))
        for at in range(0, len(places), rows):
            some = places[at : at + rows]
            self.looked_at += len(some) * count
            products, inside, at_end = self.one_more(functions[at : at + rows] if some.shape[1] else None, count)
            # Full if all of it is: a rest can only be at the far place.
            whole = (np.arange(count) < self.n_full) & (n == self.C)
            row, node = np.nonzero(at_end | (inside & whole) if is_far else inside)
            more = np.column_stack([some[row], node])  # (m, j + 1)
            if not is_far:
                yield from self.grown(more, products[row, node], n)
                continue
            states = np.zeros((len(more), self.C), dtype=np.int64)
            states[:, :n] = self.states[more]
            yield CheckedWindows(states, products[row, node], whole[node], at_end[row, node])

    def one_more(self, near: Ints | None, count: int) -> Row:
        """What windows that do `near` (m,) do with each of the first `count` nodes, (m, count) each; None: nothing."""
        if near is None:
            which, rows = np.zeros(1, dtype=np.int64), [self.alone]
        else:
            different, which = np.unique(near, return_inverse=True)
            rows = [self.row(function) for function in different.tolist()]
        nodes = self.which[:count]
        products, inside, at_end = (np.stack(column)[which[:, None], nodes] for column in zip(*rows, strict=True))
        return products, inside, at_end

    @cached_property
    def alone(self) -> Row:
        return self.with_flags(self.does.tolist())

    def row(self, near: int) -> Row:
        """What a sub-word and those of the nodes behind it, as offsets count, do together."""
        if near not in self._rows:
            pairs = [(near, far) if self.aligned == "left" else (far, near) for far in self.does.tolist()]
            self._rows[near] = self.with_flags([self.functions.product(*pair) for pair in pairs])
        return self._rows[near]

    def with_flags(self, numbers: list[int]) -> Row:
        """Functions (n,), and whether they can be inside, and at the end of a word."""
        for number in set(numbers) - set(self._flags):
            f = self.functions.all[number]
            inside = self.forest.can_be_inside(f, self.span, self.aligned)
            self._flags[number] = inside, self.forest.can_be_rest(f, self.span, self.aligned)
        flags = np.array([self._flags[number] for number in numbers], dtype=bool).reshape(-1, 2)  # (n, 2)
        return np.array(numbers, dtype=np.int64), flags[:, 0], flags[:, 1]
