"""The block over windows of states that move in balls: how far from its prototype the image of each window can be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from regulargpt.certificate.search.affine_forms import AffineForm, DeviationBound, Lengths, spectral_norm
from regulargpt.certificate.search.attention_remainder import AttentionExpansion, Projections
from regulargpt.certificate.search.numpy_network import NumpyNetwork
from regulargpt.certificate.search.remainders import ActivationRemainder, LayerNormRemainder, activation, layer_norm

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# The maps of this many bytes of windows are held at once.
BATCH_BYTES = 1 << 27


class ImageBounds:
    """Node windows and, for radii of the balls under them, how far from their prototypes the images can be."""

    def __init__(self, network: NumpyNetwork, prototypes: Floats, windows: Ints, images: Ints):
        self.windows, self.images = windows, images
        rows = np.concatenate([network.pad, prototypes])
        C, d, d_ff = windows.shape[1], rows.shape[1], len(network.w["blocks.0.ff_in.bias"])
        self.projections, self.input_norm = projections(network, rows)
        step = max(1, BATCH_BYTES // (8 * d_ff * d * (3 * C + 4)))
        self.batches = [
            WindowBatch.of(
                network, rows, self.projections, windows[at : at + step], prototypes[images[at : at + step] - 1]
            )
            for at in range(0, len(windows), step)
        ]
        self.residuals = np.concatenate([b.residual for b in self.batches])

    def bound(self, radii: Floats) -> Floats:
        """At most this far (n,), for balls of these radii (K,); infinite where the radii are beyond all measure."""
        radii = np.concatenate([[0.0], radii])  # (1 + K,): the pad does not move
        with np.errstate(over="ignore", invalid="ignore"):
            errors = np.zeros_like(radii) if self.input_norm is None else self.input_norm(radii[:, None], {})
            far = [b.bound(radii[b.attention.windows], errors[b.attention.windows]) for b in self.batches]
        return np.nan_to_num(np.concatenate(far), nan=np.inf, posinf=np.inf)

    def gains(self) -> Floats:
        """By how much (n,) equal small radii are stretched: the norms of the Jacobians over all children."""
        return np.concatenate([b.deviation.first_order((b.attention.windows > 0).astype(float)) for b in self.batches])


def projections(network: NumpyNetwork, rows: Floats) -> tuple[Projections, LayerNormRemainder | None]:
    """Queries, keys and values of the rows, and what the LayerNorm before them leaves."""
    d = rows.shape[1]
    start = AffineForm(rows, {0: np.broadcast_to(np.eye(d), (len(rows), d, d))})
    if not network.pre:
        return Projections.of(network, rows, start.maps[0], np.ones(d), np.zeros(d)), None
    gain, bias = (network.w[f"blocks.0.ln1.{name}"] for name in ("weight", "bias"))
    normed, remainder = layer_norm(start, "", 1)
    return Projections.of(network, normed.centre, normed.maps[0], gain, bias), remainder


@dataclass
class WindowBatch:
    """Some windows: the maps that lead to their images."""

    attention: AttentionExpansion
    steps: dict[str, LayerNormRemainder | ActivationRemainder]
    deviation: DeviationBound
    residual: Floats

    @classmethod
    def of(cls, network: NumpyNetwork, rows: Floats, p: Projections, windows: Ints, targets: Floats) -> WindowBatch:
        """Expand the block about the centres of the balls."""
        attention, steps, form = expand(network, rows, p, windows)
        residual = np.sqrt(np.square(form.centre - targets).sum(1))
        return cls(attention, steps, DeviationBound.of(form, windows.shape[1], spectral_norm), residual)

    def lengths(self, radii: Floats, errors: Floats) -> Lengths:
        """How long the sources are (n,), for radii and the first LayerNorm's remainders (n, C) of the children."""
        # In the order of the network: the length of each source follows from those before it.
        found: Lengths = dict(zip(("pattern", "attention"), self.attention.remainder(radii, errors), strict=True))
        for name, step in self.steps.items():
            found[name] = step(radii, found)
        return found

    def bound(self, radii: Floats, errors: Floats) -> Floats:
        """At most this far from the prototypes (n,)."""
        return self.residual + self.deviation(radii, self.lengths(radii, errors))


def expand(
    network: NumpyNetwork, rows: Floats, p: Projections, windows: Ints
) -> tuple[AttentionExpansion, dict[str, LayerNormRemainder | ActivationRemainder], AffineForm]:
    """The images of windows (n, C) of rows as a form, and what the maps that are not linear leave on the way."""
    C, d, w = windows.shape[1], rows.shape[1], network.w
    steps: dict[str, LayerNormRemainder | ActivationRemainder] = {}
    attention, derivative = AttentionExpansion.over(w["blocks.0.attn.r"], p, windows)
    maps = {c: derivative[:, :, c] @ p.jacobian[windows[:, c]] for c in range(C)}  # (n, d, d) each
    maps[0] = maps[0] + np.eye(d)  # the residual connection: the own node, at offset 0
    bias = w.get("blocks.0.attn.out.bias", 0.0)
    form = AffineForm(
        rows[windows[:, 0]] + attention.value + bias,
        {**maps, "pattern": attention.value_differences, "attention": np.eye(d)[None]},
    )

    def norm(name: str, form: AffineForm) -> AffineForm:
        form, steps[name] = layer_norm(form, name, C)
        return form.scaled(w[f"{name}.weight"], w[f"{name}.bias"])

    def ffn(form: AffineForm) -> AffineForm:
        form = form.linear(w["blocks.0.ff_in.weight"], w["blocks.0.ff_in.bias"])
        form, steps["activation"] = activation(form, network.model["activation"], "activation", C)
        return form.linear(w["blocks.0.ff_out.weight"], w["blocks.0.ff_out.bias"])

    if network.pre:
        form = form.plus(ffn(norm("blocks.0.ln2", form)))
    else:
        form = norm("blocks.0.ln1", form)
        form = norm("blocks.0.ln2", form.plus(ffn(form)))
    if network.model["state_norm"]:
        form = norm("state_norm", form)
    return attention, steps, form
