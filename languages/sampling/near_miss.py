"""Near misses: non-members made from a member by a small edit, uniformly and without rejection.

Uniform over (member, edit) means: uniform over the paths of a graph that reads the member and the edited word side by
side. A non-member that is near to many members is drawn more often, as it would be by editing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from languages.automata import Dfa
from languages.automata.words import smallest_unsigned
from languages.budget import allowed, hint
from languages.errors import SamplingError
from languages.sampling.graph import Graph, Ints, graph_of
from languages.sampling.sampler import PathSampler

MAX_EDGES = 2**21  # 30 bytes each, and 8 for each length whose table is kept


@dataclass(frozen=True)
class Edit:
    """What may be done to a member: an automaton that reads pairs (its symbol, the edited word's) from left to right.

    In each phase some pairs are allowed, by columns `read` and `written`, and lead to the phase `after`. Phase 0 is
    the first; the edit is done in the last.
    """

    read: tuple[Ints, ...]
    written: tuple[Ints, ...]
    after: tuple[Ints, ...]

    @property
    def n_phases(self) -> int:
        return len(self.read)

    @classmethod
    def from_phases(cls, phases: Sequence[Sequence[tuple[int, int, int]]]) -> Edit:
        """From the triples (read, written, after) of each phase."""
        columns = [np.array(phase, dtype=np.int64).reshape(-1, 3).T for phase in phases]  # (3, pairs), also for none
        return cls(*(tuple(column[i] for column in columns) for i in range(3)))


def substitutions(n_symbols: int, edits: int) -> Edit:
    """Exactly `edits` symbols are replaced by others; the phase counts them.

    >>> [read.tolist() for read in substitutions(2, edits=1).read]
    [[0, 0, 1, 1], [0, 1]]
    """
    check_pairs(n_symbols**2 * (edits + 1), n_symbols)
    pairs = [(a, b) for a in range(n_symbols) for b in range(n_symbols)]
    return Edit.from_phases([[(a, b, j + (a != b)) for a, b in pairs if a == b or j < edits] for j in range(edits + 1)])


def swap(n_symbols: int) -> Edit:
    """Two different symbols change places, however far apart: how often each occurs stays as it was.

    After phase 0 there is a state for each pair (a, b): b was written for a, and a is still to be written for some b.
    """
    check_pairs(n_symbols**3, n_symbols)
    symbols = range(n_symbols)
    owed = [(a, b) for a in symbols for b in symbols if a != b]
    done = 1 + len(owed)
    first = [*((c, c, 0) for c in symbols), *((a, b, 1 + j) for j, (a, b) in enumerate(owed))]
    between = [[*((c, c, 1 + j) for c in symbols), (b, a, done)] for j, (a, b) in enumerate(owed)]
    return Edit.from_phases([first, *between, [(c, c, done) for c in symbols]])


def check_pairs(count: int, n_symbols: int, states: str = "") -> None:
    """Raise SamplingError for more pairs of transitions than are tabulated."""
    if count > allowed(MAX_EDGES):
        raise SamplingError(
            f"near misses for {states}{n_symbols} symbols need more than {allowed(MAX_EDGES)} pairs of transitions; "
            f"use them only with smaller automata{hint(count, MAX_EDGES)}"
        )


class NearMissSampler(PathSampler):
    """Draws non-members of `language` that come of a word of `members` by an edit.

    With several DFAs of members, one of those that have a near miss of that length is drawn first, all
    equally likely. Raises SamplingError if the two automata side by side are too large to tabulate.

    >>> from languages.regular.dyck import dyck_dfa
    >>> from languages.randomness import rng
    >>> pairs = dyck_dfa(1)  # (01)*
    >>> near = NearMissSampler([pairs], pairs, substitutions(2, edits=1))
    >>> sorted({pairs.decode(word) for word in near.sample(rng(0, "example"), 4, 100)})
    ['0001', '0100', '0111', '1101']
    """

    def __init__(self, members: Sequence[Dfa], language: Dfa, edit: Edit) -> None:
        super().__init__(pair_graph(members, language, edit))


def pair_graph(members: Sequence[Dfa], language: Dfa, edit: Edit) -> Graph:
    """Nodes (p, q, j): p the member's state, q the edited word's, j the edit's phase; symbols are the edited word's."""
    union = graph_of(members)
    # The member must be such a member: what leads into a state without way out is cut off at once.
    alive = union.alive()
    p_table = union.target.reshape(union.n_nodes, language.n_symbols)  # (nodes, Sigma)
    shape = (union.n_nodes, language.n_states, edit.n_phases)
    start = (union.initial, np.full_like(union.initial, language.initial_index), 0)
    level: Ints = np.asarray(np.ravel_multi_index(start, shape))
    initial, reached, tried = level, set[int](), 0
    edges: list[tuple[Ints, Ints, Ints]] = [(level[:0], level[:0], level[:0])]
    while len(level):
        reached.update(level.tolist())
        targets: set[int] = set()
        for j in map(int, np.unique(level % edit.n_phases)):
            nodes = level[level % edit.n_phases == j]
            tried += len(nodes) * len(edit.read[j])
            check_pairs(tried, language.n_symbols, f"{language.n_states} states and ")
            p, q, _ = np.unravel_index(nodes, shape)
            # The member's state moves by what is read, the edited word's by what is written: (nodes, pairs) both.
            p, q = p_table[p][:, edit.read[j]], language.table[q][:, edit.written[j]]
            row, pair = np.nonzero(alive[p])
            target: Ints = np.asarray(np.ravel_multi_index((p[row, pair], q[row, pair], edit.after[j][pair]), shape))
            edges.append((nodes[row], target, edit.written[j][pair]))
            targets.update(target.tolist())
        # Sorted, so that the graph, and with it every word drawn, is the same in every process.
        level = np.array(sorted(targets - reached), dtype=np.intp)
    source, target, symbol = (np.concatenate(column) for column in zip(*edges, strict=True))
    nodes = np.array(sorted(reached), dtype=np.intp)
    p, q, j = np.unravel_index(nodes, shape)
    return Graph(
        n_nodes=len(nodes),
        source=np.searchsorted(nodes, source),
        target=np.searchsorted(nodes, target),
        symbol=symbol.astype(smallest_unsigned(language.n_symbols)),
        log_weight=np.zeros(len(source)),
        initial=np.searchsorted(nodes, initial),
        final=union.final[p] & ~language.is_accepting[q] & (j == edit.n_phases - 1),
    )
