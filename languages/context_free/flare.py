"""Four languages of the FLaRe benchmark: membership, with its members and near misses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from languages.answers import CLASSES
from languages.automata.pushdown import Move, PushdownTransducer
from languages.automata.words import Indices
from languages.context_free.counters import majority
from languages.context_free.mirrored import marked_reversal, unmarked_reversal
from languages.drawn import DrawnTask

SOURCE = "Butoi et al. 2025 (FLaRe)"
BITS, PUSH, POP, MARK = ("0", "1"), "PUSH", "POP", "#"


def flare_majority() -> DrawnTask:
    """Majority, its members with any number of ones above half, each as likely: most are far from the boundary.

    >>> flare_majority().machine.answers("110").item()
    1

    Source: Butoi et al. 2025, "Majority".
    """
    return replace(majority(), name="flare-majority", source=SOURCE, draw=many_ones, perturbs=True)


def many_ones(random: np.random.Generator, length: int, count: int) -> Indices:
    """Words (count, length) of length // 2 + 1 .. length ones, in any order."""
    ones = random.integers(length // 2 + 1, length + 1, size=(count, 1))
    return random.permuted((np.arange(length) < ones).astype(np.uint8), axis=1)


def flare_marked_reversal() -> DrawnTask:
    """Marked reversal, with FLaRe's near misses.

    >>> flare_marked_reversal().machine.answers("0#0").item()
    1

    Source: Butoi et al. 2025, "Marked Reversal".
    """
    return replace(marked_reversal(), name="flare-marked-reversal", source=SOURCE, perturbs=True)


def flare_unmarked_reversal() -> DrawnTask:
    """Unmarked reversal, with FLaRe's near misses.

    >>> flare_unmarked_reversal().machine.answers("00").item()
    1

    Source: Butoi et al. 2025, "Unmarked Reversal".
    """
    return replace(unmarked_reversal(), name="flare-unmarked-reversal", source=SOURCE, perturbs=True)


def flare_stack_manipulation() -> DrawnTask:
    """Do bits, then commands `PUSH bit` and `POP`, then #, end with the stack that is left, top first?

    A POP of the empty stack rejects. PUSH and its bit are two symbols.

    >>> flare_stack_manipulation().machine.answers("0 1 POP PUSH 1 # 1 0").item()
    1

    Source: Butoi et al. 2025, "Stack Manipulation".
    """

    def draw(random: np.random.Generator, length: int, count: int) -> Indices:
        return np.array([manipulated(random, length) for _ in range(count)], dtype=np.uint8)

    return DrawnTask(
        name="flare-stack-manipulation",
        machine=checking_machine(),
        summary="membership: a stack, commands, and the stack that is left",
        source=SOURCE,
        examples=(("0 1 POP PUSH 1 # 1 0", "accept"), ("0 POP POP #", "reject")),
        draw=draw,
        has=lambda length: length != 2,
        sampling="balanced",
        perturbs=True,
    )


def checking_machine() -> PushdownTransducer:
    """Of 6 states. What is pushed on the empty stack is a symbol of its own, so that the last POP is known."""
    first = {a: f"first {a}" for a in BITS}
    every = (*BITS, *first.values())
    moves: list[Move] = []
    for a in BITS:
        for state, target in (("bits", "bits"), ("push", "commands")):
            moves += [Move(state, a, target, (None,), push=first[a]), Move(state, a, target, every, push=a)]
        moves += [Move("left", a, "left", (a,), pop=True), Move("left", a, "all", (first[a],), pop=True)]
        moves += [Move("left", a, "wrong", (None, *(b for b in every if a not in b)))]
        moves += [Move("commands", a, "wrong")]
    for state in ("bits", "commands"):
        moves += [Move(state, PUSH, "push"), Move(state, POP, "commands", pop=True), Move(state, POP, "wrong", (None,))]
        moves += [Move(state, MARK, "all", (None,)), Move(state, MARK, "left", every)]
    moves += [Move(state, symbol, "wrong") for state in ("push", "left") for symbol in (PUSH, POP, MARK)]
    moves += [Move(state, symbol, "wrong") for state in ("all", "wrong") for symbol in (*BITS, PUSH, POP, MARK)]
    outputs = {state: CLASSES[state == "all"] for state in ("bits", "push", "commands", "left", "all", "wrong")}
    return PushdownTransducer.from_outputs((*BITS, PUSH, POP, MARK), "bits", moves, outputs, CLASSES)


def manipulated(random: np.random.Generator, length: int) -> list[int]:
    """A member: 2 symbols for each bit of the stack, 3 for each PUSH, none more for a POP, and #.

    How many bits there are is uniform. A POP is as likely as a PUSH wherever both can be.
    """
    push, pop, mark = 2, 3, 4
    pushes = int(random.choice(np.arange((length - 1) % 2, (length - 1) // 3 + 1, 2)))
    stack: list[int] = random.integers(2, size=(length - 1 - 3 * pushes) // 2).tolist()
    word = list(stack)
    while True:
        if stack and random.integers(2):
            word.append(pop)
            stack.pop()
        elif not pushes:
            return [*word, mark, *reversed(stack)]
        else:
            pushes, bit = pushes - 1, int(random.integers(2))
            word += [push, bit]
            stack.append(bit)
