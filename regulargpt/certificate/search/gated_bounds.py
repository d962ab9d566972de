"""How far from its prototype the image of each window of balls can be under RegularGPT's block with gates.

Here values depend on the whole window. So attention is expanded over forms, head by head, with the bound that the
checker has, and not with the sharper bound of attention_remainder.py, which needs values of a node each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import numpy as np

from regulargpt.certificate.search.affine_forms import (
    AffineForm,
    DeviationBound,
    Floats,
    Lengths,
    Source,
    side_by_side,
)
from regulargpt.certificate.search.block_bounds import after_attention, is_pre
from regulargpt.certificate.search.expansion import Expansion, Step
from regulargpt.certificate.search.image_bounds import ImageBounds, Ints, WindowBatch
from regulargpt.finite.float64_network import Float64Network

ATTENTION = "blocks.0.attn."


class GatedBlockBounds(ImageBounds):
    """The block with gates."""

    def bytes_of_window(self) -> int:
        """Hidden layers have 4 d or d_ff units, and there are about 3 C + 4 sources of up to 4 d numbers."""
        (_, C), d, d_ff = self.windows.shape, self.rows.shape[1], len(self.network.w["blocks.0.ff_in.bias"])
        return 8 * (3 * C + 4) * 4 * d * max(4 * d, d_ff)

    def batch(self, windows: Ints, targets: Floats) -> WindowBatch:
        """Gates, attention, and the rest of the block."""
        network, C = self.network, windows.shape[1]
        expansion = Expansion(network, C)
        children = expansion.children(self.rows, windows)
        form = children[0].plus(attend(expansion, network.options["n_heads"], read(expansion, network, children)))
        form = after_attention(expansion, network, form)
        return WindowBatch(windows, expansion.steps, *WindowBatch.parts(form, targets, C))


def read(expansion: Expansion, network: Float64Network, children: Sequence[AffineForm]) -> list[AffineForm]:
    """What attention reads of the children."""
    if not is_pre(network):
        return list(children)
    return [expansion.norm("blocks.0.ln1", x, f"blocks.0.ln1 {c}") for c, x in enumerate(children)]


def gated(expansion: Expansion, x: Sequence[AffineForm]) -> list[AffineForm]:
    """The values W_V (g_j * x_j) of a window."""
    names = [f"{ATTENTION}gates.{name}" for name in ("wide", "wider", "gate")]
    gates, d = expansion.gates((names[0], names[1], names[2]), side_by_side(x)), x[0].centre.shape[1]
    products = (
        expansion.times(gates.part(slice(c * d, (c + 1) * d)), child, f"gated {c}") for c, child in enumerate(x)
    )
    return [expansion.linear(ATTENTION + "value", product) for product in products]


def attend(expansion: Expansion, n_heads: int, x: Sequence[AffineForm]) -> AffineForm:
    """What attention makes of a window, through the output projection."""
    d = x[0].centre.shape[1]
    width = d // n_heads
    query = expansion.linear(ATTENTION + "query", x[0])
    query = query.scaled(np.full(d, width**-0.5), np.zeros(d))
    keys, values = [expansion.linear(ATTENTION + "key", child) for child in x], gated(expansion, x)
    out, r = expansion.w[ATTENTION + "out.weight"], expansion.w[ATTENTION + "r"]
    heads: list[HeadRemainder] = []
    sums: list[AffineForm] = []
    for h in range(n_heads):
        cut = slice(h * width, (h + 1) * width)
        k, v = [key.part(cut) for key in keys], [value.part(cut) for value in values]
        form, remainder = attend_head(r[h], query.part(cut), k, v, out[:, cut])
        sums.append(form)
        heads.append(remainder)
    expansion.steps["attention"] = total(heads)
    attended = reduce(AffineForm.plus, sums)
    bias = expansion.w.get(ATTENTION + "out.bias", 0.0)
    return AffineForm(attended.centre + bias, {**attended.maps, "attention": np.eye(d)[None]})


def total(steps: Sequence[Step]) -> Step:
    """The sum of all lengths."""
    return lambda radii, lengths: np.sum([step(radii, lengths) for step in steps], axis=0)


@dataclass(frozen=True)
class HeadRemainder:
    """What the first order of one head's sum leaves, as in the checker (block_bounds.py, `attend`)."""

    pattern: Floats  # (n, C)
    complement: Floats  # (n, C): 1 - pattern
    apart: Floats  # (n, C): how far each value is from the mean value
    query: DeviationBound
    keys: list[DeviationBound]
    values: list[DeviationBound]
    differences: list[tuple[int, int, DeviationBound]]  # i, j, and the linear part of logit i - logit j

    def __call__(self, radii: Floats, lengths: Lengths) -> Floats:
        """At most this long (n,)."""
        far = self.query(radii, lengths)
        beta = np.stack([far * key(radii, lengths) for key in self.keys], 1)  # (n, C)
        spans = [part(radii, lengths) + beta[:, i] + beta[:, j] for i, j, part in self.differences]
        # Where a single offset takes part, no logits differ.
        w = np.max([np.zeros_like(far), *spans], axis=0)[:, None]  # (n, 1)
        p, q = self.pattern, self.complement
        P = np.minimum(0.25, p * q * np.exp(w))
        first = p * (q * beta + (p * beta).sum(1, keepdims=True) - p * beta)
        moved = np.stack([value(radii, lengths) for value in self.values], 1)  # (n, C)
        return (self.apart * (first + P * w**2 / 2) + P * w * moved).sum(1)


def attend_head(
    r: Floats, q: AffineForm, k: Sequence[AffineForm], v: Sequence[AffineForm], out: Floats
) -> tuple[AffineForm, HeadRemainder]:
    """One head's sum, in first order, through `out` (d, d_head), its part of the output projection; r (C,)."""
    C = len(k)
    slopes = [logit(q, key) for key in k]
    logits = np.concatenate([slope.centre for slope in slopes], 1) + r  # (n, C)
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    # Not 1 - p, which loses what is left of a sharp pattern.
    complement = np.stack([np.delete(p, j, 1).sum(1) for j in range(C)], 1)
    mean = weighted(p, v)
    differences = np.stack([value.centre - mean.centre for value in v], 1)  # (n, C, d_head)
    moved = AffineForm(mean.centre, pattern_maps(p, slopes, differences)).plus(without_centre(mean))
    root: Floats = np.linalg.qr(out).R  # R^T R = W^T W: as long as through the projection, in fewer numbers
    pairs = combinations(np.flatnonzero(np.isfinite(r)).tolist(), 2)
    remainder = HeadRemainder(
        p,
        complement,
        np.sqrt(np.square(differences @ root.T).sum(-1)),
        DeviationBound.from_form(q, C),
        [DeviationBound.from_form(key, C) for key in k],
        [DeviationBound.from_form(value.linear(root), C) for value in v],
        [(i, j, DeviationBound.from_form(slopes[i].minus(slopes[j]), C, row_norm)) for i, j in pairs],
    )
    return moved.linear(out), remainder


def logit(q: AffineForm, k: AffineForm) -> AffineForm:
    """q k (n, 1), in first order."""
    maps = {s: k.centre[:, None] @ m for s, m in q.maps.items()}  # (n, 1, k_s)
    own = AffineForm((q.centre * k.centre).sum(1, keepdims=True), maps)
    return own.plus(AffineForm(np.zeros_like(own.centre), {s: q.centre[:, None] @ m for s, m in k.maps.items()}))


def weighted(p: Floats, forms: Sequence[AffineForm]) -> AffineForm:
    """sum_j p_j x_j for p (n, C)."""
    parts = (
        AffineForm(p[:, j, None] * x.centre, {s: p[:, j, None, None] * m for s, m in x.maps.items()})
        for j, x in enumerate(forms)
    )
    return reduce(AffineForm.plus, parts)


def without_centre(x: AffineForm) -> AffineForm:
    """What moves alone."""
    return AffineForm(np.zeros_like(x.centre), x.maps)


def pattern_maps(p: Floats, slopes: Sequence[AffineForm], differences: Floats) -> dict[Source, Floats]:
    """sum_j dp_j (v_j - v), differences (n, C, d_head).

    dp_j is p_j (slope j - the mean slope), and the mean slope falls out: sum_j p_j (v_j - v) is 0.
    """
    maps: dict[Source, Floats] = {}
    for j, slope in enumerate(slopes):
        moved = (p[:, j, None] * differences[:, j])[..., None]  # (n, d_head, 1)
        for s, m in slope.maps.items():
            maps[s] = maps.get(s, 0.0) + moved * m  # m is (n, 1, k_s)
    return maps


def row_norm(rows: Floats) -> Floats:
    """The norms (...) of rows (..., 1, k), and of products (..., k, k) of two, which have rank one."""
    return np.sqrt(np.square(rows).sum((-1, -2)))
