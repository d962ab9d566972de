"""What is said of a trained network: proven at every length, or the shortest wrong word."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from torch import nn

from languages.convert.machines import to_json
from languages.tasks import TreeTask
from regulargpt.certificate import record
from regulargpt.certificate.checker import Accepted, Malformed, Progress, Rejected, decide
from regulargpt.certificate.compared import AnyMachine, against
from regulargpt.certificate.search.certify import Certifier, QuantisedNetwork
from regulargpt.certificate.unquantised import Searched, certify_unquantised, search_balls, wide_enough
from regulargpt.certificate.verdict import remember
from regulargpt.finite.float64_network import Float64Network
from regulargpt.finite.from_answers import LearnedMachine, answers_of, labels
from regulargpt.finite.nested_specification import NestedSpecification
from regulargpt.models.tree.base import Tree
from regulargpt.storage.atomic import disk, render_json, reported, write_text
from regulargpt.storage.folder import AUTOMATON, CERTIFICATE, UNCERTIFIED, WEIGHTS, RunFolder
from regulargpt.storage.manifest import digest

# Symbols of the words that the network itself answers, shortest first, in search of a word that it answers wrongly.
MAX_SYMBOLS = 1 << 19
NOT_LEARNED = "L* learned no automaton that fits the held-out words; train longer"


@dataclass(frozen=True)
class Outcome:
    """What is said of a network: the report, and the files that say it, by name.

    `report["proven"]` is true only where the independent checker has accepted these very files. What they prove of a
    learned automaton is `proven` of the language only if that is the language's.
    """

    report: dict[str, Any]
    files: Mapping[str, str]

    @property
    def proven(self) -> bool:
        """Whether the checker accepted it, and its automaton is the language's."""
        return self.report["proven"] and self.report.get("learned", {}).get("equal", True)

    @property
    def proven_as_it_is(self) -> bool:
        """Whether that is of the network as it is evaluated: a stack network's states are never replaced."""
        is_of_it = self.report.get("kind") == "stack" or self.report.get("unquantised", {}).get("proven", False)
        return self.proven and is_of_it

    def write(self, folder: RunFolder) -> None:
        """Write the files, the certificate last, and remove those of an earlier outcome."""
        for name in {AUTOMATON, CERTIFICATE, UNCERTIFIED} - set(self.files):
            with reported(folder.path / name):
                if disk.exists(folder.path / name):
                    disk.remove(folder.path / name)
        for name, text in self.files.items():
            write_text(folder.path / name, text)


def outcome_of(
    certifier: Certifier,
    task: TreeTask,
    model: Tree,
    quantised: QuantisedNetwork,
    weights: bytes,
    network: bytes,
    progress: Progress = lambda part, done, count: None,
    learned: LearnedMachine | None = None,
    searched: Searched | None = None,
) -> Outcome:
    """Make the certificate of what was found, and have it checked; or say why there is none.

    It is about the language's automaton, or about the one that was `learned` from the network's answers; of that one
    the report also says whether it is the language's. Balls are looked for, unless the network was `searched` for them.
    """
    against_task = learned_report(learned, task)
    report = described(certifier, quantised) | against_task
    if not quantised.proof.holds:
        machine, wrong = quantised.specification.machine, quantised.proof.wrong
        assert wrong is not None, "else it holds"
        report |= errs_on(machine, model, wrong)
        if (own := shortest_wrong(task, model)) is not None:
            report["wrong_unquantised"] = compared(task.machine, model, own)
        return refused(weights, report)
    if not quantised.certain:
        return refused(weights, {**report, "reason": too_close(quantised.smallest_margin)})
    automaton = to_json(quantised.specification.machine)
    files = {"weights": weights, "network": network, "automaton": automaton.encode()}
    try:
        certificate = record.text(record.record(quantised, files, None))
        accepted = decide(certificate.encode(), files, progress=progress)
        of_model = Float64Network(model, json.loads(network)["model"])
        if searched is None or not searched.is_of(of_model):
            searched = search_balls(certifier, model, quantised, of_model)
        certified, unquantised = certify_unquantised(searched, files, progress)
    except (Rejected, Malformed) as error:
        return refused(weights, {**report, "reason": f"the independent check rejects it: {error}"})
    if certified is not None:
        certificate, accepted = certified
        report = described(certifier, searched.quantised) | against_task
    else:
        unquantised |= wide_enough(searched)
    assert isinstance(accepted, Accepted), "it is of a table"
    report |= {"levels": accepted.levels, "homomorphism": accepted.homomorphism, "unquantised": unquantised}
    remember(certificate.encode(), files)
    return Outcome({"proven": True, **report}, {AUTOMATON: automaton, CERTIFICATE: certificate})


def learned_report(learned: LearnedMachine | None, task: TreeTask) -> dict[str, Any]:
    """Of an automaton that was learned, whether it is the task's."""
    return {} if learned is None else {"learned": {**against(learned.machine, task), "classes": learned.classes}}


def too_close(margin: float) -> str:
    """Why a proof by such a margin is none."""
    return f"it holds by a margin of {margin:.2g} only, which rounding could close"


def refused(weights: bytes, report: dict[str, Any]) -> Outcome:
    """No certificate, why, and of which weights."""
    report = {"proven": False, **report}
    known = {"weights": {"file": WEIGHTS, "sha256": digest(weights)}, **report}
    return Outcome(report, {UNCERTIFIED: render_json(known).decode()})


def described(certifier: Certifier, quantised: QuantisedNetwork) -> dict[str, Any]:
    """The size of the table, and which elements never occur or share a prototype."""
    specification, pairs = certifier.specification, quantised.proof.pairs
    name = [word or "ε" for word in specification.words]
    elements = specification.task_elements[pairs[:, 1]]
    shared = [sorted(set(elements[pairs[:, 0] == state].tolist())) for state in np.unique(pairs[:, 0])]
    return {
        "algebra" if isinstance(specification, NestedSpecification) else "monoid": len(name),
        "elements": len(np.unique(elements)),
        "prototypes": len(quantised.book),
        "entries": len(quantised.table.leaves) + len(quantised.table.nodes),
        "smallest_margin": quantised.smallest_margin,
        "merged": [[name[e] for e in group] for group in shared if len(group) > 1],
    }


def errs_on(machine: AnyMachine, model: nn.Module, word: Sequence[int]) -> dict[str, Any]:
    """That the quantised network answers its shortest wrong word otherwise than the machine."""
    return {"wrong": compared(machine, model, word), "reason": "the quantised network errs on a word"}


def compared(machine: AnyMachine, model: nn.Module, word: Sequence[int]) -> dict[str, Any]:
    """A word that a machine has an answer to, with this one and the unquantised network's."""
    symbols = np.array([word])
    right, given = int(machine.answers(symbols)[0]), int(answers_of(model, symbols)[0])
    word_there = {"word": machine.decode(symbols[0]), "length": len(word)}
    return {**word_there, "right": machine.output_names[right], "network": machine.output_names[given]}


def shortest_wrong(task: TreeTask, model: nn.Module) -> tuple[int, ...] | None:
    """The first word that the network itself answers wrongly, among all words of the shortest lengths."""
    length, left = 1, MAX_SYMBOLS
    while (count := task.n_symbols**length * length) <= left:
        words = np.array(list(product(range(task.n_symbols), repeat=length)))
        right = labels(task, words)
        words, right = words[right >= 0], right[right >= 0]
        if len(words) and (wrong := np.flatnonzero(answers_of(model, words) != right)).size:
            return tuple(words[wrong[0]].tolist())
        length, left = length + 1, left - count
    return None
