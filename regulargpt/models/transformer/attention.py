"""Multi-head attention, to the text itself with any encoding or to another: the fused kernel, whole or in pieces."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.encodings.base import Encoding, Positions
from regulargpt.models.hooks import Hooked, HookPoint
from regulargpt.models.layers import Readout, linear
from regulargpt.models.transformer.cache import Cache
from regulargpt.models.transformer.masks import Masks
from regulargpt.models.transformer.piece import Piece
from regulargpt.models.transformer.regrouping import mixtures, regrouping
from regulargpt.models.transformer.slices import cut
from regulargpt.options.views import Full, View

# Numbers of one piece of an attention pattern: on a CPU few enough for its caches, on a GPU enough to keep it busy.
CPU_AT_ONCE, GPU_AT_ONCE = 1 << 20, 1 << 26
MIN_QUERIES = 32
# However wide the batch is and however long the words are: 128 MiB of float32.
MOST_AT_ONCE = 1 << 25
# The same on a CPU where every query sees every key: each piece has a gradient for all keys, so that few are better.
BOTH_WAYS_AT_ONCE = 1 << 22

# Queries, keys and values, by head.
Heads = tuple[
    Float[Tensor, "batch n_heads queries d_head"],
    Float[Tensor, "batch kv_heads length d_head"],
    Float[Tensor, "batch kv_heads length d_head"],
]


@dataclass
class Pass:
    """What the layers of a forward pass share.

    Which keys are seen, the masks that are made, and, where a text is read bit by bit, the keys and values of what was
    read before, a cache a layer, of which the oldest stands at `begin`.
    """

    view: View = field(default_factory=Full)
    masks: Masks = field(default_factory=Masks)
    begin: int = 0
    caches: Sequence[Cache] | None = None


class MultiHead(Hooked):
    """What attention to the text itself and to another one share: projections, and the mixture.

    Heads are `d_head` wide (0: d_model / n_heads). Logits are q k / sqrt(d_head), or, if they are not `scaled`, q k:
    T5's convention (Raffel et al. 2020), in which W_q starts smaller by sqrt(d_head) instead. With fewer `kv_heads`
    (0: as many), each has keys and values for several heads in a row (Ainslie et al. 2023).
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        d_head: int = 0,
        kv_heads: int = 0,
        scaled: bool = True,
        bias: bool = False,
        out_bias: bool = False,
        generator: torch.Generator,
    ):
        super().__init__()
        d_head, kv_heads = d_head or d_model // n_heads, kv_heads or n_heads
        inner, kv_inner = n_heads * d_head, kv_heads * d_head
        # The product is divided by it where it is made, in the fused kernel too.
        self.n_heads, self.inner, self.times = n_heads, inner, 1.0 if scaled else math.sqrt(d_head)
        self.kv_heads, self.kv_inner = kv_heads, kv_inner
        self.qkv = linear(d_model, inner + 2 * kv_inner, generator, bias)
        self.out = linear(inner, d_model, generator, out_bias)
        if not scaled:
            with torch.no_grad():
                self.qkv.weight[:inner] /= self.times
        self.hook_q, self.hook_k, self.hook_v = HookPoint(), HookPoint(), HookPoint()
        self.hook_pattern, self.hook_z = HookPoint(), HookPoint()

    def queries(self, x: Float[Tensor, "batch queries d_model"]) -> Float[Tensor, "batch n_heads queries d_head"]:
        q = F.linear(x, self.qkv.weight[: self.inner], self.bias(slice(self.inner)))
        return q.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)  # (batch, n_heads, queries, d_head)

    def keys_values(
        self, x: Float[Tensor, "batch keys d_model"]
    ) -> tuple[Float[Tensor, "batch kv_heads keys d_head"], Float[Tensor, "batch kv_heads keys d_head"]]:
        split = F.linear(x, self.qkv.weight[self.inner :], self.bias(slice(self.inner, None)))
        split = split.unflatten(-1, (2, self.kv_heads, -1))  # (batch, keys, 2, kv_heads, d_head)
        k, v = split.permute(2, 0, 3, 1, 4)  # each (batch, kv_heads, keys, d_head)
        return k, v

    def bias(self, some: slice) -> Tensor | None:
        """That of some of the projected entries, if any."""
        return None if self.qkv.bias is None else self.qkv.bias[some]

    def for_all_heads(
        self, x: Float[Tensor, "batch kv_heads keys d_head"]
    ) -> Float[Tensor, "batch n_heads keys d_head"]:
        """Keys or values, those of each group as often as it has heads."""
        return x if self.kv_heads == self.n_heads else x.repeat_interleave(self.n_heads // self.kv_heads, 1)

    def heard(
        self, hook: HookPoint, x: Float[Tensor, "batch n_heads length d_head"]
    ) -> Float[Tensor, "batch n_heads length d_head"]:
        """Heard as (batch, length, n_heads, d_head), before the encoding turns it."""
        return hook.permuted(x, 0, 2, 1, 3)

    def scaled(self, q: Float[Tensor, "batch n_heads queries d_head"]) -> Float[Tensor, "batch n_heads queries d_head"]:
        return q if self.times == 1 else q * self.times

    def mixed(
        self, whole: Piece, v: Float[Tensor, "batch n_heads keys d_head"], masks: Masks
    ) -> Float[Tensor, "batch queries d_model"]:
        if self.hook_pattern.listened_to():
            mixed = self.hook_pattern(whole.pattern(whole.bias())) @ v
        else:
            mixed = mixture(whole, v, masks)
        z = self.hook_z(mixed.transpose(1, 2))  # (batch, queries, n_heads, d_head)
        return self.out(z.flatten(-2))  # (batch, queries, d_model)


class Attention(MultiHead):
    """Multi-head self-attention; the encoding turns q and k and adds to the scaled logits.

    It runs through `scaled_dot_product_attention`: at once where the pattern is short or nothing is added to the
    logits, else in pieces of some queries with the keys that they see. Where a gradient goes through what is added,
    or the encoding changes the logits themselves, the pieces are made by hand. Only where somebody listens to
    `hook_pattern` is the whole pattern (batch, n_heads, queries, keys) made, and what the listeners return is used.
    """

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
        return self.mixed(whole, v, passing.masks)

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
        m, cache = n[-1:] if readout == "last" else n, None if passing.caches is None else passing.caches[layer]
        state = encoding.prepare(x, layer) if cache is None else cache.prepared(x, encoding, layer)
        q, k, v = self.heads(x, readout)
        q, k, v = self.heard(self.hook_q, q), self.heard(self.hook_k, k), self.heard(self.hook_v, v)
        q = self.scaled(q)
        shown = None
        if type(passing.view) is not Full:
            # Positions may have been drawn; with a cache they are what is counted.
            index = m if cache is not None else torch.arange(len(n) - len(m), len(n), dtype=n.dtype, device=n.device)
            shown = passing.view.shown(index)
        # Turned now, or with all that is kept, each time anew.
        early = cache is None or encoding.keys_turn_alone
        if early:
            q, k = encoding.rotate(q, k, Positions(m, n, layer, state, shown))
        if cache is not None:
            k, v, state = cache.extended(k, v, state)
            n = torch.arange(passing.begin, passing.begin + k.shape[-2], dtype=n.dtype, device=n.device)
        at = Positions(m, n, layer, state, shown)
        if not early:
            q, k = encoding.rotate(q, k, at)
        first = 0 if encoding.causal else len(n) - len(m)
        k, v = self.for_all_heads(k), self.for_all_heads(v)
        return Piece(q, k, encoding, at, passing.view, passing.begin, first), v

    def heads(self, x: Float[Tensor, "batch length d_model"], readout: Readout) -> Heads:
        if readout == "last":
            # One query a word: the projection of the others would be thrown away.
            return self.queries(x[:, -1:]), *self.keys_values(x)
        # Views: the fused kernel reads them as they lie, and their gradients are put together in a single copy.
        split = self.qkv(x).split((self.inner, self.kv_inner, self.kv_inner), -1)
        q, k, v = (
            y.unflatten(-1, (heads, -1)).transpose(1, 2)  # (batch, heads, length, d_head)
            for y, heads in zip(split, (self.n_heads, self.kv_heads, self.kv_heads), strict=True)
        )
        return q, k, v


class NormedAttention(Attention):
    """Attention with an RMSNorm of each query and of each key, before the encoding turns them (Qwen3)."""

    def __init__(self, *sizes: int, epsilon: float, **options: Any):
        super().__init__(*sizes, **options)
        d_head = self.inner // self.n_heads
        self.norm_q, self.norm_k = nn.RMSNorm(d_head, epsilon), nn.RMSNorm(d_head, epsilon)

    def heads(self, x: Float[Tensor, "batch length d_model"], readout: Readout) -> Heads:
        q, k, v = super().heads(x, readout)
        return self.norm_q(q), self.norm_k(k), v


class CrossAttention(MultiHead):
    """Multi-head attention to another text, all of it and without positions (Vaswani et al. 2017, section 3.2.3).

    Where the other text is empty there is nothing to mix, and the result is 0.

    >>> attn = CrossAttention(8, 2, generator=torch.Generator().manual_seed(0))
    >>> attn(torch.ones(1, 3, 8), *attn.read(torch.ones(1, 0, 8)), layer=0).abs().max()
    tensor(0.)
    """

    def __init__(self, d_model: int, n_heads: int, *, d_head: int = 0, scaled: bool = True, generator: torch.Generator):
        super().__init__(d_model, n_heads, d_head=d_head, scaled=scaled, generator=generator)
        self.encoding = Encoding(d_model=d_model, n_heads=n_heads, d_head=d_head, causal=False)

    def read(
        self, memory: Float[Tensor, "batch keys d_model"]
    ) -> tuple[Float[Tensor, "batch n_heads keys d_head"], Float[Tensor, "batch n_heads keys d_head"]]:
        k, v = self.keys_values(memory)
        return self.heard(self.hook_k, k), self.heard(self.hook_v, v)

    def forward(
        self,
        x: Float[Tensor, "batch queries d_model"],
        k: Float[Tensor, "batch n_heads keys d_head"],
        v: Float[Tensor, "batch n_heads keys d_head"],
        layer: int,
    ) -> Float[Tensor, "batch queries d_model"]:
        if k.shape[-2] == 0:
            return torch.zeros_like(x)
        q = self.scaled(self.heard(self.hook_q, self.queries(x)))
        m, n = (torch.arange(length, dtype=torch.float64, device=x.device) for length in (q.shape[-2], k.shape[-2]))
        return self.mixed(Piece(q, k, self.encoding, Positions(m, n, layer), Full()), v, Masks())


def mixture(
    whole: Piece, v: Float[Tensor, "batch n_heads keys d_head"], masks: Masks
) -> Float[Tensor, "batch n_heads queries d_head"]:
    """The pattern times the values, without ever holding the whole pattern of long words."""
    encoding, (n_queries, n_keys) = whole.encoding, whole.shape
    # The fused kernel does it alone; its causal form wants as many queries as keys.
    at_once = not encoding.causal or n_queries in (1, n_keys)
    if whole.view.most is None and not encoding.changes_logits and at_once:
        return F.scaled_dot_product_attention(whole.q, whole.k, v, is_causal=encoding.causal and n_queries > 1)
    if (moving := regrouping(whole)) is not None:
        most = min(n_keys, moving.view.window + moving.n_far(n_keys))
        rows = rows_at_once(whole.k.shape[:-2].numel(), most, n_keys, whole.k.device)
        return joined(mixtures(whole, moving, v, rows), n_queries)
    where = list(pieces(whole))
    values = cut(v, [keys for _, keys in where])
    parts = (part(piece, some, masks) for piece, some in zip(whole.cut(where), values, strict=True))
    return next(parts) if len(where) == 1 else joined(parts, n_queries)


def joined(
    parts: Iterator[Float[Tensor, "batch n_heads some d_head"]], n_queries: int
) -> Float[Tensor, "batch n_heads queries d_head"]:
    """The parts one after the other.

    Without gradients each goes to its place at once: kept until the last is there, these small tensors would lie
    between the large ones that come and go, and the memory of these could not be used again.
    """
    if torch.is_grad_enabled():
        return torch.cat(list(parts), -2)
    first = next(parts)
    whole, end = first.new_empty(*first.shape[:2], n_queries, first.shape[-1]), 0
    for some in chain([first], parts):
        begin, end = end, end + some.shape[-2]
        whole[..., begin:end, :] = some
    return whole


def pieces(whole: Piece) -> Iterator[tuple[slice, slice]]:
    """Some queries at a time with the keys that one of them sees; in a causal model the last positions are queries."""
    causal, (n_queries, n_keys) = whole.encoding.causal, whole.shape
    span = whole.encoding.span or n_keys
    most = min(whole.view.most or n_keys, span)
    # A score of its own holds as much again beside the logits.
    patterns = whole.k.shape[:-2].numel() * (1 + whole.encoding.changes_score)
    count = rows_at_once(patterns, most, n_keys, whole.k.device, 0 if causal else BOTH_WAYS_AT_ONCE)
    for begin in range(0, n_queries, count):
        end, m = min(n_queries, begin + count), n_keys - n_queries + begin
        if not causal:
            yield slice(begin, end), slice(0, n_keys)
            continue
        oldest = max(0, whole.view.first(whole.begin + m) - whole.begin, m - span + 1)
        # Behind the last of these queries no key may be seen.
        yield slice(begin, end), slice(oldest, n_keys - n_queries + end)


def part(
    piece: Piece, v: Float[Tensor, "batch n_heads keys d_head"], masks: Masks
) -> Float[Tensor, "batch n_heads queries d_head"]:
    encoding, q = piece.encoding, piece.q
    made = masks.get(piece) if encoding.shared_bias or encoding.fixed_bias else None
    bias = piece.bias() if made is None else made
    # The fused kernel adds in the precision of q, changes no logits otherwise, and is slow for learned masks.
    fast = not encoding.changes_score and q.dtype in (torch.float32, torch.float64)
    if not fast or (bias is not None and bias.requires_grad):
        # Above the diagonal, a score of its own may be anything.
        return piece.pattern(bias, is_masked=made is not None and not encoding.changes_score) @ v
    mask = piece.mask(bias) if made is None else made
    return F.scaled_dot_product_attention(q, piece.k, v, attn_mask=mask.to(q.dtype))


def rows_at_once(patterns: int, most: int, n_keys: int, device: torch.device, on_cpu: int = 0) -> int:
    """How many queries make a piece, of so many patterns (batch times heads) and of queries that see `most` keys.

    `on_cpu` is how many numbers a piece has on a CPU, 0 for the usual.
    """
    at_once = (on_cpu or CPU_AT_ONCE) if device.type == "cpu" else GPU_AT_ONCE
    width = min(n_keys, 2 * most)
    rows = max(MIN_QUERIES, at_once // max(1, patterns * width))
    if most < n_keys:
        # A piece has keys that only some of its queries see: half a window more at most.
        rows = min(rows, max(MIN_QUERIES, most // 2))
    return max(1, min(rows, max(at_once, MOST_AT_ONCE) // max(1, patterns * width)))
