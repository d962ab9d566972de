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
BLOCK = 1024  # of so many L[i] the first is kept, and the others are counted again when they are needed
CACHED_LOGS, OVERHEAD = 2**28, 2048  # bytes of L[i] that are kept nevertheless; of each beside 8 a node
MAX_COUNTED, EACH_STEP = 2**32, 1024  # paths that are looked at to count, and what a step takes beside, in paths
SETTLED = 2e-15  # change of L per step below which it stands still

Level = tuple[Floats, float]  # L[i] (n_nodes,), and the constant to add to it


class PathCounts:
    """How much weight of paths of each length leads from each node of a trimmed graph to a final node."""

    def __init__(self, graph: Graph, most_paths: int) -> None:
        self.graph = graph
        self.stride, self.steps = self._longest_steps(most_paths)
        with np.errstate(divide="ignore"):
            self._starts: list[Level] = [(np.log(graph.final.astype(np.float64)), 0.0)]  # the first L of each block
        self._last: list[Level] = self._starts[:]  # the last block, as far as it was counted
        self._settled = False
        # A word is drawn from its longest rest to its shortest, block after block: two are enough.
        blocks = max(2, CACHED_LOGS // (BLOCK * (8 * graph.n_nodes + OVERHEAD)))
        self._block = lru_cache(maxsize=blocks)(self._block_again)
        self.heads = lru_cache(maxsize=None)(self._heads)
        kept = min(CACHED_TABLES, CACHED_BYTES // (8 * max(1, len(self.steps.source))))
        self._tables = lru_cache(maxsize=kept)(self._table)
        self.head_thresholds = lru_cache(maxsize=kept)(self._head_thresholds)

    @cached_property
    def edges(self) -> Paths:
        graph = self.graph
        order = np.argsort(graph.source, kind="stable")
        return Paths(graph.source[order], graph.target[order], graph.symbol[order, None], graph.log_weight[order])

    def _longest_steps(self, most_paths: int) -> tuple[int, Paths]:
        """The largest number of symbols g whose paths are at most `most_paths`, and these paths.

        It is even unless it is 1, so that L settles too where all words have even or all have odd length.
        """
        # Several symbols for a random number: fewer draws, as long as the table stays in the cache.
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
        log, offset = self._kept(level)
        if level == steps:
            return log, offset
        # Settled: each further step multiplies all counts by the same number, the largest eigenvalue.
        growth = offset - self._kept(level - 1)[1]
        return log, offset + (steps - level) * growth

    def _kept(self, level: int) -> Level:
        number, place = divmod(level, BLOCK)
        return (self._last if number == len(self._starts) - 1 else self._block(number))[place]

    @property
    def _counted(self) -> int:
        return (len(self._starts) - 1) * BLOCK + len(self._last)

    def _level(self, steps: int) -> int:
        """The index at which L[steps] is found: `steps`, or where L has settled before."""
        each = len(self.steps.source) + EACH_STEP
        while self._counted <= steps and not self._settled:
            if self._counted * each > allowed(MAX_COUNTED):
                raise SamplingError(
                    f"counting the words of {steps * self.stride:,} symbols of an automaton of {self.graph.n_nodes:,} "
                    f"states takes too long; choose shorter words{hint(steps * each, MAX_COUNTED)}"
                )
            self._count_one_step_more()
        return min(steps, self._counted - 1)

    def _count_one_step_more(self) -> None:
        """One L more. Once a step changes no entry by more than rounding does, no later step will: L is settled.

        With x = exp(L) and A the matrix of weights of a step, A x = c x entry by entry within 2e-15; A
        has no negative entry, so after k more steps it holds within k * 2e-15, which is what rounding would
        give as well.
        """
        (log, _), (before, offset) = self._last[-1], self._before(self._last[-1])
        with np.errstate(invalid="ignore"):
            still = (before == log) | (np.abs(before - log) <= SETTLED)
        self._settled = bool(still.all())
        if len(self._last) == BLOCK:
            self._starts.append((before, offset))
            self._last = []
        self._last.append((before, offset))

    def _before(self, level: Level) -> Level:
        """L with one step more than at this level."""
        log, offset = level
        before = self.steps.log_before(log)
        largest = float(before.max(initial=-np.inf))
        return (before - largest, offset + largest) if largest > -np.inf else (before, offset)

    def _block_again(self, number: int) -> list[Level]:
        levels = [self._starts[number]]
        while len(levels) < BLOCK:
            levels.append(self._before(levels[-1]))
        return levels

    def log_start(self, length: int) -> Floats:
        """(n_initial,) log of the weight of all words of this length, for each initial node."""
        steps, head = divmod(length, self.stride)
        log_after, offset = self.log_after(steps)
        before = self.heads(head).log_before(log_after) if head else log_after
        return before[self.graph.initial] + offset

    def thresholds(self, steps: int) -> Floats:
        """Where to cut among the paths of a step when `steps` more follow."""
        return self._tables(self._level(steps))

    def _table(self, level: int) -> Floats:
        return self.steps.thresholds(self._kept(level)[0])

    def _head_thresholds(self, length: int) -> Floats:
        """Where to cut among the paths of the first `length mod stride` symbols."""
        steps, head = divmod(length, self.stride)
        return self.heads(head).thresholds(self.log_after(steps)[0])
