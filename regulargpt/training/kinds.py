"""Rows drawn by their kind: as many of each kind as is wanted, however many rows it has."""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor


def stratified_row(
    order: Int[Tensor, "rows"], sizes: Int[Tensor, "kinds"], kind: Int[Tensor, "*n"], share: Float[Tensor, "*n"]
) -> Int[Tensor, "*n"]:
    """A row of each `kind`, by a share from 0 to below 1 of its rows, which `order` has kind by kind.

    >>> import torch
    >>> order, sizes = torch.tensor([4, 5, 6]), torch.tensor([1, 2])
    >>> stratified_row(order, sizes, torch.tensor([0, 1, 1]), torch.tensor([0.9, 0.0, 0.5]))
    tensor([4, 5, 6])
    """
    starts = sizes.cumsum(0) - sizes
    return order[starts[kind] + (share * sizes[kind]).long()]
