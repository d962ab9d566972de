"""Where the states of an automaton stand: by their distances in the graph, on a circle if they are many, or flat."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from regulargpt.classroom.diagram import Diagram
from regulargpt.findings.markup import Point
from regulargpt.measurements.plane import plane

if TYPE_CHECKING:
    import networkx as nx

# With more states there are crossings everywhere, and a circle is as good.
MAX_ARRANGED = 14
# Of the distance between neighbours: a line that close to a state runs into it.
NEAR = 0.3
# The power of the distance from the centre by which inner states are moved outwards.
SPREAD = 0.75


def positions(diagram: Diagram) -> list[Point]:
    """A point for each state, neighbours at least 1 apart, the initial state on the left.

    >>> import languages
    >>> positions(Diagram.from_machine(languages.get("parity").machine))
    [(-0.5, 0.0), (0.5, 0.0)]
    """
    import networkx as nx

    graph, first = graph_of(diagram), diagram.initial
    orders = [first, *(q for _, q in nx.bfs_edges(graph, first))], list(nx.dfs_preorder_nodes(graph, first))
    return min((arranged(graph, order) for order in orders), key=lambda places: length(graph, places))


def graph_of(diagram: Diagram) -> nx.Graph:
    """Which states have an arrow between them."""
    import networkx as nx

    graph = nx.Graph(list(diagram.arrows))
    graph.add_nodes_from(range(diagram.n_states))
    return graph


def flat(diagram: Diagram) -> Iterator[list[Point]]:
    """Places with few crossings, for each face that may lie outside; none if the graph is not planar.

    Each inner state stands in the middle of its neighbours, which leaves no crossing where a planar graph stays
    connected without any two of its states (Tutte 1963). Then the inner ones are moved apart a little.

    >>> import languages
    >>> len(list(flat(Diagram.from_machine(languages.get("symmetric-3").machine))))
    3
    """
    import networkx as nx

    graph, first = graph_of(diagram), diagram.initial
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    is_planar, embedding = nx.check_planarity(graph)
    if is_planar and len(graph) <= MAX_ARRANGED and nx.node_connectivity(graph) >= 3:
        for neighbour in embedding[first]:
            yield framed(graph, embedding.traverse_face(first, neighbour))


def framed(graph: nx.Graph, face: list[int]) -> list[Point]:
    """The states of this face on a circle, its first on the left below, each other state among its neighbours."""
    turns = np.pi * (np.arange(len(face)) * 2 + 1) / len(face) + np.pi / 2
    pulls, targets = np.eye(len(graph)), np.zeros((len(graph), 2))  # (states, states), (states, 2)
    targets[face] = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    for q in set(graph) - set(face):
        pulls[q, list(graph[q])] = -1 / len(graph[q])
    places = np.linalg.solve(pulls, targets)
    return spaced(places * np.linalg.norm(places, axis=1, keepdims=True).clip(1e-9) ** (SPREAD - 1))


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
    return spaced(places)


def spaced(places: npt.NDArray[np.floating]) -> list[Point]:
    """These places (states, 2), so large that the nearest two are 1 apart."""
    nearest = min((math.dist(p, q) for p, q in itertools.combinations(places, 2)), default=1.0)
    return [(float(x), float(y)) for x, y in (places / nearest).round(9) + 0.0]


def length(graph: nx.Graph, places: list[Point]) -> float:
    """The length of all lines: of two arrangements, the longer is mostly the more tangled."""
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
