"""What the fused kernel adds to the logits: bias and causal mask in a single tensor, made once where it may be."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regulargpt.encodings.base import Positions
from regulargpt.models.transformer.piece import Piece

KEPT = 1 << 24
"""Numbers of the masks that are kept from pass to pass: 64 MiB of float32."""
LONGEST_KEPT = 1024
"""Keys of a pattern whose masks are kept: of longer words they take more memory than they save time."""


class Masks:
    """The masks of a forward pass, for all its layers; those of a fixed bias go to `kept` and outlive the pass.

    `kept` is for the positions 0, 1, 2, ...; a pass over others has its own.
    """

    def __init__(self, kept: OrderedDict[Any, Tensor] | None = None):
        self.kept = OrderedDict() if kept is None else kept
        self.of_pass: dict[Any, Tensor] = {}

    def get(self, piece: Piece) -> Float[Tensor, "1 #n_heads queries keys"]:
        """The mask of a piece, for an encoding whose bias does not look at the input."""
        encoding, q = piece.encoding, piece.q
        # What a compiled pass makes belongs to its graph.
        lasting = encoding.fixed_bias and not torch.compiler.is_compiling()
        used_again = lasting or encoding.shared_bias
        if piece.begin + piece.shape[1] > LONGEST_KEPT or not used_again:
            return piece.mask(piece.bias())
        layer = None if encoding.shared_bias else piece.at.layer
        key = (piece.shape, piece.begin, piece.first, layer, piece.view, q.dtype, q.device)
        place = self.kept if lasting else self.of_pass
        if key not in place:
            place[key] = made = lasting_mask(piece) if lasting else piece.mask(piece.bias())
            while sum(map(Tensor.numel, self.kept.values())) > KEPT:
                self.kept.popitem(last=False)
            return made
        return place[key]


def lasting_mask(piece: Piece) -> Float[Tensor, "1 #n_heads queries keys"]:
    """The mask, of no gradient and for any later pass: training could not use what is made in inference mode."""
    with torch.inference_mode(False), torch.no_grad():
        q, k = (torch.zeros(x.shape, dtype=x.dtype, device=x.device) for x in (piece.q, piece.k))
        at = Positions(piece.at.m.clone(), piece.at.n.clone(), piece.at.layer)
        piece = replace(piece, q=q, k=k, at=at)
        return piece.mask(piece.bias()).contiguous()
