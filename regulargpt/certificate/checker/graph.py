"""graph.json: one step of a network that carries a state, as a straight-line program of the operations of this folder.

    {"format": "regulargpt graph 1", "alphabet": [..], "output_names": [..], "start": [D numbers],
     "nodes": [{"op": "state"}, {"op": "weight", "name": "rnn.weight"}, {"op": "product", "of": [0, 1]}, ..],
     "logits": 7, "after": 9}

A node has the values of earlier nodes, by their numbers in `of`. Beside `OPERATIONS` there are four sources: `state`,
the D numbers that are carried; `weight`, a tensor of the file of weights; `numbers`, a constant; and `row`, that of a
constant, along its first axis, which has the symbol's number. `logits` are one for each answer, `after` the D numbers
that are carried on; `start` are those before the first symbol. Each number is the double nearest to its digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from regulargpt.certificate.checker.boxes import common
from regulargpt.certificate.checker.chain_network import Bounded
from regulargpt.certificate.checker.claims import OF_GRAPH, called
from regulargpt.certificate.checker.doubles import Doubles, ends, known, times, up
from regulargpt.certificate.checker.files import Floats, Malformed, Rejected, fields, numbers
from regulargpt.certificate.checker.network import COST, MAX_NUMBERS, Ints, Kinds
from regulargpt.certificate.checker.operations import INT, INTS, OPERATIONS, REAL, Value, bounded, placed
from regulargpt.certificate.checker.slopes import Sloped

FORMAT = "regulargpt graph 1"
GRAPH: Kinds = {"format": str, "alphabet": list, "output_names": list, "start": list, "nodes": list}
GRAPH |= {"logits": int, "after": int}
SOURCES: Mapping[str, Kinds] = {
    "state": {"op": str},
    "weight": {"op": str, "name": str},
    "numbers": {"op": str, "shape": list, "values": list},
    "row": {"op": str, "of": list},
}
KINDS: Mapping[str, type | tuple[type, ...]] = {INT: int, INTS: list, REAL: (int, float)}
MAX_NODES, MAX_AXES = 4096, 8
KEPT = 8  # so many times the widest value may a step keep, else it counts as wider
Closer = Callable[[int, "Node", Mapping[int, "Value"]], Value | None]


def is_graph(record: Any) -> bool:
    """Whether a JSON value calls itself a graph."""
    return called(record) == OF_GRAPH


def few_enough(count: int, value: Value) -> int:
    """So many numbers and those of one value more: all of them are kept. Raises Rejected for too many."""
    if (count := count + value.size) > MAX_NUMBERS:
        raise Rejected(f"the graph: a step makes {count:,} numbers or more; at most {MAX_NUMBERS:,} are checked")
    return count


@dataclass(frozen=True)
class Node:
    """One operation, by its name, on the values of earlier nodes, and what else it needs."""

    op: str
    of: tuple[int, ...]
    options: Mapping[str, Any]


def node_of(record: Any, at: int) -> Node:
    """A node, with all that its operation needs and nothing else."""
    where = f"node {at} of the graph"
    op = record.get("op") if isinstance(record, dict) else None
    if not isinstance(op, str) or not (op in SOURCES or op in OPERATIONS):
        raise Malformed(f"{where}: the operation {op!r:.40} is not known")
    count, options = (1 if op == "row" else 0, {}) if op in SOURCES else OPERATIONS[op][:2]
    kinds = SOURCES.get(op) or {"op": str, "of": list, **{name: KINDS[kind] for name, kind in options.items()}}
    record = fields(record, where, kinds)
    of = record.get("of", [])
    if not all(type(i) is int and 0 <= i < at for i in of):
        raise Malformed(f"{where}: 'of' names nodes before it")
    if len(of) != count if count is not None else not of:
        raise Malformed(f"{where}: {op} takes {count or 'one or more'} values, not {len(of)}")
    rest = {name: value for name, value in record.items() if name not in ("op", "of")}
    lists = [name for name, kind in options.items() if kind == INTS] + ["shape"] * (op == "numbers")
    for name in lists:
        if len(rest[name]) > MAX_AXES or not all(type(i) is int and abs(i) <= MAX_NUMBERS for i in rest[name]):
            raise Malformed(f"{where}: {name!r} is not a list of at most {MAX_AXES} whole numbers")
    if "shape" in rest and (not rest["shape"] or min(rest["shape"]) < 1):
        raise Malformed(f"{where}: a shape has one axis or more, none shorter than 1")
    return Node(op, tuple(of), rest)


@dataclass(frozen=True)
class Graph:
    """A graph.json that has been read strictly; no value of it has been computed yet."""

    alphabet: list[str]
    output_names: list[str]
    start: Floats
    nodes: Sequence[Node]
    logits: int
    after: int

    @classmethod
    def of(cls, record: Any) -> Graph:
        """Read it. Raises Malformed for what is none."""
        record = fields(record, "the graph", GRAPH)
        if record["format"] != FORMAT:
            raise Malformed(f"the graph has the format {record['format']!r:.40}, not {FORMAT!r}")
        for name in ("alphabet", "output_names"):
            if not record[name] or not all(isinstance(symbol, str) for symbol in record[name]):
                raise Malformed(f"the graph: {name!r} is not a list of names")
        if not 0 < len(record["nodes"]) <= MAX_NODES:
            raise Malformed(f"the graph has {len(record['nodes']):,} nodes; from 1 to {MAX_NODES:,} are read")
        nodes = [node_of(node, at) for at, node in enumerate(record["nodes"])]
        if not all(0 <= record[name] < len(nodes) for name in ("logits", "after")):
            raise Malformed("the graph: 'logits' and 'after' name nodes")
        start = numbers(record["start"], "'start' of the graph", (-1,))
        bounded(start.size)
        return cls(record["alphabet"], record["output_names"], start, nodes, record["logits"], record["after"])


class GraphNetwork(Bounded):
    """The network that a graph and weights define, in the numbers that `of` makes of weights.

    Raises Malformed or Rejected for what is none.
    """

    GATES, ANSWERS_BEFORE, CALLED = 1, True, OF_GRAPH
    layers = 1

    def __init__(self, weights: Mapping[str, Floats], record: Any, of: Callable[[Floats], Any] = known):
        self.graph, self.raw, self.record, self.of = Graph.of(record), weights, record, of
        self.alphabet, self.output_names = self.graph.alphabet, self.graph.output_names
        self.D = self.graph.start.size
        used = {node.options["name"] for node in self.graph.nodes if node.op == "weight"}
        if missing := sorted(used - weights.keys()):
            raise Malformed(f"the graph reads the tensor {missing[0]!r:.60}, which the weights have not")
        if not all(np.isfinite(weights[name]).all() for name in used):
            raise Malformed("the weights hold a number that is not finite")
        self.w = {name: of(weights[name]) for name in sorted(used)}
        self.constants: dict[int, Value] = {}
        count = 0
        for at, node in enumerate(self.graph.nodes):
            if node.op in ("weight", "numbers") or (node.op not in SOURCES and self.constants.keys() >= {*node.of}):
                self.constants[at] = self.value(node, self.constants)
                count = few_enough(count, self.constants[at])
        sizes = [value.size for value in self.one_step.values()]
        # All of them are kept until the step is done: those of several steps at once, or their slopes, fit in memory.
        self.d = max(*sizes, sum(sizes) // KEPT)

    @cached_property
    def live(self) -> list[int]:
        """The nodes that a step computes: those that depend on the state or on the symbol."""
        return [at for at in range(len(self.graph.nodes)) if at not in self.constants]

    @cached_property
    def one_step(self) -> dict[int, Value]:
        """All values of the first step of a word that begins with the first symbol."""
        states = placed(self.of(self.graph.start), lambda x: x[None])  # (1, D)
        return self.values(states, np.zeros(1, dtype=np.int64))

    def value(self, node: Node, values: Mapping[int, Value]) -> Value:
        """What a node is, of those before it."""
        if node.op == "weight":
            return Value(self.w[node.options["name"]], False)
        if node.op == "numbers":
            shape = tuple(node.options["shape"])
            flat = numbers(node.options["values"], "the numbers of a node", (-1,))
            if flat.size != prod(shape):
                raise Malformed(f"the graph: {flat.size} numbers have no shape {list(shape)}")
            return Value(self.of(flat.reshape(shape)), False)  # as it says
        return OPERATIONS[node.op][2](*[values[at] for at in node.of], **node.options)

    def values(self, states: Any, symbols: Ints, closer: Closer = lambda at, node, found: None) -> dict[int, Value]:
        """The values of all nodes, from states (n, D) and the symbols (n,) that are read there; what is `closer`."""
        found, count = dict(self.constants), 0
        for at in self.live:
            node = self.graph.nodes[at]
            if node.op == "state":
                found[at] = Value(states, True)
            elif node.op == "row":
                table = found[node.of[0]]
                if table.is_live or not table.shape or table.shape[0] < len(self.alphabet):
                    raise Malformed("the graph: 'row' is of a constant with a row for each symbol")
                found[at] = Value(placed(table.numbers, lambda x: x[symbols]), True)  # (n, ...)
            else:
                found[at] = self.value(node, found)
            count = few_enough(count, found[at])
            found[at] = closer(at, node, found) or found[at]
        return found

    def first_state(self) -> Floats:
        return self.graph.start

    def layout(self) -> str:
        return "the numbers that the graph carries on"

    def work(self) -> int:
        """A matrix product with weights takes as long as its multiplications, all else as many steps as numbers."""
        found, products = COST * sum(self.one_step[at].size for at in self.live), 0
        for at in self.live:
            node = self.graph.nodes[at]
            if node.op == "product":
                products += self.one_step[at].size * self.one_step[node.of[0]].shape[-1]
        return found + products

    def widest(self) -> int:
        return self.d

    def step(self, states: Any, symbols: Ints) -> tuple[Any, Any]:
        found = self.values(states, symbols)
        logits, after = found[self.graph.logits], found[self.graph.after]
        for value, shape in ((logits, (len(self.output_names),)), (after, (self.D,))):
            if not value.is_live or value.shape != shape:
                raise Malformed(f"the graph: a step gives {list(value.shape)} numbers where it should give {shape[0]}")
        return logits.numbers, after.numbers

    @cached_property
    def sloped(self) -> GraphNetwork:
        """The same with slopes."""
        return GraphNetwork(self.raw, self.record, Sloped.weights)

    def over(self, point: Floats, radii: Floats, symbol: int) -> Iterator[tuple[Doubles, Sloped]]:
        """The logits, then the state, after a symbol: their values at the centre of a box (1, ..), and over all of it.

        Values in the box are known twice, at every node: as the operations have them, and by what they are at the
        centre c and how they slope all over the box. What is kept is what both leave (Neumaier 1990, Interval Methods
        for Systems of Equations, chapter 2). Slopes are those between c and any y; so those of a product are

            x z (y) - x z (c) = (x(y) + x(c)) / 2 (z(y) - z(c)) + (z(y) + z(c)) / 2 (x(y) - x(c)).
        """
        at = np.array([symbol])
        centres = self.values(known(point[None]), at)

        def closer(at: int, node: Node, found: Mapping[int, Value]) -> Value | None:
            if node.op == "multiply" and all(found[i].is_live for i in node.of):
                x, z = node.of
                return nearer(product_of(found[x], centres[x], found[z], centres[z]), centres[at], radii)
            return nearer(found[at], centres[at], radii)

        found = self.sloped.values(Sloped.numbers(Doubles(point, radii)), at, closer)
        for output in (self.graph.logits, self.graph.after):
            yield centres[output].numbers, found[output].numbers

    def image(self, point: Floats, radii: Floats, symbol: int, alone: bool = True) -> Doubles:
        _, (_, over) = self.over(point, radii, symbol)
        return over.values.map(lambda rows: rows[0])  # (D,)

    def margin(self, point: Floats, radii: Floats, answer: int, symbol: int) -> float:
        (centre, over), _ = self.over(point, radii, symbol)
        others = np.delete(np.arange(len(self.output_names)), answer)
        gaps = spread(over[:, [answer]] - over[:, others], centre[:, [answer]] - centre[:, others], radii)
        return float(np.min(ends(gaps.values)[0], initial=np.inf))


def spread(over: Sloped, centre: Doubles, radii: Floats) -> Sloped:
    """Numbers (1, ..) over a box, of which it is known what they are at its centre: what both leave."""
    if over.slopes is None:
        return over
    reach = np.tensordot(radii, abs(over.slopes.middle) + over.slopes.radius, 1)  # (..)
    return Sloped(common(over.values, Doubles(centre.middle, up(centre.radius + up(reach)[None]))), over.slopes)


def nearer(over: Value, centre: Value, radii: Floats) -> Value:
    return Value(spread(over.numbers, centre.numbers, radii), True)


def product_of(x: Value, x_c: Value, z: Value, z_c: Value) -> Value:
    """x z over a box, from x and z over it and at its centre."""
    rank = max(len(x.shape), len(z.shape))
    a, a_c, b, b_c = (value.to_rank(rank).numbers for value in (x, x_c, z, z_c))
    halfway = (b, (a.values + a_c) * 0.5), (a, (b.values + b_c) * 0.5)
    return Value(a.combined(times(a.values, b.values), *halfway), True)
