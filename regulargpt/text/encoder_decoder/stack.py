"""The blocks of the encoder, or of the decoder, with the encoding of positions that they share."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, TypeAlias

from jaxtyping import Float
from torch import Tensor, nn

from regulargpt.encodings.base import Encoding
from regulargpt.models.hooks import Hooked
from regulargpt.models.layers import Dropout
from regulargpt.models.transformer.attention import Attention, Pass
from regulargpt.models.transformer.masks import Masks
from regulargpt.text.encoder_decoder.block import KeysValues, T5Block

Memory: TypeAlias = Sequence[KeysValues]
"""What the encoder read, as the keys and values of each layer of the decoder."""


class BlockStack(Hooked):
    """Blocks one after the other, and RMSNorm at the end."""

    def __init__(self, blocks: Sequence[T5Block], encoding: Encoding, d_model: int, *, dropout: float, epsilon: float):
        super().__init__()
        self.encoding = encoding
        self.blocks = nn.ModuleList(blocks)
        self.ln_final = nn.RMSNorm(d_model, epsilon)
        self.dropout = Dropout(dropout)
        self.kept_masks: OrderedDict[Any, Tensor] = OrderedDict()

    @property
    def attentions(self) -> list[Attention]:
        return [block.attn for block in self._blocks]

    @property
    def _blocks(self) -> list[T5Block]:
        return list(self.blocks)  # type: ignore[arg-type]  # there is nothing else in it

    def forward(
        self,
        x: Float[Tensor, "batch length d_model"],
        n: Float[Tensor, "length"],
        memory: Memory = (),
        passing: Pass | None = None,
    ) -> Float[Tensor, "batch length d_model"]:
        """The symbols' embeddings x at the positions n, read; in a decoder with what the encoder read."""
        passing = passing or Pass(masks=Masks(self.kept_masks))
        x = self.dropout(self.encoding.embed(x, n))
        for layer, block in enumerate(self.blocks):
            x = block(x, self.encoding, n, layer, passing, memory[layer] if memory else None)
        return self.dropout(self.ln_final(x))

    def memory(self, read: Float[Tensor, "batch source d_model"]) -> list[KeysValues]:
        """The keys and values that a decoder's blocks make of what the encoder read."""
        return [block.cross_attn.read(read) for block in self._blocks if block.cross_attn is not None]
