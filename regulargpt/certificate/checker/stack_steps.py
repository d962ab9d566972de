"""The steps of a check of a network with a stack: the files, the product with the machine, and what it says nothing of
if the machine asks nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from regulargpt.certificate.checker.claims import language_claim, stack_claim
from regulargpt.certificate.checker.doubles import is_ieee
from regulargpt.certificate.checker.files import Floats, Malformed, Rejected
from regulargpt.certificate.checker.heads import PUSH, StackHeads, is_endless
from regulargpt.certificate.checker.stack_equality import prove_equal
from regulargpt.certificate.checker.stack_machine import StackMachine, Top
from regulargpt.certificate.checker.stack_network import CheckedStackNetwork
from regulargpt.certificate.checker.stack_product import CheckedStackProduct

MAX_LAG = 16


@dataclass(frozen=True)
class AcceptedStack:
    """What has been checked: the claims, and how much there was to check.

    `states` of the network come up, `entries` of its table, `pairs` of what both machines hold and what lies on top of
    their stacks, of which either is never more than `lag` symbols higher. `automaton_states` come up, too, and
    `answered_states` of them have an answer. `sign_margin` is the least |u|; `action_margin`, None where actions are
    visible, and `answer_margin` are the least differences of two logits. All are at least `room` times as large as what
    rounding may do.
    """

    claim: str
    language_claim: str | None
    states: int
    entries: int
    pairs: int
    lag: int
    automaton_states: int
    answered_states: int
    sign_margin: float
    action_margin: float | None
    answer_margin: float
    room: float


def check_stack(
    record: Mapping[str, Any],
    weights: Mapping[str, Floats],
    config: Any,
    machine: StackMachine,
    language: tuple[str, StackMachine] | None,
) -> AcceptedStack:
    """All steps, for a certificate whose fields are of their kinds."""
    if not 0 <= record["lag"] <= MAX_LAG:
        raise Malformed(f"the lag is {record['lag']}; it is from 0 to {MAX_LAG}")
    if not is_ieee():
        raise Rejected("float64 does not round to nearest here: nothing can be concluded from it")
    network = CheckedStackNetwork(weights, config)
    if (network.alphabet, network.output_names) != (machine.alphabet, machine.output_names):
        raise Rejected("the network and the automaton have other symbols or answers")
    if record["claim"] != (expected := stack_claim()):
        raise Rejected(f"the claim is not the one that the product proves, which is: {expected}")
    states = reached(machine)
    proven = None
    if language is not None:
        prove_equal(machine, *language)
        proven = language_claim(language[0])
    product = CheckedStackProduct(network, machine, record["lag"])
    heads = StackHeads(product.initial, product.steps)
    return AcceptedStack(
        claim=expected,
        language_claim=proven,
        states=len(network.states) - 1,
        entries=len(network.table),
        pairs=heads.count,
        lag=record["lag"],
        automaton_states=len(states),
        answered_states=sum(machine.answer(q) is not None for q in states),
        sign_margin=network.sign_margin,
        action_margin=None if network.visible else network.action_margin,
        answer_margin=network.answer_margin,
        room=network.room,
    )


def reached(machine: StackMachine) -> set[int]:
    """The states of the machine that non-empty words lead to. Raises Rejected if it gives no two different
    answers, or answers finitely many words."""
    states: set[int] = set()

    def steps(state: int, top: Top) -> list[tuple[int, int, Top]]:
        moves = machine.moves(state, top)
        states.update(to for _, to, _ in moves)
        return [(to, PUSH, action) if action >= 0 else (to, action, None) for _, to, action in moves]

    heads = StackHeads(machine.initial, steps)
    if len({machine.answer(q) for q in states} - {None}) < 2:
        raise Rejected("the automaton never gives two different answers: the claim would say nothing")
    if not is_endless(heads, lambda state: machine.answer(state) is not None):
        raise Rejected("the automaton answers finitely many words: the claim would say nothing of other lengths")
    return states
