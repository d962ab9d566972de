"""A Stack-RNN of signs with one stack: a machine with a stack, whose states are vectors of signs.

    z = [one-hot(x); r]                 r (W,) the top of the stack, `empty` in each component at its bottom
    u = W_x z + b_x + W_h h + b_h       h (H,) the state, 0 at first
    h' = sign(u)
    v = W_v h' + b_v                    what a push puts on top
    W_a h' + b_a                        the largest is the action: PUSH, POP, NOOP; or the symbol decides (`visible`)
    W_y h' + b_y                        the largest is the answer

What is pushed depends on the state alone, so a stack symbol is the state that pushed it.

**What rounding may do.** Every sign, action and answer that is needed has to be the same in real arithmetic and for
any program that computes these sums in IEEE float32, rounding to nearest, in any order, with products rounded or not.
Let u = 2^-24 and gamma(n) = n u / (1 - n u).

1. A sum of n terms in any order puts each of them through at most n - 1 additions; a term that is a product is rounded
   once before. So it errs by at most gamma(n) times the sum of the terms' sizes (Higham 2002, section 3.1). What is 0
   is added without rounding. Sums of numbers of float32 lose nothing to underflow; a product loses at most 2^-150.
2. v has H terms +-w and a bias: n = H + 1 terms, so it errs by at most eta = gamma(H + 1) (sum |W_v| + |b_v|). It is
   computed once, when it is pushed, and copied from then on.
3. u has the weight of a symbol, W products with r, H terms +-w and two biases: n = H + W + 3 terms. But r is what was
   pushed, up to eta away from v. The sum over r as it is errs by at most
   gamma(n) (|W_x| + |W_r| (|v| + eta) + sum |W_h| + |b_x| + |b_h|), and lies within |W_r| eta of that over v. Its W
   products lose W 2^-150 to underflow, which additions can double at most. At the bottom r is exact, and eta is 0.
4. Logits have H + 1 terms as v has.
5. Nothing overflows: weights are at most 2^40, H and W at most 2^12, so v is below 2^54, products below 2^94, and sums
   below 2^108.

This checker computes the same sums in float64. It errs as in 1. to 4. with 2^-53 in place of 2^-24, by less than 2^-28
of the bound. The bound itself, of sums of fewer than 2^14 positive terms, is rounded by less than 2^-36 of itself.
Nothing underflows here: weights of float32 are multiples of 2^-149, and so are their sums, rounded or not; products are
multiples of 2^-298. So the bounds times 1 + 2^-20, plus 2^-130, cover all of it: a sign is known if |u| as computed is
larger, and the largest of some logits if it exceeds each other by more than the bounds of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from regulargpt.certificate.checker.claims import quoted
from regulargpt.certificate.checker.files import Floats, Malformed, Rejected, fields
from regulargpt.certificate.checker.moves import POP, STAY
from regulargpt.certificate.checker.network import Kinds, are_directions, linear_shapes, whole
from regulargpt.certificate.checker.stack_machine import StackMachine, Top

CHOICES = {"controller": ("binary", "elman-relu", "tanh", "lstm"), "actions": ("learned", "visible")}
CHOICES |= {"push": ("linear", "sigmoid"), "tests": ("hard", "superposition")}
NEEDED = {"name": "stack-rnn", "controller": "binary", "stacks": 1, "push": "linear", "tests": "hard"}
UNREAD = ("hardening", "hardening_loss", "hardening_growth", "margin")  # what training did
OPTIONS: Kinds = {
    "name": str,
    "d_model": int,
    "stack_width": int,
    "stacks": int,
    "empty": int,
    **dict.fromkeys(CHOICES, str),
}
OPTIONS |= dict.fromkeys(UNREAD, (int, float))
EMPTY = (0, -1)
MAX_WIDTH = 1 << 12
MAX_WEIGHT = 2.0**40
MAX_ENTRIES = 1 << 21
MAX_NUMBERS = 1 << 25  # that are kept of all states, in each of which
OVERHEAD = 64  # more take as much
UNIT, SLACK, TINY = 2.0**-24, 1 + 2.0**-20, 2.0**-130
PUSH = 0  # any number from 0 on is a symbol pushed
START = 0  # the state before the first symbol: h is 0, no vector of signs


class CheckedStackNetwork:
    """The machine that weights and config.json define; states are numbered as they come up.

    Raises Malformed or Rejected if it is not of the proof's kind, and Rejected where a sign, an action or an answer
    that is needed is not the same in real arithmetic and in float32.
    """

    initial = START

    def __init__(self, weights: Mapping[str, Floats], record: Any):
        record = whole(record)
        self.alphabet, self.output_names = record["alphabet"], record["output_names"]
        if (record["n_symbols"], record["n_outputs"]) != (len(self.alphabet), len(self.output_names)):
            raise Malformed("config.json counts other symbols or answers than it lists")
        self.model = options(record["model"])
        self.H, self.W = self.model["d_model"], self.model["stack_width"]
        self.direction = record.get("direction")
        self.visible = visible = self.model["actions"] == "visible"
        if visible and self.direction is None:
            raise Malformed(
                "config.json has no 'direction': where actions are visible it says which symbols push and pop"
            )
        if self.direction is not None and not are_directions(self.direction, len(self.alphabet)):
            raise Malformed("'direction' in config.json is not 1, -1 or 0 for each symbol")
        self._read(weights)
        self.states: list[npt.NDArray[np.int8]] = []  # h (H,) of each
        self.before: list[Floats] = []  # W_h h (H,)
        self.actions: list[int] = []  # where they are learned
        self._numbers: dict[bytes, int] = {}
        self._tops: dict[Top, tuple[Floats, Floats]] = {}
        self._answers: dict[int, int] = {}
        self.table: dict[int, int] = {}  # the state that a state, a symbol and a top lead to
        self.kept = 0
        self.sign_margin = self.action_margin = self.answer_margin = self.room = float("inf")
        self._keep(np.zeros(self.H, dtype=np.int8), STAY)

    def _read(self, weights: Mapping[str, Floats]) -> None:
        """The weights, by their names, and the bounds that depend on nothing else."""
        H, W, symbols = self.H, self.W, len(self.alphabet)
        shapes = linear_shapes("input", H, symbols + W) | linear_shapes("recurrent", H, H) | linear_shapes("push", W, H)
        shapes |= linear_shapes("readout", len(self.output_names), H)
        shapes |= {} if self.visible else linear_shapes("action", 3, H)
        if {name: w.shape for name, w in weights.items()} != shapes:
            raise Malformed("the weights are not the tensors that config.json describes")
        if not all(np.isfinite(w).all() for w in weights.values()):
            raise Malformed("the weights hold a number that is not finite")
        if not all((abs(w) <= MAX_WEIGHT).all() for w in weights.values()):
            raise Rejected("the weights hold a number beyond 2^40: sums could overflow in float32")
        if not all((w.astype(np.float32) == w).all() for w in weights.values()):
            raise Rejected("the weights hold a number that is none of float32, the arithmetic of the claim")
        self.w = weights
        self.of_symbol, self.of_top = np.hsplit(weights["input.weight"], [symbols])  # (H, symbols), (H, W)
        self.bias = weights["input.bias"] + weights["recurrent.bias"]
        sizes = abs(weights["input.bias"]) + abs(weights["recurrent.bias"]) + abs(weights["recurrent.weight"]).sum(1)
        self.sizes = abs(self.of_symbol) + sizes[:, None]  # (H, symbols)
        self.eta = self._bound("push")  # (W,)
        self.bounds = {name: self._bound(name) for name in ("readout", *([] if self.visible else ["action"]))}

    def _bound(self, layer: str) -> Floats:
        """How far sums over H signs and a bias may err, for each of them."""
        return gamma(self.H + 1) * (abs(self.w[f"{layer}.weight"]).sum(1) + abs(self.w[f"{layer}.bias"]))

    def move(self, state: int, symbol: int, top: Top) -> tuple[int, int]:
        """The state that a symbol leads to, and what it does to the stack: POP, STAY, or the state, which is pushed."""
        place = (state * (MAX_ENTRIES + 2) + (0 if top is None else 1 + top)) * len(self.alphabet) + symbol
        if place not in self.table:
            if len(self.table) >= MAX_ENTRIES:
                raise Rejected(f"the network's table has more than {MAX_ENTRIES:,} entries")
            self.table[place] = self._next(state, symbol, top)
        to = self.table[place]
        action = (STAY, PUSH, POP)[self.direction[symbol]] if self.visible else self.actions[to]
        return to, to if action == PUSH else action

    def _next(self, state: int, symbol: int, top: Top) -> int:
        """The state whose signs are those of u, all of them decided."""
        u, bounds = self.sums(state, symbol, top)
        self.sign_margin = self._decided(abs(u), bounds, self.sign_margin, "the sign of a unit", symbol)
        signs = np.where(u > 0, 1, -1).astype(np.int8)
        number = self._numbers.get(signs.tobytes())
        return self._keep(signs, STAY if self.visible else self._action(signs, symbol)) if number is None else number

    def sums(self, state: int, symbol: int, top: Top) -> tuple[Floats, Floats]:
        """u (H,), and how far it may be from its true value, and from what float32 makes of it."""
        if top not in self._tops:
            self._tops[top] = self._read_top(top)
        of_top, sizes = self._tops[top]
        u = self.before[state] + self.of_symbol[:, symbol] + self.bias + of_top
        return u, (gamma(self.H + self.W + 3) * self.sizes[:, symbol] + sizes) * SLACK + TINY

    def _read_top(self, top: Top) -> tuple[Floats, Floats]:
        """What a top adds to u (H,), and how far that may err beside what the sizes of the rest allow (H,)."""
        self._count()
        if top is None:
            r, eta = np.full(self.W, float(self.model["empty"])), np.zeros(self.W)
        else:
            r, eta = self.w["push.weight"] @ self.states[top].astype(np.float64) + self.w["push.bias"], self.eta
        sizes = abs(self.of_top)
        return self.of_top @ r, gamma(self.H + self.W + 3) * (sizes @ (abs(r) + eta)) + sizes @ eta

    def _keep(self, signs: npt.NDArray[np.int8], action: int) -> int:
        """The number of a new state."""
        self._count()
        number = self._numbers[signs.tobytes()] = len(self.states)
        self.states.append(signs)
        self.before.append(self.w["recurrent.weight"] @ signs.astype(np.float64))
        self.actions.append(action)
        return number

    def _count(self) -> None:
        """Of a state, or a top, two vectors are kept."""
        self.kept += 2 * self.H + OVERHEAD
        if self.kept > MAX_NUMBERS:
            raise Rejected(f"the states of the network that come up take more than {MAX_NUMBERS:,} numbers")

    def _action(self, signs: npt.NDArray[np.int8], symbol: int) -> int:
        """PUSH, POP or STAY in a state, decided."""
        chosen, self.action_margin = self._largest("action", signs, self.action_margin, "the action", symbol)
        return (PUSH, POP, STAY)[chosen]

    def _largest(
        self, layer: str, signs: npt.NDArray[np.int8], least: float, what: str, symbol: int | None
    ) -> tuple[int, float]:
        """The largest of the logits, and by how much at least it is larger than the others, this time and before."""
        logits = self.w[f"{layer}.weight"] @ signs.astype(np.float64) + self.w[f"{layer}.bias"]
        chosen, bounds = int(logits.argmax()), self.bounds[layer]
        gaps, radii = np.delete(logits[chosen] - logits, chosen), np.delete(bounds[chosen] + bounds, chosen)
        return chosen, self._decided(gaps, radii * SLACK + TINY, least, what, symbol)

    def _decided(self, sizes: Floats, radii: Floats, least: float, what: str, symbol: int | None) -> float:
        """The least of these sizes, or of those before. Raises Rejected unless each is larger than its radius."""
        if not (sizes > radii).all():
            worst = int((sizes - radii).argmin())
            at = "" if symbol is None else f" at the symbol {quoted(self.alphabet[symbol])}"
            raise Rejected(f"{what}{at} is not decided: {sizes[worst]:.3g} is within {radii[worst]:.3g} of a tie")
        self.room = min(self.room, float((sizes / radii).min(initial=np.inf)))
        return min(least, float(sizes.min(initial=np.inf)))

    def answer(self, state: int) -> int:
        """The answer in a state, decided."""
        if state not in self._answers:
            chosen, self.answer_margin = self._largest(
                "readout", self.states[state], self.answer_margin, "an answer", None
            )
            self._answers[state] = chosen
        return self._answers[state]

    def check(self, state: int, right: StackMachine, its_state: int) -> None:
        """Raise Rejected unless the network answers as the machine does, where that has an answer."""
        wanted = right.answer(its_state)
        if wanted is not None and self.answer(state) != wanted:
            given, right_one = quoted(self.output_names[self.answer(state)]), quoted(self.output_names[wanted])
            raise Rejected(
                f"some words lead the automaton to {right.states[its_state]!r:.40}, where it answers {right_one}; "
                f"the network answers {given}"
            )

    def check_questions(self, state: int, top: Top, right: StackMachine, its_state: int, its_top: Top) -> None:
        """Every word may be put to a network."""


def gamma(n: int) -> float:
    """How much a sum of n terms, each a rounded product, may err in float32, of the sum of their sizes."""
    return n * UNIT / (1 - n * UNIT)


def options(record: Any) -> dict[str, Any]:
    """The model's options, each known and of its kind, and such as the proof is about."""
    if isinstance(record, dict) and record.get("name") != NEEDED["name"]:
        raise Rejected(f"name = {record.get('name')!r:.40}: the proof is about networks with name = 'stack-rnn'")
    model = fields(record, "the model in config.json", OPTIONS)
    for name, choices in CHOICES.items():
        if model[name] not in choices:
            raise Malformed(f"config.json: {name} {model[name]!r:.40} is not known, only {' and '.join(choices)}")
    for name, needed in NEEDED.items():
        if model[name] != needed:
            raise Rejected(f"{name} = {model[name]!r:.40}: the proof is about networks with {name} = {needed!r}")
    if model["empty"] not in EMPTY or min(model["d_model"], model["stack_width"]) < 1:
        raise Malformed("config.json: the sizes are not those of a network")
    if max(model["d_model"], model["stack_width"]) > MAX_WIDTH:
        raise Rejected(f"networks of at most {MAX_WIDTH:,} units, and numbers in a cell, are checked")
    return model
