"""How far from its prototype the image of each window of balls can be under RegularGPT's block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regulargpt.certificate.search.affine_forms import AffineForm, Coordinates, Lengths
from regulargpt.certificate.search.attention_remainder import AttentionExpansion, Projections
from regulargpt.certificate.search.expansion import Expansion
from regulargpt.certificate.search.image_bounds import Floats, ImageBounds, Ints, WindowBatch
from regulargpt.certificate.search.remainders import LayerNormRemainder, layer_norm
from regulargpt.finite.float64_network import Float64Network

# What beyond the first order each p_jh moves, over which `attention` has the values' differences.
PATTERN = Coordinates("pattern")


class BlockBounds(ImageBounds):
    """RegularGPT's block: what depends on a row alone is expanded once."""

    def __init__(self, network: Float64Network, prototypes: Floats, windows: Ints, images: Ints):
        self.of_rows, self.input_norm = projections(network, network.rows(prototypes))
        super().__init__(network, prototypes, windows, images)

    def bytes_of_window(self) -> int:
        """About three maps of each child, and four more, of d_ff rows."""
        (_, C), d, d_ff = self.windows.shape, self.rows.shape[1], len(self.network.w["blocks.0.ff_in.bias"])
        return 8 * d_ff * d * (3 * C + 4)

    def batch(self, windows: Ints, targets: Floats) -> WindowBatch:
        """Attention first, then the rest of the block."""
        attention, expansion, form = expand(self.network, self.rows, self.of_rows, windows)
        deviation, residual = WindowBatch.parts(form, targets, windows.shape[1])
        return BlockBatch(windows, expansion.steps, deviation, residual, attention, self.input_norm)


@dataclass
class BlockBatch(WindowBatch):
    """Some windows of RegularGPT's block."""

    attention: AttentionExpansion
    input_norm: LayerNormRemainder | None

    def lengths(self, radii: Floats) -> Lengths:
        """Those of attention from what the first LayerNorm leaves of each row, then the others."""
        errors = np.zeros_like(radii) if self.input_norm is None else self.input_norm(radii[:, None], {})
        remainder = self.attention.remainder(radii[self.windows], errors[self.windows])
        lengths: Lengths = dict(zip((PATTERN, "attention"), remainder, strict=True))
        for name, step in self.steps.items():
            lengths[name] = step(radii[self.windows], lengths)
        return lengths


def is_pre(network: Float64Network) -> bool:
    """Pre-LN (GPT-2's order) or post-LN."""
    return network.options["norm"] == "pre"


def projections(network: Float64Network, rows: Floats) -> tuple[Projections, LayerNormRemainder | None]:
    """Queries, keys and values of the rows, and what the LayerNorm before them leaves."""
    d = rows.shape[1]
    start = AffineForm(rows, {0: np.broadcast_to(np.eye(d), (len(rows), d, d))})
    if not is_pre(network):
        return Projections.from_network(network, rows, start.maps[0], np.ones(d), np.zeros(d)), None
    gain, bias = (network.w[f"blocks.0.ln1.{name}"] for name in ("weight", "bias"))
    normed, remainder = layer_norm(start, "", 1)
    return Projections.from_network(network, normed.centre, normed.maps[0], gain, bias), remainder


def expand(
    network: Float64Network, rows: Floats, p: Projections, windows: Ints
) -> tuple[AttentionExpansion, Expansion, AffineForm]:
    """The images of windows (n, C) of rows as a form, and what the maps that are not linear leave on the way."""
    C, d = windows.shape[1], rows.shape[1]
    attention, derivative = AttentionExpansion.over(network.w["blocks.0.attn.r"], p, windows)
    maps = {c: derivative[:, :, c] @ p.jacobian[windows[:, c]] for c in range(C)}  # (n, d, d) each
    maps[0] = maps[0] + np.eye(d)  # the residual connection: the own node, at offset 0
    bias = network.w.get("blocks.0.attn.out.bias", 0.0)
    form = AffineForm(
        rows[windows[:, 0]] + attention.value + bias,
        {**maps, PATTERN: attention.value_differences, "attention": np.eye(d)[None]},
    )
    expansion = Expansion(network, C)
    return attention, expansion, after_attention(expansion, network, form)


def after_attention(expansion: Expansion, network: Float64Network, x: AffineForm) -> AffineForm:
    """The block's FFN, its LayerNorms, and the state norm."""
    kind = network.options["activation"]
    if is_pre(network):
        x = x.plus(expansion.ffn("blocks.0.", expansion.norm("blocks.0.ln2", x), kind))
    else:
        x = expansion.norm("blocks.0.ln1", x)
        x = expansion.norm("blocks.0.ln2", x.plus(expansion.ffn("blocks.0.", x, kind)))
    return expansion.norm("state_norm", x) if network.options["state_norm"] else x
