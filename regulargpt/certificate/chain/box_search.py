"""The search for boxes of states that a recurrent network maps into each other; the independent checker decides.

It is the least fixed point from below: the images of the start, then what they are mapped to, each box the hull of what
comes to it, widened a little, until nothing leaves any more (Kleene).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regulargpt.certificate.chain.bounded import box_network
from regulargpt.certificate.chain.intervals import TensorInterval
from regulargpt.certificate.chain.moves import PointMoves
from regulargpt.certificate.chain.product import ChainProduct
from regulargpt.finite.chain import Chain
from regulargpt.finite.chain_rows import Rows

Floats = npt.NDArray[np.float64]

# In each coordinate so much may be left over; the largest of these with which boxes are closed is said.
SLACKS = (1e-2, 3e-3, 1e-3, 1e-4, 1e-5)
# Rounding in float64 is far below this, for numbers of the size of 1.
ROUNDING = 1e-12
# What leaves a box widens it by this share; after so many rounds, or once boxes are so wide, there are none.
WIDENED, ROUNDS, WIDEST = 0.02, 200, 0.5


@dataclass(frozen=True)
class PointBoxes:
    """Boxes of states that are mapped into each other: the radii (K, D) round the points of a product, and the slack
    that is left in every coordinate."""

    radii: Floats
    slack: float


class AnyBoxes(Protocol):
    """A network of which all states in a box can be followed."""

    def start(self, n: int) -> Float[Tensor, "n d_state"]: ...

    def images(self, states: TensorInterval, symbols: Int[Tensor, "n"]) -> TensorInterval: ...

    def answers(self, boxes: TensorInterval, moves: PointMoves) -> bool: ...


def search_boxes(
    chain: Chain, product: ChainProduct, graph: AnyBoxes | None = None
) -> tuple[ChainProduct, PointBoxes] | str:
    """Boxes, with the largest slack that allows any, and the product over their middles; or why there are none.

    They are those of the `graph`, where the proof is about one.
    """
    if (network := graph or box_network(chain.model)) is None:
        return f"{chain.name} passes its state on without bounds that could hold it"
    moves = PointMoves.from_product(product)
    for slack in SLACKS:
        if (invariant := closed(network, moves, slack)) is None:
            continue
        boxed = ChainProduct.explore(Rows.compute(chain, invariant.centre), product.machine)
        if boxed.is_proven:
            return boxed, PointBoxes(
                torch.maximum(invariant.upper - invariant.centre, invariant.centre - invariant.lower).numpy(), slack
            )
    return "no boxes of states are mapped into each other"


@torch.no_grad()
def closed(network: AnyBoxes, moves: PointMoves, slack: float) -> TensorInterval | None:
    """Boxes (K, D) into which all images go and leave the slack, with one answer in each; None if there are none.

    The network is in float64.
    """
    start = network.start(len(moves.begins)).double()
    of_first = network.images(TensorInterval(start, start), moves.begins), moves.first[moves.begins]
    boxes = hull([of_first], moves.n_points, slack)
    for _ in range(ROUNDS):
        known = torch.isfinite(boxes.lower[:, 0])
        rows = known[moves.source]
        source, target = moves.source[rows], moves.target[rows]
        image = network.images(TensorInterval(boxes.lower[source], boxes.upper[source]), moves.symbols[rows])
        after = hull([of_first, (image, target)], moves.n_points, slack)
        if bool(known.all()) and bool(((after.lower >= boxes.lower) & (after.upper <= boxes.upper)).all()):
            return boxes if network.answers(boxes, moves) else None
        if bool((after.radius > WIDEST).any()):
            return None
        boxes = widened(boxes, after)
    return None


def hull(parts: list[tuple[TensorInterval, Int[Tensor, "n"]]], n_points: int, slack: float) -> TensorInterval:
    """The least boxes (n_points, D) that hold what comes to them and the slack round it; empty ones, from inf to -inf,
    where nothing does."""
    lower, upper = (torch.cat([getattr(image, end) for image, _ in parts]) for end in ("lower", "upper"))
    target = torch.cat([target for _, target in parts])[:, None].expand_as(lower)
    room = slack + ROUNDING * (1 + torch.maximum(lower.abs(), upper.abs()))
    empty = lower.new_full((n_points, lower.shape[1]), torch.inf)
    low = empty.scatter_reduce(0, target, lower - room, "amin")
    return TensorInterval(low, (-empty).scatter_reduce(0, target, upper + room, "amax"))


def widened(boxes: TensorInterval, after: TensorInterval) -> TensorInterval:
    """The hull of boxes and what comes to them, each side that moved a little farther."""
    low, high = torch.minimum(boxes.lower, after.lower), torch.maximum(boxes.upper, after.upper)
    more = torch.where(torch.isfinite(low), WIDENED * (high - low) / 2 + ROUNDING, 0.0)
    return TensorInterval(low - (after.lower < boxes.lower) * more, high + (after.upper > boxes.upper) * more)
