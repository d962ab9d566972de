"""Do the hidden states fall into one cluster for each monoid element? Numbers behind the picture (Figure 6.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from languages.randomness import rng
from regulargpt.extraction.dendrogram import Dendrogram, Labels, States
from regulargpt.measurements.plane import plane
from regulargpt.measurements.probe import Probe, probe
from regulargpt.measurements.states import NodeStates

# Clustering and silhouette need all pairs: more rows than this are thinned out.
MAX_ROWS = 3000
# Merges lower than this share of the highest one are counted as this high: below is rounding, not structure.
FLOOR = 0.05
# A clear cut: what it keeps apart is twice as far apart as what it joins, and its gap is, in logarithms, at least this
# share of the widest one's.
MIN_GAP, MIN_SHARE = 2.0, 0.75
# So few rows may be a cluster each, if no two are nearer to each other than this share of the highest merge.
MAX_SINGLETONS, MIN_DISTANCE = 32, 1 / 3


@dataclass(frozen=True)
class Scores:
    """How the states of a depth, or of all, agree with their monoid elements; None where too few rows were left.

    `spread` is the largest distance of a state from the mean of its class, `distance` the smallest between two means.
    """

    rows: int
    elements: int
    clusters: int
    gap: float | None
    ari: float
    purity: float
    silhouette: float | None
    probe: float | None
    control: float | None
    spread: float
    distance: float | None
    explained_variance: tuple[float, ...]


def thinned(nodes: NodeStates, seed: int) -> NodeStates:
    """At most `MAX_ROWS` of the rows, drawn by `seed`, in their order."""
    return nodes.where(np.sort(rng(seed, "clusters").permutation(len(nodes))[:MAX_ROWS]))


def find_clusters(states: States) -> tuple[Labels, float | None]:
    """A number for each row's cluster, and the gap that decided how many there are, without looking at labels.

    Average linkage merges the two nearest clusters until one is left, at the heights h_1 >= h_2 >= ... from the last
    merge backwards. A cut into k clusters lies between h_{k-1} and h_k; its gap is h_{k-1} / h_k. Taken is the cut
    with the widest gap, or a coarser cut that is clear too: a class may consist of several clusters nearly as well
    separated. A gap near 1 says that no number of clusters is better than the next. Rows that are all equal, or a
    single one, are one cluster.

    >>> find_clusters(np.array([[0.0], [1.0], [9.0], [10.0], [11.0]]))[0].tolist()
    [0, 0, 1, 1, 1]
    """
    if len(states) < 2 or not np.ptp(states, axis=0).any():
        return np.zeros(len(states), np.int64), None
    # Average linkage: single linkage chains clusters through one stray state, complete linkage cuts long ones.
    tree = Dendrogram.from_states(states, "average")
    heights = tree.heights[::-1]  # (rows - 1,)
    heights = np.maximum(heights, FLOOR * heights[0])
    below = np.append(heights[1:], MIN_DISTANCE * heights[0] if len(states) <= MAX_SINGLETONS else heights[-1])
    # Ratios, not differences: a network's states may be of any size.
    gaps = np.log(heights / below)  # gaps[i]: of the cut into i + 2 clusters
    clear = (gaps >= np.log(MIN_GAP)) & (gaps >= MIN_SHARE * gaps.max())
    cut = int(clear.argmax() if clear.any() else gaps.argmax())
    return tree.labels(cut + 2), float(np.exp(gaps[cut]))


def class_means(states: States, elements: Labels) -> tuple[Labels, States]:
    """The elements that occur, ascending, and the mean state of each."""
    occurring, number, counts = np.unique(elements, return_inverse=True, return_counts=True)
    means = np.zeros((len(occurring), states.shape[1]))
    np.add.at(means, number, states)
    return occurring, means / counts[:, None]


def spreads(states: States, elements: Labels) -> States:
    """The largest distance of a state from its class's mean, for each element that occurs (elements,)."""
    occurring, means = class_means(states, elements)
    number = np.searchsorted(occurring, elements)
    widest = np.zeros(len(occurring))
    np.maximum.at(widest, number, np.linalg.norm(states - means[number], axis=1))
    return widest


def distances(means: States) -> States:
    """Distances between the rows (elements, elements), infinite on the diagonal."""
    from sklearn.metrics import pairwise_distances

    apart = pairwise_distances(means)
    np.fill_diagonal(apart, np.inf)
    return apart


def purity(elements: Labels, clusters: Labels) -> float:
    """The share of rows whose element is the most frequent of their cluster.

    >>> purity(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1]))
    0.75
    """
    return float(counted(elements, clusters).max(1).sum() / len(elements))


def counted(elements: Labels, clusters: Labels) -> Labels:
    """The rows of each cluster and element (clusters, elements)."""
    table = np.zeros((clusters.max() + 1, elements.max() + 1), np.int64)
    np.add.at(table, (clusters, elements), 1)  # it adds for repeated places too, where indexing adds once
    return table


def rand_index(elements: Labels, clusters: Labels) -> float:
    """The adjusted Rand index of the two labellings: 1 for a match, 0 by chance (Hubert and Arabie 1985).

    As scikit-learn has it, whose import takes longer than all else of a map.

    >>> rand_index(np.array([0, 0, 1, 1]), np.array([5, 5, 3, 3]))
    1.0
    """
    table, n = counted(elements, clusters), len(elements)
    # Pairs of rows, each in both orders: together in both labellings, or in one alone.
    within, of_elements, of_clusters = (int((of**2).sum()) for of in (table, table.sum(0), table.sum(1)))
    both, split, joined = within - n, of_elements - within, of_clusters - within
    apart = n**2 - within - split - joined
    if not (split or joined):
        return 1.0
    chance = (both + split) * (split + apart) + (both + joined) * (joined + apart)
    return 2.0 * (both * apart - split * joined) / chance


def scores(nodes: NodeStates, clusters: Labels, gap: float | None, seed: int) -> Scores:
    """All numbers of some rows, of which `clusters` were found."""
    from sklearn.metrics import silhouette_score

    x, y = nodes.states.astype(float), nodes.elements
    occurring, means = class_means(x, y)
    measured: Probe = probe(nodes, seed)
    return Scores(
        rows=len(y),
        elements=len(occurring),
        clusters=int(clusters.max()) + 1,
        gap=gap,
        ari=rand_index(y, clusters),
        purity=purity(y, clusters),
        silhouette=float(silhouette_score(x, y)) if 1 < len(occurring) < len(y) else None,
        probe=measured.accuracy,
        control=measured.control,
        spread=float(spreads(x, y).max()),
        distance=float(distances(means).min()) if len(occurring) > 1 else None,
        explained_variance=plane(x)[1],
    )


def merged(elements: Labels, clusters: Labels) -> list[list[int]]:
    """The groups of elements most of whose rows lie in the same found cluster.

    >>> merged(np.array([0, 0, 1, 1, 2]), np.array([0, 0, 0, 0, 1]))
    [[0, 1]]
    """
    home: dict[int, list[int]] = {}
    for element in np.unique(elements):
        home.setdefault(int(np.bincount(clusters[elements == element]).argmax()), []).append(int(element))
    return sorted(group for group in home.values() if len(group) > 1)


def too_close(states: States, elements: Labels) -> list[tuple[int, int]]:
    """The pairs of elements whose means are nearer to each other than one of them is to its own farthest state."""
    occurring, means = class_means(states, elements)
    widest = spreads(states, elements)
    near = np.triu(distances(means) <= np.maximum(widest[:, None], widest[None]), 1)
    return [(int(occurring[i]), int(occurring[j])) for i, j in zip(*np.nonzero(near), strict=True)]


def by_depth(depths: Labels, together: bool = False) -> list[tuple[int | str, npt.NDArray[np.bool_]]]:
    """Which rows are of each depth; of trees that may be as deep as a word is long, of 3 and 4, 5 to 8, ... together.

    >>> [(depth, int(rows.sum())) for depth, rows in by_depth(np.array([1, 2, 4, 5, 9]), together=True)]
    [(1, 1), (2, 1), ('3-4', 1), ('5-8', 1), ('9-16', 1)]
    """
    most = 2 ** np.ceil(np.log2(np.maximum(depths, 1))).astype(np.int64) if together else depths
    return [
        (f"{depth // 2 + 1}-{depth}" if together and depth > 2 else depth, most == depth)
        for depth in np.unique(most).tolist()
    ]
