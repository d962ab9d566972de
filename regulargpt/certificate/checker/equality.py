"""Whether two automata answer every word alike, by closure over pairs of their states."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import Any

from regulargpt.certificate.checker.claims import language_claim, quoted
from regulargpt.certificate.checker.files import Rejected
from regulargpt.certificate.checker.machine import CALL, INTERNAL, RETURN, Automaton

Both = tuple[int, int]  # a state of each automaton
# What words lead to, from where they begin: the empty word; words whose calls all are closed, and others; or words
# inside a pair, behind a call that has led to these states.
Fact = tuple[str | Both, Both]
EMPTY, CLOSED, OPEN = "nothing is read", "no call is pending", "a call is pending"
MAX_FACTS = 1 << 20
MAX_STEPS = 1 << 28
MAX_WORD = 1 << 16  # symbols of a word that is written out: a shortest may be exponentially long


def same_language(machine: Automaton, language: tuple[str, Automaton] | None) -> str | None:
    """The claim that an automaton is a language's, if a language is named. Raises Rejected if it is not."""
    if language is None:
        return None
    name, other = language
    if other.alphabet != machine.alphabet:
        raise Rejected(f"the automaton is not that of {name}: it reads other symbols")
    if other.direction != machine.direction:
        raise Rejected(f"the automaton is not that of {name}: its calls and returns are others")
    if (word := distinguishing_word(machine, other)) is not None:
        shown = " ".join(map(quoted, word))
        raise Rejected(f"the automaton is not that of {name}: they differ on the word {shown}")
    return language_claim(name)


def distinguishing_word(mine: Automaton, other: Automaton) -> list[str] | None:
    """A shortest word of at least 1 symbol that two automata over one alphabet, with the same brackets, answer
    differently, None if none is. To have no answer is different from any answer.

    Raises Rejected for a word that is too long to be written out.
    """
    search = FactSearch(mine, other)
    pair = search.shortest()
    return None if pair is None else [mine.alphabet[a] for a in search.spelled(pair)]


class FactSearch:
    """Facts in the order of the lengths of their shortest words: Knuth's generalisation (1977) of Dijkstra's method.

    A fact follows from a shorter one and a symbol, or from two shorter ones, what stands before a pair and in it.
    """

    def __init__(self, mine: Automaton, other: Automaton):
        self.mine, self.other = mine, other
        self.ways: dict[Fact, Any] = {}
        self.lengths: dict[Fact, int] = {}  # of the shortest words so far
        self.waiting: list[tuple[int, int, Fact, Any]] = []
        self.number = count()  # no two facts are compared
        self.inner: dict[Both, list[Fact]] = {}  # by the states behind the call
        self.before: dict[Both, list[tuple[Fact, int, Both]]] = {}  # what stands before such a call, it, and its pushes
        symbols = range(len(mine.alphabet))
        kinds = (INTERNAL, CALL, RETURN)
        self.internal, self.calls, self.returns = ([a for a in symbols if mine.direction[a] == k] for k in kinds)

    def shortest(self) -> Fact | None:
        """The fact of a shortest word that is answered differently."""
        self.follow(0, (EMPTY, (self.mine.initial, self.other.initial)), None)
        while self.waiting:
            _, _, fact, way = heappop(self.waiting)
            if fact in self.ways:
                continue
            self.ways[fact] = way
            if fact[0] in (CLOSED, OPEN) and self.differ(*fact[1]):
                return fact
            self.go_on(fact)
        return None

    def differ(self, q: int, p: int) -> bool:
        """Whether two states have other answers; a name may have another number in the other automaton."""
        a, b = self.mine.outputs[q], self.other.outputs[p]
        return (None if a is None else self.mine.output_names[a]) != (None if b is None else self.other.output_names[b])

    def follow(self, length: int, fact: Fact, way: Any) -> None:
        """A word of this length shows the fact in this way."""
        if (number := next(self.number)) > MAX_STEPS or len(self.lengths) > MAX_FACTS:
            raise Rejected("too many pairs of states of the two automata to go through")
        if length < self.lengths.get(fact, length + 1):
            self.lengths[fact] = length
            heappush(self.waiting, (length, number, fact, way))

    def go_on(self, fact: Fact) -> None:
        """What follows from a fact by one symbol or one pair more."""
        (origin, (q, p)), longer = fact, self.lengths[fact] + 1
        mine, other, then = self.mine.steps, self.other.steps, CLOSED if origin == EMPTY else origin
        for a in self.internal:
            self.follow(longer, (then, (mine[a][q], other[a][p])), (fact, a))
        for b in self.returns if origin in (EMPTY, CLOSED) else ():
            self.follow(longer, (CLOSED, (mine[b][-1][q], other[b][-1][p])), (fact, b))
        for a in self.calls:
            (to_mine, g), (to_other, h) = mine[a][q], other[a][p]
            behind = to_mine, to_other
            if isinstance(origin, str):
                self.follow(longer, (OPEN, behind), (fact, a))
            self.follow(0, (behind, behind), None)
            self.before.setdefault(behind, []).append((fact, a, (g, h)))
            for inner in list(self.inner.get(behind, ())):
                self.close(fact, a, (g, h), inner)
        if not isinstance(origin, str):
            self.inner.setdefault(origin, []).append(fact)
            for before in list(self.before[origin]):
                self.close(*before, fact)

    def close(self, before: Fact, call: int, pushed: Both, inner: Fact) -> None:
        origin, (q, p) = before[0], inner[1]
        length, then = self.lengths[before] + self.lengths[inner] + 2, CLOSED if origin == EMPTY else origin
        for b in self.returns:
            to = self.mine.steps[b][pushed[0]][q], self.other.steps[b][pushed[1]][p]
            self.follow(length, (then, to), (before, call, inner, b))

    def spelled(self, fact: Fact) -> list[int]:
        """The symbols of the word that shows a fact, read backwards, without recursion."""
        if (length := self.lengths[fact]) > MAX_WORD:
            raise Rejected(f"the two automata differ: a shortest word that shows it has {length:,} symbols")
        symbols: list[int] = []
        left: list[Any] = [fact]
        while left:
            item = left.pop()
            if isinstance(item, int):
                symbols.append(item)
            elif (way := self.ways[item]) is not None:
                left += way
        return symbols[::-1]
