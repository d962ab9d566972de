"""The search for balls around the prototypes that the network as it is maps into themselves.

If every leaf window's image lies in the ball of its prototype, every node window of states in their balls has its
image in the ball of its prototype, and the answer is the same all over each ball, then by induction over the tree the
network stays in the balls and answers as the table does, at every length. Everything here is float64 and believed by
nobody: the checker (checker/slopes.py) decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from regulargpt.certificate.cells import Cells
from regulargpt.certificate.network import Network

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Part = tuple[Ints, Ints]  # windows (n, C) by offset, 0 the pad; images (n,) from 1

# Expanding an entry takes 5 to 50 ms; more entries than this are not tried.
MOST_ENTRIES = 4096
# The slacks that are tried, from the smallest.
SLACKS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 0.03, 0.1, 0.3, 1.0)
# Rounding in float64, in what is computed here, stays far below this (states are about sqrt(d) long).
ROUNDING = 1e-8
GROWTH = 1.02
# Where states lie farther than this share of half the way to the next prototype, no balls have ever closed.
FAR = 0.25
PASSES = 200


@dataclass(frozen=True)
class Enclosure:
    """Balls of `radii` (K,) around the prototypes that the network as it is maps into themselves.

    Every image keeps `slack` from the edge of its ball: a rounding error of at most that in each node's state changes
    nothing.
    """

    radii: Floats
    slack: float


@dataclass(frozen=True)
class NotClosed:
    """No such balls were found: why, and at which window, with its distance from the prototype and its Jacobian's norm.

    Balls of radius r need residual + gain r + O(r^2) <= r. Where the gain was not computed it is nan.
    """

    reason: str
    window: list[int]
    residual: float
    gain: float


def enclose(
    network: Network, prototypes: Floats, leaves: Part, nodes: Part, answers: Ints
) -> list[Enclosure] | NotClosed:
    """The balls for each of SLACKS that has any, the largest first, by fixpoint iteration from below; or why none has.

    `prototypes` (K, d), `leaves` and `nodes` windows (n, C) with images (n,), `answers` (K,), -1 where none is asked.
    """
    if len(nodes[0]) > MOST_ENTRIES:
        return NotClosed(f"{len(nodes[0])} entries are too many to expand, at most {MOST_ENTRIES}", [], 0.0, 0.0)
    far, window = farthest(network, prototypes, nodes)
    if far > FAR * half_distances(prototypes).min():
        reason = f"states lie up to {far:.3g} from their prototypes, too far for balls to close"
        return NotClosed(reason, window, far, np.nan)
    system = System(network, prototypes, leaves, nodes, answers)
    closed: list[Enclosure] = []
    for slack in SLACKS:
        found = system.close(slack)
        if isinstance(found, NotClosed):
            return closed[::-1] or found
        closed.append(found)
    return closed[::-1]


class System:
    """All that has to hold of the radii."""

    def __init__(self, network: Network, prototypes: Floats, leaves: Part, nodes: Part, answers: Ints):
        self.leaf_windows, self.leaf_images = leaves
        states = network.block(network.symbols, self.leaf_windows) if len(self.leaf_windows) else prototypes[:0]
        self.leaf_residuals = np.sqrt(np.square(states - prototypes[self.leaf_images - 1]).sum(1))
        self.cells = Cells(network, prototypes, *nodes)
        self.limits = answer_limits(network, prototypes, answers)
        self.most = np.minimum(self.limits - 2 * ROUNDING, half_distances(prototypes))

    def close(self, slack: float) -> Enclosure | NotClosed:
        """The least radii, or a little more, from which every image keeps `slack`."""
        cells = self.cells
        floor = np.full(len(self.limits), slack)
        np.maximum.at(floor, self.leaf_images - 1, self.leaf_residuals + slack + ROUNDING)
        radii = needed = floor
        far = cells.residuals
        for _ in range(PASSES):
            far, needed = cells.bound(radii), floor.copy()
            np.maximum.at(needed, cells.images - 1, far + slack + ROUNDING)
            if not (needed < self.most).all():
                break
            if (needed <= radii).all():
                return self.enclosure(radii, far)
            radii = np.minimum(np.maximum(radii, GROWTH * needed), self.most)
        k = int((needed / self.most).argmax())
        own = np.flatnonzero(cells.images == k + 1)
        i = int(own[far[own].argmax()]) if len(own) else int(far.argmax())
        reason = (
            f"with a slack of {slack:g} the ball of prototype {k + 1} grows beyond {self.most[k]:.4g}; over all "
            f"entries, distances are at most {cells.residuals.max():.4g} and Jacobians {cells.gains().max():.4g}"
        )
        return NotClosed(reason, cells.windows[i].tolist(), float(cells.residuals[i]), float(cells.gains()[i]))

    def enclosure(self, radii: Floats, far: Floats) -> Enclosure:
        """What is left over."""
        leaf = (radii[self.leaf_images - 1] - self.leaf_residuals).min(initial=np.inf)
        node = (radii[self.cells.images - 1] - far).min(initial=np.inf)
        return Enclosure(radii, float(min(leaf, node)))


def farthest(network: Network, prototypes: Floats, nodes: Part) -> tuple[float, list[int]]:
    """The largest distance of an entry's image from its prototype, and its window."""
    windows, images = nodes
    if not len(windows):
        return 0.0, []
    states = network.block(np.concatenate([network.pad, prototypes]), windows)
    far = np.sqrt(np.square(states - prototypes[images - 1]).sum(1))
    return float(far.max()), windows[far.argmax()].tolist()


def half_distances(prototypes: Floats) -> Floats:
    """Half of the distance (K,) to the next prototype: the search for radii ends there.

    >>> half_distances(np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 5.0]])).tolist()
    [2.5, 0.5, 0.5]
    """
    squares = [np.square(prototypes - p).sum(1) for p in prototypes]
    others = np.array(squares) + np.diag(np.full(len(prototypes), np.inf))
    return np.sqrt(others.min(1)) / 2


def answer_limits(network: Network, prototypes: Floats, answers: Ints) -> Floats:
    """How far (K,) around each prototype the answer's logit is the largest; negative where it is not even there.

    A difference of logits is affine, so it is positive up to margin / ||difference of weights||. Infinite where no word
    asks for an answer (-1).
    """
    weight = network.w["readout.weight"]
    logits = network.readout(prototypes)
    margins = np.take_along_axis(logits, answers[:, None], 1) - logits  # (K, answers)
    apart = np.sqrt(np.square(weight[answers][:, None] - weight[None]).sum(-1))
    rival = (np.arange(logits.shape[1]) != answers[:, None]) & (answers[:, None] >= 0)
    limits = np.divide(margins, apart, out=np.where(margins > 0, np.inf, -np.inf), where=apart > 0)
    return np.where(rival, limits, np.inf).min(1)
