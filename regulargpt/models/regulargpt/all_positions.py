"""RegularGPT at every position: O(T C log_C T) by shifting, no T x T matrix; in inference, large C as banded.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regulargpt.models.hooks import HookPoint
from regulargpt.models.regulargpt.banded import SMALLEST, banded_dilated
from regulargpt.models.regulargpt.block import ROWS
from regulargpt.models.regulargpt.gated import GatedAttention

if TYPE_CHECKING:
    from regulargpt.models.regulargpt.block import TreeBlock
    from regulargpt.models.regulargpt.model import RegularGPT


def state_at_all_positions(
    model: RegularGPT, words: Int[Tensor, "batch length"]
) -> Float[Tensor, "batch length d_model"]:
    """The state of every position after all levels."""
    at_once = max(1, ROWS // words.shape[1])
    blocks = [block for level in range(model.distinct_levels) for block in model.layers(level)]
    listened_to = model.hook_embed.listened_to() or model.hook_state.listened_to()
    if len(words) > at_once and not listened_to and all(block.may_split for block in blocks):
        return torch.cat([state_at_all_positions(model, some) for some in words.split(at_once)])
    x = model.positions(words)
    for level in range(model.depth(words.shape[1])):
        for block in model.layers(level):
            x = sliding_dilated(block, x, model.pad, model.chunk_size**level)
        x = model.normalise_state(x)
    return x


def sliding_dilated(
    block: TreeBlock, x: Float[Tensor, "batch length d_model"], pad: Float[Tensor, "1 d_model"], dilation: int
) -> Float[Tensor, "batch length d_model"]:
    """One layer of Sliding-Dilated-Attention: position m reads m - j * dilation, j in [C]; the pad before the word."""
    attn = block.attn
    T, C = x.shape[1], attn.r.shape[1]
    if isinstance(attn, GatedAttention):
        return by_windows(block, x, pad, dilation)
    if C >= SMALLEST and block.may_split:
        return banded_dilated(block, x, pad, dilation)
    normed, normed_pad = block.normed(x), block.normed(pad)
    q = attn.scaled_query(normed)  # (batch, length, n_heads, d_head)
    k, v = attn.heads(attn.key(normed)), attn.heads(attn.value(normed))
    k_pad, v_pad = attn.heads(attn.key(normed_pad)), attn.heads(attn.value(normed_pad))
    k_pad, k = with_pad(attn.hook_k, k_pad, k)
    v_pad, v = with_pad(attn.hook_v, v_pad, v)
    # Beyond T all of the word lies behind the shift, and every position reads the pad.
    shifts = [min(j * dilation, T) for j in range(C)]
    logits = torch.stack(
        [
            torch.cat([attn.at_pad(q[:, :s], k_pad), (q[:, s:] * k[:, : T - s]).sum(-1)], 1) + attn.r[:, j]
            for j, s in enumerate(shifts)
        ]
    )  # (C, batch, length, n_heads)
    pattern = attn.hook_pattern.permuted(logits.softmax(0), 1, 3, 2, 0)  # heard as (batch, n_heads, length, C)
    pattern = pattern.unsqueeze(-1)  # (C, batch, length, n_heads, 1)
    # Offset by offset: C shifted copies of v at once would take C times the memory.
    mixed = pattern[0] * v
    for p, s in zip(pattern[1:], shifts[1:], strict=True):
        mixed = mixed + torch.cat([p[:, :s] * v_pad, p[:, s:] * v[:, : T - s]], 1)
    return block.finish(x, attn.out_of(mixed))


def with_pad(
    point: HookPoint, pad: Float[Tensor, "1 n_heads d_head"], x: Float[Tensor, "batch length n_heads d_head"]
) -> tuple[Float[Tensor, "*pads n_heads d_head"], Float[Tensor, "batch length n_heads d_head"]]:
    """The pad's keys or values and those of the positions; listeners hear (batch, 1 + length, n_heads, d_head)."""
    if not point.listened_to():
        return pad, x
    # One call for both: who changes all values alike changes the pad's too, in each word.
    heard = point(torch.cat([pad.expand(len(x), 1, -1, -1), x], 1))  # (batch, 1 + length, n_heads, d_head)
    return heard[:, :1], heard[:, 1:]


def by_windows(
    block: TreeBlock, x: Float[Tensor, "batch length d_model"], pad: Float[Tensor, "1 d_model"], dilation: int
) -> Float[Tensor, "batch length d_model"]:
    """The same window by window, for a block whose values depend on the whole window."""
    B, T, C = *x.shape[:2], block.attn.r.shape[1]
    place = torch.arange(T, device=x.device)[:, None] - dilation * torch.arange(C, device=x.device)  # (length, C)
    start = 1 + T * torch.arange(B, device=x.device)[:, None, None]  # (batch, 1, 1): row 0 is the pad
    children = torch.where(place >= 0, start + place, 0).flatten(0, 1)  # (batch * length, C)
    rows = torch.cat([pad, x.flatten(0, 1)])  # (1 + batch * length, d_model)
    return block(rows, children).view_as(x)  # (batch, length, d_model)
