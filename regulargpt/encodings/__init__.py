"""Positional encodings, one file each, behind one protocol (base.py).

This module only lists them: it imports torch no earlier than the first `build`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from regulargpt.config.registry import Registry, Row
from regulargpt.encodings.options import AlibiOptions, EncodingOptions, RotaryOptions, TransformerXLOptions

if TYPE_CHECKING:
    import torch

    from regulargpt.encodings.base import Encoding

PLACE = "regulargpt.encodings"
ENCODINGS = Registry(
    "encoding",
    {
        "none": Row(f"{PLACE}.none:NoEncoding", EncodingOptions, "no positions at all", "Chi et al. 2023 (chapter 2)"),
        "sinusoidal": Row(
            f"{PLACE}.sinusoidal:Sinusoidal",
            EncodingOptions,
            "sines and cosines added to the input",
            "Vaswani et al. 2017",
        ),
        "rotary": Row(
            f"{PLACE}.rotary:Rotary", RotaryOptions, "queries and keys rotated by their position", "Su et al. 2021"
        ),
        "alibi": Row(
            f"{PLACE}.alibi:Alibi", AlibiOptions, "logits lowered in proportion to the distance", "Press et al. 2022"
        ),
        "transformer_xl": Row(
            f"{PLACE}.transformer_xl:TransformerXL",
            TransformerXLOptions,
            "content and distance, each with a learned bias",
            "Dai et al. 2019",
        ),
    },
    EncodingOptions,
    "regulargpt.encodings",
    "regulargpt.encodings.base:Encoding",
)


def build(
    encoding: str | EncodingOptions,
    *,
    d_model: int,
    n_heads: int,
    n_layers: int = 1,
    causal: bool = True,
    generator: torch.Generator | None = None,
) -> Encoding:
    """The encoding of these options, or as it is written, for one model; its parameters are drawn from `generator`.

    Raises `UserError` for an unknown name or option, or a width the encoding cannot work with.

    >>> build("alibi", d_model=8, n_heads=2)
    Alibi()
    >>> build("rotery", d_model=8, n_heads=2)
    Traceback (most recent call last):
    regulargpt.config.options.ConfigError: unknown encoding 'rotery'; did you mean 'rotary'?
    """
    options = ENCODINGS.options(encoding, "encoding") if isinstance(encoding, str) else encoding
    cls = ENCODINGS[options.name].load()
    return cls(
        d_model=d_model, n_heads=n_heads, n_layers=n_layers, causal=causal, generator=generator, **options.arguments()
    )
