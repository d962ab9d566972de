"""The options of the encodings, a class each. Never imports torch.

They stand apart from the classes that use them because help, lists and refusals must not wait for torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from regulargpt.config.options import Options, option


@dataclass(frozen=True)
class EncodingOptions(Options):
    """The options of an encoding. All but `name` are passed to its constructor by name."""

    name: str
    consecutive: ClassVar[bool] = False
    """Whether it works for the positions 0, 1, 2, ... alone, and not for others in this order."""

    def refuse_heads(self, d_model: int, n_heads: int) -> Iterator[str]:
        """What is wrong with heads of this width, in lines that begin with an option of the model."""
        yield from ()


@dataclass(frozen=True)
class AlibiOptions(EncodingOptions):
    """ALiBi."""

    slopes: Literal["geometric", "press"] = option(
        "geometric",
        "One geometric sequence for any number of heads (Eq. 4.3), or the published code's for 12 and others.",
    )


@dataclass(frozen=True)
class RotaryOptions(EncodingOptions):
    """Rotary positions."""

    def refuse_heads(self, d_model: int, n_heads: int) -> Iterator[str]:
        """It turns pairs."""
        if (width := d_model // n_heads) % 2:
            yield f"encoding.name = '{self.name}' turns pairs: model.d_model / model.n_heads = {width} must be even"


@dataclass(frozen=True)
class TransformerXLOptions(EncodingOptions):
    """Transformer-XL."""

    consecutive: ClassVar[bool] = True
