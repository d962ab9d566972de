"""Greedy decoding: of the encoder-decoder the most probable symbol after symbol, each computed once."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from languages.errors import UserError
from regulargpt.encodings.base import Encoding
from regulargpt.models.layers import Readout, select
from regulargpt.models.transformer.attention import Pass
from regulargpt.models.transformer.decoding import CachedDecoder
from regulargpt.options.views import Full, View
from regulargpt.text.encoder_decoder.model import EncoderDecoder


class Answering:
    """A decoder that has heard what the encoder read: what `CachedDecoder` asks of a model."""

    def __init__(self, model: EncoderDecoder, source: Int[Tensor, "batch source"]):
        self.model = model
        self.view: View = Full()
        self.encoding: Encoding = model.decoder_stack.encoding
        self.memory = model.memory(model.embedded(source))

    @property
    def n_layers(self) -> int:
        return len(self.model.decoder_stack.blocks)

    def logits(
        self, words: Int[Tensor, "batch length"], n: Float[Tensor, "length"], readout: Readout, passing: Pass
    ) -> Tensor:
        return select(self.model.decoded(self.model.embedded(words), n, self.memory, passing), readout)


@torch.no_grad()
def greedy(model: EncoderDecoder, source: Sequence[int], *, start: int, ends: Collection[int], most: int) -> list[int]:
    """What the decoder answers to a source, behind the symbol `start`: up to one of `ends`, or `most` symbols.

    The keys and values of the source, and of what is answered, are computed once. Raises UserError for a source without
    symbols, or with a symbol that the model does not know.

    >>> model = EncoderDecoder(4, 4, d_model=8, n_heads=2, d_ff=16).eval()
    >>> len(greedy(model, [1, 2, 3], start=0, ends=(), most=5))
    5
    """
    known = model.embedding.num_embeddings
    if not source or not all(0 <= symbol < known for symbol in source):
        raise UserError(f"a source has at least 1 symbol, each 0 to {known - 1:,}; give such a one")
    device = model.embedding.weight.device
    decoder = CachedDecoder(Answering(model, torch.tensor([list(source)], device=device)))
    answer: list[int] = []
    symbol = start
    while len(answer) < most:
        symbol = int(decoder.feed(torch.tensor([[symbol]], device=device)).argmax(-1))
        if symbol in ends:
            break
        answer.append(symbol)
    return answer
