"""The automaton: a Moore machine read from JSON, and what all kinds of automata have.

A pushdown automaton without brackets is a finite one, but with twice as many states: its top level counts pending
calls. So pushdown.py stands beside this file, and finite automata of 512 states are checked, not of 254 only. What is
decided of either, the levels, the roots and the claim, is written once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from regulargpt.certificate.checker.files import Malformed, Rejected, fields
from regulargpt.certificate.checker.forests import Forest, Function, bits

AUTOMATON = {"states": list, "alphabet": list, "initial": str, "transitions": dict, "outputs": dict}
AUTOMATON |= {"output_names": list}
# What is kept of sets of states, and of products of functions on states, stays below a gigabyte.
MAX_STATES = 512
MAX_PRODUCTS = 1 << 26
OVERHEAD = 40  # of a product, in numbers
CALL, RETURN, INTERNAL = 1, -1, 0


class Automaton:
    """What words do to states, and an answer or none (None) after each.

    A word is a row of items, the forest `top`: `letters` are what the symbols do as its items, `initial` is where it
    begins. `direction` (Sigma,) says which symbols are brackets. `steps[a]` is what the symbol a does to the state that
    the machine is in: a state for each state; of a call, which pushes a number, a state and that; of a return, a
    state for each state for each number that it pops, and behind them for none.
    """

    alphabet: list[str]
    output_names: list[str]
    outputs: list[int | None]
    initial: int
    letters: list[Function]
    direction: list[int]
    steps: list[Any]
    top: Forest

    def __init__(self) -> None:
        self._products: dict[tuple[Function, Function], Function] = {}

    def product(self, first: Function, then: Function) -> Function:
        """What two words do in turn."""
        pair = first, then
        if pair not in self._products:
            if len(self._products) * (OVERHEAD + len(then)) > MAX_PRODUCTS:
                raise Rejected("sub-words do too many different things to the automaton's states to go through")
            self._products[pair] = tuple(then[q] for q in first)
        return self._products[pair]

    def answer(self, function: Function) -> int | None:
        """The output after a word, None if there is none."""
        return self.outputs[function[self.initial]]

    @property
    def after_words(self) -> set[int]:
        """The states that non-empty words lead to.

        Claims are about such words: the initial state counts only if a word leads back to it.
        """
        return self.top.reached(self.initial)

    @property
    def answers_without_end(self) -> bool:
        """Whether infinitely many words have an answer."""
        return self.top.has_loop()

    def answered_states(self) -> tuple[int, int]:
        """How many states non-empty words lead to, and how many of them have an answer.

        Raises Rejected if no two have different answers, or finitely many words have one: a claim would say nothing.
        """
        outputs = [self.outputs[q] for q in self.after_words]
        answered = [output for output in outputs if output is not None]
        if len(set(answered)) < 2:
            raise Rejected("the automaton never gives two different answers: the claim would say nothing")
        if not self.answers_without_end:
            raise Rejected("the automaton answers finitely many words: the claim would say nothing of other lengths")
        return len(outputs), len(answered)


class Machine(Automaton):
    """A finite automaton: states, alphabet, transitions, initial state, outputs.

    Raises Malformed for names that are no strings or are there twice, and for a transition or output that is missing,
    of nothing, or to nothing.
    """

    def __init__(self, record: Any, name: str):
        super().__init__()
        data = fields(record, name, AUTOMATON)
        self.alphabet, self.output_names = names(data, "alphabet", name), names(data, "output_names", name)
        number = {state: i for i, state in enumerate(names(data, "states", name))}
        if len(number) > MAX_STATES:
            raise Rejected(f"{name} has {len(number):,} states; automata of at most {MAX_STATES:,} are checked")
        table, outputs = data["transitions"], data["outputs"]
        symbols = set(self.alphabet)
        whole = set(table) == set(outputs) == set(number) and data["initial"] in number and bool(self.alphabet)
        whole = whole and all(isinstance(row, dict) and set(row) == symbols for row in table.values())
        if not whole or not are_outputs(outputs, self.output_names):
            raise Malformed(f"{name}: give every state a transition for every symbol, and an output or null")
        if not all(isinstance(q, str) and q in number for row in table.values() for q in row.values()):
            raise Malformed(f"{name}: a transition leads to no state")
        self.letters = [tuple(number[table[q][a]] for q in number) for a in self.alphabet]
        self.initial = number[data["initial"]]
        self.outputs = [None if outputs[q] is None else self.output_names.index(outputs[q]) for q in number]
        self.steps, self.direction = self.letters, [INTERNAL] * len(self.alphabet)
        steps = [bits({letter[q] for letter in self.letters}) for q in range(len(number))]
        answered = bits(q for q, output in enumerate(self.outputs) if output is not None)
        self.top = Forest(steps, [answered if q == self.initial else 0 for q in range(len(number))], self.product)


def names(data: Mapping[str, Any], key: str, name: str) -> list[str]:
    entries = data[key]
    if not all(isinstance(entry, str) for entry in entries) or len(set(entries)) < len(entries):
        raise Malformed(f"{name}: {key!r} is not a list of different names")
    return entries


def are_outputs(outputs: Mapping[str, Any], names: Sequence[str]) -> bool:
    """Whether each is one of these names, or None."""
    return all(output is None or (isinstance(output, str) and output in names) for output in outputs.values())
