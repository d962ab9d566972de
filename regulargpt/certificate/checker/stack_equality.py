"""Whether two deterministic pushdown automata answer every word alike, where the product tells.

To decide it of any two is not known to be feasible (Senizergues 2001). It is if their stacks go up and down nearly
together: if a stack is never more than a few symbols ahead of the other. Otherwise nothing is said.
"""

from __future__ import annotations

from regulargpt.certificate.checker.files import Rejected
from regulargpt.certificate.checker.heads import StackHeads
from regulargpt.certificate.checker.stack_machine import StackMachine, Top
from regulargpt.certificate.checker.stack_product import CheckedStackProduct

LAGS = (0, 1, 2, 4)


class Other:
    """A machine whose answers are compared with another's, by name."""

    def __init__(self, machine: StackMachine, name: str):
        self.machine, self.initial, self.name = machine, machine.initial, name
        self._moves: dict[tuple[int, Top], dict[int, tuple[int, int]]] = {}

    def _at(self, state: int, top: Top) -> dict[int, tuple[int, int]]:
        if (state, top) not in self._moves:
            self._moves[state, top] = {a: (to, action) for a, to, action in self.machine.moves(state, top)}
        return self._moves[state, top]

    def move(self, state: int, symbol: int, top: Top) -> tuple[int, int]:
        """Where a symbol leads, and what it does to the stack."""
        return self._at(state, top)[symbol]

    def check(self, state: int, right: StackMachine, its_state: int) -> None:
        """Raise Rejected if one has another answer than the other, or one has none."""
        mine, its = self.machine.answer(state), right.answer(its_state)
        if (None if mine is None else self.machine.output_names[mine]) != (
            None if its is None else right.output_names[its]
        ):
            raise Differ(f"the automaton is not that of {self.name}: they answer some words differently")

    def check_questions(self, state: int, top: Top, right: StackMachine, its_state: int, its_top: Top) -> None:
        """Raise Rejected unless both have moves at the same symbols."""
        if set(self._at(state, top)) != {a for a, _, _ in right.moves(its_state, its_top)}:
            raise Differ(
                f"whether the automaton is that of {self.name} is not decided: some words have moves in one alone"
            )


class Differ(Rejected):
    """The machines differ, or may: a larger lag would change nothing."""


def prove_equal(machine: StackMachine, name: str, other: StackMachine) -> None:
    """Raise Rejected unless two machines are proven to answer every non-empty word alike."""
    if other.alphabet != machine.alphabet:
        raise Rejected(f"the automaton is not that of {name}: it reads other symbols")
    reason: Rejected | None = None
    for lag in LAGS:
        product = CheckedStackProduct(Other(other, name), machine, lag)
        try:
            StackHeads(product.initial, product.steps)
            return
        except Differ:
            raise
        except Rejected as error:
            reason = error
    raise Rejected(f"whether the automaton is that of {name} is not decided: {reason}")
