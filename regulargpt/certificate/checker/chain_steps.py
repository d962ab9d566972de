"""The steps of a check of a network that carries a state of fixed size from symbol to symbol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flint import ctx

from regulargpt.certificate.checker.balls import exact
from regulargpt.certificate.checker.boxes import known
from regulargpt.certificate.checker.chain_boxes import Boxes
from regulargpt.certificate.checker.chain_network import Bounded, ChainNetwork
from regulargpt.certificate.checker.chain_networks import network_of
from regulargpt.certificate.checker.chain_product import CheckedRows, Product
from regulargpt.certificate.checker.claims import chain_claim, unquantised_chain_claim
from regulargpt.certificate.checker.equality import same_language
from regulargpt.certificate.checker.files import Floats, Malformed, Rejected, fields, numbers
from regulargpt.certificate.checker.images import Progress
from regulargpt.certificate.checker.machine import Automaton, Machine
from regulargpt.certificate.checker.network import MAX_NUMBERS

MAX_POINTS = 1 << 12


@dataclass(frozen=True)
class AcceptedChain:
    """What has been checked: the claims, and how much there was to check.

    `points` of the certificate's come up, in `rows` (the start or a point, and a symbol) and `pairs` of a point and a
    state of the automaton. `states` of the automaton come up, and `answered_states` of them have an answer.
    `point_margin` is at most how much farther than to its own point a state of a row is to any other, None of one point
    alone, and `answer_margin` at most the least difference of an answer's logit and another. Of the network as it is,
    `box_margin` is the same of all logits in the boxes, and `box_room` at most how much more than the slack is left
    between an image and the edge of its box; None where nothing is said of it. `bits` is the precision that decided
    everything.
    """

    claim: str
    unquantised_claim: str | None
    language_claim: str | None
    points: int
    rows: int
    pairs: int
    states: int
    answered_states: int
    point_margin: float | None
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
    """All steps, for a certificate whose fields are of their kinds. Raises Undecided where more bits may tell."""
    network = network_of(weights, config, known)
    if (network.alphabet, network.output_names) != (machine.alphabet, machine.output_names):
        raise Rejected("the network and the automaton have other symbols or answers")
    states, answered = machine.answered_states()
    points = points_of(record["points"], network)
    expected = chain_claim(machine.alphabet, len(points), answered == states, network.CALLED)
    if record["claim"] != expected:
        raise Rejected(f"the claim is not the one that the table proves, which is: {expected}")
    proven = same_language(machine, language)
    rows = CheckedRows(network, lambda: network_of(weights, config, exact), points, progress)
    product = Product(rows, machine)
    boxes = None if record["unquantised"] is None else boxes_of(record["unquantised"], network, points, product)
    return AcceptedChain(
        claim=expected,
        unquantised_claim=None if boxes is None else unquantised_chain_claim(boxes.slack),
        language_claim=proven,
        points=len({place for place, _ in product.pairs}),
        rows=len(rows.points),
        pairs=len(product.pairs),
        states=states,
        answered_states=answered,
        point_margin=float(rows.point_margin) if len(points) > 1 else None,
        answer_margin=float(rows.answer_margin),
        box_margin=None if boxes is None else boxes.margin,
        box_room=None if boxes is None else boxes.room,
        bits=ctx.prec,
    )


def points_of(stated: Any, network: ChainNetwork) -> Floats:
    """The points (K, D). Raises Rejected for no points, too many, two that are the same, and those of another state."""
    if not stated or not all(isinstance(row, list) for row in stated):
        raise Malformed("'points' is not a list of rows of numbers")
    if len(stated) > MAX_POINTS or len(stated) * network.D > MAX_NUMBERS:
        raise Rejected(f"at most {MAX_POINTS:,} points, of {MAX_NUMBERS:,} numbers together, are checked")
    for k, row in enumerate(stated, 1):
        if len(row) != network.D:
            what = f"the state has {network.D:,} numbers ({network.layout()})"
            raise Rejected(f"point {k} has {len(row):,} numbers: {what}")
    points = numbers(stated, "'points'", (-1, network.D))
    first: dict[tuple[float, ...], int] = {}
    for k, row in enumerate(map(tuple, points.tolist()), 1):
        if (other := first.setdefault(row, k)) != k:
            raise Rejected(f"points {other} and {k} are the same: no state has one of them as the nearest")
    return points


def boxes_of(stated: Any, network: ChainNetwork, points: Floats, product: Product) -> Boxes:
    """The boxes that the certificate states, proven. Raises Malformed or Rejected if they are not."""
    if not isinstance(network, Bounded):
        raise Rejected(f"boxes are proven of rnn, gru, lstm and slstm, not of {network.model['name']}")
    if (reason := network.why_no_boxes()) is not None:
        raise Rejected(reason)
    stated = fields(stated, "'unquantised'", {"claim": str, "slack": float, "radii": list})
    slack = float(numbers([stated["slack"]], "'slack'", (1,))[0])
    radii = numbers(stated["radii"], "'radii'", (-1, network.D))
    if len(radii) != len(points):
        raise Malformed(f"{len(points)} points have as many rows of radii; there are {len(radii)}")
    if not slack > 0 or (radii < 0).any():
        raise Malformed("'unquantised': the slack is above 0, and no radius is below")
    if stated["claim"] != (expected := unquantised_chain_claim(slack)):
        raise Rejected(f"the claim about the network as it is goes beyond what is proven: {expected}")
    return Boxes(network, points, radii, slack, product)
