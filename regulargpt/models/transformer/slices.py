"""Overlapping slices of queries, keys and values, whose gradients are added up in one place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor


def cut(
    x: Float[Tensor, "batch n_heads length d_head"], where: Sequence[slice]
) -> Sequence[Float[Tensor, "batch n_heads some d_head"]]:
    """`x[..., some, :]` for each of the slices; of several, their rows lie one after the other.

    >>> [piece.flatten().tolist() for piece in cut(torch.arange(3.0).view(1, 1, 3, 1), [slice(0, 2), slice(0, 3)])]
    [[0.0, 1.0], [0.0, 1.0, 2.0]]
    """
    if len(where) > 1:
        # Products by hand would copy each piece that has gaps.
        x = x.contiguous()
    if len(where) == 1 or not x.requires_grad or torch.compiler.is_compiling():
        return [x[..., some, :] for some in where]
    return _Cut.apply(x, where)


class _Cut(torch.autograd.Function):
    """The slices. By itself each would hand back a gradient as large as x, full of zeros, and all would be added up."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, where: Sequence[slice]) -> tuple[Tensor, ...]:
        ctx.where, ctx.shape = where, x.shape
        return tuple(x[..., some, :] for some in where)

    @staticmethod
    def backward(ctx: Any, *pieces: Tensor) -> tuple[Tensor, None]:
        whole = pieces[0].new_zeros(ctx.shape)
        for some, piece in zip(ctx.where, pieces, strict=True):
            whole[..., some, :] += piece
        return whole, None
