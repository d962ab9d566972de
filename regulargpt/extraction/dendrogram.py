"""Clusters of states that are merged two by two, the nearest first, until one is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Labels = npt.NDArray[np.int64]  # (rows,)
States = npt.NDArray[np.floating]  # (rows, width)


@dataclass(frozen=True)
class Dendrogram:
    """Which clusters were merged, and at which distances.

    Node n < rows is row n; node rows + i is what merge i made.
    """

    merges: npt.NDArray[np.int64]  # (rows - 1, 2): two nodes each
    heights: npt.NDArray[np.float64]  # (rows - 1,), ascending

    @classmethod
    def from_states(cls, states: States, linkage: Literal["single", "average"]) -> Dendrogram:
        """scikit-learn's: the distance of two clusters is that of their nearest states, or the average one."""
        if len(states) < 2:
            return cls(np.zeros((0, 2), np.int64), np.zeros(0))
        if linkage == "average":  # by scipy there too, which is imported in a fifth of the time
            from scipy.cluster.hierarchy import average

            made = average(states)  # (rows - 1, 4): two nodes, their height, how many rows
            return cls(made[:, :2].astype(np.int64), made[:, 2])
        from sklearn.cluster import AgglomerativeClustering

        tree = AgglomerativeClustering(n_clusters=1, linkage=linkage, compute_distances=True).fit(states)
        return cls(tree.children_.astype(np.int64), tree.distances_)

    def labels(self, n_clusters: int) -> Labels:
        """The cluster of each row, of so many, numbered in the order of their first rows.

        >>> tree = Dendrogram.from_states(np.array([[9.0], [0.0], [1.0], [10.0], [11.0]]), "average")
        >>> tree.labels(2).tolist(), tree.labels(1).tolist()
        ([0, 1, 1, 0, 0], [0, 0, 0, 0, 0])
        """
        rows = len(self.merges) + 1
        parent = np.arange(2 * rows - n_clusters)
        for i, pair in enumerate(self.merges[: rows - n_clusters]):
            parent[pair] = rows + i
        # A parent has a larger number than its children, so it is at its root before they are.
        for node in range(len(parent) - 1, -1, -1):
            parent[node] = parent[parent[node]]
        _, first, label = np.unique(parent[:rows], return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[label]
