"""What is computed about machines: searches, products, counter-examples, minimal machines, reversal.

Everything works on integer tables (Q, Sigma); dfa.py and moore.py give the names back.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from languages.automata.congruence import Colours, coarsest_congruence
from languages.budget import allowed, hint
from languages.errors import AutomatonError

Table = npt.NDArray[np.integer[Any]]  # (Q, Sigma)
Nodes = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]
Coloured = tuple[Table, int, Colours]  # a table, its initial state, the states' colours

MAX_PAIRS = 2**26  # of states in a product: eight bytes of memory each
MAX_SUBSETS = 2**16


@dataclass(frozen=True)
class Search:
    """The nodes accessible from the first, breadth-first: in the shortlex order of their least words.

    `table` is the transition table of these nodes, renumbered 0, 1, ... in that order; node i was first
    reached from node `parent[i]` by symbol `symbol[i]` (both -1 for the first).
    """

    nodes: Nodes
    table: Table
    parent: Nodes
    symbol: Nodes

    def word(self, i: int) -> Nodes:
        """The shortlex least word (length,) that leads to node i."""
        symbols: list[int] = []
        while self.parent[i] >= 0:
            symbols.append(int(self.symbol[i]))
            i = int(self.parent[i])
        return np.array(symbols[::-1], dtype=np.intp)


def search(table: Table, start: int) -> Search:
    """The accessible part of a table, one state after the other: a long chain has as many levels as states."""
    rows: list[list[int]] = table.tolist()
    number = [-1] * len(rows)
    number[start] = 0
    nodes, parent, symbol = [start], [-1], [-1]
    for i, state in enumerate(nodes):
        for a, target in enumerate(rows[state]):
            if number[target] < 0:
                number[target] = len(nodes)
                nodes.append(target)
                parent.append(i)
                symbol.append(a)
    # Not level by level, as `breadth_first`: numpy calls for each of a chain's levels would take far longer.
    order = np.array(nodes, dtype=np.intp)
    renumbered = np.array(number, dtype=np.intp)[table[order]]
    return Search(order, renumbered, np.array(parent, dtype=np.intp), np.array(symbol, dtype=np.intp))


def search_product(left: Table, left_start: int, right: Table, right_start: int) -> Search:
    """The accessible part of the product of two tables; the pair (p, q) is the node p * len(right) + q."""
    # The pairs are numbered in a single array, accessible or not: that is the memory that the limit is about.
    size = len(left) * len(right)
    if size > allowed(MAX_PAIRS):
        raise AutomatonError(
            f"the product of {len(left)} and {len(right)} states is too large; "
            f"at most {allowed(MAX_PAIRS)} pairs are supported, minimise first{hint(size, MAX_PAIRS)}"
        )

    def step(nodes: Nodes) -> Nodes:
        p, q = np.divmod(nodes, len(right))
        return left[p].astype(np.intp) * len(right) + right[q]

    return breadth_first(step, size, left.shape[1], left_start * len(right) + right_start)


def pairs(product: Search, n_right: int) -> tuple[Nodes, Nodes]:
    """The two states of each node of a product search."""
    left, right = np.divmod(product.nodes, n_right)
    return left, right


def breadth_first(step: Callable[[Nodes], Nodes], size: int, n_symbols: int, start: int) -> Search:
    """The nodes accessible from `start`; `step` maps nodes (n,) below `size` to successors (n, Sigma)."""
    number = np.full(size, -1, dtype=np.intp)
    number[start] = 0
    level = np.array([start], dtype=np.intp)
    nodes, rows = [level], [np.zeros((0, n_symbols), np.intp)]
    origins = [np.array([-1], dtype=np.intp)]
    first, count = 0, 1
    while len(level):
        targets = step(level)  # (level, Sigma)
        rows.append(targets)
        flat = targets.ravel()  # (level * Sigma,), in the shortlex order of the words that lead there
        unseen = np.flatnonzero(number[flat] < 0)
        # `unique` sorts by node: back to the order in which they were found, each at its first place.
        _, earliest = np.unique(flat[unseen], return_index=True)
        chosen = unseen[np.sort(earliest)]
        origins.append(first * n_symbols + chosen)
        level = flat[chosen]
        number[level] = np.arange(count, count + len(level), dtype=np.intp)
        nodes.append(level)
        first, count = count, count + len(level)
    origin = np.concatenate(origins)
    parent = np.where(origin < 0, -1, origin // n_symbols)
    symbol = np.where(origin < 0, -1, origin % n_symbols)
    return Search(np.concatenate(nodes), number[np.concatenate(rows)], parent, symbol)


def counter_example(left: Coloured, right: Coloured) -> Nodes | None:
    """The shortlex least word after which the two show different colours; None if there is none."""
    product = search_product(left[0], left[1], right[0], right[1])
    p, q = pairs(product, len(right[0]))
    # Nodes are in the shortlex order of their words: the first that differs has the least word.
    differing = np.flatnonzero(left[2][p] != right[2][q])
    return product.word(int(differing[0])) if len(differing) else None


def minimise(table: Table, initial: int, colours: Colours) -> tuple[Table, Colours]:
    """The minimal table with the same colours after every word, and its colours.

    Its states are numbered breadth-first from the initial state, 0, so the result depends on the language only.
    """
    # Three steps: what is accessible, its classes, and the classes numbered anew breadth-first.
    accessible = search(table, initial)
    shown = colours[accessible.nodes]
    classes = coarsest_congruence(accessible.table, shown)
    _, members = np.unique(classes, return_index=True)
    quotient = search(classes[accessible.table[members]], int(classes[0]))
    return quotient.table, shown[members][quotient.nodes]


def reverse(table: Table, initial: int, accepting: Flags) -> tuple[Table, Flags]:
    """The table and accepting states of the reversed language, a state for each set; state 0 is initial."""
    subsets: dict[bytes, int] = {accepting.tobytes(): 0}
    queue: list[Flags] = [accepting]
    rows: list[list[int]] = []
    for subset in queue:
        row: list[int] = []
        for symbol in range(table.shape[1]):
            previous = subset[table[:, symbol]]  # the states that this symbol leads into the subset
            if previous.tobytes() not in subsets:
                subsets[previous.tobytes()] = len(queue)
                queue.append(previous)
            row.append(subsets[previous.tobytes()])
        rows.append(row)
        if len(queue) > (most := allowed(MAX_SUBSETS)):
            more = hint(len(queue), MAX_SUBSETS)
            raise AutomatonError(f"the reversed automaton has more than {most} states; reverse a smaller one{more}")
    return np.array(rows, dtype=np.intp), np.array([subset[initial] for subset in queue])
