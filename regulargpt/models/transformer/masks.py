"""What the fused kernel adds to the logits: bias and causal mask in one tensor, made once where it may be."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regulargpt.encodings.base import Encoding, Positions
from regulargpt.models.transformer.views import View

KEPT = 1 << 24
"""Numbers of the masks that are kept from pass to pass: 64 MiB of float32."""
LONGEST = 1024
"""Keys of a pattern whose masks are kept: of longer words they take more memory than they save time."""


def hidden(
    view: View, n_queries: int, n_keys: int, begin: int = 0, device: torch.device | None = None
) -> Bool[Tensor, "queries keys"]:
    """Where a query may not look, for keys at the indices from `begin` on, the queries being the last of them.

    >>> from regulargpt.models.transformer.views import Sliding
    >>> hidden(Sliding(2), 3, 3).int()
    tensor([[0, 1, 1],
            [0, 0, 1],
            [1, 0, 0]], dtype=torch.int32)
    """
    n = torch.arange(begin, begin + n_keys, device=device)
    m = n[n_keys - n_queries :, None]
    return (n > m) if view.most is None else (n > m) | (n < view.first(m))


class Masks:
    """The masks of one forward pass, for all its layers; those of a fixed bias go to `kept` and outlive the pass.

    `kept` is for the positions 0, 1, 2, ...; a pass over others has one of its own.
    """

    def __init__(self, kept: OrderedDict[Any, Tensor] | None = None):
        self.kept = OrderedDict() if kept is None else kept
        self.of_pass: dict[Any, Tensor] = {}

    def get(
        self,
        q: Float[Tensor, "batch n_heads queries d_head"],
        k: Float[Tensor, "batch n_heads keys d_head"],
        encoding: Encoding,
        at: Positions,
        view: View,
        begin: int,
    ) -> Float[Tensor, "1 #n_heads queries keys"]:
        """The mask of a piece, for an encoding whose bias does not look at the input; `begin` is its first key."""
        # What a compiled pass makes belongs to its graph.
        lasting = encoding.fixed_bias and not torch.compiler.is_compiling()
        used_again = lasting or encoding.shared_bias
        if begin + k.shape[-2] > LONGEST or not used_again:
            return mask(q, k, encoding, at, view, begin)
        layer = None if encoding.shared_bias else at.layer
        key = (q.shape[-2], k.shape[-2], begin, layer, view, q.dtype, q.device)
        place = self.kept if lasting else self.of_pass
        if key not in place:
            make = lasting_mask if lasting else mask
            place[key] = made = make(q, k, encoding, at, view, begin)
            while sum(map(Tensor.numel, self.kept.values())) > KEPT:
                self.kept.popitem(last=False)
            return made
        return place[key]


def mask(
    q: Float[Tensor, "batch n_heads queries d_head"],
    k: Float[Tensor, "batch n_heads keys d_head"],
    encoding: Encoding,
    at: Positions,
    view: View,
    begin: int,
) -> Float[Tensor, "#batch #n_heads queries keys"]:
    """The bias, with -inf where a query of a causal model may not look."""
    bias = encoding.bias(q, k, at)
    if bias is None:
        bias = q.new_zeros(1, 1, q.shape[-2], k.shape[-2])
    if encoding.causal:
        bias = bias.masked_fill(hidden(view, q.shape[-2], k.shape[-2], begin, q.device), -torch.inf)
    return bias


def lasting_mask(
    q: Float[Tensor, "batch n_heads queries d_head"],
    k: Float[Tensor, "batch n_heads keys d_head"],
    encoding: Encoding,
    at: Positions,
    view: View,
    begin: int,
) -> Float[Tensor, "1 #n_heads queries keys"]:
    """The same, of no gradient and for any later pass: training could not use what is made in inference mode."""
    with torch.inference_mode(False), torch.no_grad():
        q, k = (torch.zeros(x.shape, dtype=x.dtype, device=x.device) for x in (q, k))
        return mask(q, k, encoding, Positions(at.m.clone(), at.n.clone(), at.layer), view, begin).contiguous()
