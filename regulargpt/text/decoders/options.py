"""The options of decoder-only. Never imports torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from regulargpt.encodings.options import EncodingOptions, RotaryOptions
from regulargpt.models.options import ModelOptions
from regulargpt.options import option, section


@dataclass(frozen=True)
class DecoderOnlyOptions(ModelOptions):
    """decoder-only; by default a small Llama.

    >>> DecoderOnlyOptions("decoder-only", n_heads=4, n_kv_heads=3)
    Traceback (most recent call last):
    regulargpt.options.ConfigError: n_kv_heads = 3 does not divide model.n_heads = 4; choose a divisor, or 0 for as many
    """

    most_parameters: ClassVar[int] = 100_000_000_000

    d_model: int = option(
        64, "Width of the residual stream.", least=1, most=65_536, why="it has at least 1 number", flag="--d-model"
    )
    n_heads: int = option(4, "Heads of attention.", least=1, most=65_536, why="attention has at least 1 head")
    n_kv_heads: int = option(
        0, "Heads that have keys and values; 0: all.", least=0, most=65_536, why="give a divisor of n_heads, or 0"
    )
    d_head: int = option(
        0, "Width of a head; 0: d_model / n_heads.", least=0, most=65_536, why="give a width, 0 for d_model / n_heads"
    )
    d_ff: int = option(256, "Units of the FFN.", least=1, most=1_048_576, why="the FFN has at least 1 unit")
    n_layers: int = option(1, "Blocks.", least=1, most=1024, why="a model has at least 1 layer", flag="--n-layers")
    norm: Literal["rms", "layer"] = option("rms", "RMSNorm before attention and FFN, or LayerNorm.")
    norm_epsilon: float = option(
        1e-6, "Added to the mean square, or variance.", least=0, below=1, why="it is a small number, not negative"
    )
    activation: Literal["silu", "gelu", "gelu_tanh", "relu"] = option(
        "silu", "Activation of the FFN; gelu_tanh is the approximation that GPT-2 uses."
    )
    gated: bool = option(True, "Whether the FFN multiplies its activated units by as many linear ones, as Llama.")
    parallel: bool = option(False, "Whether attention and FFN read the same stream, as GPT-NeoX.")
    qkv_bias: bool = option(False, "Whether queries, keys and values have biases.")
    out_bias: bool = option(False, "Whether what leaves attention has a bias.")
    mlp_bias: bool = option(False, "Whether the FFN has biases.")
    qk_norm: bool = option(False, "Whether each query and key has an RMSNorm, as Qwen3.")
    window: int = option(
        0, "Keys that a query sees, its own among them, always; 0: all.", least=0, why="give a window, 0 for none"
    )
    window_from: int = option(0, "The first layer with the window.", least=0, why="layers count from 0", needs="window")
    encoding: EncodingOptions = section(
        "regulargpt.encodings:ENCODINGS", RotaryOptions("rotary", layout="halves"), "Positional encoding.", "--encoding"
    )
    tied: bool = option(False, "Whether the readout is the embedding's transpose.")

    @property
    def quadratic(self) -> bool:
        return True

    @property
    def head_width(self) -> int:
        """The width of a head."""
        return self.d_head or self.d_model // self.n_heads

    def parameters(self) -> int:
        attention = (2 * self.n_heads + 2 * (self.n_kv_heads or self.n_heads)) * self.head_width
        blocks = self.n_layers * self.d_model * (attention + (3 if self.gated else 2) * self.d_ff)
        return blocks + self.encoding.parameters(self.d_model)

    def why_no_words(self) -> str | None:
        return "model.tied = true answers with symbols; set it to false" if self.tied else None

    def why_no_views(self) -> str | None:
        return None

    def too_long(self, length: int) -> str | None:
        return self.encoding.too_long(length)

    def too_short(self, length: int) -> str | None:
        return self.encoding.too_short(length)

    def problems(self) -> Iterator[str]:
        if not self.d_head and self.d_model % self.n_heads:
            yield f"d_model = {self.d_model} is not a multiple of model.n_heads = {self.n_heads}; or set model.d_head"
        if self.n_kv_heads and self.n_heads % self.n_kv_heads:
            divide = f"does not divide model.n_heads = {self.n_heads}; choose a divisor, or 0 for as many"
            yield f"n_kv_heads = {self.n_kv_heads} {divide}"
        yield from self.encoding.refuse_heads(self.d_model, self.n_heads, self.d_head)
        yield from super().problems()
