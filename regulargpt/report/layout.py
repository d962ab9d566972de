"""Where the states of an automaton stand: on a circle or in layers, whichever crosses fewer transitions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

from languages import operations
from languages.automata import MooreMachine
from regulargpt.report.svg import Point

# Up to this many states the order on the circle is improved.
MOST_ARRANGED = 14
# Of the distance between neighbours: a line that close to a state runs into it.
NEAR, TWO_NEAR = 0.3, 0.55

Lines = Mapping[tuple[int, int], float]  # between which states, and how near to others is too near


def positions(machine: MooreMachine) -> list[Point]:
    """A point for each state, neighbours at least 1 apart.

    >>> import languages
    >>> positions(languages.get("parity").machine)
    [(0.0, 0.0), (1.0, 0.0)]
    """
    arrows = {(p, q) for p, row in enumerate(machine.table.tolist()) for q in row if p != q}
    # Two arrows between the same states are bent and need more room.
    lines = {(p, q): TWO_NEAR if (q, p) in arrows else NEAR for p, q in sorted(arrows) if p < q or (q, p) not in arrows}
    layers = breadth_first(machine)
    order = [q for layer in layers for q in layer]
    if len(order) < 3:
        return [(float(order.index(q)), 0.0) for q in range(len(order))]
    if len(order) > MOST_ARRANGED:
        return circle(order)
    return min((arranged(order, lines), in_layers(layers)), key=lambda places: badness(places, lines))


def breadth_first(machine: MooreMachine) -> list[list[int]]:
    """The states by their distance from the initial one; those that are not reached come last."""
    reached = operations.search(machine.table, machine.initial_index).nodes.tolist()
    distance = {machine.initial_index: 0}
    for p in reached:
        for q in machine.table[p].tolist():
            distance.setdefault(q, distance[p] + 1)
    rest = [q for q in range(machine.n_states) if q not in distance]
    layers = [[q for q in reached if distance[q] == d] for d in range(max(distance.values()) + 1)]
    return [*layers, rest] if rest else layers


def circle(order: Sequence[int]) -> list[Point]:
    """On a circle, clockwise from the left."""
    n = len(order)
    radius = 0.5 / math.sin(math.pi / n)
    angle = {q: math.pi + 2 * math.pi * i / n for i, q in enumerate(order)}
    return [(radius * math.cos(angle[q]), radius * math.sin(angle[q])) for q in range(n)]


def in_layers(layers: Sequence[Sequence[int]]) -> list[Point]:
    """A column for each layer, bent a little, so that a transition that skips a layer misses the states of it."""
    places: dict[int, Point] = {}
    for x, layer in enumerate(layers):
        for i, q in enumerate(layer):
            places[q] = (1.15 * x, i - (len(layer) - 1) / 2 + (0.25 if x % 2 and len(layer) % 2 else 0))
    return [places[q] for q in sorted(places)]


def arranged(order: Sequence[int], lines: Lines) -> list[Point]:
    """The circle after all changes of the order that make it better; the initial state stays on the left."""
    best, least = list(order), badness(circle(order), lines)
    better = True
    while better:
        better = False
        for other in changes(best):
            found = badness(circle(other), lines)
            if found < least - 1e-9:
                best, least, better = other, found, True
    return circle(best)


def changes(order: Sequence[int]) -> Iterator[list[int]]:
    """The order with one state moved, or a part reversed; the first state stays.

    >>> sorted(changes([0, 1, 2]))
    [[0, 2, 1], [0, 2, 1], [0, 2, 1]]
    """
    n = len(order)
    for i, j in itertools.permutations(range(1, n), 2):
        rest = [*order[:i], *order[i + 1 :]]
        yield [*rest[:j], order[i], *rest[j:]]
    for i, j in itertools.combinations(range(1, n + 1), 2):
        if j - i > 1:
            yield [*order[:i], *reversed(order[i:j]), *order[j:]]


def badness(places: Sequence[Point], lines: Lines) -> float:
    """Crossings, lines through states, and a little for their length."""
    crossings = sum(crosses(places, a, b) for a, b in itertools.combinations(lines, 2))
    through = sum(
        distance_to_line(places[r], places[p], places[q]) < near
        for (p, q), near in lines.items()
        for r in range(len(places))
        if r not in (p, q)
    )
    return crossings + 2 * through + 0.05 * sum(math.dist(places[p], places[q]) for p, q in lines)


def crosses(places: Sequence[Point], a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Whether two lines between states cross."""
    if set(a) & set(b):
        return False
    p, q, r, s = (places[i] for i in (*a, *b))
    return side(p, q, r) * side(p, q, s) < 0 and side(r, s, p) * side(r, s, q) < 0


def side(p: Point, q: Point, r: Point) -> float:
    """Positive if r lies to one side of the line from p to q, negative on the other."""
    return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])


def distance_to_line(r: Point, p: Point, q: Point) -> float:
    """How far r is from the segment from p to q.

    >>> distance_to_line((0.5, 2), (0, 0), (1, 0)), distance_to_line((3, 0), (0, 0), (1, 0))
    (2.0, 2.0)
    """
    d = q[0] - p[0], q[1] - p[1]
    along = ((r[0] - p[0]) * d[0] + (r[1] - p[1]) * d[1]) / (d[0] ** 2 + d[1] ** 2)
    t = min(max(along, 0.0), 1.0)
    return math.dist(r, (p[0] + t * d[0], p[1] + t * d[1]))
