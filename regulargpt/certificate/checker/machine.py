"""The automaton: a Moore machine read from JSON, which of its states come first, and from which an answer comes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from regulargpt.certificate.checker.files import Malformed, Rejected, fields

Function = tuple[int, ...]  # what a word does: the state it leads to from each state
Side = Literal["right", "left"]  # from which words are cut into windows

AUTOMATON = {"states": list, "alphabet": list, "initial": str, "transitions": dict, "outputs": dict}
AUTOMATON |= {"output_names": list}
# What is kept of sets of states, and of products of functions on states, stays below a gigabyte.
MAX_STATES = 512
MAX_PRODUCTS = 1 << 26
OVERHEAD = 40  # of a product, in numbers


class Machine:
    """States, alphabet, transitions, initial state, and an answer or none (None) after each state.

    Raises Malformed for names that are no strings or are there twice, and for a transition or output that is missing,
    of nothing, or to nothing.
    """

    def __init__(self, record: Any, name: str):
        data = fields(record, name, AUTOMATON)
        self.alphabet, self.output_names = names(data, "alphabet", name), names(data, "output_names", name)
        number = {state: i for i, state in enumerate(names(data, "states", name))}
        if len(number) > MAX_STATES:
            raise Rejected(f"{name} has {len(number):,} states; automata of at most {MAX_STATES:,} are checked")
        table, outputs = data["transitions"], data["outputs"]
        symbols, answers = set(self.alphabet), {None, *self.output_names}
        whole = set(table) == set(outputs) == set(number) and data["initial"] in number and bool(self.alphabet)
        whole = whole and all(isinstance(row, dict) and set(row) == symbols for row in table.values())
        if not whole or not all(isinstance(output, str | None) and output in answers for output in outputs.values()):
            raise Malformed(f"{name}: give every state a transition for every symbol, and an output or null")
        if not all(isinstance(q, str) and q in number for row in table.values() for q in row.values()):
            raise Malformed(f"{name}: a transition leads to no state")
        self.letters: list[Function] = [tuple(number[table[q][a]] for q in number) for a in self.alphabet]
        self.initial = number[data["initial"]]
        answer = {output: i for i, output in enumerate(self.output_names)}
        self.outputs = [None if outputs[q] is None else answer[outputs[q]] for q in number]
        # Claims are about words of one symbol or more: the initial state counts only if a word leads back to it.
        after_one = {letter[self.initial] for letter in self.letters}
        self.after_words = self.reached_from(after_one)  # the states that words of one symbol or more lead to
        # Whether words of any length have an answer: one lies behind a loop.
        loops = {q for q in self.after_words if q in self.reached_from({letter[q] for letter in self.letters})}
        self.answers_without_end = any(self.outputs[q] is not None for q in self.reached_from(loops))
        one = [sum({1 << letter[q] for letter in self.letters}) for q in range(len(number))]
        self._reach_of_one = one
        self._reach = 1, one  # a span, and the states that its words lead to from every state, as bits
        self._answerable: dict[int, set[int]] = {}
        self._reached: dict[int, set[int]] = {}
        self._products: dict[tuple[Function, Function], Function] = {}

    def reached_from(self, states: set[int]) -> set[int]:
        """These states and all that words lead to from them."""
        reached, new = set(states), set(states)
        while new:
            new = {letter[q] for q in new for letter in self.letters} - reached
            reached |= new
        return reached

    def product(self, functions: Sequence[Function]) -> Function:
        """What words do one after the other, from the left."""
        result = functions[0]
        for function in functions[1:]:
            pair = result, function
            if pair not in self._products:
                if len(self._products) * (OVERHEAD + len(function)) > MAX_PRODUCTS:
                    raise Rejected("sub-words do too many different things to the automaton's states to go through")
                self._products[pair] = tuple(function[q] for q in result)
            result = self._products[pair]
        return result

    def answer(self, function: Function) -> int | None:
        """The output after a word, None if there is none."""
        return self.outputs[function[self.initial]]

    def answerable(self, span: int) -> set[int]:
        """The states from which a word of a multiple of `span` symbols, possibly none, leads to an answer."""
        if span not in self._answerable:
            reach = self.reach(span)
            found = bits(q for q, output in enumerate(self.outputs) if output is not None)
            while more := bits(q for q, states in enumerate(reach) if states & found) & ~found:
                found |= more
            self._answerable[span] = states_of(found)
        return self._answerable[span]

    def reached(self, span: int) -> set[int]:
        """The states to which a word of a multiple of `span` symbols, possibly none, leads from the first."""
        if span not in self._reached:
            reach, found = self.reach(span), 1 << self.initial
            while more := union(reach, found) & ~found:
                found |= more
            self._reached[span] = states_of(found)
        return self._reached[span]

    def reach(self, span: int) -> list[int]:
        """The states that words of `span` symbols lead to from every state, as bits."""
        # C^(l + 1) is a multiple of C^l: the reach of the next level is a power of the last one's.
        known, reach = self._reach if span % self._reach[0] == 0 else (1, self._reach_of_one)
        self._reach = span, reach_power(reach, span // known)
        return self._reach[1]

    def can_be_inside(self, function: Function, span: int, aligned: Side) -> bool:
        """Whether a word with an answer can have such a node, `span` symbols wide, inside.

        On the side `aligned` of it stand nodes of so many symbols, on the other side any word.
        """
        before, after = (1, span) if aligned == "right" else (span, 1)
        return any(function[q] in self.answerable(after) for q in self.reached(before))

    def can_be_rest(self, function: Function, span: int, aligned: Side) -> bool:
        """Whether a word with an answer can have such a node at its end, beside nodes `span` symbols wide.

        Aligned on the right, it begins the word, and the others follow. Aligned on the left, it ends the word, whose
        answer it gives, and the others stand before it.
        """
        if aligned == "right":
            return function[self.initial] in self.answerable(span)
        return any(self.outputs[function[q]] is not None for q in self.reached(span))


def names(data: Mapping[str, Any], key: str, name: str) -> list[str]:
    """A list of different strings."""
    found = data[key]
    if not all(isinstance(entry, str) for entry in found) or len(set(found)) < len(found):
        raise Malformed(f"{name}: {key!r} is not a list of different names")
    return found


def bits(states: Iterable[int]) -> int:
    """A set of states as the bits of a number."""
    return sum(1 << q for q in states)


def states_of(found: int) -> set[int]:
    """The states that the bits of a number stand for.

    >>> states_of(0b101)
    {0, 2}
    """
    return {q for q, bit in enumerate(reversed(f"{found:b}")) if bit == "1"}


def union(reach: list[int], states: int) -> int:
    """What is reached from any of these states, as bits."""
    found = 0
    for q in states_of(states):
        found |= reach[q]
    return found


def reach_power(reach: list[int], steps: int) -> list[int]:
    """What so many steps reach from every state, if one step reaches `reach`; by squaring. Sets are bits.

    >>> [f"{states:03b}" for states in reach_power([0b010, 0b100, 0b101], 3)]
    ['101', '111', '111']
    """

    def after(first: list[int], then: list[int]) -> list[int]:
        return [union(then, states) for states in first]

    result = [1 << q for q in range(len(reach))]
    while steps:
        if steps & 1:
            result = after(result, reach)
        steps >>= 1
        if steps:
            reach = after(reach, reach)
    return result


def distinguishing_word(mine: Machine, other: Machine) -> list[str] | None:
    """A shortest word of one symbol or more that two machines over one alphabet answer differently, None if none is.

    To have no answer is different from any answer.
    """

    def outputs(q: int, p: int) -> tuple[str | None, str | None]:
        a, b = mine.outputs[q], other.outputs[p]
        return (None if a is None else mine.output_names[a]), (None if b is None else other.output_names[b])

    start = mine.initial, other.initial
    # Breadth-first over pairs of states, each with the pair and symbol that led to it: the word found is a shortest.
    came_from: dict[tuple[int, int], tuple[tuple[int, int], str]] = {}
    queue = [start]
    for pair in queue:
        for symbol, f, g in zip(mine.alphabet, mine.letters, other.letters, strict=True):
            target = f[pair[0]], g[pair[1]]
            if target in came_from:
                continue
            came_from[target] = pair, symbol
            queue.append(target)
            a, b = outputs(*target)
            if a != b:
                word = [symbol]
                while pair != start:
                    pair, symbol = came_from[pair]
                    word.insert(0, symbol)
                return word
    return None
