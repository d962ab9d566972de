"""Where the states of an automaton stand: by their distances in the graph, or on a circle if they are many."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from languages.automata import MooreMachine
from regulargpt.analysis.plane import plane
from regulargpt.report.svg import Point

if TYPE_CHECKING:
    import networkx as nx

# With more states there are crossings everywhere, and a circle is as good.
MAX_ARRANGED = 14
# Of the distance between neighbours: a line that close to a state runs into it.
NEAR = 0.3


def positions(machine: MooreMachine) -> list[Point]:
    """A point for each state, neighbours at least 1 apart, the initial state on the left.

    >>> import languages
    >>> positions(languages.get("parity").machine)
    [(-0.5, 0.0), (0.5, 0.0)]
    """
    import networkx as nx

    graph = nx.Graph((p, q) for p, row in enumerate(machine.table.tolist()) for q in row)
    first = machine.initial_index
    orders = [first, *(q for _, q in nx.bfs_edges(graph, first))], list(nx.dfs_preorder_nodes(graph, first))
    return min((arranged(graph, order) for order in orders), key=lambda places: length(graph, places))


def arranged(graph: nx.Graph, order: list[int]) -> list[Point]:
    """The states of a graph, arranged from a circle of this order; its first stands on the left."""
    import networkx as nx

    rest = [q for q in sorted(graph) if q not in order]
    layout = nx.circular_layout(nx.empty_graph([*order, *rest]))
    # Its forces would push states that nothing reaches far away.
    if len(graph) <= MAX_ARRANGED and not rest:
        layout = nx.kamada_kawai_layout(graph, pos=layout)  # Kamada and Kawai 1989
    places, _ = plane(np.array([layout[q] for q in sorted(graph)]))  # (states, 2), the widest direction across
    places[:, 0] *= -1 if places[order[0], 0] > 0 else 1
    nearest = min((math.dist(p, q) for p, q in itertools.combinations(places, 2)), default=1.0)
    return [(float(x), float(y)) for x, y in (places / nearest).round(9) + 0.0]


def length(graph: nx.Graph, places: list[Point]) -> float:
    """The length of all lines: of two arrangements, the longer one is mostly the more tangled."""
    return sum(math.dist(places[p], places[q]) for p, q in graph.edges)


def distance_to_line(r: Point, p: Point, q: Point) -> float:
    """How far r is from the segment from p to q.

    >>> distance_to_line((0.5, 2), (0, 0), (1, 0)), distance_to_line((3, 0), (0, 0), (1, 0))
    (2.0, 2.0)
    """
    d = q[0] - p[0], q[1] - p[1]
    along = ((r[0] - p[0]) * d[0] + (r[1] - p[1]) * d[1]) / (d[0] ** 2 + d[1] ** 2)
    t = min(max(along, 0.0), 1.0)
    return math.dist(r, (p[0] + t * d[0], p[1] + t * d[1]))
