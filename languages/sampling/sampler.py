"""Exact sampling of words of a given length, by counting paths. Nothing is drawn and thrown away."""

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from languages.automata import Dfa
from languages.automata.words import Indices, smallest_unsigned
from languages.errors import LengthEmpty
from languages.sampling.counting import MAX_PATHS, PathCounts
from languages.sampling.graph import Floats, Graph, Ints, graph_of
from languages.sampling.lengths import Lengths


class PathSampler:
    """Draws paths of a given length, from an initial to a final node of a graph, in proportion to their weight.

    With several initial nodes, one of those that have a path of that length is drawn first, all equally likely.
    """

    def __init__(self, graph: Graph, most_paths: int = MAX_PATHS) -> None:
        graph = graph.trimmed()
        self.counts = PathCounts(graph, most_paths)
        self.lengths = Lengths(graph)
        nodes = max(1, graph.n_nodes)
        self._top = float(np.nextafter(float(nodes), 0.0)) - (nodes - 1)  # the largest u with nodes - 1 + u < nodes
        self._starts = lru_cache(maxsize=1024)(self._starts_of)

    def has(self, length: int) -> bool:
        return length in self.lengths

    def sample(self, random: np.random.Generator, length: int, count: int) -> Indices:
        """Words (count, length). Raises LengthEmpty if there is none of this length.

        Each step draws several symbols at once: one uniform number a row, looked up among the steps' thresholds.
        """
        counts = self.counts
        steps, head = divmod(length, counts.stride)
        nodes = self._draw_starts(random, length, count)
        parts: list[Indices] = []
        # First the symbols that do not fill a step: afterwards all words are at the same table.
        if head:
            path = self._draw(random, counts.head_thresholds(length), nodes)
            parts.append(counts.heads(head).words[path])
            nodes = counts.heads(head).target[path]
        taken = np.empty((steps, count), dtype=np.int32)
        for step in range(steps):
            taken[step] = self._draw(random, counts.thresholds(steps - 1 - step), nodes)
            nodes = counts.steps.target[taken[step]]
        words = counts.steps.words[taken.T]  # (count, steps, stride)
        parts.append(words.reshape(count, steps * counts.stride))  # (count, length - head)
        return np.concatenate(parts, axis=1)

    def _draw(self, random: np.random.Generator, thresholds: Floats, nodes: Ints) -> Ints:
        """(count,) the path that each node takes."""
        # Thresholds of all nodes stand in one ascending array, node q's in [q, q + 1): one search for all words.
        u = random.random(len(nodes))
        np.minimum(u, self._top, out=u)
        u += nodes
        return thresholds.searchsorted(u, side="right")

    def _draw_starts(self, random: np.random.Generator, length: int, count: int) -> Ints:
        starts = self._starts(length)
        if len(starts) == 1:
            return np.full(count, starts[0])
        return starts[random.integers(0, len(starts), count)]

    def _starts_of(self, length: int) -> Ints:
        if length not in self.lengths:
            raise LengthEmpty(f"there is no word of length {length}; {nearest_lengths(self.has, length)}")
        return self.lengths.starts(length)


class WordSampler(PathSampler):
    """Draws the words of a DFA of a given length, all equally likely.

    With `weights` (Sigma,), in proportion to the product of their symbols' weights. With a sequence of
    DFAs, each word comes from one of those that have a word of that length, all equally likely.

    >>> even = Dfa(("e", "o"), ("a", "b"), {"e": {"a": "e", "b": "o"}, "o": {"a": "o", "b": "e"}}, "e", frozenset("e"))
    >>> sampler = WordSampler(even)
    >>> round(float(np.exp(sampler.count_log(10))))
    512
    """

    def __init__(
        self, dfas: Dfa | Sequence[Dfa], weights: Sequence[float] | None = None, most_paths: int = MAX_PATHS
    ) -> None:
        super().__init__(graph_of([dfas] if isinstance(dfas, Dfa) else dfas, weights), most_paths)

    def count_log(self, length: int) -> float:
        """The natural log of the number (the weight) of words of this length; -inf if there is none."""
        return float(np.logaddexp.reduce(self.counts.log_start(length), initial=-np.inf))


def uniform_words(random: np.random.Generator, n_symbols: int, length: int, count: int) -> Indices:
    """Words (count, length) over symbols 0 .. n_symbols - 1, independent and uniform.

    For two symbols the bits of a random stream are used as they come.
    """
    if n_symbols == 2:
        size = count * length
        packed = np.frombuffer(random.bytes((size + 7) // 8), dtype=np.uint8)
        return np.unpackbits(packed, count=size).reshape(count, length)  # from (count * length,)
    return random.integers(0, n_symbols, (count, length), dtype=smallest_unsigned(n_symbols))


def nearest_lengths(has: Callable[[int], bool], length: int, reach: int = 1000) -> str:
    """Which lengths next to this one have words, as the end of a message.

    >>> nearest_lengths(lambda n: n % 2 == 0, 5)
    'the nearest lengths with words: 4 and 6'
    """
    below = next((n for n in range(length - 1, max(0, length - reach), -1) if has(n)), None)
    above = next((n for n in range(max(1, length + 1), length + reach) if has(n)), None)
    near = [str(n) for n in (below, above) if n is not None]
    if not near:
        return f"no length from {max(1, length - reach)} to {length + reach} has words"
    return f"the nearest {'length' if len(near) == 1 else 'lengths'} with words: {' and '.join(near)}"
