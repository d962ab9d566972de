"""Clusters of states without labels: at which distance they fall apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor

from regulargpt.extraction.dendrogram import Dendrogram

Ints = npt.NDArray[np.int64]

# States that are compared each with each, and the cuts that are tried.
SAMPLE = 1500
MAX_CUTS = 6
COVERS = 10
# Distances below this share of the largest leap do not tell states apart.
SAME_POINT = 0.01


@dataclass(frozen=True)
class Cut:
    """Clusters of states: inside them neighbours are at most `below` apart, between them at least `above`."""

    below: float
    above: float
    means: Float[Tensor, "clusters d_model"]

    @property
    def rho(self) -> float:
        """The distance from all means at which a state is a new cluster: nearly that between clusters."""
        return 0.9 * self.above


def cuts(states: Float[Tensor, "n d_model"]) -> list[Cut]:
    """The clusters of the states, at several distances, the widest gap first.

    Single linkage joins the nearest clusters step by step; where the distance of what is joined leaps, the clusters
    below the leap are far apart by their own measure. The gap is the ratio of the distances above and below.

    >>> points = torch.tensor([[0.0], [0.25], [10.0], [10.25], [14.0]], dtype=torch.float64)
    >>> [cut.means.flatten().tolist() for cut in cuts(points)][0]
    [0.125, 10.125, 14.0]
    """
    distinct = states.round(decimals=6).unique(dim=0)
    sample = distinct[torch.linspace(0, len(distinct) - 1, min(SAMPLE, len(distinct))).long()]
    # Linkage takes n^2 distances: a sample shows where the gaps are.
    tree = Dendrogram.from_states(sample.numpy(), "single")
    # Distances of rounding would make the widest gap of all.
    same = SAME_POINT * tree.heights.max(initial=0.0)
    heights = np.unique(np.maximum(np.append(tree.heights, same), same))
    # Not more clusters than are told apart by the widest gaps: each is then tried by what it makes of sample words.
    widest = np.argsort(-heights[1:] / heights[:-1], kind="stable")[:MAX_CUTS]
    gaps = [(float(heights[i]), float(heights[i + 1])) for i in widest]
    if not gaps:  # all states are one
        gaps = [(float(heights.max(initial=0.0)), 1.0)]
    return [
        Cut(below, above, cluster_means(sample, tree.labels(1 + int((tree.heights > below).sum()))))
        for below, above in gaps
    ]


def covers(states: Float[Tensor, "n d_model"]) -> list[Cut]:
    """Balls of falling radius, without clusters (`below` 0): for states that drift along a trail, as an LSTM's do.

    The radii are the largest distance from the first state, divided by powers of the square root of 2.

    >>> [round(cut.rho, 6) for cut in covers(torch.tensor([[0.0], [8.0]]))][:4]
    [5.656854, 4.0, 2.828427, 2.0]
    """
    largest = float((states - states[0]).norm(dim=1).max()) or 1.0
    return [Cut(0.0, largest * 2 ** (-k / 2) / 0.9, states[:1]) for k in range(1, 1 + COVERS)]


def cluster_means(states: Float[Tensor, "n d_model"], labels: Ints) -> Float[Tensor, "clusters d_model"]:
    """The mean of each cluster."""
    label = torch.from_numpy(labels)
    means = states.new_zeros(int(label.max()) + 1, states.shape[1]).index_add(0, label, states)
    return means / label.bincount()[:, None]  # (clusters, 1)
