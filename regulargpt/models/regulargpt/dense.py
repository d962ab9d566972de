"""RegularGPT as Eq. (6.1) is written: a (T, T) mask at each level. The slow reference for tree.py and every.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regulargpt.models.regulargpt.depth import depth

if TYPE_CHECKING:
    from regulargpt.models.regulargpt.block import Block
    from regulargpt.models.regulargpt.model import RegularGPT


def mask(
    r: Float[Tensor, "n_heads C"], length: int, before: int, dilation: int
) -> Float[Tensor, "n_heads length keys"]:
    """M^(l) of Eq. (6.1): r_{(m-n)/C^l} where (m-n)/C^l is in [C], minus infinity elsewhere.

    Keys are the positions -before .. T-1: those before the word hold the pad.
    """
    m = torch.arange(length, device=r.device)[:, None]
    n = torch.arange(-before, length, device=r.device)[None, :]
    i = (m - n) // dilation
    allowed = ((m - n) % dilation == 0) & (i >= 0) & (i < r.shape[1])
    return torch.where(allowed, r[:, i.clamp(0, r.shape[1] - 1)], -torch.inf)


def dense_state(model: RegularGPT, words: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length d_model"]:
    """The state of every position, by full masked attention."""
    C, T = model.chunk_size, words.shape[1]
    x = model.positions(words)
    for level in range(depth(T, C)):
        before = (C - 1) * C**level
        for block in model.layers(level):
            M = mask(block.attn.r, T, before, C**level)
            keys = torch.cat([model.pad.expand(len(x), before, -1), x], 1)
            x = dense_layer(block, x, keys, M)
        x = model.settle(x)
    return x


def dense_layer(
    block: Block,
    x: Float[Tensor, "batch length d_model"],
    keys: Float[Tensor, "batch keys d_model"],
    M: Float[Tensor, "n_heads length keys"],
) -> Float[Tensor, "batch length d_model"]:
    """softmax(Q K^T / sqrt(d) + M) V, then the FFN."""
    attn = block.attn
    q = attn.scaled_query(block.normed(x))
    k = attn.heads(attn.key(block.normed(keys)))
    v = attn.heads(attn.value(block.normed(keys)))
    logits = torch.einsum("bmhd,bnhd->bhmn", q, k) + M
    pattern = attn.hook_pattern(logits.softmax(-1))
    mixed = torch.einsum("bhmn,bnhd->bmhd", pattern, v).flatten(-2)
    return block.finish(x, attn.out(mixed))
