"""Which lengths have words."""

import numpy as np

from languages.budget import allowed, hint
from languages.errors import SamplingError
from languages.sampling.graph import Bools, Graph, Ints

MAX_BYTES, OVERHEAD = 2**27, 512  # of all sets together, of each beside a byte a node


class Lengths:
    """The lengths of the paths from an initial to a final node of a graph.

    Which nodes can end in exactly T symbols follows from which can in T - 1; being one of finitely many sets, it
    repeats from some T on, and is kept up to there.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._ends: list[Bools] = [graph.final]
        self._first: dict[bytes, int] = {}  # at which length each set came

    def __contains__(self, length: int) -> bool:
        return length >= 0 and len(self.starts(length)) > 0

    def starts(self, length: int) -> Ints:
        return self.graph.initial[self.ends_in(length)[self.graph.initial]]

    def ends_in(self, length: int) -> Bools:
        """(n_nodes,) whether a path of exactly this many symbols leads from the node to a final node."""
        while len(self._ends) <= length:
            # A set that was there before: from then on the sets go round in a circle.
            key = self._ends[-1].tobytes()
            if key in self._first:
                start = self._first[key]
                return self._ends[start + (length - start) % (len(self._ends) - 1 - start)]
            self._first[key] = len(self._ends) - 1
            self._check(length)
            more = np.zeros(self.graph.n_nodes, dtype=np.bool_)
            more[self.graph.source[self._ends[-1][self.graph.target]]] = True
            self._ends.append(more)
        return self._ends[length]

    def _check(self, length: int) -> None:
        """Raise SamplingError where the sets do not repeat soon enough to keep them all."""
        each = self.graph.n_nodes + OVERHEAD
        if len(self._ends) * each > allowed(MAX_BYTES):
            raise SamplingError(
                f"length {length}: which lengths have words does not repeat up to {len(self._ends):,} for an automaton "
                f"of {self.graph.n_nodes:,} states; choose shorter words{hint(length * each, MAX_BYTES)}"
            )
