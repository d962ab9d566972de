"""RegularGPT as Eq. (6.1) is written: a (T, T) mask at each level. The slow reference for ../tree and all_positions.py.

The ablation without that mask's minus infinity is computed here only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regulargpt.models.regulargpt.gated import GatedAttention

if TYPE_CHECKING:
    from regulargpt.models.regulargpt.block import TreeBlock
    from regulargpt.models.regulargpt.model import RegularGPT


def mask(
    r: Float[Tensor, "n_heads C"], length: int, before: int, dilation: int, full: bool = False
) -> Float[Tensor, "n_heads length keys"]:
    """M^(l) of Eq. (6.1): r_{(m-n)/C^l} where (m-n)/C^l is in [C], minus infinity elsewhere.

    Keys are the positions -before .. T-1: those before the word hold the pad. `full`: 0 instead of minus infinity at
    all positions of the word up to m.

    >>> mask(torch.tensor([[1.0, 2.0]]), length=3, before=0, dilation=2)[0].tolist()
    [[1.0, -inf, -inf], [-inf, 1.0, -inf], [2.0, -inf, 1.0]]
    >>> mask(torch.tensor([[1.0, 2.0]]), length=3, before=0, dilation=2, full=True)[0].tolist()
    [[1.0, -inf, -inf], [0.0, 1.0, -inf], [2.0, 0.0, 1.0]]
    """
    m = torch.arange(length, device=r.device)[:, None]
    n = torch.arange(-before, length, device=r.device)[None, :]
    i = (m - n) // dilation
    allowed = ((m - n) % dilation == 0) & (i >= 0) & (i < r.shape[1])
    elsewhere = torch.where(full & (n >= 0) & (n <= m), 0.0, -torch.inf).to(r)
    return torch.where(allowed, r[:, i.clamp(0, r.shape[1] - 1)], elsewhere)


def dense_state(model: RegularGPT, words: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length d_model"]:
    """The state of every position, by full masked attention."""
    C, T = model.chunk_size, words.shape[1]
    x = model.positions(words)
    for level in range(model.depth(T)):
        dilation = min(C**level, T)  # beyond T all offsets but 0 lie before the word
        before = 0 if model.masked else (C - 1) * dilation
        for block in model.layers(level):
            M = mask(block.attn.r, T, before, dilation, model.full)
            keys = torch.cat([model.pad.expand(len(x), before, -1), x], 1)  # (batch, before + length, d_model)
            x = dense_layer(block, x, keys, M, dilation)
        x = model.normalise_state(x)
    return x


def dense_layer(
    block: TreeBlock,
    x: Float[Tensor, "batch length d_model"],
    keys: Float[Tensor, "batch keys d_model"],
    M: Float[Tensor, "n_heads length keys"],
    dilation: int,
) -> Float[Tensor, "batch length d_model"]:
    """softmax(Q K^T / sqrt(d) + M) V, then the FFN."""
    attn = block.attn
    q = attn.scaled_query(block.normed(x))
    k = attn.hook_k(attn.heads(attn.key(block.normed(keys))))  # (batch, keys, n_heads, d_head)
    logits = torch.einsum("bmhd,bnhd->bhmn", q, k) + M  # (batch, n_heads, length, keys)
    pattern = attn.hook_pattern(logits.softmax(-1))
    if isinstance(attn, GatedAttention):
        return block.finish(x, attn.out_of(dense_gated(attn, pattern, block.normed(keys), dilation)))
    v = attn.hook_v(attn.heads(attn.value(block.normed(keys))))  # (batch, keys, n_heads, d_head)
    return block.finish(x, attn.out_of(torch.einsum("bhmn,bnhd->bmhd", pattern, v)))


def dense_gated(
    attn: GatedAttention,
    pattern: Float[Tensor, "batch n_heads length keys"],
    keys: Float[Tensor, "batch keys d_model"],
    dilation: int,
) -> Float[Tensor, "batch length n_heads d_head"]:
    """The mixture at m over its window m, m - dilation, ..., whose values are its own; elsewhere the pattern is 0."""
    (C, length), before = (attn.r.shape[1], pattern.shape[2]), keys.shape[1] - pattern.shape[2]
    m = before + torch.arange(length, device=keys.device)[:, None]
    n = m - dilation * torch.arange(C, device=keys.device)  # (length, C)
    v = attn.gated(keys[:, n].flatten(0, 1)).unflatten(0, (-1, length))  # (batch, length, C, n_heads, d_head)
    p = pattern.gather(3, n.expand(*pattern.shape[:2], -1, -1))  # (batch, n_heads, length, C)
    return torch.einsum("bhmc,bmchd->bmhd", p, v)
