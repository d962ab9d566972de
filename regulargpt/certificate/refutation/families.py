"""Words u v^n w on which a network can be wrong for ever: short ones, and those that the automaton's cycles name.

A language is definite if the last k symbols of a word decide its answer, for some k (Perles, Rabin and Shamir 1963).
All others have two states that a word v leads back to themselves, or to each other, and a word w that tells them apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise, product
from typing import NamedTuple

import networkx as nx

from languages.automata import MooreMachine, operations

Word = tuple[int, ...]
MOST_U, MOST_V, MOST_W = 2, 4, 1
MAX_PAIRS = 1 << 18  # of states of an automaton
MAX_CYCLES = 16
MAX_SHORT = 1 << 13


class PowerFamily(NamedTuple):
    """The words u v^n w."""

    u: Word
    v: Word
    w: Word

    def length(self, n: int) -> int:
        """Of one of them."""
        return len(self.u) + n * len(self.v) + len(self.w)


@dataclass(frozen=True)
class WrongFamily:
    """The network answers `answer` to u v^n w for every n >= `start` with n = `residue` mod `period`, as far as float64
    shows; `right` is the machine's answer. `is_settled` if float64 reads on for long after the answer last changed."""

    family: PowerFamily
    start: int
    period: int
    residue: int
    answer: int
    right: int
    is_settled: bool = False

    @property
    def length(self) -> int:
        """Of the first word."""
        return self.family.length(self.start)

    def later(self, n: int) -> WrongFamily:
        """The same from n on."""
        return replace(self, start=n + (self.residue - n) % self.period)


def is_lyndon(word: Word) -> bool:
    """Whether it is smaller than all its rotations: one v among those whose u v^n w are the same words.

    >>> [word for word in product((0, 1), repeat=3) if is_lyndon(word)]
    [(0, 0, 1), (0, 1, 1)]
    """
    return all(word < word[i:] + word[:i] for i in range(1, len(word)))


def candidates(machine: MooreMachine) -> list[PowerFamily]:
    """The families to try, those of the automaton's cycles first."""
    return [*dict.fromkeys(chain(of_cycles(machine), islice(short(machine.n_symbols), MAX_SHORT)))]


def short(n_symbols: int) -> Iterator[PowerFamily]:
    """All families of short words, those with the fewest symbols first.

    >>> len(list(short(2))), next(short(2))
    (168, PowerFamily(u=(), v=(0,), w=()))
    """
    symbols = range(n_symbols)
    lengths = product(range(MOST_U + 1), range(1, MOST_V + 1), range(MOST_W + 1))
    for of_u, of_v, of_w in sorted(lengths, key=lambda each: (sum(each), each)):
        for v in filter(is_lyndon, product(symbols, repeat=of_v)):
            for u, w in product(product(symbols, repeat=of_u), product(symbols, repeat=of_w)):
                yield PowerFamily(u, v, w)


def of_cycles(machine: MooreMachine) -> list[PowerFamily]:
    """Two families for each cycle of two states that some word tells apart: from either of the two on.

    There are none just if the machine, a minimal machine, is definite.

    >>> import languages
    >>> of_cycles(languages.get("parity").machine)
    [PowerFamily(u=(), v=(0,), w=()), PowerFamily(u=(1,), v=(0,), w=())]
    >>> of_cycles(languages.get("prefix").machine) == of_cycles(languages.get("regex:(0|1)*1").machine) == []
    False
    >>> of_cycles(languages.get("regex:(0|1)*1").machine)
    []
    """
    Q = machine.n_states
    if Q * Q > MAX_PAIRS:
        return []
    access = operations.search(machine.table, machine.initial_index)
    to = {int(state): tuple(access.word(i).tolist()) for i, state in enumerate(access.nodes)}
    apart = telling_apart(machine)
    graph = nx.DiGraph()
    for p, q in apart:
        for a in range(machine.n_symbols):
            if (after := successor(machine, (p, q), a)) in apart:
                graph.add_edge((p, q), after, symbol=graph.get_edge_data((p, q), after, {"symbol": a})["symbol"])
    families = []
    for part in nx.strongly_connected_components(graph):
        if (v := cycle(graph.subgraph(part), min(part))) and len(families) < 2 * MAX_CYCLES:
            families += [PowerFamily(to[state], v, apart[min(part)]) for state in min(part)]
    return families


def successor(machine: MooreMachine, pair: tuple[int, int], a: int) -> tuple[int, int]:
    """Where a symbol leads two states, the smaller first."""
    p, q = sorted(machine.table[list(pair), a].tolist())
    return p, q


def telling_apart(machine: MooreMachine) -> dict[tuple[int, int], Word]:
    """A shortest word after which both states of a pair have an answer, and different ones, if any."""
    outputs = machine.output_table
    states = range(machine.n_states)
    pairs = [(p, q) for p in states for q in states[p + 1 :]]
    apart_by = {(p, q): () for p, q in pairs if min(outputs[[p, q]]) >= 0 and outputs[p] != outputs[q]}
    new: dict[tuple[int, int], Word] = apart_by
    before: dict[tuple[int, int], list[tuple[int, tuple[int, int]]]] = {}
    for pair in pairs:
        for a in range(machine.n_symbols):
            before.setdefault(successor(machine, pair, a), []).append((a, pair))
    while new:
        level = ((pair, (a, *word)) for after, word in new.items() for a, pair in before.get(after, []))
        new = {pair: word for pair, word in level if pair not in apart_by}
        apart_by = apart_by | new
    return apart_by


def cycle(graph: nx.DiGraph, start: tuple[int, int]) -> Word:
    """The symbols of a shortest way from a node back to itself; empty if there is none."""
    ways = nx.single_source_shortest_path(graph, start)
    backs = [ways[node] for node in graph.predecessors(start)]
    if not backs:
        return ()
    nodes = [*min(backs, key=len), start]
    return tuple(graph.edges[edge]["symbol"] for edge in pairwise(nodes))


def orbit(machine: MooreMachine, u: Sequence[int], v: Sequence[int]) -> tuple[list[int], int]:
    """The states after u, u v, u v v, ... until they come around, and from which of them on they do.

    >>> import languages
    >>> orbit(languages.get("parity").machine, [], [1])
    ([0, 1], 0)
    """
    states = [after(machine, machine.initial_index, u)]
    while (state := after(machine, states[-1], v)) not in states:
        states.append(state)
    return states, states.index(state)


def after(machine: MooreMachine, state: int, word: Sequence[int]) -> int:
    """Where a word leads."""
    for a in word:
        state = int(machine.table[state, a])
    return state
