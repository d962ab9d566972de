"""The encoder-decoder of T5 (Raffel et al. 2020): RMSNorm, no biases, relative buckets in both directions."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from languages.errors import UserError
from regulargpt import encodings
from regulargpt.encodings.base import Encoding
from regulargpt.encodings.options import EncodingOptions, T5Options
from regulargpt.encodings.tempered import tempered
from regulargpt.models.hooks import HookPoint
from regulargpt.models.layers import Readout, TiedReadout, check_words, embedding, linear
from regulargpt.models.transformer.attention import Attention, CrossAttention, Pass
from regulargpt.models.transformer.attentive import Attentive
from regulargpt.text.encoder_decoder.block import T5Block
from regulargpt.text.encoder_decoder.options import EncoderDecoderOptions
from regulargpt.text.encoder_decoder.stack import BlockStack, Memory
from regulargpt.text.feed_forward import FeedForward

OF_T5 = T5Options("t5", scale="mesh", drawn="mesh")


class EncoderDecoder(Attentive):
    """The encoder reads all but the last `count` symbols, in both directions; the decoder reads these and answers each.

    Both have the encoding of positions, with parameters of their own; attention to what the encoder read has none. Of a
    word of one symbol the encoder reads nothing, and that attention is 0.

    Weights start as in Mesh TensorFlow: embeddings at N(0, 1), linear maps at N(0, 1/fan_in), W_q smaller by
    sqrt(d_head) where logits are not scaled. Without `scale_logits` these are q k, T5's convention; a `tied` readout
    reads d_model^-0.5 times the decoder's output if `scale_readout` says so. Dropout is where T5 has it, but for that
    of single attention weights and of the units of the FFN.

    Raises `UserError` for an unknown activation or encoding, an encoding that looks back only, a width the heads do not
    divide, a dropout outside [0, 1), or a tied readout of other outputs than symbols.

    >>> model = EncoderDecoder(2, 3, d_model=8, n_heads=2, d_ff=16, n_layers=2)
    >>> words = torch.tensor([[0, 1, 1, 0, 1]])
    >>> model(words).shape, model.answers(words, 2).shape
    (torch.Size([1, 3]), torch.Size([1, 2, 3]))
    """

    Options = EncoderDecoderOptions
    # Of the encoder, whose attention is looked at.
    causal = False

    def __init__(
        self,
        n_symbols: int,
        n_outputs: int,
        *,
        d_model: int = 64,
        n_heads: int = 4,
        d_head: int = 0,
        d_ff: int = 256,
        n_layers: int = 1,
        decoder_layers: int = 0,
        activation: str = "relu",
        gated: bool = False,
        dropout: float = 0.0,
        encoding: str | EncodingOptions = OF_T5,
        tied: bool = False,
        scale_readout: bool = True,
        scale_logits: bool = False,
        norm_epsilon: float = 1e-6,
        generator: torch.Generator | None = None,
    ):
        super().__init__()
        generator = generator or torch.Generator().manual_seed(0)
        heads = {"d_head": d_head, "scaled": scale_logits, "generator": generator}
        rest = {"dropout": dropout, "epsilon": norm_epsilon}

        def stack(layers: int, causal: bool) -> BlockStack:
            sizes = {"d_model": d_model, "n_heads": n_heads, "d_head": d_head, "n_layers": layers}
            positions = encodings.build(encoding, **sizes, causal=causal, generator=generator)
            return BlockStack([block(causal) for _ in range(layers)], positions, d_model, **rest)

        def block(in_decoder: bool) -> T5Block:
            attn = Attention(d_model, n_heads, **heads)
            cross_attn = CrossAttention(d_model, n_heads, **heads) if in_decoder else None
            mlp = FeedForward(d_model, d_ff, activation=activation, gated=gated, generator=generator)
            return T5Block(d_model, attn, cross_attn, mlp, **rest)

        self.embedding = embedding(n_symbols, d_model, generator)
        self.hook_embed = HookPoint()
        self.encoder_stack = stack(n_layers, causal=False)
        self.decoder_stack = stack(decoder_layers or n_layers, causal=True)
        self.scale = d_model**-0.5 if tied and scale_readout else 1.0
        self.readout = (
            TiedReadout(self.embedding, n_outputs) if tied else linear(d_model, n_outputs, generator, bias=False)
        )

    @property
    def attentions(self) -> list[Attention]:
        return self.encoder_stack.attentions

    @property
    def encodings(self) -> list[Encoding]:
        return [self.encoder_stack.encoding, self.decoder_stack.encoding]

    def forward(
        self, words: Int[Tensor, "batch length"], readout: Readout = "last"
    ) -> Float[Tensor, "batch n_outputs"]:
        """Logits of the answer at the last position. Raises UserError for the readout "all"."""
        check_words(words, readout)
        if readout == "all":
            raise UserError(
                "an encoder-decoder does not answer at every position, since its encoder has seen what comes after it; "
                "ask for readout='last', or for `model.answers(words, count)`"
            )
        return self.answers(words, 1)[:, 0]

    def answers(self, words: Int[Tensor, "batch length"], count: int) -> Float[Tensor, "batch count n_outputs"]:
        """Logits at the last `count` positions, which the decoder reads; the encoder reads those before.

        Raises UserError for more positions than there are, or none.
        """
        check_words(words, "last")
        if not 1 <= count <= words.shape[1]:
            raise UserError(f"count = {count}; words of length {words.shape[1]} have 1 to {words.shape[1]} positions")
        x = self.embedded(words)
        target = x[:, -count:]  # (batch, count, d_model)
        return self.decoded(target, positions(target), self.memory(x[:, :-count]))

    def embedded(self, words: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length d_model"]:
        return self.hook_embed(self.embedding(words))

    def memory(self, x: Float[Tensor, "batch source d_model"]) -> Memory:
        """What the encoder makes of embedded symbols, as the decoder attends to it."""
        return self.decoder_stack.memory(self.encoder_stack(x, positions(x)) if x.shape[1] else x)

    def decoded(
        self,
        x: Float[Tensor, "batch target d_model"],
        n: Float[Tensor, "target"],
        memory: Memory,
        passing: Pass | None = None,
    ) -> Float[Tensor, "batch target n_outputs"]:
        """The logits at embedded symbols at the positions n, with what `passing` keeps of those before."""
        x = self.decoder_stack(x, n, memory, passing)
        return self.readout(x if self.scale == 1 else x * self.scale)

    def set_temperature(self, tau: Float[Tensor, "n_layers n_heads"] | None, on: str = "all") -> None:
        """Of the encoder's attention (thesis, section 5.4), as `Tempered` does; its `UserError` for what does not fit.

        >>> model = EncoderDecoder(2, 3, d_model=8, n_heads=2, d_ff=16)
        >>> model.set_temperature(torch.tensor([[0.5, 0.8]]))
        >>> model.encoder_stack.encoding.tau
        tensor([[0.5000, 0.8000]])
        """
        self.encoder_stack.encoding = tempered(self.encoder_stack.encoding, tau, on)


def positions(x: Float[Tensor, "batch length d_model"]) -> Float[Tensor, "length"]:
    """0, 1, 2, ..., exact.

    >>> positions(torch.zeros(1, 3, 8))
    tensor([0., 1., 2.], dtype=torch.float64)
    """
    return torch.arange(x.shape[1], dtype=torch.float64, device=x.device)
