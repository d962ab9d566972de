"""The steps of a check of a network that carries a state of fixed size from symbol to symbol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from regulargpt.certificate.checker.claims import chain_claim
from regulargpt.certificate.checker.equality import same_language
from regulargpt.certificate.checker.files import Floats, Rejected
from regulargpt.certificate.checker.images import Progress
from regulargpt.certificate.checker.machine import Automaton, Machine

MAX_POINTS = 1 << 12


@dataclass(frozen=True)
class AcceptedChain:
    """What has been checked: the claims, and how much there was to check.

    `points` of the certificate's come up, in `rows` (the start or a point, and a symbol) and `pairs` of a point and a
    state of the automaton. `states` of the automaton come up, and `answered_states` of them have an answer.
    `point_margin` is at most how much farther than to its own point a state of a row is to any other, and
    `answer_margin` at most the least difference of an answer's logit and another. Of the network as it is, `box_margin`
    is the same of all logits in the boxes, and `box_room` at most how much more than the slack is left between an image
    and the edge of its box; None where nothing is said of it. `bits` is the precision that decided everything.
    """

    claim: str
    unquantised_claim: str | None
    language_claim: str | None
    points: int
    rows: int
    pairs: int
    states: int
    answered_states: int
    point_margin: float
    answer_margin: float
    box_margin: float | None
    box_room: float | None
    bits: int


def check_chain(
    record: Mapping[str, Any],
    weights: Mapping[str, Floats],
    config: Any,
    machine: Machine,
    language: tuple[str, Automaton] | None,
    progress: Progress,
) -> AcceptedChain:
    """All steps, for a certificate whose fields are of their kinds."""
    states, answered = machine.asked()
    expected = chain_claim(machine.alphabet, len(record["points"]), answered == states)
    if record["claim"] != expected:
        raise Rejected(f"the claim is not the one that the table proves, which is: {expected}")
    same_language(machine, language)
    raise Rejected("no network of this kind is known yet")
