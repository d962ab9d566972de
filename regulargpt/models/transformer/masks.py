"""Bias and causal mask as one tensor that the fused kernel adds to the logits, made once where it may be."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regulargpt.encodings.base import Encoding, Positions
from regulargpt.models.transformer.views import Full, hidden

# Longer patterns go in pieces. A mask that a gradient goes through leaves the fast kernel, so it pays less far.
LONGEST, LONGEST_LEARNED = 1024, 512
KEPT = 16
"""Masks that are kept from pass to pass: at most 1024^2 float32 numbers a head each."""


class Masks:
    """The masks of one forward pass, for all its layers; those of a fixed bias go to `kept` and outlive the pass.

    A mask is kept for positions 0, 1, 2, ...; a pass over others has a `kept` of its own.
    """

    def __init__(self, kept: OrderedDict[Any, Tensor] | None = None):
        self.kept = OrderedDict() if kept is None else kept
        self.of_pass: dict[Any, Tensor] = {}

    def whole(
        self,
        q: Float[Tensor, "batch n_heads queries d_head"],
        k: Float[Tensor, "batch n_heads keys d_head"],
        encoding: Encoding,
        at: Positions,
    ) -> Float[Tensor, "1 n_heads queries keys"] | None:
        """What is added to the scaled logits, -inf at the keys behind a query; None where pieces are better."""
        if not pays(q, k, encoding):
            return None
        layer = None if encoding.shared_bias else at.layer
        key = (q.shape[-2], k.shape[-2], layer, q.dtype, q.device)
        # What a compiled pass makes belongs to its graph.
        lasting = encoding.fixed_bias and not torch.compiler.is_compiling()
        place = self.kept if lasting else self.of_pass
        if key not in place:
            place[key] = lasting_mask(q, k, encoding, at) if lasting else mask(q, k, encoding, at)
            if len(self.kept) > KEPT:
                self.kept.popitem(last=False)
        return place[key]


def fusible(q: Float[Tensor, "*rows d_head"], encoding: Encoding) -> bool:
    """Whether the fused kernel may compute it: it adds in the precision of q, and changes no logits otherwise."""
    return not encoding.changes_score and q.dtype in (torch.float32, torch.float64)


def pays(q: Float[Tensor, "*b queries width"], k: Float[Tensor, "*b keys width"], encoding: Encoding) -> bool:
    """Whether one mask for the whole pattern is as fast as pieces, and exact."""
    n_keys = k.shape[-2]
    if not fusible(q, encoding):
        return False
    # A narrow window in pieces leaves out what nobody sees.
    if encoding.span is not None and n_keys >= 4 * encoding.span:
        return False
    if encoding.fixed_bias:
        return n_keys <= LONGEST
    return encoding.shared_bias and n_keys <= (LONGEST_LEARNED if torch.is_grad_enabled() else LONGEST)


def mask(
    q: Float[Tensor, "batch n_heads queries d_head"],
    k: Float[Tensor, "batch n_heads keys d_head"],
    encoding: Encoding,
    at: Positions,
) -> Float[Tensor, "#batch n_heads queries keys"]:
    """The bias, with -inf at the keys behind a query of a causal model."""
    n_queries, n_keys = q.shape[-2], k.shape[-2]
    bias = encoding.bias(q, k, at)
    if bias is None:
        bias = q.new_zeros(1, 1, n_queries, n_keys)
    if encoding.causal and n_queries > 1:
        bias = bias.masked_fill(hidden(Full(), n_queries, n_keys, device=q.device), -torch.inf)
    return bias.to(q.dtype)


def lasting_mask(
    q: Float[Tensor, "batch n_heads queries d_head"],
    k: Float[Tensor, "batch n_heads keys d_head"],
    encoding: Encoding,
    at: Positions,
) -> Float[Tensor, "1 n_heads queries keys"]:
    """The same, of no gradient and for any later pass: what is made in inference mode training could not use."""
    with torch.inference_mode(False), torch.no_grad():
        q, k = (torch.zeros(x.shape, dtype=x.dtype, device=x.device) for x in (q, k))
        here = Positions(at.m.clone(), at.n.clone(), at.layer)
        return mask(q, k, encoding, here).contiguous()
