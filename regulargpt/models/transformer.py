"""The Transformer baseline (Vaswani et al. 2017): pre- or post-LN, causal or not, with any encoding."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt import encodings
from regulargpt.encodings.base import Encoding, distances
from regulargpt.hooks import HookPoint
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


class Attention(nn.Module):
    """Multi-head self-attention without biases; the encoding turns q and k and adds to the scaled logits.

    It runs through `scaled_dot_product_attention`. Only where somebody listens to `hook_pattern` is the
    pattern (batch, n_heads, queries, keys) made, and what the listeners return is what is used.
    """

    def __init__(self, d_model: int, n_heads: int, *, causal: bool, generator: torch.Generator):
        super().__init__()
        self.n_heads, self.causal = n_heads, causal
        self.qkv = linear(d_model, 3 * d_model, generator, bias=False)
        self.out = linear(d_model, d_model, generator, bias=False)
        self.hook_pattern = HookPoint()

    def forward(
        self, x: Float[Tensor, "batch length d_model"], encoding: Encoding, layer: int
    ) -> Float[Tensor, "batch length d_model"]:
        """Every position's mixture of the values at the positions it may see."""
        split = self.qkv(x).unflatten(-1, (3, self.n_heads, -1))  # (batch, length, 3, n_heads, d_head)
        q, k, v = split.permute(2, 0, 3, 1, 4)  # each (batch, n_heads, length, d_head)
        q, k = encoding.rotate(q, k)
        bias = encoding.bias(q, k, layer)
        if self.hook_pattern.listened_to():
            heads = self.hook_pattern(self.pattern(q, k, bias)) @ v
        else:
            plain = self.causal and bias is None
            heads = F.scaled_dot_product_attention(q, k, v, self.masked(bias, q, k), is_causal=plain)
        return self.out(heads.transpose(1, 2).flatten(-2))

    def masked(
        self,
        bias: Float[Tensor, "#batch n_heads queries keys"] | None,
        q: Float[Tensor, "batch n_heads queries d_head"],
        k: Float[Tensor, "batch n_heads keys d_head"],
    ) -> Float[Tensor, "#batch n_heads queries keys"] | None:
        """The bias, with -inf above the diagonal in a causal model; None stays None."""
        if bias is None or not self.causal:
            return bias
        return bias.masked_fill(distances(q, k) < 0, -math.inf)

    def pattern(
        self,
        q: Float[Tensor, "batch n_heads queries d_head"],
        k: Float[Tensor, "batch n_heads keys d_head"],
        bias: Float[Tensor, "#batch n_heads queries keys"] | None,
    ) -> Float[Tensor, "batch n_heads queries keys"]:
        """softmax(q k / sqrt(d_head) + bias), the rows of which sum to 1."""
        logits = q @ k.mT / math.sqrt(q.shape[-1])
        logits = logits if bias is None else logits + bias
        logits = logits.masked_fill(distances(q, k) < 0, -math.inf) if self.causal else logits
        return logits.softmax(-1)


class Mlp(nn.Module):
    """Linear, activation, linear, at every position alone."""

    def __init__(self, d_model: int, d_ff: int, *, activation: str, generator: torch.Generator):
        super().__init__()
        self.activation = choose("activation", activation, ACTIVATIONS)
        self.ff_in = linear(d_model, d_ff, generator)
        self.ff_out = linear(d_ff, d_model, generator)

    def forward(self, x: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows d_model"]:
        """W_2 f(W_1 x + b_1) + b_2."""
        return self.ff_out(self.activation(self.ff_in(x)))


class Block(nn.Module):
    """Attention and MLP with residuals: pre-LN x + f(LN(x)) as GPT-2, or post-LN LN(x + f(x)) as Vaswani."""

    def __init__(self, attn: Attention, mlp: Mlp, d_model: int, *, norm: str, dropout: float):
        super().__init__()
        self.pre = choose("norm", norm, {"pre": True, "post": False})
        self.ln1, self.attn = nn.LayerNorm(d_model), attn
        self.ln2, self.mlp = nn.LayerNorm(d_model), mlp
        self.dropout = Dropout(dropout)
        self.hook_resid_post = HookPoint()

    def forward(
        self, x: Float[Tensor, "batch length d_model"], encoding: Encoding, layer: int
    ) -> Float[Tensor, "batch length d_model"]:
        """The residual stream after this block."""
        if self.pre:
            x = x + self.dropout(self.attn(self.ln1(x), encoding, layer))
            x = x + self.dropout(self.mlp(self.ln2(x)))
        else:
            x = self.ln1(x + self.dropout(self.attn(x, encoding, layer)))
            x = self.ln2(x + self.dropout(self.mlp(x)))
        return self.hook_resid_post(x)


class Transformer(nn.Module):
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

    # Attention holds a number for each pair of positions: evaluation then takes fewer words at once.
    quadratic = True

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

    def forward(
        self, words: Int[Tensor, "batch length"], readout: Readout = "last"
    ) -> Float[Tensor, "batch n_outputs"] | Float[Tensor, "batch length n_outputs"]:
        """Logits of the answer at the last position, or at every position."""
        check_words(words, readout)
        x = self.embedding(words) * math.sqrt(self.embedding.embedding_dim)  # (batch, length, d_model)
        x = self.hook_embed(self.dropout(self.encoding.embed(x)))
        for layer, block in enumerate(self.blocks):
            x = block(x, self.encoding, layer)
        return self.readout(self.ln_final(select(x, readout)))
