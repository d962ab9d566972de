"""Balls around the prototypes that the network, without snapping, maps into themselves.

If every leaf window's image lies in the ball of its prototype, every node window of states in their balls has its
image in the ball of its prototype, and the answer is the same all over each ball, then by induction over the tree the
raw network stays in the balls and answers as the table does, at every length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from regulargpt.certificate.cells import Cells
from regulargpt.certificate.check import Network

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Part = tuple[Ints, Ints]  # windows (n, C) by offset, 0 the pad; images (n,) from 1

# Beyond this the expansion of a table takes more memory, and minutes, than it is worth.
MOST_BYTES = 1 << 30


@dataclass(frozen=True)
class Enclosure:
    """Balls that the raw network maps into themselves."""

    radii: Floats
    slack: float
    contraction: float
    answer_slack: float


@dataclass(frozen=True)
class NotClosed:
    """No such balls were found, and where it fails."""

    reason: str
    window: list[int]
    residual: float
    gain: float


# Half distances to the next prototype and the readout's margins bound the radii from above.
SLACKS = (1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4)
# Rounding in float64, here and in what comes out of LAPACK, stays far below this (states are about sqrt(d) long).
ROUNDING = 1e-8
GROWTH = 1.02
PASSES = 200


def enclose(network: Network, prototypes: Floats, leaves: Part, nodes: Part, answers: Ints) -> Enclosure | NotClosed:
    """The balls with the largest slack of SLACKS, by fixpoint iteration from below; or why there are none."""
    system = System.of(network, prototypes, leaves, nodes, answers)
    if isinstance(system, NotClosed):
        return system
    best: Enclosure | None = None
    for slack in sorted(SLACKS):
        found = system.close(slack)
        if isinstance(found, NotClosed):
            return best or found
        best = found
    assert best is not None
    return best


def verify(network: Network, prototypes: Floats, leaves: Part, nodes: Part, answers: Ints, radii: Floats) -> str | None:
    """None if the network maps the balls of these radii (K,) into themselves; else the first entry that fails."""
    system = System.of(network, prototypes, leaves, nodes, answers)
    return system.reason if isinstance(system, NotClosed) else system.fails(radii)


@dataclass(frozen=True)
class System:
    """All that has to hold of the radii."""

    leaf_windows: Ints
    leaf_images: Ints
    leaf_residuals: Floats
    cells: Cells
    limits: Floats  # (K,): the answer is the same this far around the prototype

    @classmethod
    def of(cls, network: Network, prototypes: Floats, leaves: Part, nodes: Part, answers: Ints) -> System | NotClosed:
        """Expand every entry; NotClosed if the table is too large, or an answer is not the network's."""
        cost = Cells.cost(network, len(nodes[0]))
        if cost > MOST_BYTES:
            return NotClosed(f"{len(nodes[0])} entries need {cost >> 20} MiB, at most {MOST_BYTES >> 20}", [], 0.0, 0.0)
        limits = answer_limits(network, prototypes, answers)
        if (limits <= 0).any():
            k = int(limits.argmin())
            return NotClosed(f"prototype {k + 1} does not answer {answers[k]}", [], 0.0, 0.0)
        states = network.block(network.symbols, leaves[0]) if len(leaves[0]) else prototypes[:0]
        residuals = np.sqrt(np.square(states - prototypes[leaves[1] - 1]).sum(1))
        return cls(leaves[0], leaves[1], residuals, Cells(network, prototypes, *nodes), limits)

    def fails(self, radii: Floats) -> str | None:
        """The first entry that leaves its ball, or the first ball with two answers."""
        if radii.shape != self.limits.shape or not (np.isfinite(radii) & (radii >= 0)).all():
            return f"there are not {len(self.limits)} finite radii, none of them negative"
        for part, windows, images, far in (
            ("leaves", self.leaf_windows, self.leaf_images, self.leaf_residuals),
            ("nodes", self.cells.windows, self.cells.images, self.cells.bound(radii)),
        ):
            outside = ~(far + ROUNDING <= radii[images - 1])
            if outside.any():
                i = int(outside.argmax())
                k = images[i]
                return (
                    f"{part}, window {windows[i].tolist()}: the image can be {far[i]:.6g} from prototype {k}, "
                    f"whose ball has the radius {radii[k - 1]:.6g}"
                )
        wide = ~(radii + ROUNDING < self.limits)
        if wide.any():
            k = int(wide.argmax())
            return f"the answer can change {self.limits[k]:.6g} from prototype {k + 1}, within its ball"
        return None

    def close(self, slack: float) -> Enclosure | NotClosed:
        """The least radii, or a little more, that every image keeps from by `slack`."""
        cells, rounding = self.cells, slack + ROUNDING
        radii = np.full(len(self.limits), rounding)
        np.maximum.at(radii, self.leaf_images - 1, self.leaf_residuals + rounding)
        floor = radii
        np.maximum.at(radii, cells.images - 1, cells.residuals + rounding)
        for _ in range(PASSES):
            far = cells.bound(radii)
            needed = floor.copy()
            np.maximum.at(needed, cells.images - 1, far + rounding)
            if (needed <= radii).all():
                return self.enclosure(radii, far)
            radii = np.maximum(radii, GROWTH * needed)
            if not (radii + rounding < self.limits).all():
                break
        k = int((radii / self.limits).argmax())
        own = np.flatnonzero(cells.images == k + 1)
        i = int(own[far[own].argmax()]) if len(own) else int(far.argmax())
        reason = f"with a slack of {slack:g} the ball of prototype {k + 1} grows beyond {self.limits[k]:.4g}"
        return NotClosed(reason, cells.windows[i].tolist(), float(cells.residuals[i]), float(cells.gains()[i]))

    def enclosure(self, radii: Floats, far: Floats) -> Enclosure:
        """What is left over."""
        leaf = (radii[self.leaf_images - 1] - self.leaf_residuals).min(initial=np.inf)
        node = (radii[self.cells.images - 1] - far).min(initial=np.inf)
        return Enclosure(
            radii, float(min(leaf, node)), float(self.cells.gains().max()), float((self.limits - radii).min())
        )


def answer_limits(network: Network, prototypes: Floats, answers: Ints) -> Floats:
    """How far (K,) around each prototype the answer's logit is the largest: margin / ||difference of weights||."""
    weight = network.w["readout.weight"]
    logits = network.readout(prototypes)
    margins = np.take_along_axis(logits, answers[:, None], 1) - logits  # (K, answers)
    apart = np.sqrt(np.square(weight[answers][:, None] - weight[None]).sum(-1))
    rival = np.arange(logits.shape[1]) != answers[:, None]
    limits = np.divide(margins, apart, out=np.where(margins > 0, np.inf, -np.inf), where=apart > 0)
    return np.where(rival, limits, np.inf).min(1)
