"""A deterministic pushdown automaton read from JSON: whatever its moves do, one for each symbol read."""

from __future__ import annotations

from typing import Any

from regulargpt.certificate.checker.moves import POP as POP
from regulargpt.certificate.checker.moves import STAY as STAY
from regulargpt.certificate.checker.moves import Moves
from regulargpt.certificate.checker.pushdown import described, numbered

Top = int | None  # the symbol on top of a stack, None at its bottom
Move = tuple[int, int, int]  # the symbol read, the state it leads to, and POP, STAY or the stack symbol that is pushed


class StackMachine:
    """States, stack symbols, moves, and an output or none (None) in each state.

    A move depends on the state, the symbol read and the top of the stack. A word without moves is no question. Raises
    Malformed or Rejected for what is no such machine; no move pops at the bottom.
    """

    def __init__(self, record: Any, name: str):
        data = described(record, name)
        self.alphabet, self.output_names = data["alphabet"], data["output_names"]
        self.states = list(data["outputs"])
        self.initial, self.outputs = self.states.index(data["initial"]), numbered(data)
        moves = Moves(data, self.states, self.alphabet, name)
        self._moves: dict[tuple[int, Top], list[Move]] = {}
        for (q, a, top), (to, action) in moves.cases.items():
            at = None if top == len(moves.stack) else top
            self._moves.setdefault((q, at), []).append((a, to, action))

    def moves(self, state: int, top: Top) -> list[Move]:
        """The moves in a state with this symbol on top."""
        return self._moves.get((state, top), [])

    def answer(self, state: int) -> int | None:
        return self.outputs[state]
