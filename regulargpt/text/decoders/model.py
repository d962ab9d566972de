"""The decoder of GPT-2, GPT-NeoX, Llama, Mistral and Qwen (Radford et al. 2019; Touvron et al. 2023), any encoding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regulargpt import encodings
from regulargpt.encodings.options import EncodingOptions, RotaryOptions
from regulargpt.models.layers import TiedReadout, check_words, choose, embedding, linear
from regulargpt.models.transformer.attention import Attention, NormedAttention, Pass
from regulargpt.models.transformer.attentive import Attentive
from regulargpt.models.transformer.masks import Masks
from regulargpt.models.transformer.model import Transformer
from regulargpt.options.views import Within
from regulargpt.text.decoders.block import DecoderBlock
from regulargpt.text.decoders.options import DecoderOnlyOptions
from regulargpt.text.feed_forward import FeedForward

OF_LLAMA = RotaryOptions("rotary", layout="halves")
NORMS: dict[str, type[nn.RMSNorm | nn.LayerNorm]] = {"rms": nn.RMSNorm, "layer": nn.LayerNorm}
LOGITS_AT_ONCE = 1 << 24
"""Numbers that are read out together where all positions are wanted: 64 MiB of float32."""


class DecoderOnly(Transformer):
    """Embedding, blocks with a norm before each part, a norm, a readout without a bias; always causal.

    Attention, views, temperatures and cached decoding are the `Transformer`'s. A `window` belongs to the network: from
    layer `window_from` on a query sees no more keys, whatever the view of a test says.

    Weights start as in `Transformer`.

    Raises `UserError` for an unknown norm, activation or encoding, a width the heads do not divide, or a tied readout
    of other outputs than symbols.

    >>> model = DecoderOnly(5, 5, d_model=8, n_heads=4, n_kv_heads=2, d_ff=16, n_layers=2)
    >>> words = torch.tensor([[0, 1, 4, 0, 1]])
    >>> model(words).shape, model.answers(words, 2).shape
    (torch.Size([1, 5]), torch.Size([1, 2, 5]))
    """

    Options = DecoderOnlyOptions

    def __init__(
        self,
        n_symbols: int,
        n_outputs: int,
        *,
        d_model: int = 64,
        n_heads: int = 4,
        n_kv_heads: int = 0,
        d_head: int = 0,
        d_ff: int = 256,
        n_layers: int = 1,
        norm: str = "rms",
        norm_epsilon: float = 1e-6,
        activation: str = "silu",
        gated: bool = True,
        parallel: bool = False,
        qkv_bias: bool = False,
        out_bias: bool = False,
        mlp_bias: bool = False,
        qk_norm: bool = False,
        window: int = 0,
        window_from: int = 0,
        encoding: str | EncodingOptions = OF_LLAMA,
        tied: bool = False,
        generator: torch.Generator | None = None,
    ):
        Attentive.__init__(self)
        generator = generator or torch.Generator().manual_seed(0)
        heads = {"d_head": d_head, "kv_heads": n_kv_heads, "bias": qkv_bias, "out_bias": out_bias}
        ffn = {"activation": activation, "gated": gated, "bias": mlp_bias}
        kind = choose("norm", norm, NORMS)

        def attention() -> Attention:
            if qk_norm:
                return NormedAttention(d_model, n_heads, **heads, epsilon=norm_epsilon, generator=generator)
            return Attention(d_model, n_heads, **heads, generator=generator)

        def block() -> DecoderBlock:
            attn, mlp = attention(), FeedForward(d_model, d_ff, **ffn, generator=generator)
            norms = kind(d_model, norm_epsilon), kind(d_model, norm_epsilon)
            return DecoderBlock(norms[0], attn, norms[1], mlp, parallel=parallel)

        symbols = embedding(n_symbols, d_model, generator, std=0.02)
        positions = encodings.build(
            encoding, d_model=d_model, n_heads=n_heads, d_head=d_head, n_layers=n_layers, generator=generator
        )
        blocks = [block() for _ in range(n_layers)]
        readout = TiedReadout(symbols, n_outputs) if tied else linear(d_model, n_outputs, generator, bias=False)
        self.assemble(symbols, positions, blocks, kind(d_model, norm_epsilon), readout)
        self.window, self.window_from = window, window_from

    def passing(self, layer: int, passing: Pass) -> Pass:
        if not self.window or layer < self.window_from:
            return passing
        return replace(passing, view=Within(passing.view, self.window))

    def answers(self, words: Int[Tensor, "batch length"], count: int) -> Float[Tensor, "batch count n_outputs"]:
        return torch.cat(list(self.answered(words, count)), 1)

    def answered(
        self, words: Int[Tensor, "batch length"], count: int
    ) -> Iterator[Float[Tensor, "batch some n_outputs"]]:
        """The same some positions at a time: with many symbols, the logits of all positions fill the memory."""
        check_words(words, "all")
        n = self.positions(words)
        x = self.hook_embed(self.encoding.embed(self.embedding(words), n))
        x = self.ln_final(self.through(x, n, "all", Pass(self.view, Masks(self.kept_masks)))[:, -count:])
        at_once = max(1, LOGITS_AT_ONCE // (len(words) * self.embedding.num_embeddings))
        return (self.readout(some) for some in x.split(at_once, 1))
