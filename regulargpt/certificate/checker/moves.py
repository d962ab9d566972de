"""The moves of a pushdown automaton, read from JSON, and which symbols are calls and returns."""

from __future__ import annotations

from typing import Any

from regulargpt.certificate.checker.files import Malformed, Rejected, fields
from regulargpt.certificate.checker.machine import CALL, INTERNAL, RETURN

MOVE, OF_SOME_MOVES = {"from": str, "read": str, "to": str}, {"tops": list, "push": str, "pop": bool}
MAX_CASES = 1 << 20  # states times symbols times tops
POP, STAY = -2, -1  # what a move does to the stack; a number from 0 on is a stack symbol that it pushes
STAYS = 2  # on a stack symbol, which no return does

Case = tuple[int, int, int]  # a state, a symbol, and what is on the top: a stack symbol, or behind them all the bottom


class Moves:
    """The moves of a record: to which state, and what it does to the stack, in each case.

    Raises Malformed for a move of nothing, to nothing or there twice.
    """

    def __init__(self, data: dict[str, Any], states: list[str], alphabet: list[str], name: str):
        moves = [self._read(move, name) for move in data["moves"]]
        self.stack = list(dict.fromkeys(move["push"] for move in moves if "push" in move))
        if (cases := len(states) * len(alphabet) * (1 + len(self.stack))) > MAX_CASES:
            raise Rejected(f"{name} has {cases:,} states x symbols x tops; at most {MAX_CASES:,} are gone through")
        self._state, self._symbol = ({x: i for i, x in enumerate(known)} for known in (states, alphabet))
        self._top: dict[str | None, int] = {x: i for i, x in enumerate((*self.stack, None))}
        self.cases: dict[Case, tuple[int, int]] = {}
        for move in moves:
            self._add(move, name)

    @staticmethod
    def _read(move: Any, name: str) -> dict[str, Any]:
        if not isinstance(move, dict):
            raise Malformed(f"{name}: a move is not an object")
        kinds = {key: kind for key, kind in OF_SOME_MOVES.items() if key in move}
        return fields(move, f"a move in {name}", MOVE | kinds)

    def _add(self, move: dict[str, Any], name: str) -> None:
        tops, pops = move.get("tops", []), move.get("pop", False)
        known = move["from"] in self._state and move["to"] in self._state and move["read"] in self._symbol
        if not known or not all(isinstance(top, str | None) and top in self._top for top in tops):
            raise Malformed(f"{name}: a move is of a state, a symbol or a top of the stack that there is not")
        if pops and ("push" in move or None in tops):
            raise Malformed(f"{name}: a move pops and pushes, or pops at the bottom")
        action = POP if pops else self._top[move["push"]] if "push" in move else STAY
        # Without any, every top will do; of a pop, every stack symbol.
        for top in tops or (self.stack if pops else self._top):
            case = self._state[move["from"]], self._symbol[move["read"]], self._top[top]
            if case in self.cases:
                raise Malformed(f"{name}: there are two moves from {move['from']!r:.40} at {move['read']!r:.40}")
            self.cases[case] = self._state[move["to"]], action

    def directions(self, name: str) -> list[int]:
        """Which symbols are calls and returns. Raises Rejected where more than the symbol decides whether the stack
        grows or shrinks."""
        kinds: list[set[int]] = [set() for _ in self._symbol]
        for (_, a, top), (_, action) in self.cases.items():
            stays = INTERNAL if top == len(self.stack) else STAYS
            kinds[a].add(CALL if action >= 0 else RETURN if action == POP else stays)
        return [self._kind(a, kinds[a], f"{name}: {symbol!r:.40}") for symbol, a in self._symbol.items()]

    def _kind(self, a: int, kinds: set[int], who: str) -> int:
        """Whether a symbol is a call, a return or internal; without a move it is internal."""
        if kinds <= {RETURN, INTERNAL} and RETURN in kinds:
            return RETURN  # at the bottom it pops nothing
        kind = INTERNAL if kinds <= {INTERNAL, STAYS} else CALL
        alike = all(len({self.cases.get((q, a, top)) for top in self._top.values()}) == 1 for q in self._state.values())
        if not alike or (kind == CALL and kinds != {CALL}):
            raise Rejected(f"{who} is not always a call, a return or internal: no visibly pushdown automaton")
        return kind
