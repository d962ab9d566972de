"""The value of a Boolean formula that is written with its operators in front, without brackets."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import lgamma, log

import numpy as np

from languages.automata.pushdown import Move, PushdownTransducer
from languages.automata.words import Indices
from languages.drawn import DrawnTask

OPERATORS: dict[str, Callable[[int, int], int]] = {"&": lambda a, b: a & b, "|": lambda a, b: a | b}
NOT = "!"
SYMBOLS = ("0", "1", *OPERATORS, NOT)
STEPS = np.array([-1, -1, 1, 1, 0])  # by how many operands more are to come behind each symbol


def boolean() -> DrawnTask:
    """The value of a formula in prefix notation: 0, 1, ! F, & F F or | F F. Formulas of a length are equally likely.

    Other words are no questions, so of a longer word the answer comes at its last symbol alone.

    >>> boolean().machine.answers("&!01", every=True).tolist()
    [-1, -1, -1, 1]

    Source: the Boolean formula value problem in Polish notation, Buss 1987.
    """
    return DrawnTask(
        name="boolean",
        machine=formula_machine(),
        summary="the value of a Boolean formula, its operators in front",
        source="Buss 1987, the Boolean formula value problem",
        examples=(("&!01", "1"), ("|0&10", "0")),
        draw=formulas,
    )


def formula_machine() -> PushdownTransducer:
    """A state is what the operand that comes next is mapped to: the values at 0 and at 1. 6 states, 8 stack symbols.

    An operator waits on the stack, with the map that was on, until its first operand is there; it and its operator then
    make a map of the second, so that each symbol is one move.
    """
    maps: list[tuple[int, int]] = [(a, b) for a in (0, 1) for b in (0, 1)]
    state = {of: f"to {of[0]}{of[1]}" for of in maps}
    moves: list[Move] = []
    for of in maps:
        moves += [Move(state[of], op, state[0, 1], push=f"{op} {state[of]}") for op in OPERATORS]
        moves += [Move(state[of], NOT, state[of[1], of[0]])]
        for bit, (op, outer) in product((0, 1), product(OPERATORS, maps)):
            after = tuple(outer[OPERATORS[op](of[bit], second)] for second in (0, 1))
            moves.append(Move(state[of], str(bit), state[after[0], after[1]], (f"{op} {state[outer]}",), pop=True))
        moves += [Move(state[of], str(bit), f"value {of[bit]}", (None,)) for bit in (0, 1)]
    outputs: dict[str, str | None] = dict.fromkeys(state.values()) | {f"value {bit}": bit for bit in "01"}
    return PushdownTransducer.from_outputs(SYMBOLS, state[0, 1], moves, outputs, "01")


def formulas(random: np.random.Generator, length: int, count: int) -> Indices:
    """Formulas (count, length), all equally likely.

    Of symbols in any order whose steps add up to -1 exactly one rotation is a formula: the formula that begins behind
    the first place where the sum is least (the cycle lemma, Dvoretzky and Motzkin 1947).
    """
    operators = np.arange((length + 1) // 2)  # of two operands: so many, one digit more, and negations
    weights = [
        (2 * b + 1) * log(2) - lgamma(b + 1) - lgamma(b + 2) - lgamma(length - 2 * b) for b in operators.tolist()
    ]
    chances = np.exp(np.array(weights) - max(weights))
    b = random.choice(operators, size=count, p=chances / chances.sum())[:, None]  # (count, 1)
    places = np.arange(length)
    kinds = (places >= b).astype(np.int64) + (places >= 2 * b + 1)  # (count, length): operators, digits, negations
    kinds = random.permuted(kinds, axis=1)
    bits = random.integers(2, size=kinds.shape)
    words = np.where(kinds == 2, SYMBOLS.index(NOT), np.where(kinds == 1, bits, 2 + bits))  # (count, length)
    least = STEPS[words].cumsum(1).argmin(1)[:, None]  # (count, 1)
    return np.take_along_axis(words, (places + least + 1) % length, axis=1).astype(np.uint8)
