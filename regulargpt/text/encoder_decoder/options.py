"""The options of the encoder-decoder. Never imports torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from regulargpt.encodings.options import EncodingOptions, T5Options
from regulargpt.models.options import ModelOptions
from regulargpt.options import option, section


@dataclass(frozen=True)
class EncoderDecoderOptions(ModelOptions):
    """The encoder-decoder."""

    d_model: int = option(
        64, "Width of the residual stream.", least=1, most=65_536, why="it has at least 1 number", flag="--d-model"
    )
    n_heads: int = option(4, "Heads of attention.", least=1, most=65_536, why="attention has at least 1 head")
    d_head: int = option(
        0, "Width of a head; 0: d_model / n_heads.", least=0, most=65_536, why="give a width, 0 for d_model / n_heads"
    )
    d_ff: int = option(256, "Units of the FFN.", least=1, most=1_048_576, why="the FFN has at least 1 unit")
    n_layers: int = option(
        1, "Blocks of the encoder.", least=1, most=1024, why="a model has at least 1 layer", flag="--n-layers"
    )
    decoder_layers: int = option(
        0, "Blocks of the decoder; 0: as many.", least=0, most=1024, why="give a number of blocks, 0 for as many"
    )
    activation: Literal["relu", "gelu", "gelu_tanh"] = option(
        "relu", "Activation of the FFN; gelu_tanh is the approximation that T5 1.1 uses."
    )
    gated: bool = option(False, "Whether the FFN multiplies its activated units by as many linear ones, as T5 1.1.")
    dropout: float = option(
        0.0, "Share of entries dropped in training.", least=0, below=1, why="it is a share, 0 to below 1"
    )
    encoding: EncodingOptions = section(
        "regulargpt.encodings:ENCODINGS",
        T5Options("t5", scale="mesh", drawn="mesh"),
        "Positional encoding: in both directions in the encoder, causal in the decoder.",
        "--encoding",
    )
    tied: bool = option(False, "Whether the readout is the embedding's transpose, without a bias.")
    scale_readout: bool = option(
        True, "Whether a tied readout reads d_model^-0.5 times the decoder's output, as T5.", needs="tied"
    )
    scale_logits: bool = option(False, "Whether attention divides q k by sqrt(d_head); T5 does not.")
    norm_epsilon: float = option(
        1e-6, "Added to the mean square in RMSNorm.", least=0, below=1, why="it is a small number, not negative"
    )

    @property
    def quadratic(self) -> bool:
        return True

    @property
    def inner(self) -> int:
        return self.n_heads * self.d_head or self.d_model

    def parameters(self) -> int:
        attention, ffn = 4 * self.inner, (3 if self.gated else 2) * self.d_ff
        decoder = (self.decoder_layers or self.n_layers) * (2 * attention + ffn)
        blocks = self.d_model * (self.n_layers * (attention + ffn) + decoder)
        return blocks + 2 * self.encoding.parameters(self.d_model)

    def why_no_words(self) -> str | None:
        return "model.tied = true answers with symbols" if self.tied else None

    def why_no_texts(self) -> str | None:
        return "the encoder has seen all that it would predict; choose model.name = 'transformer'"

    def why_no_prefixes(self) -> str | None:
        return "the encoder has seen what comes after it; choose 'last', or model.name = 'transformer'"

    def contradiction(self) -> str | None:
        """An encoding that looks back only, in an encoder that looks both ways.

        >>> from regulargpt.encodings.options import XposOptions
        >>> EncoderDecoderOptions("encoder-decoder", encoding=XposOptions("xpos")).contradiction()
        "model.encoding.name = 'xpos' makes keys behind the query grow without bound; choose another, as 't5'"
        """
        reason = self.encoding.not_bidirectional()
        return f"{reason}; choose another, as 't5'" if reason else None

    def too_long(self, length: int) -> str | None:
        """What the encoding says of what the encoder reads: all but the last symbol."""
        return self.encoding.too_long(max(1, length - 1))

    def too_short(self, length: int) -> str | None:
        """What the encoding says of what the encoder reads."""
        return self.encoding.too_short(max(1, length - 1))

    def problems(self) -> Iterator[str]:
        if not self.d_head and self.d_model % self.n_heads:
            yield f"d_model = {self.d_model} is not a multiple of model.n_heads = {self.n_heads}; or set model.d_head"
        yield from self.encoding.refuse_heads(self.d_model, self.n_heads, self.d_head)
        yield from super().problems()
