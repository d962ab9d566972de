"""Which kinds of node there are in the trees of all words, level by level, until nothing new comes.

The tree over a word of length T has C**l symbols under every node of level l but one, which has the rest: the leftmost
where the tree is aligned on the right, the rightmost where it is aligned on the left. So the nodes of a level are of
two sorts, *full* and *rest*, and from their kinds follow the kinds of the next level. There are finitely many kinds, so
the levels repeat: what holds for the levels until then holds for all lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from languages.errors import UserError
from regulargpt.certificate.search.specification import Specification
from regulargpt.models.tree.shape import Side

Ints = npt.NDArray[np.int64]
Place = TypeVar("Place")
Image = Callable[[int, Ints], Ints]  # the states that the network gives to windows (n, C) of states of level l

# Windows of one level that are enumerated; beyond it a proof would take hours and gigabytes.
MAX_WINDOWS = 1 << 22


@dataclass(frozen=True)
class Kinds:
    """Kinds of node: what the network has there, and what the sub-word under it does.

    `states` (n,) count from 1 (0 is the pad); `elements` (n,) are those of the transition monoid. Of all sub-words
    of a kind the shortest has `lengths` (n,) symbols; it is made of `children` (n, C), rows of the level below by
    offset, full nodes before rests, -1 for what is absent.
    """

    states: Ints
    elements: Ints
    lengths: Ints
    children: Ints

    def __len__(self) -> int:
        return len(self.states)

    def __getitem__(self, rows: Ints | npt.NDArray[np.bool_]) -> Kinds:
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
    """The kinds of one level: full nodes, rests, and those that are the root of some word's tree."""

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
    """The levels from the leaves up to the first that repeats an earlier one.

    The next level follows from the kinds of this one and from its span C^l, by which `next_level` leaves out what is
    part of no word with an answer. A repetition is the end all the same: multiples of C^(l+1) are multiples of C^l, so
    answerable(C^(l+1)) lies in answerable(C^l), and reached(C^(l+1)) in reached(C^l). So from equal kinds a later level
    keeps no kind, and no root, that the earlier one did not keep. What comes after is contained, level by level, in
    what was seen.

    `image(l, windows)` gives the states (from 1) of the nodes over windows (n, C) of states of level l, by offset.
    Raises UserError if there are too many windows to look at.

    >>> import languages
    >>> specification = Specification.of(languages.get("parity"))
    >>> count_ones = lambda level, windows: 1 + (np.where(windows > 0, windows - 1, 0).sum(1) % 2)
    >>> [(len(level.full), len(level.rest)) for level in levels(specification, 2, count_ones)]
    [(2, 0), (2, 2), (2, 2)]
    """
    level = leaf_level(specification, chunk_size, aligned)
    yield level
    seen: set[tuple[bytes, ...]] = set()
    height, span = 0, 1
    while height == 0 or level.key() not in seen:
        if height:  # leaves and prototypes are numbered apart
            seen.add(level.key())
        height, span = height + 1, span * chunk_size
        level = next_level(level, height, span, specification, chunk_size, image, aligned)
        yield level


def leaf_level(specification: Specification, chunk_size: int, aligned: Side) -> Level:
    """The symbols: every one is a full node of one symbol."""
    generators = specification.monoid.generators.astype(np.int64)
    symbols = 1 + np.arange(len(generators))
    kinds = Kinds(symbols, generators, np.ones_like(symbols), np.full((len(symbols), chunk_size), -1))
    none = np.zeros(0, dtype=np.int64)
    return Level(kinds[specification.can_be_inside(1, aligned)[generators]], kinds[none], kinds[none])


def next_level(
    level: Level,
    height: int,
    span: int,
    specification: Specification,
    chunk_size: int,
    image: Image,
    aligned: Side,
) -> Level:
    """The next level: every window of C full nodes, and of fewer or of a rest at the far end."""
    nodes, n_full = level.nodes, len(level.full)
    inside, can_be_rest = specification.can_be_inside(span, aligned), specification.can_be_rest(span, aligned)
    full: list[Kinds] = []
    rest: list[Kinds] = []
    roots: list[Kinds] = []
    for n in range(1, chunk_size + 1):
        count = n_full ** (n - 1) * len(nodes)
        if count > MAX_WINDOWS:
            raise UserError(
                f"{count:,} windows of {n} nodes at level {height}: too many to look at (at most {MAX_WINDOWS:,}); "
                "certify a run with a smaller chunk size or of a smaller monoid"
            )
        composed = compose(nodes, windows(n_full, len(nodes), n, chunk_size), specification, aligned)
        # The far entry, at offset n - 1, says whether the node is full: only there can a rest be.
        is_full = (composed.children[:, n - 1] < n_full) & (n == chunk_size)
        keep = np.where(is_full, inside[composed.elements], can_be_rest[composed.elements])
        composed, is_full = composed[keep], is_full[keep]
        children = np.where(composed.children >= 0, nodes.states[composed.children], 0)
        found = Kinds(image(height - 1, children), composed.elements, composed.lengths, composed.children)
        full.append(found[is_full].distinct())
        rest.append(found[~is_full].distinct())
        # Of T > 1 symbols the root has two children or more, or its only child would be the root.
        if n > 1 or height == 1:
            roots.append(found[can_be_rest[found.elements]].distinct())
    return Level(*(Kinds.join(parts).distinct() for parts in (full, rest, roots)))


def windows(n_full: int, n_nodes: int, n: int, chunk_size: int) -> Ints:
    """All windows (count, C) of n nodes by offset: full ones, with any node at the far end; -1 is what is absent.

    >>> windows(1, 2, 1, 2).tolist(), windows(1, 2, 2, 2).tolist()
    ([[0, -1], [1, -1]], [[0, 0], [0, 1]])
    """
    axes = [np.arange(n_full)] * (n - 1) + [np.arange(n_nodes)]
    rows = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)  # (count, n)
    return np.pad(rows, ((0, 0), (0, chunk_size - n)), constant_values=-1)


def compose(nodes: Kinds, children: Ints, specification: Specification, aligned: Side = "right") -> Kinds:
    """What the concatenation of the windows' sub-words does; the states are still to be computed."""
    present = children >= 0
    elements = np.zeros(len(children), dtype=np.int64)
    for j in from_left(range(children.shape[1]), aligned):
        product = specification.monoid.table[elements, nodes.elements[children[:, j]]]
        elements = np.where(present[:, j], product, elements).astype(np.int64)
    lengths = np.where(present, nodes.lengths[children], 0).sum(1)
    return Kinds(np.zeros_like(elements), elements, lengths, children)


def from_left(places: Sequence[Place], aligned: Side) -> Sequence[Place]:
    """What stands at each offset, in the order of the word: offsets count from the side `aligned`.

    >>> from_left([7, 8, 9], "right"), from_left([7, 8, 9], "left")
    ([9, 8, 7], [7, 8, 9])
    """
    return places[::-1] if aligned == "right" else places


def shortest_word(found: Sequence[Level], height: int, kind: Kinds, row: int, aligned: Side = "right") -> list[int]:
    """The symbols of the shortest sub-word of a row of kinds of the level `height`."""
    if height == 0:
        return [int(kind.states[row]) - 1]
    below = found[height - 1].nodes
    return [
        symbol
        for child in from_left(kind.children[row].tolist(), aligned)
        if child >= 0
        for symbol in shortest_word(found, height - 1, below, child, aligned)
    ]
