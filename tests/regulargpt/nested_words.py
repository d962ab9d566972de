"""Nested words by hand: a machine with a stack, trees by recursion, and networks that are tables. Plain, on purpose."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from hypothesis import strategies as st

Word = tuple[int, ...]
Item = Any  # a symbol, or (call, items, return)
Window = tuple[int, ...]
Side = Literal["right", "left"]
NAMES = {1: "([", -1: ")]", 0: "xy"}
OUTPUTS = ("no", "yes")


@dataclass(frozen=True)
class Stacked:
    """A visibly pushdown machine: `moves[q, a, top]` is (state, push), top None at the bottom; without: no answer."""

    direction: tuple[int, ...]
    moves: dict[tuple[int, int, int | None], tuple[int, int]]
    answers: tuple[int | None, ...]

    @property
    def alphabet(self) -> list[str]:
        seen = {1: iter(NAMES[1]), -1: iter(NAMES[-1]), 0: iter(NAMES[0])}
        return [next(seen[kind]) for kind in self.direction]

    def run(self, word: Word, state: int = 0) -> tuple[int, list[int]] | None:
        """The last state, and what is on the stack."""
        stack: list[int] = []
        for a in word:
            found = self.moves.get((state, a, stack[-1] if stack else None))
            if found is None:
                return None
            state, pushed = found
            if self.direction[a] == -1 and stack:
                stack.pop()
            elif self.direction[a] == 1:
                stack.append(pushed)
        return state, stack

    def answer(self, word: Word) -> int | None:
        end = self.run(word)
        return None if end is None else self.answers[end[0]]

    def record(self) -> dict[str, Any]:
        """automaton.json."""
        moves = []
        for (q, a, top), (to, pushed) in self.moves.items():
            move: dict[str, Any] = {"from": f"q{q}", "read": self.alphabet[a], "to": f"q{to}"}
            move["tops"] = [None if top is None else f"g{top}"]
            if self.direction[a] == 1:
                move["push"] = f"g{pushed}"
            elif self.direction[a] == -1 and top is not None:
                move["pop"] = True
            moves.append(move)
        outputs = {f"q{q}": None if i is None else OUTPUTS[i] for q, i in enumerate(self.answers)}
        return {
            "alphabet": self.alphabet,
            "initial": "q0",
            "outputs": outputs,
            "output_names": list(OUTPUTS),
            "moves": moves,
        }

    def words(self, longest: int) -> Iterator[Word]:
        """All words that have an answer."""
        for length in range(1, longest + 1):
            for word in itertools.product(range(len(self.direction)), repeat=length):
                if self.answer(word) is not None:
                    yield word


@st.composite
def stacked(draw: st.DrawFn, directions: tuple[tuple[int, ...], ...] = ((1, -1, 0), (1, -1)), most: int = 3) -> Stacked:
    """Machines with holes: some moves are missing, some states have no answer."""
    direction, Q, pushes = draw(st.sampled_from(directions)), draw(st.integers(1, most)), draw(st.integers(1, 2))
    states = st.integers(-1, Q - 1) if draw(st.booleans()) else st.integers(0, Q - 1)
    moves: dict[tuple[int, int, int | None], tuple[int, int]] = {}
    used = list(range(pushes))
    for q, a in itertools.product(range(Q), range(len(direction))):
        if direction[a] == -1:
            for top in (None, *used):
                to = draw(states)
                # A return pops somewhere, as a call pushes somewhere: else it would be none.
                if (to := max(to, 0) if (q, top) == (0, pushes - 1) else to) >= 0:
                    moves[q, a, top] = to, 0
            continue
        to, pushed = draw(states), draw(st.integers(0, pushes - 1))
        if q == 0 and direction[a] == 1:
            to, pushed = max(to, 0), pushes - 1
        for top in (None, *used) if to >= 0 else ():
            moves[q, a, top] = to, pushed
    pushed = {push for (_, a, _), (_, push) in moves.items() if direction[a] == 1}
    kept = {case: to for case, to in moves.items() if case[2] is None or case[2] in pushed}
    answers = tuple(draw(st.tuples(*[st.sampled_from([0, 1, None])] * Q)))
    return Stacked(direction, kept, answers)


def items_of(word: Word, direction: tuple[int, ...]) -> tuple[Item, ...]:
    """The items of a word: a return closes the nearest open call; what closes nothing, or stays open, is a symbol."""
    rows: list[list[Item]] = [[]]
    calls: list[int] = []
    for a in word:
        if direction[a] == -1 and calls:
            inside = tuple(rows.pop())
            rows[-1].append((calls.pop(), inside, a))
        elif direction[a] == 1:
            calls.append(a)
            rows.append([])
        else:
            rows[-1].append(a)
    row = rows[0]
    for call, behind in zip(calls, rows[1:], strict=True):
        row += [call, *behind]
    return tuple(row)


def spelled(items: tuple[Item, ...]) -> Word:
    """The word that these items are."""
    return tuple(itertools.chain(*((i,) if isinstance(i, int) else (i[0], *spelled(i[1]), i[2]) for i in items)))


@dataclass
class TableNetwork:
    """A network whose map is a table over windows: rows 0, K prototypes, and behind them the symbols.

    `nodes` notes each window and prototype that a word has, with the word under it; of a call without its return in C =
    2, under an open pair, that is the call and what is inside.
    """

    image: Callable[[Window], int]
    K: int
    C: int
    aligned: Side
    nodes: set[tuple[Window, int, Word, bool]] = field(default_factory=set)
    known: dict[Any, int] = field(default_factory=dict)

    def merged(self, children: list[int], word: Word, is_open: bool = False) -> int:
        ordered = children[::-1] if self.aligned == "right" else children
        window = (*ordered, *[0] * (self.C - len(ordered)))
        image = self.image(window)
        self.nodes.add((window, image, word, is_open))
        return image

    def row(self, item: Item) -> int:
        """The row of an item."""
        if isinstance(item, int):
            return self.K + 1 + item
        call, inside, close = item
        a, b, root = self.K + 1 + call, self.K + 1 + close, self.root(inside) if inside else 0
        if self.C > 2:
            return self.merged([a, root, b], spelled((item,)))
        opened = self.merged([a, root], (call, *spelled(inside)), is_open=True)
        return self.merged([opened, b], spelled((item,)))

    def root(self, items: tuple[Item, ...]) -> int:
        """The prototype over a row of items, as known from another word if it was there."""
        if items not in self.known:
            self.known[items] = self.over([(self.row(item), spelled((item,))) for item in items])
        return self.known[items]

    def over(self, rows: list[tuple[int, Word]]) -> int:
        """The prototype over nodes, each with the word under it."""
        while True:
            n, C = len(rows), self.C
            first = (n % C or C) if self.aligned == "right" else C
            cuts = [0, *range(first, n, C), n]
            parts = [rows[start:end] for start, end in itertools.pairwise(cuts)]
            words = [sum((word for _, word in part), ()) for part in parts]
            rows = [(self.merged([row for row, _ in part], w), w) for part, w in zip(parts, words, strict=True)]
            if len(rows) == 1:
                return rows[0][0]


class Right:
    """The network that does what the words under a node do: each prototype stands for all words that do the same.

    What a word does: where it leads from each state, what is on the top of the stack then, and what is pending in it.
    """

    def __init__(self, machine: Stacked, K: int, C: int, aligned: Side):
        self.machine, self.K, self.C, self.aligned = machine, K, C, aligned
        self.number: dict[Any, int] = {}
        self.words: list[Word] = []
        self.image = cache(self.over)

    def over(self, window: Window) -> int:
        ordered = window[::-1] if self.aligned == "right" else window
        word: Word = sum((self.words[r - 1] if r <= self.K else (r - self.K - 1,) for r in ordered if r), ())
        ends = [self.machine.run(word, q) for q in range(len(self.machine.answers))]
        key = tuple(end and (end[0], *end[1][-1:]) for end in ends), *pending(word, self.machine.direction)
        if key not in self.number:
            self.words.append(word)
            self.number[key] = len(self.words)
            assert len(self.words) <= self.K
        return self.number[key]

    def __len__(self) -> int:
        return self.K

    def __getitem__(self, k: int) -> int | None:
        """The right answer at a prototype."""
        return self.machine.answer(self.words[k])


def pending(word: Word, direction: tuple[int, ...]) -> tuple[bool, bool]:
    """Whether a return of the word is pending, and whether a call is."""
    height = lowest = 0
    for a in word:
        height += direction[a]
        lowest = min(lowest, height)
    return lowest < 0, height > lowest
