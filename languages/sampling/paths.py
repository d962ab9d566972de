"""The paths of one length in a graph, and how to choose among them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from languages.automata.words import Indices
from languages.sampling.graph import Floats, Ints


@dataclass(frozen=True, eq=False)
class Paths:
    """All paths of one length, sorted by the node they start from."""

    source: Ints  # (paths,)
    target: Ints  # (paths,)
    words: Indices  # (paths, length)
    log_weight: Floats  # (paths,)

    @cached_property
    def first(self) -> Ints:
        """(groups,) where the paths of each source begin."""
        return np.flatnonzero(np.diff(self.source, prepend=-1))

    @cached_property
    def group(self) -> Ints:
        """(paths,) which group each path is in."""
        return np.repeat(np.arange(len(self.first)), np.diff(self.first, append=len(self.source)))

    def then(self, edges: "Paths", n_nodes: int) -> "Paths":
        degree = np.bincount(edges.source, minlength=n_nodes)
        times = degree[self.target]
        path = np.repeat(np.arange(len(times)), times)
        number = np.arange(len(path)) - (np.cumsum(times) - times)[path]  # 0, 1, ... among the edges of a node
        edge = (np.cumsum(degree) - degree)[self.target[path]] + number
        return Paths(
            self.source[path],
            edges.target[edge],
            np.concatenate([self.words[path], edges.words[edge]], axis=1),
            self.log_weight[path] + edges.log_weight[edge],
        )

    def shares(self, log_after: Floats) -> tuple[Floats, Floats]:
        """(paths,) weight of each path and all that may follow, over its group's largest; (groups,) log of that."""
        log_total = self.log_weight + log_after[self.target]
        largest = np.maximum.reduceat(log_total, self.first)
        largest[np.isneginf(largest)] = 0.0  # no word ends in time from there: all shares are exp(-inf)
        return np.exp(log_total - largest[self.group]), largest

    def log_before(self, log_after: Floats) -> Floats:
        """(n_nodes,) log of the weight of all that may follow from each node, given that at the paths' ends."""
        result = np.full(len(log_after), -np.inf)
        if len(self.source):
            share, largest = self.shares(log_after)
            with np.errstate(divide="ignore"):
                result[self.source[self.first]] = np.log(np.add.reduceat(share, self.first)) + largest
        return result

    def thresholds(self, log_after: Floats) -> Floats:
        """(paths,) F, ascending: for u uniform in [0, 1), node q draws path i iff F[i-1] <= q + u < F[i]."""
        share, _ = self.shares(log_after)
        # One cumulative sum for all groups, less what stood before each of them.
        running = np.cumsum(share)
        running -= (running[self.first] - share[self.first])[self.group]
        total = running[np.append(self.first[1:], len(share)) - 1]
        total[total == 0.0] = 1.0
        return self.source + running / total[self.group]
