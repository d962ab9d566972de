"""The looped Transformer (Dehghani et al. 2019; Fan et al. 2025): shared blocks, the input added in each pass."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regulargpt.models.decoding import Decoder
from regulargpt.models.layers import Readout, choose
from regulargpt.models.transformer.attention import Pass
from regulargpt.models.transformer.model import Transformer


class Looped(Transformer):
    """A Transformer that passes its blocks f again and again: h_0 = 0, h_{l+1} = f(h_l + x), x the embedded word.

    The input is added in each pass, as Fan et al. (2025, arXiv:2409.15647) do. A word of T symbols takes `loops`
    passes; with `loops` = 0 it takes ceil(log2 T) + 1 or T, as `loops_by` says. Log-many are enough for all regular
    languages (Merrill and Sabharwal 2025, arXiv:2503.03961); T is what Fan et al. train parity with. Each position of a
    causal model is read after the passes that the word up to it takes, so that it answers as to that word alone.

    Raises `UserError` for another `loops_by`, and what `Transformer` raises.

    >>> model = Looped(2, 3, d_model=8, n_heads=2, d_ff=16, n_layers=1, encoding="none")
    >>> words = torch.tensor([[0, 1, 1, 0, 1]])
    >>> torch.allclose(model(words), model(words, readout="all")[:, -1], atol=1e-6)
    True
    >>> [model.passes(T) for T in (1, 2, 3, 40)]
    [1, 2, 3, 7]
    """

    def __init__(
        self,
        n_symbols: int,
        n_outputs: int,
        *,
        n_layers: int = 1,
        loops: int = 0,
        loops_by: str = "log",
        **options: Any,
    ):
        super().__init__(n_symbols, n_outputs, n_layers=n_layers, **options)
        self.loops = loops
        self.is_log = choose("loops_by", loops_by, {"log": True, "length": False})

    def passes(self, length: int) -> int:
        """The passes of a word of this length."""
        return self.loops or ((length - 1).bit_length() + 1 if self.is_log else length)

    @property
    def n_layers(self) -> int:
        """Keys and values of each pass are others; where words decide how many there are, nothing is kept."""
        return len(self.blocks) * self.passes(1)

    def through(
        self, x: Float[Tensor, "batch length d_model"], n: Float[Tensor, "length"], readout: Readout, passing: Pass
    ) -> Float[Tensor, "batch read d_model"]:
        length, own, caches = x.shape[1], len(self.blocks), passing.caches
        each = self.causal and not self.loops and readout == "all"
        h, outputs = torch.zeros_like(x), []
        for number in range(count := self.passes(length)):
            begin, last = number * own, number == count - 1
            kept = None if caches is None else caches[begin : begin + own]
            h = super().through(h + x, n, readout if last else "all", replace(passing, caches=kept))
            # Positions that take no more passes than these.
            ends = [t for t in range(length) if self.passes(t + 1) == number + 1] if each else []
            outputs.append(h[:, ends])
        return torch.cat(outputs, 1) if each else h

    def decoder(self, window: int | None = None) -> Decoder:
        return super().decoder(window) if self.loops else self.recomputing(window)
