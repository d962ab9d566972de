"""`regulargpt check CERTIFICATE`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from languages.errors import UserError, shown
from regulargpt.cli.output import CheckBar, emit, printed, say
from regulargpt.cli.types import FILE, PATH

if TYPE_CHECKING:
    from regulargpt.certificate.checker import Accepted, AcceptedChain, AcceptedRefutation, AcceptedStack, AnyAccepted


@click.command()
@click.argument("certificate", type=PATH)
@click.option("--weights", type=FILE, help="The weights.  [default: beside the certificate]")
@click.option("--network", type=FILE, help="config.json, or graph.json.  [default: beside the certificate]")
@click.option("--automaton", type=FILE, help="The automaton.  [default: beside the certificate]")
@click.option("--refutation", "refuted", is_flag=True, help="Check a folder's refutation, not its certificate.")
@click.option("--model", help="Also write the step of MODULE:CLASS, with these weights, as a graph, and compare.")
@click.option("--language", help="Also prove that the automaton is that of this language, as in --language parity.")
@printed
def command(
    certificate: Path,
    weights: Path | None,
    network: Path | None,
    automaton: Path | None,
    refuted: bool,
    model: str | None,
    language: str | None,
    as_json: bool,
) -> int:
    """Check a certificate from its files alone: independent code, in rigorous arithmetic.

    Of a folder that is its certificate.json: that the network is right. A refutation, that it is wrong, is checked
    where it is named, or with --refutation.
    """
    named = None if language is None else (language, automaton_of(language))
    from regulargpt.certificate.checker import AcceptedRefutation, Malformed, Rejected, check
    from regulargpt.cli import FAILED

    given = {"weights": weights, "network": network, "automaton": automaton}
    path = place_of(certificate, refuted)
    try:
        with closing(CheckBar()) as progress:
            accepted = check(path, {name: file for name, file in given.items() if file is not None}, named, progress)
        is_wrong = isinstance(accepted, AcceptedRefutation)
        if refuted and not is_wrong:
            raise Rejected("it is a certificate, of a network that is right; leave --refutation out")
        if is_wrong and not refuted and certificate.is_dir():
            raise Rejected(f"it is a refutation, of a network that is wrong; check it with `regulargpt check {path}`")
        if model is not None:
            refuse_another_graph(model, path.parent, weights, network)
    except OSError as error:
        hint = "give a certificate that `regulargpt verify` wrote, with its files beside it"
        raise UserError(f"{error.filename or path} cannot be read ({error.strerror}); {hint}") from error
    except Malformed as error:
        raise UserError(f"{error}; `regulargpt verify RUN` writes certificates") from error
    except Rejected as rejected:
        emit({"accepted": False, "reason": str(rejected)}) if as_json else say(f"rejected: {rejected}", err=True)
        return FAILED
    emit(as_record(accepted)) if as_json else say(text(accepted))
    return 0


def refuse_another_graph(model: str, folder: Path, weights: Path | None, network: Path | None) -> None:
    """Raise Rejected where graph.json is not, byte for byte, the step of a class with these weights."""
    from regulargpt.certificate.checker import Rejected
    from regulargpt.judging.judge import again
    from regulargpt.storage.atomic import read_bytes
    from regulargpt.storage.folder import GRAPH, WEIGHTS

    graph = network or folder / GRAPH
    if not graph.exists():
        raise UserError(f"--model: {shown(folder)} has no {GRAPH}; only `regulargpt judge`'s proofs are about one")
    if (reason := again(model, read_bytes(weights or folder / WEIGHTS), read_bytes(graph))) is not None:
        raise Rejected(reason)


def place_of(certificate: Path, refuted: bool) -> Path:
    """The file to check: of a folder its certificate, or its refutation. UserError where the folder has none."""
    from regulargpt.storage.folder import CERTIFICATE, CONFIG, REFUTATION, RunFolder

    if not certificate.is_dir():
        return certificate
    path, place = certificate / (REFUTATION if refuted else CERTIFICATE), shown(certificate)
    if path.exists():
        return path
    if refuted:
        raise UserError(f"{place} has no {REFUTATION}; `regulargpt verify {place}` writes one, if it finds a proof")
    if (certificate / REFUTATION).exists():
        remedy = f"`regulargpt check --refutation {place}` checks that"
        raise UserError(f"{place} has no {CERTIFICATE}, but a {REFUTATION}, that the network is wrong; {remedy}")
    if (certificate / CONFIG).exists():
        raise RunFolder(certificate).without_certificate()
    return path


def automaton_of(language: str) -> str:
    """The automaton of a language as the checker reads it; UserError if there is no such language."""
    from languages.convert.machines import to_json
    from languages.registry import find
    from regulargpt.certificate.compared import right_machine

    return to_json(right_machine(find(language)))


def as_record(accepted: AnyAccepted) -> dict[str, object]:
    """For programs: whether it is a certificate or a refutation, and all that was counted."""
    import dataclasses

    from regulargpt.certificate.checker import AcceptedRefutation

    fields = {field.name: getattr(accepted, field.name) for field in dataclasses.fields(accepted)}
    fields.pop("functions", None)
    kind = "refutation" if isinstance(accepted, AcceptedRefutation) else "certificate"
    return {"accepted": True, "kind": kind, **fields}


def counted_of_stack(accepted: AcceptedStack) -> list[str]:
    """What was gone through of a network with a stack."""
    action = "" if accepted.action_margin is None else f", of actions {accepted.action_margin:.4g}"
    table = f"{accepted.states} states of the network, {accepted.entries:,} entries of its table"
    return [
        f"{accepted.answered_states} of {accepted.automaton_states} reachable states have an answer.",
        f"{table}, {accepted.pairs:,} pairs, no stack more than {accepted.lag} ahead",
        f"least |u| {accepted.sign_margin:.4g}, least gaps of answers {accepted.answer_margin:.4g}{action}: at least "
        f"{accepted.room:.4g} times what rounding may do",
    ]


def counted_of_chain(accepted: AcceptedChain) -> list[str]:
    """What was gone through of a recurrent network."""
    of_points = "" if accepted.point_margin is None else f"of points {accepted.point_margin:.4g}, "
    lines = [
        f"{accepted.answered_states} of {accepted.states} reachable states have an answer.",
        f"{accepted.points:,} points, {accepted.rows:,} rows recomputed with {accepted.bits} bits, {accepted.pairs:,} "
        f"pairs; least margin {of_points}of answers {accepted.answer_margin:.4g}",
    ]
    if accepted.unquantised_claim is None:
        return lines
    return [*lines, f"in all of the boxes: of answers {accepted.box_margin:.4g}, room {accepted.box_room:.4g}"]


def counted_of_refutation(accepted: AcceptedRefutation) -> list[str]:
    """How it was proven that a network is wrong on some words for ever."""
    how = "read one by one"
    if accepted.comparisons != accepted.words:
        how = f"decided by {accepted.comparisons:,} comparisons"
    read = f"; {accepted.words:,} words before that were {how}" if accepted.words else ""
    return [
        f"{accepted.layers} layer{'s' * (accepted.layers != 1)}, {accepted.bits} bits: from n = {accepted.settled:,} "
        f"on one comparison decides, with a margin of {accepted.margin:.4g} in the limit{read}"
    ]


def counted_of_tree(accepted: Accepted) -> list[str]:
    """What was gone through of a weight-shared tree."""
    states, roots = (accepted.answered_states, accepted.states), (accepted.answered_roots, accepted.roots)
    if states[0] == states[1] and roots[0] == roots[1]:
        answered = "Every reachable state and every kind of root has an answer."
    else:  # a language with a domain asks no answer of some
        answered = "{} of {} reachable states and {} of {} kinds of root have an answer.".format(*states, *roots)
    return [
        answered,
        f"{accepted.entries} entries recomputed with {accepted.bits} bits, smallest margin "
        f"{accepted.smallest_margin:.4g}, {accepted.levels} levels until they repeat",
    ]


def text(accepted: AnyAccepted) -> str:
    """For people: the claims, then what was gone through."""
    from regulargpt.certificate import checker

    counted: dict[type, Callable[[Any], list[str]]] = {
        checker.Accepted: counted_of_tree,
        checker.AcceptedStack: counted_of_stack,
        checker.AcceptedChain: counted_of_chain,
        checker.AcceptedRefutation: counted_of_refutation,
    }
    claims = (getattr(accepted, name, None) for name in ("claim", "unquantised_claim", "language_claim"))
    return "\n".join(["accepted: " + "\n".join(filter(None, claims)), *counted[type(accepted)](accepted)])
