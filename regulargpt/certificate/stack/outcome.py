"""What is said of a trained stack network: proven at every length, or a shortest wrong word, or why neither."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from torch import nn

from languages.convert.machines import to_json
from languages.errors import UserError
from languages.tasks import AnyTask
from regulargpt.certificate import record
from regulargpt.certificate.checker import FORMAT, Malformed, Progress, Rejected, decide
from regulargpt.certificate.checker.claims import stack_claim
from regulargpt.certificate.outcome import Outcome, compared, refused
from regulargpt.certificate.stack.search import StackAttempt, attempt, machine_of
from regulargpt.certificate.verdict import remember
from regulargpt.finite.stack_product import MAX_LAG, Proven, UndecidedProduct, Wrong
from regulargpt.storage.folder import AUTOMATON, CERTIFICATE

KIND = {"kind": "stack"}
MOST_SHOWN = 100  # symbols of a word in a reason


def stack_outcome(
    task: AnyTask, model: nn.Module, weights: bytes, network: bytes, progress: Progress, lag: int = MAX_LAG
) -> Outcome:
    """Search, make the certificate, and have it checked; or say why there is none."""
    try:
        machine = machine_of(task)
    except UserError as error:
        return refused(weights, {**KIND, "reason": str(error)})
    tried = attempt(model, machine, lag)
    sizes: dict[str, Any] = {**KIND, **counted(tried)}
    if isinstance(tried.verdict, Wrong):
        wrong = compared(machine, model, tried.verdict.word)
        return refused(weights, {**sizes, "reason": reason_of(tried, task), "wrong": wrong})
    if isinstance(tried.verdict, UndecidedProduct):
        return refused(weights, {**sizes, "reason": reason_of(tried, task)})
    automaton = to_json(machine)
    files = {"weights": weights, "network": network, "automaton": automaton.encode()}
    certificate = certificate_of(tried.verdict, files)
    try:
        decide(certificate.encode(), files, progress=progress)
    except (Rejected, Malformed) as error:
        return refused(weights, {**sizes, "reason": f"the independent check rejects it: {error}"})
    remember(certificate.encode(), files)
    return Outcome({"proven": True, **sizes}, {AUTOMATON: automaton, CERTIFICATE: certificate})


def certificate_of(proven: Proven, files: Mapping[str, bytes]) -> str:
    """certificate.json: of which files it is, and by how much the stacks may differ. The checker finds the rest."""
    named = record.named(files)
    return record.text({"format": FORMAT, **KIND, "claim": stack_claim(), **named, "lag": proven.lag})


def counted(tried: StackAttempt) -> dict[str, Any]:
    """How much was gone through, and the least margins; None where there are none."""
    product, margins = tried.product, dataclasses.asdict(tried.network.margins)
    least = {name: value if value < float("inf") else None for name, value in margins.items()}
    sizes = {"states": tried.network.n_states - 1, "entries": len(product.table), "pairs": len(product.of)}
    return {"lag": product.lag, **sizes, "margins": least}


def reason_of(tried: StackAttempt, task: AnyTask) -> str:
    """Why there is no proof, with the word if it is short."""
    verdict = tried.verdict
    assert not isinstance(verdict, Proven), "there is a proof"
    if isinstance(verdict, Wrong):
        count = len(verdict.word)
        reason = f"wrong on a word of {count:,} symbol{'s' * (count != 1)}"
    else:
        reason = verdict.reason
    if verdict.word is None or len(verdict.word) > MOST_SHOWN:
        return reason
    return f"{reason}: {task.machine.decode(verdict.word)}"
