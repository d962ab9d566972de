"""Positional encodings, one file each, behind one protocol (base.py).

This module only lists them: it imports torch no earlier than the first `build`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from languages.errors import UserError, nearest, one_of

if TYPE_CHECKING:
    import torch

    from regulargpt.encodings.base import Encoding


class Row(NamedTuple):
    """One line of the registry: where the class lives, what it does, who published it."""

    place: str
    summary: str
    source: str


ENCODINGS = {
    "none": Row("none:NoEncoding", "no positions at all", "Chi et al. 2023 (chapter 2)"),
    "sinusoidal": Row("sinusoidal:Sinusoidal", "sines and cosines added to the input", "Vaswani et al. 2017"),
    "rotary": Row("rotary:Rotary", "queries and keys rotated by their position", "Su et al. 2021"),
    "alibi": Row("alibi:Alibi", "logits lowered in proportion to the distance", "Press et al. 2022"),
    "transformer_xl": Row(
        "transformer_xl:TransformerXL", "content and distance, each with a learned bias", "Dai et al. 2019"
    ),
}


def build(
    name: str,
    *,
    d_model: int,
    n_heads: int,
    n_layers: int = 1,
    causal: bool = True,
    generator: "torch.Generator | None" = None,
) -> "Encoding":
    """The encoding of that name for one model; its parameters, if it has any, are drawn from `generator`.

    Raises `UserError` for an unknown name, or a width the encoding cannot work with.

    >>> build("alibi", d_model=8, n_heads=2)
    Alibi()
    >>> build("rotery", d_model=8, n_heads=2)
    Traceback (most recent call last):
    ...
    languages.errors.UserError: unknown encoding 'rotery'; did you mean 'rotary'?
    """
    if name not in ENCODINGS:
        hint = nearest(name, ENCODINGS) or f" known are {one_of(ENCODINGS)}"
        raise UserError(f"unknown encoding {name!r};{hint}")
    module, _, kind = ENCODINGS[name].place.partition(":")
    cls = getattr(import_module(f"{__name__}.{module}"), kind)
    return cls(d_model=d_model, n_heads=n_heads, n_layers=n_layers, causal=causal, generator=generator)
