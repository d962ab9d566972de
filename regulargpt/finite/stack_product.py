"""Does a machine with a stack answer every word as a pushdown transducer does? Both read it side by side.

The two stacks are kept aligned level by level: a joint stack of pairs of symbols, and in the control what the higher
stack has more, at most K symbols, the lag. Which pairs (level, control) occur is settled by summaries of the levels, in
the order of their shortest words; so the first wrong answer is that of a shortest word.

Where no step has a lag above K and all answers agree, they agree on every word. A machine that lags further is left
undecided, unless a word that does not lag is wrong.

Source: height-synchronised pushdown automata, Caucal 2006, with a lag; summaries as by Knuth's generalisation of
Dijkstra's algorithm (1977).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, NamedTuple, Protocol

import numpy as np

from languages.automata.pushdown import NO_MOVE, POP, STAY, PushdownTransducer
from languages.budget import allowed, hint

MAX_LAG = 4
MAX_PAIRS = 2**22
FURTHER = 2**16  # pairs among which a wrong word is looked for once there can be no proof; twice those before, if more
LONGEST = 2**22  # symbols of a word that is written out
BOTTOM = -1  # as a top
NONE, TIED = -1, -2  # as an answer

Word = tuple[int, ...]
Case = tuple[int, int, int]  # a state, the symbol read and the top of the stack
Symbols = tuple[int, ...]  # of a stack, from below


class PushingMachine(Protocol):
    """A machine that pushes, pops or neither at each symbol; its states and stack symbols are numbers."""

    @property
    def start(self) -> int: ...

    def moves(self, cases: Sequence[Case]) -> Sequence[tuple[int, int]]:
        """The next state and the action of each case: -2 pops, -1 leaves the stack, g >= 0 pushes g."""
        ...

    def answer(self, state: int) -> int:
        """The answer in a state: -1 for none, -2 where two are tied, or rounding decides between them."""
        ...

    def doubt(self, case: Case) -> str | None:
        """Why rounding could lead to another move, None if it could not."""
        ...


@dataclass(frozen=True)
class Proven:
    """No word is answered otherwise: what was gone through, and by how much the heights of the stacks differ."""

    lag: int
    states: int  # of the machine
    entries: int  # of its table: cases that occur
    pairs: int  # of a level and a control


@dataclass(frozen=True)
class Wrong:
    """A shortest word whose last symbol the machine answers otherwise; of those whose lag is at most K."""

    word: Word


@dataclass(frozen=True)
class UndecidedProduct:
    """Why there is no proof, and the word with which that occurs, if it is of a word."""

    reason: str
    word: Word | None = None


Verdict = Proven | Wrong | UndecidedProduct


class Control(NamedTuple):
    """Both states, and what one of the stacks has more than the other."""

    p: int
    q: int
    ahead: Symbols = ()  # of the machine
    behind: Symbols = ()  # of the reference; either is empty


class Joint(NamedTuple):
    g: int
    h: int


NO_LEVEL = Joint(BOTTOM, BOTTOM)


class ProductStep(NamedTuple):
    """What a symbol does: the control behind it, whether it takes the joint level away, and the level that it adds."""

    control: Control
    pops: bool
    pushed: Joint | None


def step(control: Control, joint: Joint, move: tuple[int, int], reference: tuple[int, int]) -> ProductStep:
    """Both machines move at once, each to a state with an action.

    >>> step(Control(0, 0), NO_LEVEL, (1, 5), (2, -1)).control  # the machine pushes 5, the reference nothing
    Control(p=1, q=2, ahead=(5,), behind=())
    >>> step(Control(1, 2, (5,)), NO_LEVEL, (1, -1), (2, 7)).pushed
    Joint(g=5, h=7)
    """
    (p, act), (q, done) = move, reference
    ahead, behind, pops, pushed = control.ahead, control.behind, False, None
    if act == POP:
        if ahead:
            ahead = ahead[:-1]
        elif joint is not NO_LEVEL:
            behind, pops = (joint.h, *behind), True
    if done == POP:
        if behind:
            behind = behind[:-1]
        else:  # no move pops at the bottom
            ahead, pops = (joint.g, *ahead), True
    if act >= 0:
        if behind:
            pushed, behind = Joint(act, behind[0]), behind[1:]
        else:
            ahead = (*ahead, act)
    if done >= 0:
        if ahead:
            pushed, ahead = Joint(ahead[0], done), ahead[1:]
        else:
            behind = (*behind, done)
    return ProductStep(Control(p, q, ahead, behind), pops, pushed)


class Way(NamedTuple):
    """How a pair was reached: from which before, by which symbol; at a return what came in between, and its last."""

    before: int
    symbol: int
    inside: int = -1
    last: int = -1


@dataclass
class StackLevel:
    """All that is known of a level that is opened with one control and one symbol on it."""

    joint: Joint
    first: int = -1  # the pair in which it begins
    callers: dict[int, Way] = field(default_factory=dict)  # by the level below; the way says from which pair
    exits: dict[Control, Way] = field(default_factory=dict)  # the controls behind it; from which pair, by which symbol


class StackProduct:
    """The search; `limit` bounds the pairs, and `max_lag` the lag.

    It ends with so many `wanted` wrong words, each with no wrong answer before its last: `wrong`, the shortest first.
    With none wanted it goes on to the end, also behind wrong answers, and notes the first.

    >>> from languages.context_free.brackets import brackets
    >>> machine = brackets(2).machine
    >>> StackProduct(Transducer(machine, machine), machine).run()
    Proven(lag=0, states=3, entries=48, pairs=12)
    """

    def __init__(
        self,
        machine: PushingMachine,
        reference: PushdownTransducer,
        max_lag: int = MAX_LAG,
        limit: int | None = None,
        wanted: int = 1,
    ):
        self.machine, self.reference, self.max_lag, self.wanted = machine, reference, max_lag, wanted
        self.limit = allowed(MAX_PAIRS) if limit is None else limit
        self.table: dict[Case, tuple[int, int]] = {}
        self.levels: list[StackLevel] = []
        self.opened: dict[tuple[Control, Joint], int] = {}
        self.pairs: dict[tuple[int, Control], int] = {}
        self.of: list[tuple[int, Control]] = []  # of each pair, its level and control
        self.lengths: list[int] = []
        self.ways: list[Way] = []
        self.edges: list[tuple[Any, Any]] | None = None  # of pairs, and of exits between two; where they are wanted
        self.waiting: dict[int, list[int]] = {}  # pairs by the lengths of their words, which may be very long
        self.order: list[int] = []  # these lengths, as a heap
        self.lag, self.is_bounded = 0, False
        self.doubt: UndecidedProduct | None = None  # the first
        self.wrong: list[Wrong] = []
        self.answers_met: set[int] = set()  # the answers that are requested
        # As lists, since they are read an entry at a time: (Q + 1, Sigma, 1 + Delta).
        self._moves: list[list[list[int]]] = reference.table.tolist()
        self._actions: list[list[list[int]]] = reference.actions.tolist()
        possible = (reference.table != NO_MOVE).transpose(0, 2, 1)  # (Q + 1, 1 + Delta, Sigma)
        self._inputs = [[np.flatnonzero(symbols).tolist() for symbols in tops] for tops in possible]
        self._answers: list[int] = reference.output_table.tolist()

    def run(self) -> Verdict:
        """Go through all pairs. The answers are compared by their numbers."""
        self.open(Control(self.machine.start, self.reference.initial_index), NO_LEVEL, 0, Way(-1, -1))
        while self.order:
            length = heappop(self.order)
            nodes = [node for node in self.waiting.pop(length) if self.lengths[node] == length]
            self.look_up(nodes)
            for node in nodes:
                if (verdict := self.settle(node)) is not None:
                    return verdict
        if (verdict := self.ending) is not None:
            return verdict
        states = {self.machine.start, *(state for state, _ in self.table.values())}
        return Proven(self.lag, len(states), len(self.table), len(self.of))

    @property
    def ending(self) -> Wrong | UndecidedProduct | None:
        """What has come up against a proof: a wrong word before all else."""
        return self.wrong[0] if self.wrong else self.doubt

    def tops(self, level: int, control: Control) -> tuple[int, int]:
        """The tops of both stacks."""
        joint = self.levels[level].joint
        return control.ahead[-1] if control.ahead else joint.g, control.behind[-1] if control.behind else joint.h

    def inputs(self, control: Control, top: int) -> Sequence[int]:
        """The symbols for which the reference has a move."""
        return self._inputs[control.q][1 + top]

    def look_up(self, nodes: Sequence[int]) -> None:
        """The machine's moves from these pairs, all at once."""
        cases: dict[Case, None] = {}
        for level, control in map(self.of.__getitem__, nodes):
            g, h = self.tops(level, control)
            cases.update(((control.p, x, g), None) for x in self.inputs(control, h))
        new = [case for case in cases if case not in self.table]
        if new:
            self.table.update(zip(new, self.machine.moves(new), strict=True))

    def settle(self, node: int) -> Verdict | None:
        """All steps from a pair; a verdict if one of them ends the search."""
        level, control = self.of[node]
        joint, (g, h) = self.levels[level].joint, self.tops(level, control)
        for x in self.inputs(control, h):
            case = control.p, x, g
            q, action = self._moves[control.q][x][1 + h], self._actions[control.q][x][1 + h]
            move = step(control, joint, self.table[case], (q, action))
            if (doubt := self.machine.doubt(case)) is not None:
                self.note(doubt, node, x)
            if (right := self._answers[q]) != NONE:
                self.answers_met.add(right)
                given = self.machine.answer(move.control.p)
                if given == TIED:
                    self.note("two answers are tied, or rounding decides between them,", node, x)
                elif given != right and self.lengths[node] >= LONGEST:
                    self.note("an answer is wrong", node, x)
                elif given != right:
                    if self.wanted or not self.wrong:
                        self.wrong.append(Wrong((*self.word(node), x)))
                    if len(self.wrong) == self.wanted:
                        return self.wrong[0]
                    if self.wanted:
                        self.go_on_for_a_while()
                        continue
            self.follow(move, node, x)
            if len(self.of) > self.limit:
                more = hint(len(self.of), MAX_PAIRS) if self.limit == allowed(MAX_PAIRS) else ""
                return self.ending or UndecidedProduct(f"the product has more than {self.limit:,} pairs{more}")
        return None

    def note(self, why: str, node: int, x: int) -> None:
        """Remember why there can be no proof; the search goes on for a while, as a word may be wrong."""
        if self.doubt is not None:
            return
        self.go_on_for_a_while()
        if self.lengths[node] >= LONGEST:
            self.doubt = UndecidedProduct(f"{why} after a word of more than {LONGEST:,} symbols")
            return
        word = (*self.word(node), x)
        self.doubt = UndecidedProduct(f"{why} after a word of {len(word):,} symbol{'s' * (len(word) != 1)}", word)

    def go_on_for_a_while(self) -> None:
        """There can be no proof: what is left to look for are wrong words."""
        if not self.is_bounded:
            self.limit, self.is_bounded = min(self.limit, max(2 * len(self.of), FURTHER)), True

    def follow(self, move: ProductStep, node: int, x: int) -> None:
        """Add the pair that a step leads to."""
        level = self.of[node][0]
        lag = max(len(move.control.ahead), len(move.control.behind))
        if lag > self.max_lag:
            self.note(f"the heights of the two stacks differ by more than {self.max_lag}", node, x)
            return
        self.lag, after = max(self.lag, lag), self.lengths[node] + 1
        if move.pushed is not None:
            self.call(move, node, x)
        elif move.pops:
            if self.edges is not None:
                self.edges.append((node, (level, move.control)))
            if move.control not in self.levels[level].exits:
                self.levels[level].exits[move.control] = Way(node, x)
                for below in list(self.levels[level].callers):
                    self.leave(level, below, move.control)
        else:
            self.add(level, move.control, after, Way(node, x))

    def call(self, move: ProductStep, node: int, x: int) -> None:
        """A step that adds a level."""
        assert move.pushed is not None, "it adds a level"
        below, key = self.of[node][0], (move.control, move.pushed)
        if (level := self.opened.get(key)) is None:
            level = self.open(*key, self.lengths[node] + 1, Way(node, x))
        if below not in self.levels[level].callers:
            self.levels[level].callers[below] = Way(node, x)
            for control in list(self.levels[level].exits):
                self.leave(level, below, control)
        if self.edges is not None:
            self.edges.append((node, self.levels[level].first))

    def open(self, control: Control, joint: Joint, length: int, way: Way) -> int:
        """A new level, and the pair in which it begins."""
        level = self.opened[control, joint] = len(self.levels)
        self.levels.append(StackLevel(joint))
        self.levels[level].first = self.add(level, control, length, way)
        return level

    def leave(self, level: int, below: int, control: Control) -> None:
        """From one of a level's exits to the level below."""
        opened, closed = self.levels[level].callers[below], self.levels[level].exits[control]
        inside = self.lengths[closed.before] - self.lengths[self.levels[level].first]
        length = self.lengths[opened.before] + 1 + inside + 1
        node = self.add(below, control, length, Way(opened.before, opened.symbol, closed.before, closed.symbol))
        if self.edges is not None:
            self.edges.append(((level, control), node))

    def add(self, level: int, control: Control, length: int, way: Way) -> int:
        """A pair with a word of this length, unless there is a shorter word to it."""
        node = self.pairs.setdefault((level, control), len(self.of))
        if self.edges is not None:
            self.edges.append((way.before, node))
        if node == len(self.of):
            self.of.append((level, control))
            self.lengths.append(length)
            self.ways.append(way)
        elif length < self.lengths[node]:
            self.lengths[node], self.ways[node] = length, way
        else:
            return node
        if length not in self.waiting:
            heappush(self.order, length)
        self.waiting.setdefault(length, []).append(node)
        return node

    def word(self, node: int) -> Word:
        """A shortest word that leads to a pair."""
        return tuple(self._backwards(node))[::-1]

    def _backwards(self, node: int) -> Iterator[int]:
        """Its symbols from the last on; without recursion, as levels may be nested deeply."""
        todo = [(node, 0)]  # pairs, and the first pair before which to stop
        while todo:
            node, until = todo.pop()
            if node < 0:
                yield until
            elif node != until:
                way = self.ways[node]
                if way.inside < 0:
                    todo += [(way.before, until), (-1, way.symbol)]
                else:  # last in, first out
                    first = self.levels[self.of[way.inside][0]].first
                    todo += [(way.before, until), (-1, way.symbol), (way.inside, first), (-1, way.last)]


def why_empty(machine: PushdownTransducer) -> str | None:
    """Why it proves nothing to answer as a machine does: one answer only, or finitely many words; None if it does.

    >>> from languages.context_free.brackets import brackets
    >>> why_empty(brackets(2).machine)
    """
    import networkx as nx  # here: it is no part of the product, and pages need no graphs

    walk = StackProduct(Transducer(machine, machine), machine, 0)
    walk.edges = []
    walk.run()
    if len(walk.answers_met) < 2:
        return "the language's machine never has two different answers"
    graph = nx.DiGraph(walk.edges)
    answered = {n for n, (_, control) in enumerate(walk.of) if machine.outputs[control.q] >= 0}
    loops = [part for part in nx.strongly_connected_components(graph) if len(part) > 1 or graph.has_edge(*[*part] * 2)]
    if any(answered & (part | nx.descendants(graph, next(iter(part)))) for part in loops):
        return None
    return "the language's machine answers finitely many words only"


class Transducer:
    """A pushdown transducer as the machine; where it has no move it goes to a sink, which has no answer.

    The answers of `machine` are numbered as the reference names them.
    """

    def __init__(self, machine: PushdownTransducer, reference: PushdownTransducer):
        self.machine, self.start = machine, machine.initial_index
        numbers = {name: i for i, name in enumerate(reference.output_names)}
        names = [numbers.get(name, len(numbers)) for name in machine.output_names]  # the last is never right
        self._answers = [NONE if i < 0 else names[i] for i in machine.output_table.tolist()]

    def moves(self, cases: Sequence[Case]) -> list[tuple[int, int]]:
        states, symbols, tops = np.array(cases).T  # (cases,) each
        place = states, symbols, 1 + tops
        to = np.where(self.machine.table[place] == NO_MOVE, self.machine.n_states, self.machine.table[place])
        actions = np.where(self.machine.table[place] == NO_MOVE, STAY, self.machine.actions[place])
        return list(zip(to.tolist(), actions.tolist(), strict=True))

    def answer(self, state: int) -> int:
        return self._answers[state]

    def doubt(self, case: Case) -> None:
        """A table leaves none."""
