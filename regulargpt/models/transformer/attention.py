"""Multi-head self-attention with any encoding: the fused kernel, whole or some queries at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from regulargpt.encodings.base import Encoding, Positions
from regulargpt.models.hooks import Hooked, HookPoint
from regulargpt.models.layers import Readout, linear
from regulargpt.models.transformer.cache import Cache
from regulargpt.models.transformer.masks import Masks
from regulargpt.models.transformer.piece import Piece
from regulargpt.models.views import Full, View

# Numbers of one piece of an attention pattern: on a CPU few enough for its caches, on a GPU enough to keep it busy.
CPU_AT_ONCE, GPU_AT_ONCE = 1 << 19, 1 << 26
MIN_QUERIES = 32
# Between these lengths, pieces are faster on a CPU than the fused kernel's own causal form.
SHORTEST_IN_PIECES, LONGEST_IN_PIECES = 192, 1024
# However wide the batch is and however long the words are: 128 MiB of float32.
MOST_AT_ONCE = 1 << 25


@dataclass
class Pass:
    """What the layers of one forward pass share.

    Which keys are seen, the masks that are made, and, where a text is read bit by bit, the keys and values of what was
    read before, a cache a layer, of which the oldest stands at `begin`.
    """

    view: View = field(default_factory=Full)
    masks: Masks = field(default_factory=Masks)
    begin: int = 0
    caches: Sequence[Cache] | None = None


class Attention(Hooked):
    """Multi-head self-attention without biases; the encoding turns q and k and adds to the scaled logits.

    It runs through `scaled_dot_product_attention`: at once where the pattern is short or nothing is added to the
    logits, else in pieces of some queries with the keys that they see. Where a gradient goes through what is added,
    or the encoding changes the logits themselves, the pieces are made by hand. Only where somebody listens to
    `hook_pattern` is the whole pattern (batch, n_heads, queries, keys) made, and what the listeners return is used.
    """

    def __init__(self, d_model: int, n_heads: int, *, generator: torch.Generator):
        super().__init__()
        self.n_heads = n_heads
        self.qkv = linear(d_model, 3 * d_model, generator, bias=False)
        self.out = linear(d_model, d_model, generator, bias=False)
        self.hook_q, self.hook_k, self.hook_v = HookPoint(), HookPoint(), HookPoint()
        self.hook_pattern, self.hook_z = HookPoint(), HookPoint()

    def forward(
        self,
        x: Float[Tensor, "batch length d_model"],
        encoding: Encoding,
        n: Float[Tensor, "length"],
        layer: int,
        readout: Readout = "all",
        passing: Pass | None = None,
    ) -> Float[Tensor, "batch queries d_model"]:
        """The mixture of the values at the positions it may see, for every position or the last alone."""
        passing = passing or Pass()
        whole, v = self.turned(x, encoding, n, layer, readout, passing)
        if self.hook_pattern.listened_to():
            mixed = self.hook_pattern(whole.pattern(whole.bias())) @ v
        else:
            mixed = mixture(whole, v, passing.masks)
        z = self.hook_z(mixed.transpose(1, 2))  # (batch, queries, n_heads, d_head)
        return self.out(z.flatten(-2))  # (batch, queries, d_model)

    def turned(
        self,
        x: Float[Tensor, "batch length d_model"],
        encoding: Encoding,
        n: Float[Tensor, "length"],
        layer: int,
        readout: Readout,
        passing: Pass,
    ) -> tuple[Piece, Float[Tensor, "batch n_heads keys d_head"]]:
        """The queries and keys as the encoding turns them, and the values; with what is kept of symbols before."""
        m, state = n[-1:] if readout == "last" else n, encoding.prepare(x, layer)
        q, k, v = self.heads(x, readout)
        # Heard as (batch, positions, n_heads, d_head), before the encoding turns them.
        q, k = self.hook_q.permuted(q, 0, 2, 1, 3), self.hook_k.permuted(k, 0, 2, 1, 3)
        v = self.hook_v.permuted(v, 0, 2, 1, 3)
        # Turned now, or with all that is kept, each time anew.
        early = passing.caches is None or encoding.keys_turn_alone
        if early:
            q, k = encoding.rotate(q, k, Positions(m, n, layer, state))
        if passing.caches is not None:
            k, v, state = passing.caches[layer].extended(k, v, state)
            n = torch.arange(passing.begin, passing.begin + k.shape[-2], dtype=n.dtype, device=n.device)
        at = Positions(m, n, layer, state)
        if not early:
            q, k = encoding.rotate(q, k, at)
        return Piece(q, k, encoding, at, passing.view, passing.begin), v

    def heads(
        self, x: Float[Tensor, "batch length d_model"], readout: Readout
    ) -> tuple[
        Float[Tensor, "batch n_heads queries d_head"],
        Float[Tensor, "batch n_heads length d_head"],
        Float[Tensor, "batch n_heads length d_head"],
    ]:
        """Queries, of every position or the last alone, and the keys and values of every position."""
        if readout == "all":
            split = self.qkv(x).unflatten(-1, (3, self.n_heads, -1))  # (batch, length, 3, n_heads, d_head)
            q, k, v = split.permute(2, 0, 3, 1, 4).contiguous()  # each (batch, n_heads, length, d_head)
            return q, k, v
        d_model = x.shape[-1]
        # One query a word: the projection of the others would be thrown away.
        q = F.linear(x[:, -1:], self.qkv.weight[:d_model])
        q = q.unflatten(-1, (self.n_heads, -1))  # (batch, 1, n_heads, d_head)
        split = F.linear(x, self.qkv.weight[d_model:])
        split = split.unflatten(-1, (2, self.n_heads, -1))  # (batch, length, 2, n_heads, d_head)
        k, v = split.permute(2, 0, 3, 1, 4)  # each (batch, n_heads, length, d_head)
        return q.transpose(1, 2), k, v  # q (batch, n_heads, 1, d_head)


def mixture(
    whole: Piece, v: Float[Tensor, "batch n_heads keys d_head"], masks: Masks
) -> Float[Tensor, "batch n_heads queries d_head"]:
    """The pattern times the values, without ever holding the whole pattern of long words."""
    encoding = whole.encoding
    if whole.view.most is None and not encoding.changes_logits and goes_whole(whole):
        return F.scaled_dot_product_attention(whole.q, whole.k, v, is_causal=encoding.causal and whole.shape[0] > 1)
    parts = [part(whole.cut(queries, keys), v[..., keys, :], masks) for queries, keys in pieces(whole)]
    return parts[0] if len(parts) == 1 else torch.cat(parts, -2)


def goes_whole(piece: Piece) -> bool:
    """Whether the fused kernel does it alone, and best."""
    n_queries, n_keys = piece.shape
    if n_queries == 1 or not piece.encoding.causal:
        return True
    slower = piece.q.device.type == "cpu" and SHORTEST_IN_PIECES <= n_keys <= LONGEST_IN_PIECES
    return n_queries == n_keys and not slower


def pieces(whole: Piece) -> Iterator[tuple[slice, slice]]:
    """Some queries at a time, which are the last positions, with the keys from the first that one of them sees."""
    n_queries, n_keys = whole.shape
    if not whole.encoding.causal:
        yield slice(0, n_queries), slice(0, n_keys)
        return
    span = whole.encoding.span or n_keys
    most = min(whole.view.most or n_keys, span)
    rows = rows_at_once(whole.k.shape[:-2].numel(), most, n_keys, whole.k.device)
    for begin in range(0, n_queries, rows):
        end, m = min(n_queries, begin + rows), n_keys - n_queries + begin
        oldest = max(0, whole.view.first(whole.begin + m) - whole.begin, m - span + 1)
        # Behind the last of these queries no key may be seen.
        yield slice(begin, end), slice(oldest, n_keys - n_queries + end)


def part(
    piece: Piece, v: Float[Tensor, "batch n_heads keys d_head"], masks: Masks
) -> Float[Tensor, "batch n_heads queries d_head"]:
    """One piece of the pattern times its values."""
    encoding, q = piece.encoding, piece.q
    made = masks.get(piece) if encoding.shared_bias or encoding.fixed_bias else None
    bias = piece.bias() if made is None else made
    # The fused kernel adds in the precision of q, changes no logits otherwise, and is slow for learned masks.
    fast = not encoding.changes_score and q.dtype in (torch.float32, torch.float64)
    if not fast or (bias is not None and bias.requires_grad):
        return piece.pattern(bias) @ v
    mask = piece.mask(bias) if made is None else made
    return F.scaled_dot_product_attention(q, piece.k, v, attn_mask=mask.to(q.dtype))


def rows_at_once(patterns: int, most: int, n_keys: int, device: torch.device) -> int:
    """How many queries make a piece, of so many patterns (batch times heads) and of queries that see `most` keys."""
    at_once = CPU_AT_ONCE if device.type == "cpu" else GPU_AT_ONCE
    width = min(n_keys, 2 * most)
    rows = max(MIN_QUERIES, at_once // max(1, patterns * width))
    if most < n_keys:
        # A piece has keys that only some of its queries see: half a window more at most.
        rows = min(rows, max(MIN_QUERIES, most // 2))
    return max(1, min(rows, max(at_once, MOST_AT_ONCE) // max(1, patterns * width)))
