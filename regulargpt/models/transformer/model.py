"""The Transformer (Vaswani et al. 2017): pre- or post-LN, causal or not, with any encoding."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regulargpt import encodings
from regulargpt.models.base import Model
from regulargpt.models.hooks import HookPoint, listened_to
from regulargpt.models.layers import Dropout, Readout, check_words, embedding, linear, select
from regulargpt.models.transformer.attention import Attention
from regulargpt.models.transformer.block import Block, Mlp


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
        n = torch.arange(words.shape[1], dtype=torch.float64, device=words.device)
        x = self.embedding(words) * math.sqrt(self.embedding.embedding_dim)  # (batch, length, d_model)
        x = self.hook_embed(self.dropout(self.encoding.embed(x, n)))
        for layer, block in enumerate(self.blocks):
            # Of the last block, what nobody reads is not computed.
            alone = layer == len(self.blocks) - 1 and not listened_to(block)
            x = block(x, self.encoding, n, layer, readout if alone else "all")
        return self.readout(self.ln_final(select(x, readout)))
