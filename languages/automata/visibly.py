"""Visibly pushdown machines: the symbol alone says whether the stack grows, shrinks or stays.

Source: Alur and Madhusudan, Visibly pushdown languages, STOC 2004.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from languages.automata.pushdown import NO_MOVE, POP, STAY, PushdownTransducer
from languages.budget import TooLarge, allowed, check, hint
from languages.errors import AutomatonError

Ints = npt.NDArray[np.intp]
CALL, RETURN, INTERNAL = 1, -1, 0
MAX_SUMMARIES = 2**20  # pairs (state where a word begins, state where it ends) that are reached
LONGEST = 2**22  # symbols of a shortest word: it may be exponentially long


@dataclass(frozen=True, eq=False)
class VisiblyPushdown:
    """The four maps of a visibly pushdown machine, each led to a sink (state Q, the last) where there is no move.

    `calls`, `returns` and `internals` are symbol indices; `call_to` (Q + 1, calls) and `pushed` (Q + 1, calls),
    `return_to` (Q + 1, Delta, returns), `bottom_to` (Q + 1, returns) of returns that close nothing, and `internal_to`
    (Q + 1, internals). `outputs` (Q + 1,) is -1 where there is no answer.

    AutomatonError: a symbol pushes here and pops there; a call or internal symbol whose move depends on the top.
    """

    machine: PushdownTransducer
    direction: Ints  # (Sigma,) CALL, RETURN or INTERNAL
    calls: Ints
    returns: Ints
    internals: Ints
    call_to: Ints
    pushed: Ints
    return_to: Ints
    bottom_to: Ints
    internal_to: Ints

    @classmethod
    def from_machine(cls, machine: PushdownTransducer) -> VisiblyPushdown:
        table, actions = machine.table, machine.actions
        direction = np.array([_direction(machine, a) for a in range(machine.n_symbols)], dtype=np.intp)
        calls, returns, internals = (np.flatnonzero(direction == kind) for kind in (CALL, RETURN, INTERNAL))
        for a in (*calls, *internals):
            differs = (table[:, a] != table[:, a, :1]) | (actions[:, a] != actions[:, a, :1])
            if differs.any():
                q = int(np.argwhere(differs)[0][0])
                raise AutomatonError(
                    f"at {machine.alphabet[a]!r:.80} the move from {machine.states[q]!r:.80} depends on the top of the "
                    "stack; in a visibly pushdown machine only moves of returns do: let the state say it"
                )
        sink = machine.n_states
        led = np.where(table == NO_MOVE, sink, table)  # (Q + 1, Sigma, 1 + Delta)
        pushed = np.maximum(actions[:, calls, 0], 0)
        parts = led[:, calls, 0], pushed, led[:, returns, 1:].swapaxes(1, 2), led[:, returns, 0], led[:, internals, 0]
        return cls(machine, direction, calls, returns, internals, *parts)

    @property
    def n_states(self) -> int:
        """With the sink."""
        return self.machine.n_states + 1

    @property
    def outputs(self) -> npt.NDArray[np.int64]:
        return self.machine.output_table

    @property
    def start(self) -> int:
        return self.machine.initial_index

    def internal(self, state: int, x: int) -> int:
        return int(self.internal_to[state, x])

    def call(self, state: int, a: int) -> tuple[int, int]:
        return int(self.call_to[state, a]), int(self.pushed[state, a])

    def close(self, state: int, symbol: int, b: int) -> int:
        return int(self.return_to[state, symbol, b])

    def close_nothing(self, state: int, b: int) -> int:
        return int(self.bottom_to[state, b])

    def shortest_word(self, answers: Iterable[int]) -> Ints | None:
        """A shortest word (length,) with one of these answers (-1: no question); None if there is none."""
        wanted = set(answers)
        return shortest_word(self, lambda state: int(self.outputs[state]) in wanted)

    def counterexample(self, other: VisiblyPushdown) -> str | None:
        """A shortest word that the two answer differently, having none (-1) included; None if they are equivalent.

        Both have the same calls, returns and internal symbols, and answers are compared by name.

        AutomatonError: they have not.
        """
        mine, theirs = self.machine, other.machine
        same = mine.alphabet == theirs.alphabet and (self.direction == other.direction).all()
        if not same:
            raise AutomatonError("the two machines have other symbols, calls or returns; give them the same")
        names = [[*it.machine.output_names, None] for it in (self, other)]
        word = shortest_word(
            Pair(self, other),
            lambda pair: names[0][self.outputs[pair[0]]] != names[1][other.outputs[pair[1]]],
        )
        return None if word is None else mine.decode(word)


def _direction(machine: PushdownTransducer, symbol: int) -> int:
    """CALL, RETURN or INTERNAL; a symbol without a move is internal, and a return at the bottom pops nothing.

    One that has a move at the bottom alone is a return: where something is open it closes that, and leads nowhere.
    """
    exists, actions = machine.table[:, symbol] != NO_MOVE, machine.actions[:, symbol]  # (Q + 1, 1 + Delta)
    if (actions[exists] == STAY).all():
        opened = exists[:, 1:]
        return RETURN if exists.any() and opened.size and not opened.any() else INTERNAL
    if (actions[exists] >= 0).all():
        return CALL
    if (actions[:, 1:][exists[:, 1:]] == POP).all() and (actions[:, 0] == STAY).all():
        return RETURN
    raise AutomatonError(
        f"symbol {machine.alphabet[symbol]!r:.80} pushes, pops or leaves the stack in different states; in a visibly "
        "pushdown machine a symbol is a call, a return or internal"
    )


class SearchedMachine(Protocol):
    """What the search for words asks of a machine; its states are of any kind."""

    @property
    def calls(self) -> Ints: ...
    @property
    def returns(self) -> Ints: ...
    @property
    def internals(self) -> Ints: ...
    @property
    def start(self) -> Any: ...
    def internal(self, state: Any, x: int) -> Any: ...
    def call(self, state: Any, a: int) -> tuple[Any, Any]: ...
    def close(self, state: Any, symbol: Any, b: int) -> Any: ...
    def close_nothing(self, state: Any, b: int) -> Any: ...


class Pair:
    """Two machines that read the same word side by side."""

    def __init__(self, first: VisiblyPushdown, second: VisiblyPushdown) -> None:
        self.both = first, second
        self.calls, self.returns, self.internals = first.calls, first.returns, first.internals
        self.start = first.start, second.start

    def internal(self, state: tuple[int, int], x: int) -> tuple[int, int]:
        return self.both[0].internal(state[0], x), self.both[1].internal(state[1], x)

    def call(self, state: tuple[int, int], a: int) -> tuple[tuple[int, int], tuple[int, int]]:
        (p, g), (q, h) = self.both[0].call(state[0], a), self.both[1].call(state[1], a)
        return (p, q), (g, h)

    def close(self, state: tuple[int, int], symbol: tuple[int, int], b: int) -> tuple[int, int]:
        return self.both[0].close(state[0], symbol[0], b), self.both[1].close(state[1], symbol[1], b)

    def close_nothing(self, state: tuple[int, int], b: int) -> tuple[int, int]:
        return self.both[0].close_nothing(state[0], b), self.both[1].close_nothing(state[1], b)


Node = tuple[Hashable, Hashable]  # (where the word began, where it ends)
BOTTOM, OPEN = "at the bottom", "above an open call"  # where words of the top level begin; all others begin at a call


def shortest_word(steps: SearchedMachine, wanted: Callable[[Any], bool]) -> Ints | None:
    """A shortest word (length,) that leads from the start to a wanted state; None if there is none.

    Pairs (p, q) such that a well-matched word leads from p, the state behind a call, to q are settled in the order of
    their shortest words: Knuth's generalisation of Dijkstra's algorithm (1977), with another origin for words of the
    top level, whose returns may close nothing, and an origin for those behind a call that nothing closes.

    TooLarge: more than 2**20 pairs, or a shortest word of more than 2**22 symbols.
    """
    ways: dict[Node, Any] = {}
    ends: dict[Hashable, list[tuple[Hashable, int]]] = {}  # of each origin: the states reached, with lengths
    callers: dict[Hashable, list[tuple[Node, int, int, Any]]] = {}  # who waits for words from an origin
    number = count()  # no two states are compared
    queue: list[tuple[int, int, Node, Any]] = [(0, next(number), (BOTTOM, steps.start), None)]

    def reach(length: int, node: Node, way: Any) -> None:
        if node not in ways:
            heappush(queue, (length, next(number), node, way))

    def close(node: Node, length: int, a: int, symbol: Any, inside: Node, inner: int) -> None:
        for b in range(len(steps.returns)):
            reach(length + inner + 2, (node[0], steps.close(inside[1], symbol, b)), (node, a, inside, b))

    while queue:
        length, _, node, way = heappop(queue)
        if node in ways:
            continue
        ways[node] = way
        if len(ways) > allowed(MAX_SUMMARIES):
            said = f"the search for a word meets more than {allowed(MAX_SUMMARIES):,} pairs of states"
            raise TooLarge(f"{said}; use a smaller machine{hint(len(ways), MAX_SUMMARIES)}")
        origin, state = node
        if origin in (BOTTOM, OPEN) and wanted(state):
            check(length, LONGEST, f"a shortest word has {length:,} symbols")
            return _word(steps, ways, node)
        ends.setdefault(origin, []).append((state, length))
        for caller, before, a, symbol in callers.get(origin, ()):
            close(caller, before, a, symbol, node, length)
        for x in range(len(steps.internals)):
            reach(length + 1, (origin, steps.internal(state, x)), (node, int(steps.internals[x])))
        if origin == BOTTOM:
            for b in range(len(steps.returns)):
                reach(length + 1, (origin, steps.close_nothing(state, b)), (node, int(steps.returns[b])))
        for a in range(len(steps.calls)):
            target, symbol = steps.call(state, a)
            if origin in (BOTTOM, OPEN):
                reach(length + 1, (OPEN, target), (node, int(steps.calls[a])))
            callers.setdefault(target, []).append((node, length, a, symbol))
            reach(0, (target, target), None)
            for end, inner in list(ends.get(target, ())):
                close(node, length, a, symbol, (target, end), inner)
    return None


def _word(steps: SearchedMachine, ways: dict[Node, Any], node: Node) -> Ints:
    """The symbols of the way to a node, read backwards; without recursion, as brackets may be nested deeply."""
    symbols: list[int] = []
    todo: list[Any] = [node]
    while todo:
        item = todo.pop()
        if isinstance(item, int):
            symbols.append(item)
        elif (way := ways[item]) is not None:
            before, symbol, *inside = way
            if inside:  # last in, first out: the return, what is inside, the call, what is before
                todo += [before, int(steps.calls[symbol]), inside[0], int(steps.returns[inside[1]])]
            else:
                todo += [before, symbol]
    return np.array(symbols[::-1], dtype=np.intp)
