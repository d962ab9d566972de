"""The search for balls around the prototypes that the network as it is maps into themselves.

If every leaf window's image lies in the ball of its prototype, every node window of states in their balls has its
image in the ball of its prototype, and the answer is the same all over each ball, then by induction over the tree the
network stays in the balls and answers as the table does, at every length. Everything here is float64 and believed by
nobody: the checker (checker/affine_forms.py) decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from regulargpt.certificate.search.networks import image_bounds, max_entries
from regulargpt.finite.float64_network import Float64Network

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Part = tuple[Ints, Ints]  # windows (n, C) by offset, 0 for what is absent; images (n,) from 1

# The slacks that are tried, from the smallest.
SLACKS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 0.03, 0.1, 0.3, 1.0)
# Rounding in float64, in what is computed here, stays far below this (states are about sqrt(d) long).
ROUNDING = 1e-8
# The checker's norms are up to 7 % too large, and it takes quicker ones for sources that hardly count: images are taken
# to move farther by this factor, or what is found with little slack is rejected.
MARGIN = 1.1
# Radii grow by this much more than is needed, or the iteration would creep up on its fixpoint.
GROWTH = 1.02
# Where states lie farther than this share of half the way to the next prototype, no balls have ever closed.
MAX_RESIDUAL = 0.25
MAX_ITERATIONS = 200
# What fails on some entries fails on all: so many are looked at first, half of them those with the largest distances,
# half those that move most when the states under them move by so little, so many times.
FIRST, PUSH, PUSHES = 32, 1e-4, 8


@dataclass(frozen=True)
class InvariantBalls:
    """Balls of `radii` (K,) around the prototypes that the network as it is maps into themselves.

    Every image keeps `slack` from the edge of its ball: a rounding error of at most that in each node's state changes
    nothing.
    """

    radii: Floats
    slack: float


@dataclass(frozen=True)
class NotInvariant:
    """No such balls were found, and why."""

    reason: str


def find_invariant_balls(
    network: Float64Network, prototypes: Floats, leaves: Part, nodes: Part, answers: Ints
) -> list[InvariantBalls] | NotInvariant:
    """The balls for each of SLACKS that has any, the largest first, by fixpoint iteration from below; or why none has.

    `prototypes` (K, d), `leaves` and `nodes` windows (n, C) with images (n,), `answers` (K,), -1 where there is none.
    """
    if len(nodes[0]) > (most := max_entries(network)):
        return NotInvariant(f"{len(nodes[0])} entries are too many to expand, at most {most}")
    # Cheap, before every entry is expanded.
    windows, images = nodes
    states = images_of(network, prototypes, windows)
    distances = np.sqrt(np.square(states - prototypes[images - 1]).sum(1))
    residual = float(distances.max(initial=0.0))
    if residual > MAX_RESIDUAL * half_distances(prototypes).min():
        reason = f"states lie up to {residual:.3g} from their prototypes, too far for balls to close"
        return NotInvariant(reason)
    if len(windows) > 2 * FIRST:
        likely = np.union1d(largest(distances), largest(stretches(network, prototypes, windows, states)))
        some = windows[likely], images[likely]
        first = BallConditions(network, prototypes, leaves, some, answers).solve(SLACKS[0])
        if isinstance(first, NotInvariant):
            return first
    conditions = BallConditions(network, prototypes, leaves, nodes, answers)
    invariant: list[InvariantBalls] = []
    for slack in SLACKS:
        balls = conditions.solve(slack)
        if isinstance(balls, NotInvariant):
            return invariant[::-1] or balls  # what fails with a slack fails with every larger slack
        invariant.append(balls)
    return invariant[::-1]


class BallConditions:
    """All that has to hold of the radii."""

    def __init__(self, network: Float64Network, prototypes: Floats, leaves: Part, nodes: Part, answers: Ints):
        self.leaf_windows, self.leaf_images = leaves
        states = network.over_symbols(self.leaf_windows).numpy()
        self.leaf_residuals = np.sqrt(np.square(states - prototypes[self.leaf_images - 1]).sum(1))
        self.nodes = image_bounds(network, prototypes, *nodes)
        self.limits = answer_radii(network, prototypes, answers)
        self.largest = np.minimum(self.limits - 2 * ROUNDING, half_distances(prototypes))

    def solve(self, slack: float) -> InvariantBalls | NotInvariant:
        """The least radii, or a little more, from which every image keeps `slack`."""
        nodes = self.nodes
        floor = np.full(len(self.limits), slack)
        np.maximum.at(floor, self.leaf_images - 1, self.leaf_residuals + slack + ROUNDING)
        radii = needed = floor
        distances = nodes.residuals
        # From below: bounds grow with the radii, so what is needed for these is needed for all larger ones.
        for _ in range(MAX_ITERATIONS):
            moved = nodes.bound(radii) - nodes.residuals
            distances, needed = nodes.residuals + MARGIN * moved, floor.copy()
            np.maximum.at(needed, nodes.images - 1, distances + slack + ROUNDING)
            if not (needed < self.largest).all():
                break
            if (needed <= radii).all():
                return self.with_slack(radii, distances)
            radii = np.minimum(np.maximum(radii, GROWTH * needed), self.largest)
        k = int((needed / self.largest).argmax())
        reason = (
            f"with a slack of {slack:g} the ball of prototype {k + 1} grows beyond {self.largest[k]:.4g}; of the "
            f"{len(nodes.windows)} entries looked at, distances are at most {nodes.residuals.max():.4g} and Jacobians "
            f"{nodes.gains().max():.4g}"
        )
        return NotInvariant(reason)

    def with_slack(self, radii: Floats, distances: Floats) -> InvariantBalls:
        """The balls, and the slack that they leave in fact."""
        leaf = (radii[self.leaf_images - 1] - self.leaf_residuals).min(initial=np.inf)
        node = (radii[self.nodes.images - 1] - distances).min(initial=np.inf)
        return InvariantBalls(radii, float(min(leaf, node)))


def images_of(network: Float64Network, prototypes: Floats, windows: Ints) -> Floats:
    """The states (n, d) over windows of prototypes."""
    return network.over(torch.from_numpy(prototypes), windows).numpy()


def largest(numbers: Floats) -> Ints:
    """Where the largest of them are, half of `FIRST`."""
    return np.argsort(-numbers, kind="stable")[: FIRST // 2]


def stretches(network: Float64Network, prototypes: Floats, windows: Ints, states: Floats) -> Floats:
    """About the Frobenius norms (n,) of the Jacobians at the windows, whose images are the `states` (n, d), over
    `PUSHES` random directions."""
    random, squares = np.random.default_rng(0), np.zeros(len(windows))
    for _ in range(PUSHES):
        pushed = prototypes + PUSH * random.standard_normal(prototypes.shape)
        squares += np.square(images_of(network, pushed, windows) - states).sum(1)
    return np.sqrt(squares / PUSHES) / PUSH


def half_distances(prototypes: Floats) -> Floats:
    """Half of the distance (K,) to the next prototype: the search for radii ends there.

    >>> half_distances(np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 5.0]])).tolist()
    [2.5, 0.5, 0.5]
    """
    squares = [np.square(prototypes - p).sum(1) for p in prototypes]
    others = np.array(squares) + np.diag(np.full(len(prototypes), np.inf))
    return np.sqrt(others.min(1)) / 2


def answer_radii(network: Float64Network, prototypes: Floats, answers: Ints) -> Floats:
    """How far (K,) around each prototype the answer's logit is the largest; negative where it is not even there.

    A difference of logits is affine, so it is positive up to margin / ||difference of weights||. Infinite where no word
    needs an answer (-1).
    """
    weight = network.w["readout.weight"]
    logits = network.readout(torch.from_numpy(prototypes)).numpy()
    margins = np.take_along_axis(logits, answers[:, None], 1) - logits  # (K, answers)
    apart = np.sqrt(np.square(weight[answers][:, None] - weight[None]).sum(-1))  # (K, answers), of (K, answers, d)
    rival = (np.arange(logits.shape[1]) != answers[:, None]) & (answers[:, None] >= 0)  # (K, answers)
    limits = np.divide(margins, apart, out=np.where(margins > 0, np.inf, -np.inf), where=apart > 0)
    return np.where(rival, limits, np.inf).min(1)
