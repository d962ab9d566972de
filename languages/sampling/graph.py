"""Labelled graphs whose paths are words: what path counting works on."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from languages.automata import Dfa
from languages.automata.words import Indices, smallest_unsigned

Ints = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

MAX_ROUNDS = 64


@dataclass(frozen=True, eq=False)
class Graph:
    """Edges `source -> target` with a symbol and the log of a positive weight; words are paths initial -> final."""

    n_nodes: int
    source: Ints  # (edges,)
    target: Ints  # (edges,)
    symbol: Indices  # (edges,)
    log_weight: Floats  # (edges,)
    initial: Ints  # (n_initial,)
    final: Bools  # (n_nodes,)

    def alive(self) -> Bools:
        """(n_nodes,) whether some path from an initial to a final node passes there."""
        start = np.zeros(self.n_nodes, dtype=np.bool_)
        start[self.initial] = True
        # Accessible and coaccessible.
        return closure(start, self.source, self.target) & closure(self.final, self.target, self.source)

    def trimmed(self) -> "Graph":
        """The graph without the nodes that are on no path from an initial to a final node."""
        alive = self.alive()
        name = np.cumsum(alive) - 1  # (n_nodes,) new numbers, in the old order
        kept = alive[self.source] & alive[self.target]
        return Graph(
            n_nodes=int(alive.sum()),
            source=name[self.source[kept]],
            target=name[self.target[kept]],
            symbol=self.symbol[kept],
            log_weight=self.log_weight[kept],
            initial=name[self.initial[alive[self.initial]]],
            final=self.final[alive],
        )


def closure(nodes: Bools, source: Ints, target: Ints) -> Bools:
    """The nodes, and all that edges lead to from them.

    >>> closure(np.array([False, True, False]), np.array([0, 1]), np.array([1, 2])).tolist()
    [False, True, True]
    """
    for _ in range(MAX_ROUNDS):
        more = nodes.copy()
        more[target[nodes[source]]] = True
        if np.array_equal(more, nodes):
            return nodes
        nodes = more
    return walk(nodes, source, target)


def walk(nodes: Bools, source: Ints, target: Ints) -> Bools:
    """The same one node after the other: a long chain takes as many rounds as it has nodes."""
    after: dict[int, list[int]] = {}
    for q, p in zip(source.tolist(), target.tolist(), strict=True):
        after.setdefault(q, []).append(p)
    # In Python, an edge at a time: less than numpy calls on all edges, once for each node of a chain.
    todo: list[int] = np.flatnonzero(nodes).tolist()
    reached = set(todo)
    while todo:
        new = [p for p in after.get(todo.pop(), ()) if p not in reached]
        reached.update(new)
        todo += new
    return np.isin(np.arange(len(nodes)), list(reached))


def graph_of(dfas: Sequence[Dfa], weights: Sequence[float] | None = None) -> Graph:
    """The disjoint union of DFAs over one alphabet, one initial node each; `weights` (Sigma,) weigh the symbols.

    A symbol of weight 0 is in no word.
    """
    n_symbols = dfas[0].n_symbols
    first = np.cumsum([0] + [dfa.n_states for dfa in dfas])
    n_nodes = int(first[-1])
    target = np.concatenate([dfa.table + at for dfa, at in zip(dfas, first[:-1], strict=True)])  # (nodes, Sigma)
    weight = np.ones(n_symbols) if weights is None else np.asarray(weights, dtype=np.float64)
    symbols = np.flatnonzero(weight)
    shape = (n_nodes, len(symbols))
    return Graph(
        n_nodes=n_nodes,
        source=np.repeat(np.arange(n_nodes), len(symbols)),
        target=target[:, symbols].astype(np.intp).ravel(),  # (edges,), node by node, like the three beside it
        symbol=np.broadcast_to(symbols, shape).astype(smallest_unsigned(n_symbols)).ravel(),
        log_weight=np.broadcast_to(np.log(weight[symbols]), shape).ravel(),
        initial=np.array([dfa.initial_index + at for dfa, at in zip(dfas, first[:-1], strict=True)], dtype=np.intp),
        final=np.concatenate([dfa.is_accepting for dfa in dfas]),
    )
