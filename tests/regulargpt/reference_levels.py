"""The next level as its definition has it: all windows at once, what is in no word with an answer left out last."""

from __future__ import annotations

import numpy as np

from regulargpt.finite.levels import Image, Ints, Kinds, Level, from_left
from regulargpt.finite.specification import ForestUses
from regulargpt.models.tree.shape import Side


def next_level(
    level: Level,
    height: int,
    span: int,
    uses: ForestUses,
    chunk_size: int,
    image: Image,
    aligned: Side,
) -> Level:
    """The next level, of all windows at once."""
    nodes, n_full = level.nodes, len(level.full)
    inside, can_be_rest = uses.can_be_inside(span, aligned), uses.can_be_rest(span, aligned)
    full: list[Kinds] = []
    rest: list[Kinds] = []
    roots: list[Kinds] = []
    for n in range(1, chunk_size + 1):
        composed = compose(nodes, windows(n_full, len(nodes), n, chunk_size), uses, aligned)
        is_full = (composed.children[:, n - 1] < n_full) & (n == chunk_size)
        keep = np.where(is_full, inside[composed.elements], can_be_rest[composed.elements])
        composed, is_full = composed[keep], is_full[keep]
        children = np.where(composed.children >= 0, nodes.states[composed.children], 0)
        found = Kinds(image(height - 1, children), composed.elements, composed.lengths, composed.children)
        full.append(found[is_full].distinct())
        rest.append(found[~is_full].distinct())
        if n > 1 or height == 1:
            roots.append(found[can_be_rest[found.elements]].distinct())
    return Level(*(Kinds.join(parts).distinct() for parts in (full, rest, roots)))


def windows(n_full: int, n_nodes: int, n: int, chunk_size: int) -> Ints:
    """All windows (count, C) of n nodes by offset: full ones, with any node at the far end; -1 is what is absent."""
    axes = [np.arange(n_full)] * (n - 1) + [np.arange(n_nodes)]
    rows = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)  # (count, n)
    return np.pad(rows, ((0, 0), (0, chunk_size - n)), constant_values=-1)


def compose(nodes: Kinds, children: Ints, uses: ForestUses, aligned: Side = "right") -> Kinds:
    """What the concatenation of the windows' sub-words does; the states are still to be computed."""
    present = children >= 0
    elements = np.zeros(len(children), dtype=np.int64)
    for j in from_left(range(children.shape[1]), aligned):
        product = uses.times[elements, nodes.elements[children[:, j]]]
        elements = np.where(present[:, j], product, elements).astype(np.int64)
    lengths = np.where(present, nodes.lengths[children], 0).sum(1)
    return Kinds(np.zeros_like(elements), elements, lengths, children)
