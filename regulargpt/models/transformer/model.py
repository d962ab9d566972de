"""The Transformer (Vaswani et al. 2017): pre- or post-LN, causal or not, with any encoding."""

import math
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from languages.errors import UserError
from regulargpt import encodings
from regulargpt.encodings.base import Encoding
from regulargpt.encodings.options import EncodingOptions
from regulargpt.encodings.regrouped import regrouped
from regulargpt.encodings.tempered import tempered
from regulargpt.models.decoding import Decoder, Recomputing
from regulargpt.models.hooks import HookPoint, listened_to
from regulargpt.models.layers import Dropout, Readout, TiedReadout, check_words, embedding, linear, select
from regulargpt.models.transformer.attention import Attention, Pass
from regulargpt.models.transformer.attentive import Attentive
from regulargpt.models.transformer.block import Block, Mlp
from regulargpt.models.transformer.decoding import CachedDecoder
from regulargpt.models.transformer.masks import Masks
from regulargpt.models.transformer.positions import RandomPositions
from regulargpt.options.views import Full, Sliding, View, parse


class Transformer(Attentive):
    """Embedding times sqrt(d_model), the encoding, n_layers blocks, a linear readout.

    `tied` reads out by the embedding's transpose; `scale_embedding` False leaves the embedding as it is;
    `random_positions` draws the positions of a batch from so many (Ruoss et al. 2023; 0: they are 0, 1, 2, ...).

    The readout "last" reads the last symbol's position, in a bidirectional model too (the convention of the
    original RegularGPT code; Deletang et al. 2023 append an empty symbol and read there). Embeddings start at
    N(0, 0.02^2) and linear maps at N(0, 1/fan_in), as in Deletang et al., whose baseline is norm="post",
    activation="relu", causal=False, n_layers=5, d_model=64, n_heads=8, d_ff=256, dropout=0.1.

    Raises `UserError` for an unknown norm, activation or encoding, a width the heads do not divide, a dropout
    outside [0, 1), or a tied readout of other outputs than symbols.

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
        encoding: str | EncodingOptions = "transformer_xl",
        tied: bool = False,
        scale_embedding: bool = True,
        random_positions: int = 0,
        generator: torch.Generator | None = None,
    ):
        super().__init__()
        generator = generator or torch.Generator().manual_seed(0)
        symbols = embedding(n_symbols, d_model, generator, std=0.02)
        positions = encodings.build(
            encoding, d_model=d_model, n_heads=n_heads, n_layers=n_layers, causal=causal, generator=generator
        )
        blocks = [
            Block(
                Attention(d_model, n_heads, generator=generator),
                Mlp(d_model, d_ff, activation=activation, generator=generator),
                d_model,
                norm=norm,
                dropout=dropout,
            )
            for _ in range(n_layers)
        ]
        ln_final = nn.LayerNorm(d_model) if norm == "pre" else nn.Identity()
        readout = TiedReadout(symbols, n_outputs) if tied else linear(d_model, n_outputs, generator)
        self.assemble(symbols, positions, blocks, ln_final, readout, dropout=dropout)
        self.scale = math.sqrt(d_model) if scale_embedding else 1.0
        # Last, and only where it is used: dropout draws by its number among the modules that draw.
        self.random_positions = RandomPositions(random_positions) if random_positions else None

    def assemble(
        self,
        symbols: nn.Embedding,
        positions: Encoding,
        blocks: Sequence[nn.Module],
        ln_final: nn.Module,
        readout: nn.Module,
        *,
        dropout: float = 0.0,
    ) -> None:
        """Make a model of its parts, in the order in which they compute."""
        self.embedding, self.encoding = symbols, positions
        self.dropout = Dropout(dropout)
        self.hook_embed = HookPoint()
        self.blocks = nn.ModuleList(blocks)
        self.ln_final, self.readout = ln_final, readout
        self.scale, self.random_positions, self.causal = 1.0, None, positions.causal
        self.view: View = Full()
        self.kept_masks: OrderedDict[Any, Tensor] = OrderedDict()

    @property
    def n_layers(self) -> int:
        return len(self.blocks)

    @property
    def attentions(self) -> list[Attention]:
        return [block.attn for block in self.blocks]  # type: ignore[misc, union-attr]  # blocks have one

    @property
    def encodings(self) -> list[Encoding]:
        return [self.encoding]

    def forward(
        self, words: Int[Tensor, "batch length"], readout: Readout = "last"
    ) -> Float[Tensor, "batch n_outputs"] | Float[Tensor, "batch length n_outputs"]:
        check_words(words, readout)
        passing = Pass(self.view, Masks(None if self.random_positions else self.kept_masks))
        return self.logits(words, self.positions(words), readout, passing)

    def logits(
        self, words: Int[Tensor, "batch length"], n: Float[Tensor, "length"], readout: Readout, passing: Pass
    ) -> Float[Tensor, "batch n_outputs"] | Float[Tensor, "batch length n_outputs"]:
        x = self.embedding(words)  # (batch, length, d_model)
        x = x if self.scale == 1 else x * self.scale
        x = self.through(self.hook_embed(self.dropout(self.encoding.embed(x, n))), n, readout, passing)
        return self.readout(self.ln_final(select(x, readout)))

    def through(
        self, x: Float[Tensor, "batch length d_model"], n: Float[Tensor, "length"], readout: Readout, passing: Pass
    ) -> Float[Tensor, "batch read d_model"]:
        """What the blocks make of the embedded word."""
        for layer, block in enumerate(self.blocks):
            # Of the last block, what nobody reads is not computed.
            alone = layer == len(self.blocks) - 1 and not listened_to(block)
            x = block(x, self.encoding, n, layer, readout if alone else "all", self.passing(layer, passing))
        return x

    def passing(self, layer: int, passing: Pass) -> Pass:
        """What a layer takes of a pass: all of it."""
        return passing

    def decoder(self, window: int | None = None) -> Decoder:
        """With cached keys and values; where a position depends on what is still to come, all is computed again."""
        if not self.causal or self.random_positions is not None:
            return super().decoder(window)
        return self.recomputing(window) if self.encoding.depends_on_length else CachedDecoder(self, window)

    def recomputing(self, window: int | None) -> Decoder:
        """As `CachedDecoder` answers, computing all again."""
        view = self.view if window is None else Sliding(window)
        return Recomputing(lambda words: self.logits(words, self.positions(words), "last", Pass(view)))

    def set_attention(self, text: str, train_len: int) -> None:
        """What each position may see from now on; `UserError` for a text that says nothing, or without a causal mask.

        >>> model = Transformer(2, 3, d_model=8, n_heads=2, d_ff=16, n_layers=1)
        >>> model.set_attention("sliding:64", train_len=40)
        >>> model.view
        Sliding(window=64)
        """
        view = parse(text, train_len)
        if not (self.causal or type(view) is Full):
            raise UserError(f"attention = {text!r} needs a causal model; set model.causal = true")
        self.view, self.encoding = view, regrouped(self.encoding, view)

    def set_temperature(self, tau: Float[Tensor, "n_layers n_heads"] | None, on: str = "all") -> None:
        """As `Tempered` does; its `UserError` for temperatures that do not fit.

        >>> model = Transformer(2, 3, d_model=8, n_heads=2, d_ff=16, n_layers=1)
        >>> model.set_temperature(torch.tensor([[0.5, 0.8]]))
        >>> model.encoding.tau
        tensor([[0.5000, 0.8000]])
        >>> model.set_temperature(None)
        """
        self.encoding = tempered(self.encoding, tau, on)

    def positions(self, words: Int[Tensor, "batch length"]) -> Float[Tensor, "length"]:
        length = words.shape[1]
        if self.random_positions is not None:
            return self.random_positions(length).to(words.device)
        return torch.arange(length, dtype=torch.float64, device=words.device)
