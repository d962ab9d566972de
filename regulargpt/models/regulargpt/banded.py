"""One layer at every position through the fused kernel: for inference with large chunks.

The positions of one remainder modulo the dilation are a row of their own, in which each reads the last C. They go in
blocks of C: a block reads itself and the block before it. For the first block, all places before the word are one key,
the pad, with ln sum e^(r_i) added to its logit: so it weighs as much as all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

if TYPE_CHECKING:
    from regulargpt.models.regulargpt.block import TreeBlock

SMALLEST = 8
"""The least C for which it is taken: with fewer offsets, shifted copies are about as fast."""


def banded_dilated(
    block: TreeBlock, x: Float[Tensor, "batch length d_model"], pad: Float[Tensor, "1 d_model"], dilation: int
) -> Float[Tensor, "batch length d_model"]:
    """What `all_positions.sliding_dilated` makes of x, without gradients and without hook points."""
    attn, T = block.attn, x.shape[1]
    dilation = min(dilation, T)  # beyond T every position has a row of its own
    size = min(attn.r.shape[1], -(-T // dilation))
    normed, normed_pad = block.normed(x), block.normed(pad).unsqueeze(0)
    q, k, v = (in_rows(attn.heads(f(normed)), dilation, size) for f in (attn.query, attn.key, attn.value))
    pads = (in_rows(attn.heads(f(normed_pad)), 1, 1) for f in (attn.key, attn.value))
    k_pad, v_pad = (pad.expand(len(q), -1, -1, -1) for pad in pads)  # each (rows, n_heads, 1, d_head)
    k_first, v_first = torch.cat([k_pad, k[:, :, :size]], 2), torch.cat([v_pad, v[:, :, :size]], 2)
    bias = torch.cat([before_the_word(attn.r, size, attn.masked), band(attn.r, size, 0)], 2)
    mixed = F.scaled_dot_product_attention(q[:, :, :size], k_first, v_first, attn_mask=bias.unsqueeze(0))
    if (later := q.shape[2] // size - 1) > 0:
        q = q[:, :, size:].unflatten(2, (later, size)).transpose(1, 2).flatten(0, 1)  # (rows * later, n_heads, size, _)
        windows = (y.unfold(2, 2 * size, size).permute(0, 2, 1, 4, 3) for y in (k, v))  # of 2 size keys
        k, v = (y.flatten(0, 1) for y in windows)  # each (rows * later, n_heads, 2 size, d_head)
        behind = F.scaled_dot_product_attention(q, k, v, attn_mask=band(attn.r, size, size).unsqueeze(0))
        behind = behind.unflatten(0, (-1, later)).transpose(1, 2).flatten(2, 3)  # (rows, n_heads, later * size, d_head)
        mixed = torch.cat([mixed, behind], 2)
    z = mixed.unflatten(0, (len(x), dilation)).permute(0, 3, 1, 2, 4)  # (batch, in a row, dilation, n_heads, d_head)
    return block.finish(x, attn.out_of(z.flatten(1, 2)[:, :T]))


def in_rows(
    x: Float[Tensor, "batch length n_heads d_head"], dilation: int, size: int
) -> Float[Tensor, "rows n_heads some d_head"]:
    """A row for each word and remainder, filled up with zeros to whole blocks; no earlier position reads those.

    >>> in_rows(torch.arange(1.0, 6.0).view(1, 5, 1, 1), dilation=2, size=2).squeeze().tolist()
    [[1.0, 3.0, 5.0, 0.0], [2.0, 4.0, 0.0, 0.0]]
    """
    missing = -x.shape[1] % (dilation * size)
    x = F.pad(x, (0, 0, 0, 0, 0, missing)).unflatten(1, (-1, dilation))  # (batch, some, dilation, n_heads, d_head)
    return x.permute(0, 2, 3, 1, 4).flatten(0, 1)  # (batch * dilation, n_heads, some, d_head)


def band(r: Float[Tensor, "n_heads C"], size: int, before: int) -> Float[Tensor, "n_heads size keys"]:
    """r_{m-n} where m - n is in [C], minus infinity elsewhere; the keys begin `before` positions earlier.

    >>> band(torch.tensor([[1.0, 2.0]]), size=2, before=1)[0].tolist()
    [[2.0, 1.0, -inf], [-inf, 2.0, 1.0]]
    """
    i = torch.arange(size, device=r.device)[:, None] - torch.arange(-before, size, device=r.device)
    return torch.where((i >= 0) & (i < r.shape[1]), r[:, i.clamp(0, r.shape[1] - 1)], -torch.inf)


def before_the_word(r: Float[Tensor, "n_heads C"], size: int, masked: bool) -> Float[Tensor, "n_heads size 1"]:
    """For the m-th position of a row, ln sum e^(r_i) over the offsets i > m; minus infinity where there are none.

    >>> before_the_word(torch.zeros(1, 3), size=3, masked=False).exp()[0, :, 0].tolist()
    [2.0, 1.0, 0.0]
    """
    beyond = F.pad(r[:, 1:].flip(1).logcumsumexp(1).flip(1), (0, 1), value=-torch.inf)[:, :size]
    return (torch.full_like(beyond, -torch.inf) if masked else beyond).unsqueeze(2)
