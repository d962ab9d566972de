"""The automaton as a drawing, whose states and transitions the page's script lights, and as a table."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from languages.automata import MooreMachine
from languages.automata.pushdown import PushdownTransducer
from languages.convert.pushdown import arrows
from regulargpt.classroom.diagram import Diagram, short
from regulargpt.classroom.geometry import Curve, angle, cross, head, moved, path, sampled, towards, turn
from regulargpt.classroom.layout import NEAR, distance_to_line, flat, positions
from regulargpt.findings.markup import Point, number, tag, text

RADIUS = 30.0
APART, APART_WITH_STACK = 135.0, 260.0  # between neighbouring states
MOST_LABELLED = 14
LINE = 18.0  # from line to line of a label
LABEL = 9.0  # from the middle of a short label to its edge
ANGLES = [2 * math.pi * i / 24 for i in range(24)]


def drawing(machine: MooreMachine | PushdownTransducer) -> str:
    """The machine as SVG: an arrow at the initial state, a second circle where it accepts, else the answer below."""
    diagram = Diagram.from_machine(machine)
    places = positions(diagram)
    if machine.n_states > MOST_LABELLED:
        return Drawing(diagram, places, radius=9.0, apart=26.0, labels=False).svg
    apart = APART if isinstance(machine, MooreMachine) else APART_WITH_STACK
    best = Drawing(diagram, places, RADIUS, apart, labels=True)
    if best.tangles:
        others = (Drawing(diagram, places, RADIUS, apart, labels=True) for places in flat(diagram))
        best = min([best, *others], key=lambda drawing: drawing.tangles)
    return best.svg


def table(machine: MooreMachine | PushdownTransducer) -> str:
    """The machine as a table: a row for each state, a column for each symbol, and the answer."""
    head = ["state", *machine.alphabet, "answer"]
    rows, moves = [], moves_of(machine)
    for p, (state, output) in enumerate(zip(machine.states, Diagram.from_machine(machine).answers, strict=True)):
        mark = "→ " if p == machine.initial_index else ""
        cells = [tag("td", *cell(moves[state, symbol]), data_symbol=a) for a, symbol in enumerate(machine.alphabet)]
        answer = tag("td", text(output or "none"))
        rows.append(tag("tr", tag("th", mark, text(state), scope="row"), *cells, answer, data_state=p))
    header = tag("thead", tag("tr", *(tag("th", text(name), scope="col") for name in head)))
    return tag("table", header, tag("tbody", *rows), class_="machine")


def cell(moves: Sequence[str]) -> list[str]:
    """A move as text, several one below the other."""
    return [text(move) for move in moves] if len(moves) == 1 else [tag("div", text(move)) for move in moves]


def moves_of(machine: MooreMachine | PushdownTransducer) -> Mapping[tuple[str, str], list[str]]:
    """Where each symbol leads to in each state, and what it does to the stack; "–" where there is no move."""
    if isinstance(machine, MooreMachine):
        return {(p, a): [q] for p, row in machine.transitions.items() for a, q in row.items()}
    moves = {(state, symbol): list[str]() for state in machine.states for symbol in machine.alphabet}
    for (source, read, target), done in arrows(machine).items():
        moves[source, read] += [target + what for what in done]
    return {place: words or ["–"] for place, words in moves.items()}


class Drawing:
    """One drawing; `box` grows with what is drawn."""

    def __init__(self, diagram: Diagram, places: Sequence[Point], radius: float, apart: float, labels: bool):
        self.diagram, self.radius, self.labels = diagram, radius, labels
        self.places = [(apart * x, apart * y) for x, y in places]
        self.near = NEAR * apart
        xs, ys = zip(*self.places, strict=True)
        self.centre = (sum(xs) / len(xs), sum(ys) / len(ys))
        self.box: list[Point] = []
        self.arrows: list[tuple[Curve, Point | None]] = []  # and where the label of each stands
        self.taken: defaultdict[int, list[float]] = defaultdict(list)  # angles at which something leaves a state
        self.svg = self.drawn()

    @cached_property
    def tangles(self) -> int:
        """How many pairs of arrows cross, and how many labels stand on a line that is not theirs."""
        crossings = sum(cross(arrow, other) for (arrow, _), (other, _) in itertools.combinations(self.arrows, 2))
        foreign = [(label, other) for (arrow, label), (other, _) in itertools.permutations(self.arrows, 2) if label]
        hidden = sum(bool((np.hypot(*(other - label).T) < LABEL).any()) for label, other in foreign)
        return crossings + hidden

    def drawn(self) -> str:
        """The whole picture."""
        edges = [self.edge(p, q) for p, q in self.diagram.arrows if p != q]
        start = self.start()
        loops = [self.loop(p) for p, q in self.diagram.arrows if p == q]
        states = [self.state(q) for q in range(self.diagram.n_states)]
        xs, ys = zip(*self.box, strict=True)
        left, top, width, height = min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)
        return tag(
            "svg",
            *edges,
            *loops,
            start,
            *states,
            class_="automaton" if self.labels else "automaton small",
            viewBox=" ".join(map(number, (left, top, width, height))),
            style=f"width: {1.15 * width:.0f}px",
            role="img",
            aria_label=f"Automaton with {self.diagram.n_states} states; the table below lists its transitions",
        )

    def state(self, q: int) -> str:
        """A circle with its name."""
        x, y = self.places[q]
        name, output = self.diagram.states[q], self.diagram.answers[q]
        self.grow((x, y), self.radius + 6)
        parts = [tag("title", text(f"{name}: {output or 'no answer'}")), tag("circle", cx=x, cy=y, r=self.radius)]
        if output == "accept":
            parts.append(tag("circle", cx=x, cy=y, r=self.radius - 4, class_="inner"))
        if self.labels:
            below = None if self.diagram.is_acceptor else output or "–"
            parts.append(tag("text", text(short(name, 6)), x=x, y=y + (5 if below is None else -2)))
            if below is not None:
                parts.append(tag("text", text(short(below, 7)), x=x, y=y + 16, class_="answer"))
        return tag("g", *parts, class_="state", data_state=q)

    def edge(self, p: int, q: int) -> str:
        """An arrow from state to state; bent where there is an arrow back, or a state in its way."""
        a, b = self.places[p], self.places[q]
        d = math.dist(a, b)
        along = ((b[0] - a[0]) / d, (b[1] - a[1]) / d)
        across = (along[1], -along[0])
        bend = 0.22 if (q, p) in self.diagram.arrows else 0.0
        others = (r for r in range(len(self.places)) if r not in (p, q))
        if self.labels and any(distance_to_line(self.places[r], a, b) < self.near for r in others):
            bend = 0.45
        middle = moved(((a[0] + b[0]) / 2, (a[1] + b[1]) / 2), across, bend * d)
        self.taken[p].append(angle(a, middle))
        self.taken[q].append(angle(b, middle))
        tail = moved(a, towards(a, middle), self.radius)
        back = towards(b, middle)
        tip = moved(b, back, self.radius + (4 if self.labels else 1))
        neck = moved(tip, back, 6)
        label = moved(((a[0] + b[0]) / 2, (a[1] + b[1]) / 2), across, bend * d / 2 + 13)
        label = self.beside(p, q, label, across)
        return self.arrow(p, q, [tail, middle, neck], tip, back, label)

    def loop(self, p: int) -> str:
        """An arrow from a state to itself, where nothing else leaves it."""
        place = self.places[p]
        theta = self.free(p, angle(self.centre, place) if len(self.places) > 2 else -math.pi / 2)
        reach = self.radius * 2.3
        out, back = ((math.cos(theta + turn), math.sin(theta + turn)) for turn in (-0.45, 0.45))
        tail, far, near = moved(place, out, self.radius), moved(place, out, reach), moved(place, back, reach)
        tip = moved(place, back, self.radius + (4 if self.labels else 1))
        outwards = (math.cos(theta), math.sin(theta))
        label = self.beside(p, p, moved(place, outwards, reach * 0.86 + 9), outwards)
        return self.arrow(p, p, [tail, far, near, moved(tip, back, 5)], tip, back, label)

    def start(self) -> str:
        """The arrow into the initial state."""
        q = self.diagram.initial
        theta = self.free(q, math.pi)
        back = (math.cos(theta), math.sin(theta))
        tip = moved(self.places[q], back, self.radius + 4)
        tail = moved(tip, back, max(self.radius, 24.0))
        self.taken[q].append(theta)
        self.grow(tail, 4)
        line = [tail, moved(tip, back, 6)]
        self.arrows.append((sampled(line), None))
        return tag("g", tag("path", d=path(line)), head(tip, back), class_="edge start")

    def arrow(self, p: int, q: int, controls: Sequence[Point], tip: Point, back: Point, label: Point) -> str:
        """A transition with the symbols that it is for."""
        self.arrows.append((sampled(controls), label if self.labels else None))
        parts = [tag("path", d=path(controls)), head(tip, back, 1.0 if self.labels else 0.5)]
        if self.labels:
            parts += self.lines(self.diagram.label(p, q), label)
        states, symbols = self.diagram.states, self.diagram.arrows[p, q]
        title = tag("title", text(f"{states[p]} to {states[q]}: {', '.join(symbols)}"))
        return tag("g", title, *parts, class_="edge", data_from=p, data_to=q)

    def beside(self, p: int, q: int, label: Point, away: Point) -> Point:
        """Where a label that says what the stack does, being wide, stands clear of its arrow."""
        if not (self.labels and self.diagram.has_stack):
            return label
        lines = self.diagram.label(p, q)
        return label[0] + away[0] * 4 * max(map(len, lines)), label[1] + away[1] * LINE * (len(lines) - 1) / 2

    def lines(self, words: Sequence[str], middle: Point) -> list[str]:
        """A label, of one line or more, round a point."""
        x, top = middle[0], middle[1] - LINE * (len(words) - 1) / 2
        self.grow(middle, max(8 + 4.5 * max(map(len, words)), LINE * len(words) / 2))
        return [tag("text", text(line), x=x, y=top + LINE * i + 5) for i, line in enumerate(words)]

    def free(self, q: int, preferred: float) -> float:
        """The direction at a state farthest from what leaves it already, if possible the preferred place."""

        def goodness(theta: float) -> float:
            gap = min((turn(theta, other) for other in self.taken[q]), default=math.pi)
            return min(gap, 1.2) - 0.15 * turn(theta, preferred)

        return max(ANGLES, key=goodness)

    def grow(self, place: Point, by: float) -> None:
        """Make room around a point."""
        self.box += [(place[0] - by, place[1] - by), (place[0] + by, place[1] + by)]
