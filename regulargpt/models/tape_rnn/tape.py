"""A tape in superposition: a ring of cells that moves under its head, which stands at cell 0."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

Cells = Float[Tensor, "rows cells width"]
Distances = tuple[int | Int[Tensor, "rows"], ...]
"""How far each action moves a tape: what was so many cells to the right is then under the head."""


class Moved(torch.autograd.Function):
    """The mean over the actions of the tape after it, if the cell under the head is `written` before.

    Cell i is the mean of cells i + by over the actions, counted round the ring.
    """

    @staticmethod
    def forward(
        ctx: Any,
        cells: Cells,
        actions: Float[Tensor, "rows actions"],
        written: Float[Tensor, "rows width"],
        by: Distances,
    ) -> Cells:
        before = torch.cat([written[:, None], cells[:, 1:]], 1)
        after = torch.zeros_like(before)
        for action, distance in zip(actions.unbind(1), by, strict=True):
            after.addcmul_(shifted(before, distance), action[:, None, None])
        ctx.by = by
        ctx.save_for_backward(before, actions)
        return after

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        (gradient,), (before, actions) = gradients, ctx.saved_tensors
        of_cells, of_actions = torch.zeros_like(before), torch.empty_like(actions)
        for number, (action, distance) in enumerate(zip(actions.unbind(1), ctx.by, strict=True)):
            back = shifted(gradient, -distance)
            of_cells.addcmul_(back, action[:, None, None])
            # (rows, 1, cells * width) times (rows, cells * width, 1).
            of_actions[:, number] = torch.bmm(back.flatten(1)[:, None], before.flatten(1)[:, :, None])[:, 0, 0]
        of_written = of_cells[:, 0].clone()
        of_cells[:, 0] = 0
        return of_cells, of_actions, of_written, None


def shifted(cells: Cells, by: int | Int[Tensor, "rows"]) -> Cells:
    """What stands `by` cells to the right of each, round the ring.

    >>> shifted(torch.arange(3.0)[None, :, None], 1).flatten()
    tensor([1., 2., 0.])
    >>> shifted(torch.arange(3.0)[None, :, None], torch.tensor([-1])).flatten()
    tensor([2., 0., 1.])
    """
    if isinstance(by, int):
        return cells.roll(-by, 1) if by else cells
    count = cells.shape[1]
    places = (torch.arange(count, device=cells.device) + by[:, None]) % count  # (rows, cells)
    return cells.gather(1, places[:, :, None].expand_as(cells))


def as_one(distances: Int[Tensor, "batch"]) -> int | Int[Tensor, "batch"]:
    """The distance that all rows have, if they have any: that is quicker."""
    first = int(distances[0])
    return first if bool((distances == first).all()) else distances
