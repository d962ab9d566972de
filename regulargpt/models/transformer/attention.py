"""Multi-head self-attention with any encoding: the fused kernel where nothing is added to the logits, else pieces."""

import math

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from regulargpt.encodings.base import Encoding, Positions
from regulargpt.models.hooks import Hooked, HookPoint
from regulargpt.models.layers import Readout, linear

# Numbers of one piece of an attention pattern: on a CPU few enough for its caches, on a GPU enough to keep it busy.
CPU_AT_ONCE, GPU_AT_ONCE = 1 << 18, 1 << 26
MIN_QUERIES = 32


class Attention(Hooked):
    """Multi-head self-attention without biases; the encoding turns q and k and adds to the scaled logits.

    Without such a bias it runs through `scaled_dot_product_attention`, with one in pieces of the pattern. Only where
    somebody listens to `hook_pattern` is the whole pattern (batch, n_heads, queries, keys) made, and what the listeners
    return is what is used.
    """

    def __init__(self, d_model: int, n_heads: int, *, causal: bool, generator: torch.Generator):
        super().__init__()
        self.n_heads, self.causal = n_heads, causal
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
    ) -> Float[Tensor, "batch queries d_model"]:
        """The mixture of the values at the positions it may see, for every position or the last alone."""
        at = Positions(n[-1:] if readout == "last" else n, n, layer, encoding.prepare(x, layer))
        q, k, v = self.heads(x, readout)
        # Heard as (batch, positions, n_heads, d_head), before the encoding turns them.
        q, k = self.hook_q.permuted(q, 0, 2, 1, 3), self.hook_k.permuted(k, 0, 2, 1, 3)
        v = self.hook_v.permuted(v, 0, 2, 1, 3)
        q, k = encoding.rotate(q, k, at)
        if self.hook_pattern.listened_to():
            mixed = self.hook_pattern(self.pattern(q, k, encoding, at)) @ v
        else:
            mixed = self.mixture(q, k, v, encoding, at)
        z = self.hook_z(mixed.transpose(1, 2))  # (batch, queries, n_heads, d_head)
        return self.out(z.flatten(-2))  # (batch, queries, d_model)

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
        self,
        q: Float[Tensor, "batch n_heads queries d_head"],
        k: Float[Tensor, "batch n_heads keys d_head"],
        v: Float[Tensor, "batch n_heads keys d_head"],
        encoding: Encoding,
        at: Positions,
    ) -> Float[Tensor, "batch n_heads queries d_head"]:
        """The pattern times the values, some queries at a time; in a causal model with no key behind the last query."""
        n_queries, n_keys = q.shape[-2], k.shape[-2]
        at_once = CPU_AT_ONCE if q.device.type == "cpu" else GPU_AT_ONCE
        rows = max(MIN_QUERIES, at_once // max(1, k[..., 0].numel())) if self.causal else n_queries
        if not encoding.changes_logits:
            return F.scaled_dot_product_attention(q, k, v, is_causal=self.causal and n_queries == n_keys)
        parts = []
        for first in range(0, n_queries, rows):
            some = q[..., first : first + rows, :]
            # The queries are the last positions; behind the last of these no key may be seen.
            seen = n_keys - n_queries + first + some.shape[-2] if self.causal else n_keys
            here = at.piece(slice(first, first + rows), slice(0, seen))
            parts.append(self.pattern(some, k[..., :seen, :], encoding, here) @ v[..., :seen, :])
        return parts[0] if len(parts) == 1 else torch.cat(parts, -2)

    def pattern(
        self,
        q: Float[Tensor, "batch n_heads queries d_head"],
        k: Float[Tensor, "batch n_heads keys d_head"],
        encoding: Encoding,
        at: Positions,
    ) -> Float[Tensor, "batch n_heads queries keys"]:
        """softmax(score(q k / sqrt(d_head)) + bias), the rows of which sum to 1."""
        logits = encoding.score((q / math.sqrt(q.shape[-1])) @ k.mT, q, k, at)  # (batch, n_heads, queries, keys)
        bias = encoding.bias(q, k, at)
        if bias is not None:
            logits = logits.add_(bias)
        if self.causal and (n := q.shape[-2]) > 1:
            future = torch.ones(n, n, dtype=torch.bool, device=q.device).triu(1)
            # Hidden from autograd: where its result is 0, softmax hands no gradient on.
            logits.detach()[..., -n:].masked_fill_(future, -math.inf)
        return logits.softmax(-1)
