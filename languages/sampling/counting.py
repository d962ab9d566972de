"""Counting the paths of a graph by length, in log space, several symbols at a time.

Notation: with g symbols to a step, L[i] (n_nodes,) is the log of the total weight of all paths of i * g
symbols from each node to a final node, less a constant kept apart: nodes are compared without losing
digits, however long the words. A word of length T is T mod g symbols, then T // g steps; step by step, a
path is drawn in proportion to its weight times exp(L) at its end.
"""

from functools import cached_property, lru_cache

import numpy as np

from languages.budget import allowed, hint
from languages.errors import SamplingError
from languages.sampling.graph import Floats, Graph
from languages.sampling.paths import Paths

MAX_PATHS = 4096  # paths tabulated at once: a table of thresholds stays in the first-level cache
MAX_SYMBOLS = 16  # symbols to a step
CACHED_TABLES, CACHED_BYTES = 1024, 2**28  # tables of thresholds kept: so many, and no more than this together
MAX_BYTES, OVERHEAD = 2**30, 2048  # of all L[i] together, of each beside 8 a node
SETTLED = 2e-15  # change of L per step below which it stands still


class PathCounts:
    """How much weight of paths of each length leads from each node of a trimmed graph to a final node."""

    def __init__(self, graph: Graph, most_paths: int) -> None:
        self.graph = graph
        self.stride, self.steps = self._longest_steps(most_paths)
        with np.errstate(divide="ignore"):
            self._log: list[Floats] = [np.log(graph.final.astype(np.float64))]
        self._offset: list[float] = [0.0]
        self._settled = False
        self.heads = lru_cache(maxsize=None)(self._heads)
        kept = min(CACHED_TABLES, CACHED_BYTES // (8 * max(1, len(self.steps.source))))
        self._tables = lru_cache(maxsize=kept)(self._table)
        self.head_thresholds = lru_cache(maxsize=kept)(self._head_thresholds)

    @cached_property
    def edges(self) -> Paths:
        """The paths of one symbol."""
        graph = self.graph
        order = np.argsort(graph.source, kind="stable")
        return Paths(graph.source[order], graph.target[order], graph.symbol[order, None], graph.log_weight[order])

    def _longest_steps(self, most_paths: int) -> tuple[int, Paths]:
        """The largest number of symbols g whose paths are at most `most_paths`, and these paths.

        It is even unless it is 1, so that L settles too where all words have even or all have odd length.
        """
        # Several symbols for one random number: fewer draws, as long as the table stays in the cache.
        g, paths = 1, self.edges
        longest = (g, paths)
        degree = np.bincount(self.edges.source, minlength=self.graph.n_nodes)
        while g < MAX_SYMBOLS and 0 < degree[paths.target].sum() <= most_paths:
            g, paths = g + 1, paths.then(self.edges, self.graph.n_nodes)
            longest = (g, paths) if g % 2 == 0 else longest
        return longest

    def _heads(self, length: int) -> Paths:
        """The paths of 1 <= length < stride symbols from the initial nodes."""
        if length == 1:
            kept = np.isin(self.edges.source, self.graph.initial)
            edges = self.edges
            return Paths(edges.source[kept], edges.target[kept], edges.words[kept], edges.log_weight[kept])
        return self.heads(length - 1).then(self.edges, self.graph.n_nodes)

    def log_after(self, steps: int) -> tuple[Floats, float]:
        """L[steps] (n_nodes,) and the constant to add to it."""
        level = self._level(steps)
        if level == steps:
            return self._log[level], self._offset[level]
        # Settled: each further step multiplies all counts by the same number, the largest eigenvalue.
        growth = self._offset[level] - self._offset[level - 1]
        return self._log[level], self._offset[level] + (steps - level) * growth

    def _level(self, steps: int) -> int:
        """The index at which L[steps] is kept: `steps`, or where L has settled before."""
        each = 8 * self.graph.n_nodes + OVERHEAD
        while len(self._log) <= steps and not self._settled:
            if len(self._log) * each > allowed(MAX_BYTES):
                raise SamplingError(
                    f"counting the words of {steps * self.stride:,} symbols of an automaton of {self.graph.n_nodes:,} "
                    f"states takes too much memory; choose shorter words{hint(steps * each, MAX_BYTES)}"
                )
            self._count_one_step_more()
        return min(steps, len(self._log) - 1)

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

    def thresholds(self, steps: int) -> Floats:
        """Where to cut among the paths of one step when `steps` more follow."""
        return self._tables(self._level(steps))

    def _table(self, level: int) -> Floats:
        return self.steps.thresholds(self._log[level])

    def _head_thresholds(self, length: int) -> Floats:
        """Where to cut among the paths of the first `length mod stride` symbols."""
        steps, head = divmod(length, self.stride)
        return self.heads(head).thresholds(self.log_after(steps)[0])
