"""RegularGPT by `scaled_dot_product_attention` with an additive (T, T) mask a level: what it is measured against."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.tree.depth import depth

if TYPE_CHECKING:
    from regulargpt.models.regulargpt.block import TreeBlock

# How many tensors of the size of the mask are alive at once. In inference the mask alone, as the fused kernel keeps no
# scores; in training these many a level and in all, rounded up from the peaks that the part `every` measures.
ALIVE_IN_INFERENCE, ALIVE_A_LEVEL, ALIVE_IN_ALL = 1.0, 1.5, 2.0


def masked_state(model: RegularGPT, words: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length d_model"]:
    """The state of every position, with the parameters of `model` and its function.

    >>> model = RegularGPT(2, 2, d_model=16, n_heads=2, d_ff=32).double()
    >>> words = torch.tensor([[0, 1, 1, 0, 1]])
    >>> torch.allclose(model.readout(masked_state(model, words)), model(words, readout="all"))
    True
    """
    x = model.leaves()[1:][words.long()]
    for level in range(depth(words.shape[1], model.chunk_size)):
        for block in model.layers(level):
            x = masked_layer(block, x, model.pad, model.chunk_size**level)
        x = model.normalise_state(x)
    return x


def masked_layer(
    block: TreeBlock, x: Float[Tensor, "batch length d_model"], pad: Float[Tensor, "1 d_model"], dilation: int
) -> Float[Tensor, "batch length d_model"]:
    """One layer; C - 1 copies of the pad stand in front of the word, one for each offset that may fall before it."""
    attn = block.attn
    C = attn.r.shape[1]
    normed, normed_pad = block.normed(x), block.normed(pad)
    keys = torch.cat([normed_pad.expand(len(x), C - 1, -1), normed], 1)  # (batch, C - 1 + length, d_model)
    projected = attn.query(normed), attn.key(keys), attn.value(keys)
    q, k, v = (attn.heads(f).transpose(1, 2) for f in projected)  # each (batch, n_heads, positions, d_head)
    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=additive_mask(attn.r, x.shape[1], dilation)[None])
    return block.finish(x, attn.out_of(mixed.transpose(1, 2)))  # (batch, length, n_heads, d_head) goes out


def additive_mask(
    r: Float[Tensor, "n_heads C"], length: int, dilation: int
) -> Float[Tensor, "n_heads length C-1+length"]:
    """r_i where position m reads the key at offset i, minus infinity elsewhere; columns 0 .. C-2 are the pads.

    Filled with minus infinity and then written on C diagonals: of the ways tried, the fastest.
    """
    C = r.shape[1]
    m = torch.arange(length, device=r.device)[:, None]
    i = torch.arange(C, device=r.device)[None]
    n = torch.where(m >= i * dilation, C - 1 + m - i * dilation, i - 1)  # (length, C): column of each offset
    full = r.new_full((len(r), length, C - 1 + length), -torch.inf)
    heads = torch.arange(len(r), device=r.device)[:, None, None]
    return full.index_put_((heads, m, n), r[:, None].expand(-1, length, -1))  # r as (n_heads, length, C)


def bytes_needed(model: RegularGPT, length: int, training: bool) -> int:
    """About how much memory the masks and scores of a word take, in bytes.

    >>> bytes_needed(RegularGPT(2, 2), 8192, training=False) / 2**30
    1.0
    """
    heads = model.layers(0)[0].attn.n_heads
    layers = depth(length, model.chunk_size) * model.thickness
    alive = ALIVE_A_LEVEL * layers + ALIVE_IN_ALL if training else ALIVE_IN_INFERENCE
    return int(heads * length**2 * 4 * alive)
