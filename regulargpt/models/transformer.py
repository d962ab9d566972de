"""The Transformer baseline (Vaswani et al. 2017): pre- or post-LN, causal or not, with any encoding."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt import encodings
from regulargpt.encodings.base import Encoding
from regulargpt.models.base import Model
from regulargpt.models.hooks import Hooked, HookPoint, listened_to
from regulargpt.models.layers import (
    ACTIVATIONS,
    Dropout,
    Readout,
    check_words,
    choose,
    embedding,
    linear,
    select,
)

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
        self, x: Float[Tensor, "batch length d_model"], encoding: Encoding, layer: int, readout: Readout = "all"
    ) -> Float[Tensor, "batch queries d_model"]:
        """The mixture of the values at the positions it may see, for every position or the last alone."""
        q, k, v = self.heads(x, readout)
        # Heard as (batch, positions, n_heads, d_head), before the encoding turns them.
        q, k = self.hook_q.permuted(q, 0, 2, 1, 3), self.hook_k.permuted(k, 0, 2, 1, 3)
        v = self.hook_v.permuted(v, 0, 2, 1, 3)
        q, k = encoding.rotate(q, k, layer)
        if self.hook_pattern.listened_to():
            mixed = self.hook_pattern(self.pattern(q, k, encoding.bias(q, k, layer))) @ v
        else:
            mixed = self.mixture(q, k, v, encoding, layer)
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
        layer: int,
    ) -> Float[Tensor, "batch n_heads queries d_head"]:
        """The pattern times the values, some queries at a time; in a causal model with no key behind the last query."""
        n_queries, n_keys = q.shape[-2], k.shape[-2]
        at_once = CPU_AT_ONCE if q.device.type == "cpu" else GPU_AT_ONCE
        rows = max(MIN_QUERIES, at_once // max(1, k[..., 0].numel())) if self.causal else n_queries
        parts = []
        for first in range(0, n_queries, rows):
            some = q[..., first : first + rows, :]
            # The queries are the last positions; behind the last of these no key may be seen.
            seen = n_keys - n_queries + first + some.shape[-2] if self.causal else n_keys
            bias = encoding.bias(some, k[..., :seen, :], layer)
            if bias is None:
                # An encoding has a bias for all queries or for none: the fused kernel then takes them all at once.
                return F.scaled_dot_product_attention(q, k, v, is_causal=self.causal and n_queries == n_keys)
            parts.append(self.pattern(some, k[..., :seen, :], bias) @ v[..., :seen, :])
        return parts[0] if len(parts) == 1 else torch.cat(parts, -2)

    def pattern(
        self,
        q: Float[Tensor, "batch n_heads queries d_head"],
        k: Float[Tensor, "batch n_heads keys d_head"],
        bias: Float[Tensor, "#batch n_heads queries keys"] | None,
    ) -> Float[Tensor, "batch n_heads queries keys"]:
        """softmax(q k / sqrt(d_head) + bias), the rows of which sum to 1."""
        logits = (q / math.sqrt(q.shape[-1])) @ k.mT  # (batch, n_heads, queries, keys)
        if bias is not None:
            logits = logits.add_(bias)
        if self.causal and (n := q.shape[-2]) > 1:
            future = torch.ones(n, n, dtype=torch.bool, device=q.device).triu(1)
            # Hidden from autograd: where its result is 0, softmax hands no gradient on.
            logits.detach()[..., -n:].masked_fill_(future, -math.inf)
        return logits.softmax(-1)


class Mlp(Hooked):
    """Linear, activation, linear, at every position alone."""

    def __init__(self, d_model: int, d_ff: int, *, activation: str, generator: torch.Generator):
        super().__init__()
        self.activation = choose("activation", activation, ACTIVATIONS)
        self.ff_in = linear(d_model, d_ff, generator)
        self.ff_out = linear(d_ff, d_model, generator)
        self.hook_post = HookPoint()

    def forward(self, x: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows d_model"]:
        """W_2 f(W_1 x + b_1) + b_2."""
        return self.ff_out(self.hook_post(self.activation(self.ff_in(x))))


class Block(Hooked):
    """Attention and MLP with residuals: pre-LN x + f(LN(x)) as GPT-2, or post-LN LN(x + f(x)) as Vaswani."""

    def __init__(self, attn: Attention, mlp: Mlp, d_model: int, *, norm: str, dropout: float):
        super().__init__()
        self.pre = choose("norm", norm, {"pre": True, "post": False})
        self.ln1, self.attn = nn.LayerNorm(d_model), attn
        self.ln2, self.mlp = nn.LayerNorm(d_model), mlp
        self.dropout = Dropout(dropout)
        self.hook_attn_out, self.hook_mlp_out, self.hook_resid_post = HookPoint(), HookPoint(), HookPoint()

    def forward(
        self, x: Float[Tensor, "batch length d_model"], encoding: Encoding, layer: int, readout: Readout = "all"
    ) -> Float[Tensor, "batch queries d_model"]:
        """The residual stream after this block, at every position or the last alone."""
        length, kept = x.shape[1], x if readout == "all" else x[:, -1:]
        attended = self.hook_attn_out(self.attn(self.ln1(x) if self.pre else x, encoding, layer, readout))
        if self.pre:
            x = kept + self.dropout(attended, length)
            x = x + self.dropout(self.hook_mlp_out(self.mlp(self.ln2(x))), length)
        else:
            x = self.ln1(kept + self.dropout(attended, length))
            x = self.ln2(x + self.dropout(self.hook_mlp_out(self.mlp(x)), length))
        return self.hook_resid_post(x)


class Transformer(Model):
    """Embedding times sqrt(d_model), the encoding, n_layers blocks, a linear readout.

    The readout "last" reads the last symbol's position, in a bidirectional model too (the convention of the
    original RegularGPT code; Deletang et al. 2023 append an empty symbol and read there). Embeddings start at
    N(0, 0.02^2) and linear maps at N(0, 1/fan_in), as in Deletang et al., whose baseline is norm="post",
    activation="relu", causal=False, n_layers=5, d_model=64, n_heads=8, d_ff=256, dropout=0.1.

    Raises `UserError` for an unknown norm, activation or encoding, a width the heads do not divide, or a
    dropout outside [0, 1).

    >>> model = Transformer(2, 3, d_model=8, n_heads=2, d_ff=16, n_layers=2)
    >>> words = torch.tensor([[0, 1, 1, 0, 1]])
    >>> model(words).shape, model(words, readout="all").shape
    (torch.Size([1, 3]), torch.Size([1, 5, 3]))
    """

    def __init__(
        self,
        n_symbols: int,
        n_outputs: int,
        *,
        d_model: int = 64,
        n_heads: int = 8,
        d_ff: int = 256,
        n_layers: int = 5,
        norm: str = "post",
        activation: str = "relu",
        dropout: float = 0.0,
        causal: bool = True,
        encoding: str = "transformer_xl",
        generator: torch.Generator | None = None,
    ):
        super().__init__()
        generator = generator or torch.Generator().manual_seed(0)
        self.embedding = embedding(n_symbols, d_model, generator, std=0.02)
        self.encoding = encodings.build(
            encoding, d_model=d_model, n_heads=n_heads, n_layers=n_layers, causal=causal, generator=generator
        )
        self.dropout = Dropout(dropout)
        self.hook_embed = HookPoint()
        self.blocks = nn.ModuleList(
            Block(
                Attention(d_model, n_heads, causal=causal, generator=generator),
                Mlp(d_model, d_ff, activation=activation, generator=generator),
                d_model,
                norm=norm,
                dropout=dropout,
            )
            for _ in range(n_layers)
        )
        self.ln_final = nn.LayerNorm(d_model) if norm == "pre" else nn.Identity()
        self.readout = linear(d_model, n_outputs, generator)

    @property
    def quadratic(self) -> bool:
        """Attention holds a number for each pair of positions."""
        return True

    def forward(
        self, words: Int[Tensor, "batch length"], readout: Readout = "last"
    ) -> Float[Tensor, "batch n_outputs"] | Float[Tensor, "batch length n_outputs"]:
        """Logits of the answer at the last position, or at every position."""
        check_words(words, readout)
        x = self.embedding(words) * math.sqrt(self.embedding.embedding_dim)  # (batch, length, d_model)
        x = self.hook_embed(self.dropout(self.encoding.embed(x)))
        for layer, block in enumerate(self.blocks):
            # Of the last block, what nobody reads is not computed.
            alone = layer == len(self.blocks) - 1 and not listened_to(block)
            x = block(x, self.encoding, layer, readout if alone else "all")
        return self.readout(self.ln_final(select(x, readout)))
