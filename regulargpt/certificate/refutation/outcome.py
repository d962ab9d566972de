"""The refutation of a trained network that carries a state, once the independent checker has accepted it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from torch import nn

from languages.automata import MooreMachine
from languages.convert.machines import to_json
from languages.task import Task
from languages.tasks import AnyTask
from regulargpt.certificate import record
from regulargpt.certificate.checker import FORMAT, AcceptedRefutation, Malformed, Progress, Rejected, decide
from regulargpt.certificate.checker.claims import refutation_claim
from regulargpt.certificate.checker.refutation import FEW, LATER
from regulargpt.certificate.compared import right_machine
from regulargpt.certificate.refutation.cycles import SYMBOLS, CycleNetwork
from regulargpt.certificate.refutation.delta import DeltaNetwork
from regulargpt.certificate.refutation.diagonal import DiagonalNetwork, is_diagonal
from regulargpt.certificate.refutation.families import WrongFamily, candidates, of_cycles
from regulargpt.certificate.refutation.network import LinearNetwork
from regulargpt.certificate.refutation.search import Network, wrong_families
from regulargpt.models.delta.model import Delta
from regulargpt.models.linear_rnn import LinearRnn
from regulargpt.models.mixing.model import Mixing
from regulargpt.models.recurrent import Recurrent, TorchRecurrent
from regulargpt.storage.atomic import disk, reported, write_text
from regulargpt.storage.folder import REFUTATION, REFUTED_AUTOMATON, RunFolder

ANSWERED = ("last", "prefixes")
"""The objectives by which a network answers a word at its end."""
DEFINITE = "the last symbols of a word decide its answer: nothing forbids it"
TRIED = 4  # families that the checker is given
MOST, NEAR = 1 << 61, 64  # the latest n that they are claimed from, and to which share of it that is the least


@dataclass(frozen=True)
class Refutation:
    """What is said of a network: the report, and the files that say it, by name, if it is refuted."""

    report: dict[str, Any]
    files: Mapping[str, str]

    def write(self, folder: RunFolder) -> None:
        """Write the files, the refutation last, or remove those of an earlier one."""
        for name in (REFUTATION, REFUTED_AUTOMATON):
            with reported(folder.path / name):
                if name not in self.files and disk.exists(folder.path / name):
                    disk.remove(folder.path / name)
        for name, text in self.files.items():
            write_text(folder.path / name, text)


def may_be_refuted(model: nn.Module) -> TypeGuard[Mixing | LinearRnn | TorchRecurrent]:
    """Whether it is one of the networks with a state that the checker reads."""
    return isinstance(model, Mixing | LinearRnn | TorchRecurrent)


def in_float64(model: Recurrent) -> Network:
    """The network for a search."""
    if isinstance(model, LinearRnn):
        return LinearNetwork(model)
    if isinstance(model, Delta) and len(model.blocks) == 1:
        return DeltaNetwork(model)
    if isinstance(model, Mixing) and is_diagonal(model):
        return DiagonalNetwork(model)
    return CycleNetwork(model)


def answers_otherwise(network: bytes) -> str | None:
    """Why the network of this config.json answers no word at its end; None if it does."""
    supervision = json.loads(network)["supervision"]
    return (
        None if supervision in ANSWERED else f"the network is trained to answer {supervision!r}, not a word at its end"
    )


def refutation_of(
    task: AnyTask,
    model: Recurrent,
    weights: bytes,
    network: bytes,
    progress: Progress = lambda part, done, count: None,
) -> Refutation:
    """Search, make the refutation, and have it checked; or say why there is none."""
    if not isinstance(task, Task):
        return none_of(f"{task.name} has no finite automaton")
    machine = right_machine(task)
    assert isinstance(machine, MooreMachine), "that of a task"
    searched = in_float64(model)
    reason = no_family(machine, len(candidates(machine)), isinstance(searched, CycleNetwork))
    automaton = to_json(machine)
    files = {"weights": weights, "network": network, "automaton": automaton.encode()}

    def checked(wrong: WrongFamily) -> Refutation:
        text = certificate_of(wrong, machine, files)
        accepted = decide(text.encode(), files, progress=progress)
        assert isinstance(accepted, AcceptedRefutation), "it is one"
        written = {**record.graph_file(files), REFUTED_AUTOMATON: automaton, REFUTATION: text}
        return Refutation(described(wrong, machine, accepted), written)

    for wrong in wrong_families(machine, searched, progress)[:TRIED]:
        try:
            return accepted(wrong, checked)
        except (Rejected, Malformed) as error:
            reason = f"the independent check rejects it: {error}"
    return none_of(reason)


def accepted(wrong: WrongFamily, checked: Callable[[WrongFamily], Refutation]) -> Refutation:
    """The refutation from where float64 shows it, or from later words on. Raises Rejected if it is accepted from none.

    The checker may see only of later words that they are settled.
    """
    if wrong.is_settled:
        try:
            return checked(wrong)
        except Rejected as error:
            if LATER not in str(error):
                raise
    return earliest(wrong.later(max(wrong.start, FEW + 1)), checked)


def earliest(wrong: WrongFamily, checked: Callable[[WrongFamily], Refutation]) -> Refutation:
    """The refutation from nearly the least n on from which it is accepted, where float64 does not show that n.

    Raises Rejected if it is accepted from none on.
    """
    low, high, earliest_one = wrong.start, wrong.start, None
    while earliest_one is None or high - low > 1 + high // NEAR:
        n = high if earliest_one is None else (low + high) // 2
        try:
            earliest_one, high = checked(wrong.later(n)), n
        except Rejected:
            if earliest_one is None and 2 * high > MOST:
                raise
            low, high = n, 2 * high if earliest_one is None else high
    return earliest_one


def none_of(reason: str) -> Refutation:
    """No refutation, and why."""
    return Refutation({"refuted": False, "reason": reason}, {})


def no_family(machine: MooreMachine, count: int, is_followed: bool = False) -> str:
    """What is said where the network is right in the limit on all families that were tried.

    >>> import languages
    >>> no_family(languages.get("regex:(0|1)*1").machine, 9)
    'none of 9 families u v^n w is wrong for ever; the last symbols of a word decide its answer: nothing forbids it'
    """
    if is_followed:
        seen = f"as far as its states come around within {SYMBOLS} symbols"
        return f"none of {count:,} families u v^n w is wrong for ever, {seen}"
    why = "two answers may tie in the limit" if of_cycles(machine) else DEFINITE
    return f"none of {count:,} families u v^n w is wrong for ever; {why}"


def certificate_of(wrong: WrongFamily, machine: MooreMachine, files: Mapping[str, bytes]) -> str:
    """refutation.json."""
    words = {name: [*word] for name, word in wrong.family._asdict().items()}
    names = {name: [machine.alphabet[a] for a in word] for name, word in words.items()}
    answers = machine.output_names[wrong.answer], machine.output_names[wrong.right], record.network_called(files)
    numbers = {"from": wrong.start, "period": wrong.period, "residue": wrong.residue, "answer": wrong.answer}
    return record.text(
        {
            "format": FORMAT,
            "kind": "refutation",
            "claim": refutation_claim(names, wrong.start, wrong.period, wrong.residue, *answers),
            **record.named(files, {**record.NAMES, "automaton": REFUTED_AUTOMATON}),
            **words,
            **numbers,
        }
    )


def described(wrong: WrongFamily, machine: MooreMachine, accepted: AcceptedRefutation) -> dict[str, Any]:
    """The family, with symbols for their numbers, and what the checker counted."""
    return {
        "refuted": True,
        **{name: machine.decode(word) if word else "" for name, word in wrong.family._asdict().items()},
        "from": wrong.start,
        "period": wrong.period,
        "residues": [wrong.residue],
        "evidence": "proved",
        "network": machine.output_names[wrong.answer],
        "right": machine.output_names[wrong.right],
        "length": wrong.length,
        "settled": accepted.settled,
        "margin": accepted.margin,
    }
