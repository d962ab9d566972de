"""Near misses: non-members made from a member by substituting a few symbols, uniformly and without rejection.

Uniform over (member, positions, new symbols) means: uniform over the paths of a graph that reads the member
and the edited word side by side. A non-member that is near to many members is drawn more often, as it would
be by editing.
"""

from collections.abc import Sequence

import numpy as np

from languages.automata import Dfa
from languages.errors import SamplingError
from languages.graph import Graph, Ints, graph_of
from languages.sampling import PathSampler
from languages.words import smallest_unsigned

MOST_EDGES = 2**23  # tried; some 30 bytes each


class NearMissSampler(PathSampler):
    """Draws non-members of `language` that differ from a word of `members` in exactly `edits` positions.

    With several DFAs of members, one of those that have a near miss of that length is drawn first, all
    equally likely. Raises SamplingError if the two automata side by side are too large to tabulate.

    >>> from languages.dyck import dyck_dfa
    >>> from languages.randomness import rng
    >>> pairs = dyck_dfa(1)  # (01)*
    >>> near = NearMissSampler([pairs], pairs, edits=1)
    >>> sorted({pairs.decode(word) for word in near.sample(rng(0, "example"), 4, 100)})
    ['0001', '0100', '0111', '1101']
    >>> near.has(3)
    False
    """

    def __init__(self, members: Sequence[Dfa], language: Dfa, edits: int) -> None:
        super().__init__(pair_graph(members, language, edits))


def pair_graph(members: Sequence[Dfa], language: Dfa, edits: int) -> Graph:
    """Nodes (p, q, j): p the member's state, q the edited word's, j the edits so far; symbols are the edited word's."""
    union = graph_of(members)
    alive = union.alive()
    p_table = union.target.reshape(union.n_nodes, language.n_symbols)
    shape = (union.n_nodes, language.n_states, edits + 1)
    read, written = (grid.ravel() for grid in np.indices((language.n_symbols, language.n_symbols)))
    changed = read != written
    level = np.ravel_multi_index((union.initial, np.full_like(union.initial, language.initial_index), 0), shape)
    initial, seen, tried = level, level, 0
    edges: list[tuple[Ints, Ints, Ints]] = [(level[:0], level[:0], level[:0])]
    while len(level):
        tried += len(level) * len(read)
        if tried > MOST_EDGES:
            raise SamplingError(
                f"near misses for {language.n_states} states and {language.n_symbols} symbols need more than "
                f"{MOST_EDGES} pairs of transitions; use them only with smaller automata"
            )
        p, q, j = np.unravel_index(level, shape)
        p, q, j = p_table[p][:, read], language.table[q][:, written], j[:, None] + changed
        row, pair = np.nonzero((j <= edits) & alive[p])
        target = np.ravel_multi_index((p[row, pair], q[row, pair], j[row, pair]), shape)
        edges.append((level[row], target, written[pair]))
        level = np.setdiff1d(target, seen)
        seen = np.union1d(seen, level)
    source, target, symbol = (np.concatenate(column) for column in zip(*edges, strict=True))
    p, q, j = np.unravel_index(seen, shape)
    return Graph(
        n_nodes=len(seen),
        source=np.searchsorted(seen, source),
        target=np.searchsorted(seen, target),
        symbol=symbol.astype(smallest_unsigned(language.n_symbols)),
        log_weight=np.zeros(len(source)),
        initial=np.searchsorted(seen, initial),
        final=union.final[p] & ~language.is_accepting[q] & (j == edits),
    )
