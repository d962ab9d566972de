"""The algebra of a language with brackets, learned from questions alone: L* for visibly pushdown languages.

Representatives are words; two of one kind (what is pending in them) are one element while no known context (u, v), the
answer to u x v, tells them apart. Hypotheses read a forest from the left, item by item. A counter-example is taken
apart along its brackets, inside first; where the answer changes, a context is missing (Rivest and Schapire, for words).

What comes out reads forests from the left only; the algebra, whose elements may stand anywhere in a forest, is that of
its machine.

Sources: Sakakibara, Learning context-free grammars from structural data, 1990; Drewes and Hoegberg, Learning a regular
tree language from a teacher, 2003; Alur, Kumar, Madhusudan and Viswanathan, Congruences for visibly pushdown languages,
ICALP 2005.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from languages.automata.algebra import NONE, PENDING_CALL, PENDING_RETURN, Ints
from languages.automata.explore import explored
from languages.automata.moore import UNDEFINED
from languages.automata.nesting import partners
from languages.automata.pushdown import PushdownTransducer
from languages.automata.visibly import CALL, INTERNAL, RETURN, VisiblyPushdown
from regulargpt.finite.lstar import Ask, Key, ObservationTable
from regulargpt.finite.nonempty import Word

Answered = npt.NDArray[np.int64]
# What a step of reading a word has made of it: the element, and the word with its representative in that place.
Step = tuple[int, Word, Word, Word]  # element, what stands before, what the element stands for, what stands behind
FLAGS = {CALL: PENDING_CALL, RETURN: PENDING_RETURN, INTERNAL: 0}


@dataclass(frozen=True)
class Hypothesis:
    """A guess at the algebra: `times[e, i]` is the element of "word of e, then item of element i"."""

    times: dict[tuple[int, int], int]
    letter: list[int]  # of each symbol as an item, pending if it is a bracket
    pair: dict[tuple[int, int, int], int]  # (call, element, return)
    answers: list[int]

    def hopeful(self) -> tuple[set[int], set[int]]:
        """The elements from which something may lead to an answer: of what stands at the top level, and in a pair."""
        at_end = {e for e, answer in enumerate(self.answers) if answer != UNDEFINED}
        inside = set[int]()
        before = -1
        while before < len(at_end) + len(inside):
            before = len(at_end) + len(inside)
            at_end |= {e for (e, _), after in self.times.items() if after in at_end}
            # An item leads on if it does so behind some element.
            items = {item for (_, item), after in self.times.items() if after in at_end or after in inside}
            inside |= {e for (_, e, _), item in self.pair.items() if item in items}
            inside |= {e for (e, _), after in self.times.items() if after in inside}
        return at_end, inside

    @cached_property
    def tables(self) -> tuple[Ints, Ints, Ints]:
        """letter (Sigma,), pair (Sigma, M, Sigma) and times (M, M) as arrays, NONE where there is none."""
        size, n_symbols = len(self.answers), len(self.letter)
        pair, times = np.full((n_symbols, size, n_symbols), NONE), np.full((size, size), NONE)
        for table, of in ((pair, self.pair), (times, self.times)):
            keys = np.array(list(of), dtype=np.intp).reshape(len(of), table.ndim)  # (keys, 3) or (keys, 2)
            table[tuple(keys.T)] = list(of.values())
        return np.array(self.letter, dtype=np.intp), pair, times


class NestedLearner(ObservationTable[Hypothesis]):
    """What is known of a language: a representative of each element, and the contexts that tell them apart.

    `ask` gives the answers to words, -1 to one that is no question. Elements are letters, products and pairs of others.

    >>> from languages.context_free.brackets import brackets
    >>> task = brackets(2)
    >>> ask = lambda words: [int(task.machine.answers(np.array(word, dtype=int)).item()) for word in words]
    >>> learner = NestedLearner(task.visibly.direction, ask, most_elements=20)
    >>> learner.proposed(np.array([[0, 3], [1, 0], [0, 1]])).tolist()
    [0, 0, 1]
    >>> [task.machine.decode(word) for word in learner.words]
    ['', '(', ')', '(]', ')(']
    """

    def __init__(
        self, direction: Sequence[int] | Ints, ask: Ask, most_elements: int, known: Mapping[Word, int] | None = None
    ) -> None:
        super().__init__(ask, most_elements, 4, known or {})
        self.direction = np.asarray(direction)
        self.calls, self.returns = (np.flatnonzero(self.direction == kind).tolist() for kind in (CALL, RETURN))

    def guess(self, after: Mapping[Key, int]) -> Hypothesis:
        return Hypothesis(
            {(key[0], key[1]): element for key, element in after.items() if len(key) == 4},
            [after[(symbol,)] for symbol in range(len(self.direction))],
            {(key[0], key[1], key[2]): element for key, element in after.items() if len(key) == 3},
            self.answers(self.words),
        )

    def wanted(self, after: Mapping[Key, int]) -> list[Key]:
        return [key for key in self._every(after) if key not in after]

    def _every(self, after: Mapping[Key, int]) -> Iterator[Key]:
        """Letters (s,), pairs (a, e, b) and products (e, i, 0, 0) of the elements so far."""
        yield from ((symbol,) for symbol in range(len(self.direction)))
        for e, flags in enumerate(self.flags):
            if not flags:
                yield from ((a, e, b) for a, b in product(self.calls, self.returns))
        items = dict.fromkeys(element for key, element in after.items() if len(key) in (1, 3))
        for e, i in product(range(len(self.words)), items):
            # A pending call left of a pending return would be its partner: there is no such word.
            if not (self.flags[e] & PENDING_CALL and self.flags[i] & PENDING_RETURN):
                yield e, i, 0, 0

    def word(self, key: Key) -> tuple[Word, int]:
        if len(key) == 1:
            return (key[0],), FLAGS[int(self.direction[key[0]])]
        if len(key) == 3:
            return (key[0], *self.words[key[1]], key[2]), 0
        return self.words[key[0]] + self.words[key[1]], self.flags[key[0]] | self.flags[key[1]]

    def steps(self, word: Word) -> list[Step]:
        """How the hypothesis reads a word: after each step another part has become an element.

        A step makes an item of a symbol or pair, or the product of what stood before it in its forest and the item.
        """
        partner = partners(self.direction[list(word)][None])[0].tolist() if word else []
        steps: list[Step] = [(0, (), (), word)]
        outer: list[tuple[int, Word]] = []  # of each open pair: the element before it, and what stands before that
        element, before = 0, ()

        def step(element: int, before: Word, what: Word, behind: Word) -> int:
            steps.append((element, before, what, behind))
            return element

        for at, symbol in enumerate(word):
            behind = word[at + 1 :]
            if partner[at] > at:
                outer.append((element, before))
                before, element = (*before, *self.words[element], symbol), 0
                continue
            here = (*before, *self.words[element])
            if partner[at] == NONE:
                item = step(self.hypothesis.letter[symbol], here, (symbol,), behind)
            else:
                left, before_pair = outer.pop()
                call = word[partner[at]]
                inside, here = self.words[element], (*before_pair, *self.words[left])
                item = step(self.hypothesis.pair[call, element, symbol], here, (call, *inside, symbol), behind)
                element, before = left, before_pair
            what = self.words[element] + self.words[item]
            element = step(self.hypothesis.times[element, item], before, what, behind)
        return steps

    def proposed(self, words: Answered) -> Answered:
        letter, pair, times = self.hypothesis.tables
        count, length = words.shape
        direction, element = self.direction[words], np.zeros(count, dtype=np.intp)
        partner, outer = partners(direction), np.zeros((count, length), dtype=np.intp)
        for t in range(length):
            symbol, at = words[:, t], partner[:, t]
            opens, closes = np.flatnonzero(at > t), np.flatnonzero((at >= 0) & (at < t))
            item, before = letter[symbol], element.copy()
            # What stands before a pair waits at the place of its call.
            outer[opens, t] = element[opens]
            before[closes] = outer[closes, at[closes]]
            item[closes] = pair[words[closes, at[closes]], element[closes], symbol[closes]]
            element = times[before, item]
            element[opens] = 0
        return np.array(self.hypothesis.answers, dtype=np.int64)[element]

    def refine(self, word: Word) -> None:
        steps = self.steps(word)

        def read(i: int) -> Word:
            element, before, _, behind = steps[i]
            return before + self.words[element] + behind

        # The first of these words is the word itself, the last a representative.
        element, before, _, behind = steps[self.parting(len(steps) - 1, read)]
        self.tell_apart(self.flags[element], (before, behind))

    def proposal(self, alphabet: tuple[str, ...], output_names: tuple[str, ...]) -> PushdownTransducer:
        """The visibly pushdown machine that reads as the hypothesis does; its algebra is that of the language.

        A state is the element of the word so far, as if nothing closed what is open, and that of the innermost forest.
        Where neither leads to an answer, there is no move, unless a bracket had none then: it would be no bracket.
        """
        found = self._machine(alphabet, output_names, *self.hypothesis.hopeful())
        if np.array_equal(VisiblyPushdown.from_machine(found).direction, self.direction):
            return found
        every = set(range(len(self.words)))
        return self._machine(alphabet, output_names, every, every)

    def _machine(
        self, alphabet: tuple[str, ...], output_names: tuple[str, ...], at_end: set[int], inside: set[int]
    ) -> PushdownTransducer:
        of, kind = self.hypothesis, dict(zip(alphabet, self.direction.tolist(), strict=True))
        _, pair, times = of.tables
        before_pair, calls = alike(times[:, np.unique(pair[pair != NONE])]), alike(pair)
        number = {symbol: i for i, symbol in enumerate(alphabet)}

        def step(state: tuple[int, int], symbol: str, top: Any) -> tuple[Any, Any] | None:
            if kind[symbol] == CALL:
                # What pairs do not tell apart is one stack symbol.
                top = before_pair[state[0]], before_pair[state[1]], calls[number[symbol]]
                after = of.times[state[0], of.letter[number[symbol]]], 0
                return (after, top) if after[0] in at_end or 0 in inside else None
            if kind[symbol] == RETURN and top is not None:
                item, before = of.pair.get((top[2], state[1], number[symbol]), NONE), top[:2]
            else:
                item, before = of.letter[number[symbol]], state
            after = tuple(of.times.get((element, item), NONE) for element in before)
            # States and tops that never meet have no move, either.
            leads_on = NONE not in after and (after[0] in at_end or after[1] in inside)
            return (after, None) if leads_on else None

        def answer(state: tuple[int, int]) -> str | None:
            return None if (label := of.answers[state[0]]) == UNDEFINED else output_names[label]

        kinds = [[symbol for symbol in alphabet if kind[symbol] == of_kind] for of_kind in (CALL, RETURN)]
        return explored(alphabet, (0, 0), step, answer, output_names, *kinds)


def alike(table: Ints) -> list[int]:
    """Of each row of a table the first that is equal.

    >>> alike(np.array([[0, 1], [0, 0], [0, 1]]))
    [0, 1, 0]
    """
    first: dict[bytes, int] = {}
    return [first.setdefault(row.tobytes(), i) for i, row in enumerate(table)]
