"""A visibly pushdown automaton read from JSON: each symbol is a call, which pushes, a return, which pops, or internal.

Brackets make words nested: an item is a symbol or a pair, a call and a return with a row of items between them. Inside
a pair such a row, and so an item, acts on the states alone. At the top level stand pending symbols, too: returns that
nothing opened, and to the right of all of them calls that nothing closes.
"""

from __future__ import annotations

from typing import Any

from regulargpt.certificate.checker.files import Malformed, Rejected, fields
from regulargpt.certificate.checker.forests import Forest, Function, Relation, bits, closure, either, settled, union
from regulargpt.certificate.checker.machine import CALL, INTERNAL, MAX_STATES, RETURN, Automaton, are_outputs, names
from regulargpt.certificate.checker.moves import Moves

PUSHDOWN = {"alphabet": list, "initial": str, "outputs": dict, "output_names": list, "moves": list}
Opened = tuple[tuple[int, int], ...]  # what a call and the row behind it do: from each state, to a state and a push


def described(record: Any, name: str) -> dict[str, Any]:
    """A pushdown automaton as its file describes it, but for the moves all in order. Raises Malformed."""
    data = fields(record, name, PUSHDOWN)
    alphabet, output_names, outputs = names(data, "alphabet", name), names(data, "output_names", name), data["outputs"]
    if not alphabet or data["initial"] not in outputs or not are_outputs(outputs, output_names):
        raise Malformed(f"{name}: give symbols, and every state an output or null, the initial one, too")
    return data


def numbered(data: dict[str, Any]) -> list[int | None]:
    """The output of each state, as a number."""
    number = {output: i for i, output in enumerate(data["output_names"])}
    return [None if output is None else number[output] for output in data["outputs"].values()]


class PushdownMachine(Automaton):
    """A visibly pushdown automaton, completed by a sink without an answer, where words go for which there is no move.

    At the top level states are (q, h), numbered q + h n: h is 1 once a pending call was read. The last, where a
    pending return would come after that, is of no word: it would close the call.
    """

    def __init__(self, record: Any, name: str):
        super().__init__()
        data = described(record, name)
        self.alphabet, self.output_names = data["alphabet"], data["output_names"]
        states = list(data["outputs"])
        self.n, self.initial = len(states) + 1, states.index(data["initial"])
        if 2 * self.n >= MAX_STATES:
            most = MAX_STATES // 2 - 2
            raise Rejected(f"{name} has {len(states):,} states; pushdown automata of at most {most:,} are checked")
        given = numbered(data)
        self.outputs = [*given, None, *given, None, None]
        self._complete(Moves(data, states, self.alphabet, name), name)
        self.inner_letters = {a: tuple(self.steps[a]) for a, kind in enumerate(self.direction) if kind == INTERNAL}
        self.letters = [self._at_top(a) for a in range(len(self.alphabet))]
        self._relate()

    def _complete(self, moves: Moves, name: str) -> None:
        """What each symbol does, the sink included. Raises Rejected if it is no visibly pushdown automaton."""
        sink, bottom = self.n - 1, len(moves.stack)
        self.stack_size, self.direction = bottom, moves.directions(name)

        def to(a: int, top: int) -> list[int]:
            return [moves.cases.get((q, a, top), (sink, 0))[0] for q in range(self.n)]

        def pushes(a: int) -> list[tuple[int, int]]:
            # In the sink it says nothing what is pushed.
            pushed = [moves.cases.get((q, a, bottom), (sink, 0))[1] for q in range(self.n)]
            return list(zip(to(a, bottom), pushed, strict=True))

        ways = {INTERNAL: lambda a: to(a, bottom), CALL: pushes}
        ways[RETURN] = lambda a: [to(a, top) for top in range(bottom + 1)]
        self.steps = [ways[kind](a) for a, kind in enumerate(self.direction)]
        self.calls, self.returns = ([a for a, k in enumerate(self.direction) if k == kind] for kind in (CALL, RETURN))

    def _at_top(self, a: int) -> Function:
        """What a symbol does as an item of the top level, pending if it is a bracket."""
        n, dead = self.n, 2 * self.n
        if self.direction[a] == CALL:
            to = [q + n for q, _ in self.steps[a]]
            return (*to, *to, dead)
        if self.direction[a] == RETURN:
            return (*self.steps[a][-1], *[dead] * n, dead)
        return self.lifted(self.inner_letters[a])

    def lifted(self, function: Function) -> Function:
        """At the top level, what an item does that is not pending, or a row of such."""
        return (*function, *(q + self.n for q in function), 2 * self.n)

    def opened(self, function: Function, call: int) -> Opened:
        """What a call does with a row behind it."""
        return tuple((function[q], pushed) for q, pushed in self.steps[call])

    def coded(self, opened: Opened) -> Function:
        """The same as numbers, none of which is a state of the top level."""
        return tuple(2 * self.n + 1 + q + pushed * self.n for q, pushed in opened)

    def closed(self, opened: Opened, close: int) -> Function:
        """What that does with a return behind it: a pair."""
        return tuple(self.steps[close][pushed][q] for q, pushed in opened)

    def _relate(self) -> None:
        """The rows of items, at the top level and inside pairs, and which items are part of a word with an answer."""
        n = self.n
        # What a state leads to by some return, for each number that was pushed.
        self._closing = [
            [bits({self.steps[b][g][p] for b in self.returns}) for p in range(n)] for g in range(self.stack_size)
        ]
        self._opening = sorted({(q, *self.steps[a][q]) for q in range(n) for a in self.calls})
        letters = [bits({f[q] for f in self.inner_letters.values()}) for q in range(n)]
        inner = settled(lambda step: either(letters, self._pairs_round(closure(step))), letters)
        top = [bits({f[v] for f in self.letters} - {2 * n}) for v in range(2 * n)]
        top = either(top, [*inner, *(row << n for row in inner)])
        answered = bits(v for v, output in enumerate(self.outputs) if output is not None)
        self.top = Forest([*top, 0], [answered if v == self.initial else 0 for v in range(2 * n + 1)], self.product)
        # A pair at the top level leads from (q, h) to (p, h).
        useful = self.top.useful(1, 1)
        at_top = [useful[q] & bits(range(n)) | useful[q + n] >> n for q in range(n)]
        self.useful_items = settled(lambda now: either(now, self._inside(inner, now).useful(1, 1)), at_top)
        self.inner = self._inside(inner, self.useful_items)

    def _pairs_round(self, inside: Relation) -> Relation:
        """What pairs do if what is inside leads from a state to any of these."""
        behind = {}
        for _, q, pushed in self._opening:
            if (q, pushed) not in behind:
                behind[q, pushed] = union(self._closing[pushed], inside[q])
        relation = [0] * self.n
        for start, q, pushed in self._opening:
            relation[start] |= behind[q, pushed]
        return relation

    def _inside(self, step: Relation, useful: Relation) -> Forest:
        """The rows of items inside pairs of which a word with an answer has these."""
        ends = [0] * self.n
        for start, q, pushed in self._opening:
            ends[q] |= bits(p for p, behind in enumerate(self._closing[pushed]) if behind & useful[start])
        return Forest(step, ends, self.product)

    def is_useful_item(self, function: Function) -> bool:
        """Whether a word with an answer can have such a pair, or internal symbol, somewhere."""
        return any(ends >> p & 1 for p, ends in zip(function, self.useful_items, strict=True))

    @property
    def after_words(self) -> set[int]:
        """The states that non-empty words lead to."""
        return {v % self.n for v in super().after_words}

    @property
    def answers_without_end(self) -> bool:
        """Whether infinitely many words have an answer: some are as wide as one likes somewhere, or as deep."""
        return self.top.has_loop() or self.inner.has_loop() or self._is_deep()

    def _is_deep(self) -> bool:
        """Whether words with an answer are nested as deeply as one likes.

        Let X_0 relate the states that rows of items lead from and to, and X_(k + 1) those that rows with a pair do
        inside of which is one of X_k: these are rows nested k + 1 deep or more.
        """
        rows = self.inner.repeated(1)

        def deeper(now: Relation) -> Relation:
            pairs = self._pairs_round(now)
            return [union(rows, union(pairs, states)) for states in rows]

        return any(row & ends for row, ends in zip(settled(deeper, rows), self.inner.ends, strict=True))
