"""A stack network with signs, argmax actions and one stack as a machine: a state is the signs of its units, exactly.

A stack symbol is the state that pushed it, so all that it does is a table over states, symbols and such tops. It is
computed in float64 where it is needed, with a bound on what float32 could make of it (`rounded`): what is decided
beyond that bound is the same in real arithmetic and in any float32 program, in whatever order it adds.

Source: Joulin and Mikolov 2015 and Deletang et al. 2023 for the network; Higham 2002, Accuracy and Stability, section
3.1, for sums of rounded products.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from languages.automata.pushdown import POP, STAY
from regulargpt.finite.stack_product import BOTTOM, TIED, Case

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

UNIT = 2.0**-24  # of float32: half the distance from 1 to the next number
SMALLEST = 2.0**-149  # of float32, by which a product moves that is hardly a number
OWN = 1 + 2.0**-20  # more than the share by which float64 may have bounds too small
CASES = 4096  # that are computed at once
# The actions of a network, by number: it pushes, pops or does nothing.
PUSHES, POPS = 0, 1
ROUNDING = "rounding decides {}"


def rounded(terms: int, sizes: Floats) -> Floats:
    """How far sums of so many rounded products and biases lie from the true ones, if their absolute values add to so
    much: a product is rounded once, and added to others so many times less one."""
    n = (terms + 1) * UNIT
    return n / (1 - n) * OWN * sizes + terms * SMALLEST


@dataclass
class Margins:
    """The least |u| of a sign, and the least leads of the largest logit over the others, of actions and answers."""

    sign: float = np.inf
    action: float = np.inf
    answer: float = np.inf


@dataclass(eq=False)
class StackNetwork:
    """The network of these `weights`, arrays by name, each a float32 number; `empty` is what an empty stack reads.

    `direction` (Sigma,) says for each symbol whether it pushes (1), pops (-1) or neither (0), where actions are
    visible. State 0 is the start, where all units are 0.
    """

    weights: Mapping[str, npt.NDArray[np.floating]]
    empty: float = 0.0
    direction: Sequence[int] | None = None
    margins: Margins = field(default_factory=Margins)

    start = 0

    def __post_init__(self) -> None:
        self.w = {name: np.asarray(array, dtype=np.float64) for name, array in self.weights.items()}
        self.width = len(self.w["push.weight"])
        self.n_symbols = self.w["input.weight"].shape[1] - self.width
        units = len(self.w["input.weight"])
        self.units = np.zeros((1, units))  # (states, units)
        self.pushed = np.full((1, self.width), float(self.empty))  # (states, width): what each pushes; row 0 is empty
        self.numbers: dict[bytes, int] = {}  # of the states but the start
        self.actions: list[int] = [STAY]
        self.doubtful: dict[Case, str] = {}
        self.doubtful_actions: set[int] = set()
        self._answers: dict[int, int] = {}
        size = abs(self.w["push.weight"]).sum(1) + abs(self.w["push.bias"])
        self.moved = rounded(units + 1, size)  # (width,): what float32 may have pushed instead

    @property
    def n_states(self) -> int:
        """With the start."""
        return 1 + len(self.numbers)

    def moves(self, cases: Sequence[Case]) -> list[tuple[int, int]]:
        """The next state and the action of each case; a push pushes the new state."""
        moves: list[tuple[int, int]] = []
        for at in range(0, len(cases), CASES):
            moves += self._moves(cases[at : at + CASES])
        return moves

    def _moves(self, cases: Sequence[Case]) -> list[tuple[int, int]]:
        states, symbols, tops = np.array(cases).T  # (cases,) each
        u, far = self._sums(states, symbols, np.where(tops == BOTTOM, 0, tops))
        self.margins.sign = min(self.margins.sign, float(abs(u).min()))
        self.doubtful |= {cases[i]: ROUNDING.format("a sign") for i in np.flatnonzero((abs(u) <= far).any(1)).tolist()}
        targets = self._numbered(u >= 0)
        actions = self._acting(targets, symbols)
        if self.direction is None:
            doubtful = [i for i, target in enumerate(targets) if target in self.doubtful_actions]
            self.doubtful |= {cases[i]: ROUNDING.format("an action") for i in doubtful}
        return list(zip(targets, actions, strict=True))

    def _sums(self, states: Ints, symbols: Ints, tops: Ints) -> tuple[Floats, Floats]:
        """What the units sum up (cases, units), and how far rounding may move that."""
        inputs, recurrent, w_h = self.w["input.weight"], self.units[states], self.w["recurrent.weight"]
        of_symbol, of_top = inputs[:, : self.n_symbols].T[symbols], inputs[:, self.n_symbols :]
        biases, read = (self.w["input.bias"], self.w["recurrent.bias"]), self.pushed[tops]
        u = of_symbol + read @ of_top.T + recurrent @ w_h.T + biases[0] + biases[1]
        # What was pushed was rounded then; what an empty cell reads is exact.
        moved = np.where((tops == 0)[:, None], 0.0, self.moved)  # (cases, width)
        sizes = abs(of_symbol) + (abs(read) + moved) @ abs(of_top).T + abs(recurrent) @ abs(w_h).T
        terms = self.n_symbols + self.width + self.units.shape[1] + 2
        return u, rounded(terms, sizes + abs(biases[0]) + abs(biases[1])) + moved @ abs(of_top).T * OWN

    def _numbered(self, signs: npt.NDArray[np.bool_]) -> list[int]:
        """The states (cases,) of these signs (cases, units), new ones among them."""
        states, new = list[int](), list[int]()
        for i, key in enumerate(map(bytes, np.packbits(signs, axis=1))):
            known = len(self.numbers)
            states.append(self.numbers.setdefault(key, 1 + known))
            new += [i] * (len(self.numbers) - known)
        if new:
            self._add(np.where(signs[new], 1.0, -1.0))
        return states

    def _add(self, units: Floats) -> None:
        """New states (n, units): what they push, and how they act."""
        self.units = np.concatenate([self.units, units])
        self.pushed = np.concatenate([self.pushed, units @ self.w["push.weight"].T + self.w["push.bias"]])
        if self.direction is not None:
            self.actions += [STAY] * len(units)
            return
        chosen, lead, is_decided = self._chosen("action", units)
        self.margins.action = min(self.margins.action, lead)
        first = len(self.actions)
        self.doubtful_actions |= {first + i for i in np.flatnonzero(~is_decided).tolist()}
        for number, action in enumerate(chosen.tolist(), first):
            self.actions.append(number if action == PUSHES else POP if action == POPS else STAY)

    def _acting(self, targets: Sequence[int], symbols: Ints) -> list[int]:
        """The actions of cases that lead to these states at these symbols."""
        if self.direction is None:
            return [self.actions[target] for target in targets]
        directions = [self.direction[x] for x in symbols.tolist()]
        return [t if d > 0 else POP if d < 0 else STAY for t, d in zip(targets, directions, strict=True)]

    def _chosen(self, name: str, units: Floats) -> tuple[Ints, float, npt.NDArray[np.bool_]]:
        """The largest logit (n,) of a layer at states (n, units), its least lead, and whether (n,) it is decided."""
        weight, bias = self.w[f"{name}.weight"], self.w[f"{name}.bias"]
        logits = units @ weight.T + bias  # (n, choices)
        far = rounded(units.shape[1] + 1, abs(weight).sum(1) + abs(bias))  # (choices,)
        chosen, rows = logits.argmax(1), np.arange(len(logits))
        leads = logits[rows, chosen][:, None] - logits  # (n, choices)
        leads[rows, chosen] = np.inf
        return chosen, float(leads.min()), np.asarray((leads > far[chosen][:, None] + far).all(1))

    def answer(self, state: int) -> int:
        """The answer in a state; -2 where rounding decides between two."""
        if state not in self._answers:
            chosen, lead, is_decided = self._chosen("readout", self.units[state][None])
            self.margins.answer = min(self.margins.answer, lead)
            self._answers[state] = int(chosen[0]) if is_decided[0] else TIED
        return self._answers[state]

    def doubt(self, case: Case) -> str | None:
        """Whether a sign or the action is decided by less than rounding may move it."""
        return self.doubtful.get(case)
