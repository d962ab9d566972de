"""Positional encodings, one file each, behind one protocol (base.py).

This module only lists them: it imports torch no earlier than the first `build`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regulargpt.encodings.options import (
    AlibiOptions,
    CopeOptions,
    EncodingOptions,
    FireOptions,
    ForgettingOptions,
    KernelOptions,
    PathOptions,
    RotaryOptions,
    SandwichOptions,
    ScaledOptions,
    SmoothOptions,
    SSMaxOptions,
    T5Options,
    TableOptions,
    TransformerXLOptions,
    WindowOptions,
    XposOptions,
)
from regulargpt.options.registry import Registry, Row

if TYPE_CHECKING:
    import torch

    from regulargpt.encodings.base import Encoding


def row(place: str, *of: Any) -> Row:
    return Row(f"regulargpt.encodings.{place}", *of)


ENCODINGS = Registry(
    "encoding",
    {
        "none": row("none:NoEncoding", EncodingOptions, "no positions at all", "Chi et al. 2023 (chapter 2)"),
        "sinusoidal": row(
            "sinusoidal:Sinusoidal", EncodingOptions, "sines and cosines added to the input", "Vaswani et al. 2017"
        ),
        "learned": row(
            "learned:Learned", TableOptions, "a learned vector a position, none beyond training", "Gehring et al. 2017"
        ),
        "rotary": row("rotary:Rotary", RotaryOptions, "queries and keys rotated by their position", "Su et al. 2021"),
        "xpos": row("xpos:Xpos", XposOptions, "rotary with a decay, causal only", "Sun et al. 2022"),
        "alibi": row("alibi:Alibi", AlibiOptions, "logits lowered in proportion to the distance", "Press et al. 2022"),
        "kerple_power": row("kerple:KerplePower", KernelOptions, "-r1 x^r2 with learned r1, r2", "Chi et al. 2022"),
        "kerple_log": row("kerple:KerpleLog", KernelOptions, "-r1 ln(1 + r2 x) with learned r1, r2", "Chi et al. 2022"),
        "kerple_bias_wht": row(
            "kerple:KerpleBiasWeight", KernelOptions, "logits times exp(-r3 x^r4), less r1 x^r2", "Chi et al. 2022"
        ),
        "kerple_log3": row("kerple:KerpleLog3", KernelOptions, "-r1 ln(1 + r2 x^r3)", "Chi et al. 2022"),
        "gauss_bias2": row("gauss:GaussBias2", KernelOptions, "+r1 exp(-r2 x^2)", "Chi 2024 (section 3.7.3)"),
        "gauss_bias3": row("gauss:GaussBias3", KernelOptions, "+r1 exp(-r2 x^r3)", "Chi 2024 (section 3.7.3)"),
        "gauss_wht1": row("gauss:GaussWeight1", KernelOptions, "logits times exp(-r1 x^2)", "Chi 2024 (section 3.7.3)"),
        "gauss_wht2": row("gauss:GaussWeight2", KernelOptions, "logits times exp(-r1 x^r2)", "Chi et al. 2022"),
        "t5": row("t5:T5", T5Options, "a learned bias for each bucket of distances", "Raffel et al. 2020"),
        "sandwich": row(
            "sandwich:Sandwich", SandwichOptions, "the product of two sinusoids as a bias", "Chi et al. 2023"
        ),
        "sandwich_smooth": row(
            "sandwich:SandwichSmooth", SmoothOptions, "the logarithm that fits Sandwich", "Chi et al. 2023"
        ),
        "transformer_xl": row(
            "transformer_xl:TransformerXL",
            TransformerXLOptions,
            "content and distance, each with a learned bias",
            "Dai et al. 2019",
        ),
        "window": row("window:Window", WindowOptions, "only the nearest keys, and no positions", "Chi et al. 2023"),
        "fire": row("fire:Fire", FireOptions, "a learned function of the relative distance", "Li et al. 2024"),
        "forgetting": row("forgetting:Forgetting", ForgettingOptions, "gates that let symbols fade", "Lin et al. 2025"),
        "path": row("path:PaTH", PathOptions, "keys moved by Householder matrices of the symbols", "Yang et al. 2025"),
        "cope": row("cope:Cope", CopeOptions, "counts of the keys that a query picks", "Golovneva et al. 2024"),
        "ssmax": row("scaled:SSMax", SSMaxOptions, "any encoding with logits times s ln n", "Nakanishi 2025"),
        "log_n": row("scaled:LogN", ScaledOptions, "any encoding with logits times ln n / ln L beyond L", "Su 2021"),
    },
    EncodingOptions,
    "regulargpt.encodings",
    "regulargpt.encodings.base:Encoding",
    {
        "rope": "rotary",
        "roformer": "rotary",
        "nope": "none",
        "nopositions": "none",
        "absolute": "learned, or sinusoidal",
        "ape": "learned, or sinusoidal",
        "cosine": "sinusoidal",
        "sincos": "sinusoidal",
        "sine": "sinusoidal",
        "relative": "t5 for a bias by distance, or transformer_xl for content and distance",
        "rpe": "t5 for a bias by distance, or transformer_xl for content and distance",
        "t5bias": "t5",
        "xl": "transformer_xl",
        "txl": "transformer_xl",
        "kerple": "kerple_log or kerple_power",
        "swa": "window",
        "slidingwindow": "window",
        "fox": "forgetting",
        "forgettingtransformer": "forgetting",
        "pathattention": "path",
    },
)


def build(
    encoding: str | EncodingOptions,
    *,
    d_model: int,
    n_heads: int,
    d_head: int = 0,
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
    regulargpt.options.ConfigError: unknown encoding 'rotery'; did you mean 'rotary'?
    """
    options = ENCODINGS.options(encoding, "encoding") if isinstance(encoding, str) else encoding
    cls = ENCODINGS[options.name].load()
    sizes = {"d_model": d_model, "n_heads": n_heads, "d_head": d_head, "n_layers": n_layers, "causal": causal}
    return cls(**sizes, generator=generator, **options.arguments())
