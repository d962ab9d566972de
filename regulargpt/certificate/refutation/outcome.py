"""The refutation of a trained network of linear recurrences, once the independent checker has accepted it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from languages.automata import MooreMachine
from languages.convert.machines import to_json
from languages.task import Task
from languages.tasks import AnyTask
from regulargpt.certificate import record
from regulargpt.certificate.checker import FORMAT, AcceptedRefutation, Malformed, Progress, Rejected, decide
from regulargpt.certificate.checker.claims import refutation_claim
from regulargpt.certificate.compared import right_machine
from regulargpt.certificate.refutation.families import candidates, of_cycles
from regulargpt.certificate.refutation.network import LinearNetwork
from regulargpt.certificate.refutation.search import Wrong, wrong_families
from regulargpt.models.linear_rnn import LinearRnn
from regulargpt.storage.atomic import disk, reported, write_text
from regulargpt.storage.folder import REFUTATION, REFUTED_AUTOMATON, RunFolder
from regulargpt.storage.manifest import digest

DEFINITE = "the last symbols of a word decide its answer: nothing forbids it"
TRIED = 4  # families that the checker is given
MOST = 1 << 61  # the latest n that they are claimed from


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


def refutation_of(
    task: AnyTask, model: nn.Module, weights: bytes, network: bytes, progress: Progress = lambda part, done, count: None
) -> Refutation:
    """Search, make the refutation, and have it checked; or say why there is none."""
    assert isinstance(model, LinearRnn), "no other network is refuted by a proof"
    if not isinstance(task, Task):
        return none_of(f"{task.name} has no finite automaton")
    machine = right_machine(task)
    assert isinstance(machine, MooreMachine), "that of a task"
    reason = no_family(machine, len(candidates(machine)))
    automaton = to_json(machine)
    files = {"weights": weights, "network": network, "automaton": automaton.encode()}
    for wrong in wrong_families(machine, LinearNetwork(model))[:TRIED]:
        for later in starts(wrong):
            text = certificate_of(later, machine, files)
            try:
                accepted = decide(text.encode(), files, progress=progress)
            except (Rejected, Malformed) as error:
                reason = f"the independent check rejects it: {error}"
                continue
            assert isinstance(accepted, AcceptedRefutation), "it is one"
            return Refutation(described(later, machine, accepted), {REFUTED_AUTOMATON: automaton, REFUTATION: text})
    return none_of(reason)


def starts(wrong: Wrong) -> Iterator[Wrong]:
    """The family from where float64 shows it on; then, if float64 shows no end, each time from twice as late on."""
    yield wrong
    while not wrong.is_settled and 2 * wrong.start <= MOST:
        wrong = wrong.later(2 * wrong.start)
        yield wrong


def none_of(reason: str) -> Refutation:
    """No refutation, and why."""
    return Refutation({"refuted": False, "reason": reason}, {})


def no_family(machine: MooreMachine, count: int) -> str:
    """What is said where the network is right in the limit on all families that were tried.

    >>> import languages
    >>> no_family(languages.get("regex:(0|1)*1").machine, 9)
    'none of 9 families u v^n w is wrong for ever; the last symbols of a word decide its answer: nothing forbids it'
    """
    why = "two answers may tie in the limit" if of_cycles(machine) else DEFINITE
    return f"none of {count:,} families u v^n w is wrong for ever; {why}"


def certificate_of(wrong: Wrong, machine: MooreMachine, files: Mapping[str, bytes]) -> str:
    """refutation.json."""
    words = {name: [*word] for name, word in wrong.family._asdict().items()}
    names = {name: [machine.alphabet[a] for a in word] for name, word in words.items()}
    answers = machine.output_names[wrong.answer], machine.output_names[wrong.right]
    numbers = {"from": wrong.start, "period": wrong.period, "residue": wrong.residue, "answer": wrong.answer}
    place = record.NAMES | {"automaton": REFUTED_AUTOMATON}
    return record.text(
        {
            "format": FORMAT,
            "kind": "refutation",
            "claim": refutation_claim(names, wrong.start, wrong.period, wrong.residue, *answers),
            **{name: {"file": file, "sha256": digest(files[name])} for name, file in place.items()},
            **words,
            **numbers,
        }
    )


def described(wrong: Wrong, machine: MooreMachine, accepted: AcceptedRefutation) -> dict[str, Any]:
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
