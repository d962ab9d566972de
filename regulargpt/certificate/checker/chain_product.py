"""The table of a network whose state is replaced by the nearest of some points, and its product with the automaton.

Place 0 is the start, place k point k. The row of a place and a symbol is one step of the network from there: an answer,
the largest of the logits, and the place of the point that is nearest to the new state. A pair is a place and a state of
the automaton that the same words lead to. Pairs are followed breadth first, from the start, and rows are computed when
they come up. What no answer can follow is left alone: no word that has one goes there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from regulargpt.certificate.checker.balls import Balls, exact, less
from regulargpt.certificate.checker.boxes import ends, known
from regulargpt.certificate.checker.chain_network import ChainNetwork
from regulargpt.certificate.checker.claims import quoted
from regulargpt.certificate.checker.doubles import Doubles, is_ieee
from regulargpt.certificate.checker.files import Floats, Rejected
from regulargpt.certificate.checker.images import Progress
from regulargpt.certificate.checker.machine import Machine
from regulargpt.certificate.checker.nearest import Nearest, NotNearest
from regulargpt.certificate.checker.network import COST

Row = tuple[int, int]  # a place and a symbol
Pair = tuple[int, int]  # a place and a state of the automaton
START = 0
MAX_ROWS, MAX_PAIRS, MAX_STEPS = 1 << 20, 1 << 20, 1 << 25
# Multiplications for all rows in float64, and for those that it does not decide: less than two hours of either.
MAX_WORK, MAX_EXACT_WORK = 1 << 43, 1 << 36
OF_LAYER = 1 << 21  # a layer takes at least as long as so many multiplications in float64: rows may come up one by one
MAX_AT_ONCE, NUMBERS = 256, 1 << 18  # rows that are computed together, and numbers of all: they fit into a cache
MOST_SHOWN = 64  # symbols of a word in a message


class CheckedRows:
    """The rows that have come up: `points` are the places they lead to, `answers` the largest logits and at most how
    much larger than others they are, None where float64 does not tell. The margins are the least of all, of answers
    only of those that were needed."""

    def __init__(self, quick: ChainNetwork, exactly: Callable[[], ChainNetwork], points: Floats, progress: Progress):
        self.quick, self._exactly, self.progress = quick, exactly, progress
        self.places = np.concatenate([quick.first_state()[None], points])  # (K + 1, D)
        self.nearest = Nearest(exact(points))
        self.points: dict[Row, int] = {}
        self.answers: dict[Row, tuple[int, float] | None] = {}
        self.point_margin = self.answer_margin = np.inf
        K, names = len(points), len(quick.output_names)
        self.work, self.exact = quick.work() + points.size + COST * (K + names), 0
        widest = max(quick.widest(), K, names)
        self.at_once = max(1, min(MAX_AT_ONCE, NUMBERS // widest))

    @cached_property
    def network(self) -> ChainNetwork:
        """The network in balls of FLINT."""
        return self._exactly()

    def add(self, rows: Iterator[Row]) -> None:
        """Compute rows that have not come up; whether a row has is asked when it is drawn."""
        while some := [*dict.fromkeys(islice(rows, self.at_once))]:
            most = min(MAX_ROWS, MAX_WORK // (self.work + OF_LAYER * self.quick.layers))
            if len(self.points) + len(some) > most:
                raise Rejected(f"more than {most:,} rows of the table come up: too many in a network of this size")
            self.progress("rows", len(self.points), len(self.places) * len(self.quick.alphabet))
            self.compute(some)

    @np.errstate(all="ignore")
    def compute(self, rows: list[Row]) -> None:
        """Some rows in float64, and in balls where that does not tell the nearest point."""
        places, symbols = np.array(rows).T  # (n,) each
        logits, states = self.quick.step(known(self.places[places]), symbols)
        points, decided, margins = self.nearest.quickly(states, None)
        best = np.nan_to_num(logits.middle, nan=-np.inf).argmax(1)
        gaps = least_gaps(logits, best) if is_ieee() else np.full(len(rows), -np.inf)
        self.point_margin = min(self.point_margin, float(margins[decided].min(initial=np.inf)))
        for i, row in enumerate(rows):
            self.answers[row] = (int(best[i]), float(gaps[i])) if gaps[i] > 0 else None
            self.points[row] = 1 + int(points[i]) if decided[i] else self.exact_point(row)

    def exact_step(self, row: Row) -> tuple[Balls, Balls]:
        """The logits (1, outputs) and the state (1, D) in balls."""
        self.exact += 1
        if self.exact > (most := MAX_EXACT_WORK // self.work):
            raise Rejected(f"more than {most:,} rows that float64 does not decide: too many in a network of this size")
        return self.network.step(exact(self.places[[row[0]]]), np.array([row[1]]))

    def exact_point(self, row: Row) -> int:
        """The place of the nearest point, proven in balls."""
        try:
            nearest, margins = self.nearest.exactly(self.exact_step(row)[1], None)
        except NotNearest as tie:
            raise Rejected(
                f"{self.shown(row)}: the state is as near to point {1 + tie.other} as to point {1 + tie.own}"
            ) from None
        self.point_margin = min(self.point_margin, float(margins[0]))
        return 1 + int(nearest[0])

    def answer(self, row: Row) -> int:
        """The largest of a row's logits, proven in balls if need be."""
        if (answer := self.answers[row]) is None:
            logits: Any = self.exact_step(row)[0][0]  # (outputs,)
            best = max(range(len(logits)), key=lambda i: logits[i].mid())
            others = np.delete(logits, best)
            if not less(others, logits[best]).all():
                raise Rejected(f"{self.shown(row)}: no logit is larger than all others")
            answer = self.answers[row] = best, min(float((logits[best] - x).lower()) for x in others)
        self.answer_margin = min(self.answer_margin, answer[1])
        return answer[0]

    def shown(self, row: Row) -> str:
        """A row for a message."""
        place, symbol = row
        return f"{'the start' if place == START else f'point {place}'}, symbol {quoted(self.quick.alphabet[symbol])}"


class Product:
    """All pairs, and what led to each first. Raises Rejected at an answer that is not the automaton's, with a shortest
    word that the network with its states replaced gets wrong."""

    def __init__(self, rows: CheckedRows, machine: Machine):
        self.rows, self.machine = rows, machine
        self.leading = leading_states(machine)
        first: Pair = START, machine.initial
        self.before: dict[Pair, tuple[Pair, int] | None] = {first: None}
        self.steps = 0
        level: list[Pair] = [first]
        while level:
            level = self.follow(level)

    def moves(self, level: list[Pair]) -> Iterator[tuple[Pair, int, int]]:
        """Of each pair and symbol that an answer can follow: the pair, the symbol, and the automaton's next state."""
        for pair in level:
            self.steps += len(self.machine.letters)
            if self.steps > MAX_STEPS or len(self.before) > MAX_PAIRS:
                raise Rejected(f"more than {MAX_PAIRS:,} pairs, or {MAX_STEPS:,} steps from them: too many to follow")
            for symbol, letter in enumerate(self.machine.letters):
                if (to := letter[pair[1]]) in self.leading:
                    yield pair, symbol, to

    def follow(self, level: list[Pair]) -> list[Pair]:
        """The pairs behind some, as far as they are new."""
        rows = ((place, symbol) for (place, _), symbol, _ in self.moves(level))
        self.rows.add(row for row in rows if row not in self.rows.points)
        pairs: list[Pair] = []
        for pair, symbol, to in self.moves(level):
            self.compare(pair, symbol, to)
            after = self.rows.points[pair[0], symbol], to
            if after not in self.before:
                self.before[after] = pair, symbol
                pairs.append(after)
        return pairs

    def compare(self, pair: Pair, symbol: int, to: int) -> None:
        """Raise Rejected if a row's answer is not that of the automaton's next state."""
        right = self.machine.outputs[to]
        if right is None or (given := self.rows.answer((pair[0], symbol))) == right:
            return
        names = self.machine.output_names
        raise Rejected(
            f"the network, its states replaced, answers {quoted(names[given])} to {self.word(pair, symbol)}, where the "
            f"automaton answers {quoted(names[right])}"
        )

    def word(self, pair: Pair, last: int) -> str:
        """A shortest word that leads to a pair, and one symbol more, for a message."""
        symbols = [last]
        while (before := self.before[pair]) is not None:
            pair, symbol = before
            symbols.append(symbol)
        if len(symbols) > MOST_SHOWN:
            return f"a word of {len(symbols):,} symbols"
        return f"the word {' '.join(quoted(self.machine.alphabet[a]) for a in reversed(symbols))}"

    @property
    def pairs(self) -> set[Pair]:
        """The pairs that non-empty words lead to; of none of them is the start the place."""
        return {pair for pair in self.before if pair[0] != START}

    def answered(self, is_before: bool = False) -> set[tuple[int, int, int]]:
        """A place, the symbol by which it is reached, and the answer that has to be given there; or the place where
        that symbol is read, before it `is_before`."""
        answers = set[tuple[int, int, int]]()
        for place, q in self.before:
            for symbol, letter in enumerate(self.machine.letters):
                if (answer := self.machine.outputs[letter[q]]) is not None:
                    answers.add((place if is_before else self.rows.points[place, symbol], symbol, answer))
        return answers


def leading_states(machine: Machine) -> set[int]:
    """The states with an answer, and those that lead to such a state."""
    states = {q for q, output in enumerate(machine.outputs) if output is not None}
    while more := {q for letter in machine.letters for q, to in enumerate(letter) if to in states} - states:
        states |= more
    return states


def least_gaps(logits: Doubles, best: Any) -> Floats:
    """At most the least difference of the logit `best` and another in each row (n,)."""
    rows = np.arange(len(logits))
    gaps = logits[rows, best].reshape(-1, 1) - logits  # (n, outputs)
    least = ends(gaps)[0]
    least[rows, best] = np.inf
    return np.nan_to_num(least, nan=-np.inf).min(1)
