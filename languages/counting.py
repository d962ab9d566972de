"""Counting the paths of a graph by length, in log space, several symbols at a time.

Notation: with g symbols to a step, L[i] (n_nodes,) is the log of the total weight of all paths of i * g
symbols from each node to a final node, less a constant kept apart: nodes are compared without losing
digits, however long the words. A word of length T is T mod g symbols, then T // g steps; step by step, a
path is drawn in proportion to its weight times exp(L) at its end.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from languages.graph import Bools, Floats, Graph, Ints
from languages.words import Indices

MOST_PATHS = 4096  # paths tabulated at once: a table of thresholds stays in the first-level cache
MOST_SYMBOLS = 16  # symbols to a step
CACHED_TABLES = 1024  # tables of thresholds kept, at most 32 KiB each
SETTLED = 2e-15  # change of L per step below which it stands still


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
        """Each path followed by each edge from its end."""
        degree = np.bincount(edges.source, minlength=n_nodes)
        times = degree[self.target]
        path = np.repeat(np.arange(len(times)), times)
        number = np.arange(len(path)) - (np.cumsum(times) - times)[path]  # 0, 1, ... among the edges of one node
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
        running = np.cumsum(share)
        running -= (running[self.first] - share[self.first])[self.group]
        total = running[np.append(self.first[1:], len(share)) - 1]
        total[total == 0.0] = 1.0
        return self.source + running / total[self.group]


class PathCounts:
    """How much weight of paths of each length leads from each node of a graph to a final node."""

    def __init__(self, graph: Graph, most_paths: int = MOST_PATHS) -> None:
        self.graph = graph.trimmed()
        self.stride, self.steps = self._longest_steps(most_paths)
        with np.errstate(divide="ignore"):
            self._log: list[Floats] = [np.log(self.graph.final.astype(np.float64))]
        self._offset: list[float] = [0.0]
        self._settled = False
        self._ends: list[Bools] = [self.graph.final]
        self._seen: dict[bytes, int] = {}
        self.heads = lru_cache(maxsize=None)(self._heads)
        self.thresholds = lru_cache(maxsize=CACHED_TABLES)(self._thresholds)
        self.head_thresholds = lru_cache(maxsize=CACHED_TABLES)(self._head_thresholds)

    @cached_property
    def edges(self) -> Paths:
        """The paths of one symbol."""
        graph = self.graph
        order = np.argsort(graph.source, kind="stable")
        return Paths(graph.source[order], graph.target[order], graph.symbol[order, None], graph.log_weight[order])

    def _longest_steps(self, most_paths: int) -> tuple[int, Paths]:
        """The largest number of symbols g whose paths are at most `most_paths`, and these paths."""
        g, paths = 1, self.edges
        degree = np.bincount(self.edges.source, minlength=self.graph.n_nodes)
        while g < MOST_SYMBOLS and 0 < degree[paths.target].sum() <= most_paths:
            g, paths = g + 1, paths.then(self.edges, self.graph.n_nodes)
        return g, paths

    def _heads(self, length: int) -> Paths:
        """The paths of 1 <= length < stride symbols from the initial nodes."""
        if length == 1:
            kept = np.isin(self.edges.source, self.graph.initial)
            edges = self.edges
            return Paths(edges.source[kept], edges.target[kept], edges.words[kept], edges.log_weight[kept])
        return self.heads(length - 1).then(self.edges, self.graph.n_nodes)

    def log_after(self, steps: int) -> tuple[Floats, float]:
        """L[steps] (n_nodes,) and the constant to add to it."""
        while len(self._log) <= steps and not self._settled:
            self._count_one_step_more()
        last = len(self._log) - 1
        if steps <= last:
            return self._log[steps], self._offset[steps]
        return self._log[last], self._offset[last] + (steps - last) * (self._offset[last] - self._offset[last - 1])

    def _count_one_step_more(self) -> None:
        """Append to L. Once a step changes no entry by more than rounding does, no later step will: L is settled.

        With x = exp(L) and A the matrix of weights of one step, A x = c x entry by entry within 2e-15; A
        has no negative entry, so after k more steps it holds within k * 2e-15, which is what rounding would
        give as well.
        """
        before = self.steps.log_before(self._log[-1])
        largest = float(before.max(initial=-np.inf))
        if largest > -np.inf:
            before -= largest
        with np.errstate(invalid="ignore"):
            still = (before == self._log[-1]) | (np.abs(before - self._log[-1]) <= SETTLED)
        self._log.append(before)
        self._offset.append(self._offset[-1] + (largest if largest > -np.inf else 0.0))
        self._settled = bool(still.all())

    def log_start(self, length: int) -> Floats:
        """(n_initial,) log of the weight of all words of this length, for each initial node."""
        steps, head = divmod(length, self.stride)
        log_after, offset = self.log_after(steps)
        before = self.heads(head).log_before(log_after) if head else log_after
        return before[self.graph.initial] + offset

    def _thresholds(self, steps: int) -> Floats:
        """Where to cut when `steps` more steps follow this one."""
        return self.steps.thresholds(self.log_after(steps)[0])

    def _head_thresholds(self, length: int) -> Floats:
        """Where to cut for the first `length mod stride` symbols."""
        steps, head = divmod(length, self.stride)
        return self.heads(head).thresholds(self.log_after(steps)[0])

    def has(self, length: int) -> bool:
        """Whether there is a word of this length."""
        return bool(self.ends_in(length)[self.graph.initial].any())

    def ends_in(self, length: int) -> Bools:
        """(n_nodes,) whether a path of exactly this many symbols leads to a final node.

        The sequence repeats from some length on; it is kept up to there.
        """
        while len(self._ends) <= length:
            key = self._ends[-1].tobytes()
            if key in self._seen:
                start = self._seen[key]
                return self._ends[start + (length - start) % (len(self._ends) - 1 - start)]
            self._seen[key] = len(self._ends) - 1
            more = np.zeros(self.graph.n_nodes, dtype=np.bool_)
            more[self.graph.source[self._ends[-1][self.graph.target]]] = True
            self._ends.append(more)
        return self._ends[length]
