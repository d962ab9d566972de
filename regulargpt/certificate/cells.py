"""The block over windows of states that move in balls: how far from its prototype the image of each window can be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from regulargpt.certificate.attention_ball import Attended, Projections
from regulargpt.certificate.forms import Bent, Curved, Form, Lengths, Reach, activation, layer_norm, spectral
from regulargpt.certificate.network import Network

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# The maps of this many bytes of windows are held at once.
BYTES = 1 << 27


class Cells:
    """Node windows and, for radii of the balls under them, how far from their prototypes the images can be."""

    def __init__(self, network: Network, prototypes: Floats, windows: Ints, images: Ints):
        self.windows, self.images = windows, images
        rows = np.concatenate([network.pad, prototypes])
        C, d, d_ff = windows.shape[1], rows.shape[1], len(network.w["blocks.0.ff_in.bias"])
        self.projections, self.input_norm = projections(network, rows)
        step = max(1, BYTES // (8 * d_ff * d * (3 * C + 4)))
        self.chunks = [
            Chunk.of(network, rows, self.projections, windows[at : at + step], prototypes[images[at : at + step] - 1])
            for at in range(0, len(windows), step)
        ]
        self.residuals = np.concatenate([c.residual for c in self.chunks])

    def bound(self, radii: Floats) -> Floats:
        """At most this far (n,), for balls of these radii (K,); infinite where the radii are beyond all measure."""
        radii = np.concatenate([[0.0], radii])
        with np.errstate(over="ignore", invalid="ignore"):
            errors = np.zeros_like(radii) if self.input_norm is None else self.input_norm(radii[:, None], {})
            far = [c.bound(radii[c.attended.windows], errors[c.attended.windows]) for c in self.chunks]
        return np.nan_to_num(np.concatenate(far), nan=np.inf, posinf=np.inf)

    def gains(self) -> Floats:
        """By how much (n,) equal small radii are stretched: the norms of the Jacobians over all children."""
        return np.concatenate([c.reach.linear((c.attended.windows > 0).astype(float)) for c in self.chunks])


def projections(network: Network, rows: Floats) -> tuple[Projections, Bent | None]:
    """Queries, keys and values of the rows, and what the LayerNorm before them leaves."""
    d = rows.shape[1]
    start = Form(rows, {0: np.broadcast_to(np.eye(d), (len(rows), d, d))})
    if not network.pre:
        return Projections.of(network, rows, start.maps[0], np.ones(d), np.zeros(d)), None
    gain, bias = (network.w[f"blocks.0.ln1.{name}"] for name in ("weight", "bias"))
    normed, bent = layer_norm(start, "", 1)
    return Projections.of(network, normed.centre, normed.maps[0], gain, bias), bent


@dataclass
class Chunk:
    """Some windows: the maps that lead to their images."""

    attended: Attended
    steps: dict[str, Bent | Curved]
    reach: Reach
    residual: Floats

    @classmethod
    def of(cls, network: Network, rows: Floats, p: Projections, windows: Ints, targets: Floats) -> Chunk:
        """Expand the block about the centres of the balls."""
        attended, steps, form = expand(network, rows, p, windows)
        residual = np.sqrt(np.square(form.centre - targets).sum(1))
        return cls(attended, steps, Reach.of(form, windows.shape[1], spectral), residual)

    def lengths(self, radii: Floats, errors: Floats) -> Lengths:
        """How long the sources are (n,), for radii and the first LayerNorm's remainders (n, C) of the children."""
        found: Lengths = dict(zip(("pattern", "attention"), self.attended.remainder(radii, errors), strict=True))
        for name, step in self.steps.items():
            found[name] = step(radii, found)
        return found

    def bound(self, radii: Floats, errors: Floats) -> Floats:
        """At most this far from the prototypes (n,)."""
        return self.residual + self.reach(radii, self.lengths(radii, errors))


def expand(
    network: Network, rows: Floats, p: Projections, windows: Ints
) -> tuple[Attended, dict[str, Bent | Curved], Form]:
    """The images of windows (n, C) of rows as a form, and what the maps that are not linear leave on the way."""
    C, d, w = windows.shape[1], rows.shape[1], network.w
    steps: dict[str, Bent | Curved] = {}
    attended, derivative = Attended.over(w["blocks.0.attn.r"], p, windows)
    maps = {c: derivative[:, :, c] @ p.jacobian[windows[:, c]] for c in range(C)}
    maps[0] = maps[0] + np.eye(d)
    bias = w.get("blocks.0.attn.out.bias", 0.0)
    form = Form(
        rows[windows[:, 0]] + attended.value + bias, {**maps, "pattern": attended.turn, "attention": np.eye(d)[None]}
    )

    def norm(name: str, form: Form) -> Form:
        form, steps[name] = layer_norm(form, name, C)
        return form.scaled(w[f"{name}.weight"], w[f"{name}.bias"])

    def ffn(form: Form) -> Form:
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
    return attended, steps, form
