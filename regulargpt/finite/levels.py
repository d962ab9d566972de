"""Which kinds of node there are in the trees of all words, level by level, until nothing new comes.

The tree over a word of length T has C**l symbols under every node of level l but one, which has the rest: the leftmost
where the tree is aligned on the right, the rightmost where it is aligned on the left. So the nodes of a level are of
two sorts, *full* and *rest*, and from their kinds follow the kinds of the next level. There are finitely many kinds, so
the levels repeat: what holds for the levels until then holds for all lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from languages.errors import UserError
from regulargpt.finite.specification import ForestUses, Specification
from regulargpt.models.tree.shape import Side

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Place = TypeVar("Place")
Image = Callable[[int, Ints], Ints]  # the states that the network gives to windows (n, C) of states of level l

# Windows of so many nodes that one level keeps, and that it looks at; beyond it a proof would take hours and gigabytes.
MAX_WINDOWS, MAX_LOOKED_AT = 1 << 24, 1 << 31
# Windows that are in memory at once.
SLICE = 1 << 18
# Words that are written out have at most so many symbols; lengths beyond the second are not told apart.
MAX_SYMBOLS, LONGEST_COUNTED = 1 << 20, 1 << 56


class TooManyWindows(UserError):
    """There is more than a proof can look at: windows of the language itself, or because the network errs on many; or
    symbols in a word that it has wrong."""


@dataclass(frozen=True)
class Kinds:
    """Kinds of node: what the network has there, and what the sub-word under it does.

    `states` (n,) count from 1 (0 is the pad); `elements` (n,) are those of the transition monoid. Of all sub-words
    of a kind the shortest has `lengths` (n,) symbols, or `LONGEST_COUNTED` where it has more; it is made of
    `children` (n, C), rows of the level below by offset, full nodes before rests, -1 for what is absent.
    """

    states: Ints
    elements: Ints
    lengths: Ints
    children: Ints

    def __len__(self) -> int:
        return len(self.states)

    def __getitem__(self, rows: Ints | Flags | slice) -> Kinds:
        return Kinds(self.states[rows], self.elements[rows], self.lengths[rows], self.children[rows])

    @classmethod
    def join(cls, parts: Sequence[Kinds]) -> Kinds:
        """All rows, one part after the other."""
        columns = zip(*((p.states, p.elements, p.lengths, p.children) for p in parts), strict=True)
        return cls(*map(np.concatenate, columns))

    def distinct(self) -> Kinds:
        """Each pair of state and element once, with its shortest sub-word."""
        # The last key counts first: equal pairs stand together, the shortest sub-word in front.
        order = np.lexsort((self.lengths, self.elements, self.states))
        ordered = self[order]
        pairs = np.stack([ordered.states, ordered.elements])
        new = np.ones(len(ordered), dtype=bool)
        new[1:] = (pairs[:, 1:] != pairs[:, :-1]).any(0)
        return ordered[new]


@dataclass(frozen=True)
class Level:
    """The kinds of a level: full nodes, rests, and those that are the root of some word's tree."""

    full: Kinds
    rest: Kinds
    roots: Kinds

    @property
    def nodes(self) -> Kinds:
        """Full nodes before rests, as `children` counts them."""
        return Kinds.join([self.full, self.rest])

    def key(self) -> tuple[bytes, ...]:
        """Equal for levels from which the same windows can be formed."""
        return tuple(a.tobytes() for kinds in (self.full, self.rest) for a in (kinds.states, kinds.elements))


def levels(specification: Specification, chunk_size: int, image: Image, aligned: Side = "right") -> Iterator[Level]:
    """The levels of words, from the symbols up to the first that repeats an earlier level: see `levels_over`.

    >>> import languages
    >>> specification = Specification.from_task(languages.get("parity"))
    >>> count_ones = lambda level, windows: 1 + (np.where(windows > 0, windows - 1, 0).sum(1) % 2)
    >>> [(len(level.full), len(level.rest)) for level in levels(specification, 2, count_ones)]
    [(2, 0), (2, 2), (2, 2)]
    """
    symbols = 1 + np.arange(len(specification.letters))
    kinds = Kinds(symbols, specification.letters, np.ones_like(symbols), np.full((len(symbols), chunk_size), -1))
    return levels_over(kinds, specification.top, chunk_size, image, aligned)


def levels_over(
    items: Kinds, uses: ForestUses, chunk_size: int, image: Image, aligned: Side = "right"
) -> Iterator[Level]:
    """The levels of rows of these items up to the first that repeats an earlier level.

    The next level follows from the kinds of this level and from its span C^l, by which `next_level` leaves out what is
    part of no word with an answer. A repetition is the end all the same: multiples of C^(l+1) are multiples of C^l, so
    answerable(C^(l+1)) lies in answerable(C^l), and reached(C^(l+1)) in reached(C^l). So from equal kinds a later level
    keeps no kind, and no root, that the earlier level did not keep. What comes after is contained, level by level, in
    what was seen.

    `image(l, windows)` gives the states (from 1) of the nodes over windows (n, C) of states of level l, by offset.
    Raises TooManyWindows if there are too many to look at.
    """
    # The leaves: every item is a full node of one item.
    level = Level(items[uses.can_be_inside(1, aligned)[items.elements]], items[:0], items[:0])
    yield level
    seen: set[tuple[bytes, ...]] = set()
    height, span = 0, 1
    while height == 0 or level.key() not in seen:
        if height:  # leaves and prototypes are numbered apart
            seen.add(level.key())
        height, span = height + 1, span * chunk_size
        level = next_level(level, height, span, uses, chunk_size, image, aligned)
        yield level


def next_level(
    level: Level,
    height: int,
    span: int,
    uses: ForestUses,
    chunk_size: int,
    image: Image,
    aligned: Side,
) -> Level:
    """The next level: every window of C full nodes, and of fewer or of a rest at the far end."""
    windows = Windows.over(level, span, uses, chunk_size, aligned)
    windows.check_count(height)
    nodes, n_full = windows.nodes, windows.n_full
    full: list[Kinds] = []
    rest: list[Kinds] = []
    roots: list[Kinds] = []
    for n in range(1, chunk_size + 1):
        for composed in windows.kept(n):
            # The far entry, at offset n - 1, says whether the node is full: only there can a rest be.
            is_full = (composed.children[:, n - 1] < n_full) & (n == chunk_size)
            children = np.where(composed.children >= 0, nodes.states[composed.children], 0)
            kinds = Kinds(image(height - 1, children), composed.elements, composed.lengths, composed.children)
            full.append(kinds[is_full].distinct())
            rest.append(kinds[~is_full].distinct())
            # Of T > 1 symbols the root has two children or more, or its only child would be the root.
            if n > 1 or height == 1:
                roots.append(kinds[windows.can_be_rest[kinds.elements]].distinct())
    none = nodes[:0]
    return Level(*(Kinds.join([none, *parts]).distinct() for parts in (full, rest, roots)))


@dataclass(frozen=True)
class Windows:
    """The windows of a level's nodes, full nodes with any node at the far end, that are part of a word with an answer.

    They grow from offset 0 on, and what is not `inside` is left out at once. Aligned on the right, the sub-word x s of
    a window ends in that of its first offsets, s. If x s is inside, or a rest, some word leads to a state, x on to
    another, and s on to a state from which an answer comes: so s is inside. Aligned on the left, it is s x. If that is
    inside, or a rest, s leads to a state from which an answer comes, by way of x: so s is inside.
    """

    nodes: Kinds
    n_full: int
    times: npt.NDArray[np.integer[Any]]
    inside: Flags
    can_be_rest: Flags
    chunk_size: int
    aligned: Side

    @classmethod
    def over(cls, level: Level, span: int, uses: ForestUses, chunk_size: int, aligned: Side) -> Windows:
        """Those of a level whose windows are `span` symbols wide."""
        inside, can_be_rest = uses.can_be_inside(span, aligned), uses.can_be_rest(span, aligned)
        return cls(level.nodes, len(level.full), uses.times, inside, can_be_rest, chunk_size, aligned)

    def kept(self, n: int) -> Iterator[Kinds]:
        """The windows of n nodes in slices, the node at offset 0 changing last; the states are still to be computed."""
        none = np.zeros(1, dtype=np.int64)
        # The empty window: element 0 is the identity.
        yield from self.grown(Kinds(none, none, none, np.full((1, self.chunk_size), -1)), 0, n)

    def grown(self, near: Kinds, offset: int, n: int) -> Iterator[Kinds]:
        """The windows of n nodes that have at the offsets before `offset` what these windows have."""
        is_far = offset == n - 1
        nodes = self.nodes if is_far else self.nodes[: self.n_full]
        rows = max(1, SLICE // max(1, len(nodes)))
        for at in range(0, len(near), rows):
            more = self.with_one_more(near[at : at + rows], nodes, offset, self.whole(n, offset))
            yield from [more] if is_far else self.grown(more, offset + 1, n)

    def with_one_more(self, near: Kinds, nodes: Kinds, offset: int, whole: Flags) -> Kinds:
        """Each window with each of these nodes at `offset`, if it is kept."""
        products = self.products(near.elements, nodes.elements)
        row, node = np.nonzero(self.keeps(products, whole))
        children = near.children[row]
        children[:, offset] = node
        elements = products[row, node].astype(np.int64)
        lengths = np.minimum(near.lengths[row] + nodes.lengths[node], LONGEST_COUNTED)
        return Kinds(np.zeros_like(elements), elements, lengths, children)

    def whole(self, n: int, offset: int) -> Flags:
        """Which nodes (nodes,) at `offset` leave a window full: none at the far end of one of less than C nodes."""
        if offset < n - 1:
            return np.ones(self.n_full, dtype=bool)
        return (np.arange(len(self.nodes)) < self.n_full) & (n == self.chunk_size)

    def keeps(self, products: npt.NDArray[np.integer], whole: Flags) -> Flags:
        """Whether windows (m, nodes) are part of a word with an answer, by what their sub-words do."""
        return np.where(whole, self.inside[products], self.can_be_rest[products])

    def products(self, near: Ints, far: Ints) -> npt.NDArray[np.integer]:
        """What the sub-words of windows (m,) do with each of these (k,) at the next offset (m, k)."""
        near, far = near[:, None], far[None]  # (m, 1), (1, k)
        return self.times[far, near] if self.aligned == "right" else self.times[near, far]

    def check_count(self, height: int) -> None:
        """Raise TooManyWindows if too many would be kept, or looked at: counted by what the sub-words do."""
        near = np.zeros(len(self.times), dtype=np.int64)  # (M,): how many windows of full nodes do what
        near[0] = 1
        for n in range(1, self.chunk_size + 1):
            looked_at, kept = int(near.sum()) * len(self.nodes), int(self.counts(near, n, n - 1).sum())
            if kept > MAX_WINDOWS or looked_at > MAX_LOOKED_AT:
                count, most = (kept, MAX_WINDOWS) if kept > MAX_WINDOWS else (looked_at, MAX_LOOKED_AT)
                raise TooManyWindows(
                    f"{count:,} windows of {n} nodes at level {height}: too many to look at (at most {most:,}); "
                    "certify a run with a smaller chunk size or of a smaller monoid"
                )
            near = self.counts(near, n + 1, n - 1)

    def counts(self, near: Ints, n: int, offset: int) -> Ints:
        """How many windows do what (M,), with one node more at `offset`, if so many did what before (M,)."""
        whole, counts = self.whole(n, offset), np.zeros_like(near)
        elements = np.flatnonzero(near)
        nodes = self.nodes.elements[: len(whole)]
        rows = max(1, SLICE // max(1, len(nodes)))
        for at in range(0, len(elements), rows):
            some = elements[at : at + rows]
            products = self.products(some, nodes)
            row, node = np.nonzero(self.keeps(products, whole))
            np.add.at(counts, products[row, node], near[some[row]])
        return counts


def from_left(places: Sequence[Place], aligned: Side) -> Sequence[Place]:
    """What stands at each offset, in the order of the word: offsets count from the side `aligned`.

    >>> from_left([7, 8, 9], "right"), from_left([7, 8, 9], "left")
    ([9, 8, 7], [7, 8, 9])
    """
    return places[::-1] if aligned == "right" else places


def shortest_word(
    levels: Sequence[Level],
    height: int,
    kind: Kinds,
    row: int,
    aligned: Side = "right",
    item: Callable[[int, int], Sequence[int]] = lambda state, element: [state - 1],
) -> list[int]:
    """The symbols of the shortest sub-word of a row of kinds of the level `height`; `item` gives those of an item.

    Raises TooManyWindows where it is too long to be written out: of a language whose levels repeat late.
    """
    if (length := int(kind.lengths[row])) > MAX_SYMBOLS:
        more = " or more" * (length == LONGEST_COUNTED)
        raise TooManyWindows(
            f"the shortest word on which the quantised network errs has {length:,}{more} symbols, too many to write out"
        )
    if height == 0:
        return [*item(int(kind.states[row]), int(kind.elements[row]))]
    below = levels[height - 1].nodes
    return [
        symbol
        for child in from_left(kind.children[row].tolist(), aligned)
        if child >= 0
        for symbol in shortest_word(levels, height - 1, below, child, aligned, item)
    ]
