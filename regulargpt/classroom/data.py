"""What a page shows of a run, read from its folder and refused if it does not fit together."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

import languages
from languages.automata import MooreMachine
from languages.automata.monoid import TransitionMonoid
from languages.automata.pushdown import PushdownTransducer
from languages.context_free.nested import NestedTask
from languages.convert.machines import read_json
from languages.drawn import DrawnTask
from languages.errors import UserError
from regulargpt.certificate.checker import (
    Accepted,
    AcceptedRefutation,
    AcceptedStack,
    AnyProof,
    Malformed,
    Progress,
    Rejected,
)
from regulargpt.certificate.sentences import sentences
from regulargpt.certificate.verdict import Refuted, has_changed, network_files, of_another, proof, refuted
from regulargpt.classroom import rows
from regulargpt.classroom.live import gathering
from regulargpt.classroom.live.gathering import Live
from regulargpt.classroom.live.states import MOST_PROTOTYPES, Prototypes
from regulargpt.classroom.nested import Machine, numbers_of_functions
from regulargpt.classroom.rows import DrawnRows
from regulargpt.config.schema import RunConfig
from regulargpt.data import is_language, kind_of
from regulargpt.data.kinds import KINDS
from regulargpt.findings import Finding
from regulargpt.finite.specification import specified_machine
from regulargpt.options.registry import load
from regulargpt.runs.opened import OpenedRun, open_run
from regulargpt.runs.outside import outside
from regulargpt.storage import atomic
from regulargpt.storage.folder import (
    AUTOMATON,
    CERTIFICATE,
    MEASURES,
    RunFolder,
)

RECEPTIVE_FIELD = Path("receptive-field", "receptive-field.json")


@dataclass(frozen=True)
class Certificate:
    """A certificate that the checker has accepted: as it lies there, and what was accepted.

    Prototype k stands for `elements[k]`, of the monoid or the algebra, and `words[k]` are their least words. There are
    none of an algebra with more elements than a page names, nor of a network with a stack or a recurrent network.
    """

    record: dict[str, Any]
    accepted: AnyProof
    elements: tuple[tuple[int, ...], ...]
    words: tuple[tuple[str, ...], ...]

    @property
    def as_it_is(self) -> bool:
        """Whether it is about the network as it is, without replacing any state."""
        return isinstance(self.accepted, AcceptedStack) or self.accepted.unquantised_claim is not None

    @property
    def of_table(self) -> Accepted:
        """What was accepted, of a network that has a table."""
        assert isinstance(self.accepted, Accepted), "lessons are of trees"
        return self.accepted


class OtherRun(Protocol):
    """A finished run on another kind of data, as the wing shows it that brings this kind."""

    page: ClassVar[str]
    """The module with `article(i, run)`, all its sections, `comparison(runs)`, what stands above several, and `STYLES`,
    files as `document` takes them."""

    @property
    def path(self) -> Path:
        """Its folder."""
        ...

    @property
    def config(self) -> RunConfig:
        """What was run."""
        ...


@dataclass(frozen=True)
class PageRun:
    """A finished run. `machine` is None where the run's language can no longer be found, `certificate` without one.

    `reasons` say why there is none, if `verify` was called; or why what is proven is not proven of the run's language.
    `live` is the network itself. `refuted` is what is proven of words that it has wrong, `falsified` what a search for
    wrong words came to, as far as the network bears it out now. The symbols are those that people read: brackets for 0
    and 1.
    """

    path: Path
    config: RunConfig
    summary: dict[str, Any]
    points: tuple[tuple[int, float], ...]  # what was measured at each length
    machine: Machine | None
    certificate: Certificate | None
    reasons: tuple[str, ...]
    field: Finding | None
    live: Live
    rows: DrawnRows | None = None  # of a language whose words a function draws
    refuted: Refuted | None = None
    falsified: Mapping[str, Any] | None = None

    @property
    def refutation(self) -> AcceptedRefutation | None:
        """What is proven of words of the run's language that the network answers wrongly."""
        return None if self.refuted is None or self.refuted.reason else self.refuted.accepted

    @property
    def is_wrong(self) -> bool:
        """Whether a word is known that the network as it is answers wrongly."""
        return self.refutation is not None or bool((self.falsified or {"wrong": []})["wrong"])

    @property
    def is_another(self) -> bool:
        """Whether what is proven is proven of another automaton than the language's."""
        return self.certificate is not None and bool(self.reasons)

    @property
    def is_refuted_of_another(self) -> bool:
        """Whether it is proven to be wrong by another automaton than the language's, which says nothing of it."""
        return self.refuted is not None and bool(self.refuted.reason)

    @property
    def is_proven(self) -> bool:
        """Whether the checker accepts a proof, of the language that the run was trained on."""
        return self.certificate is not None and not self.reasons

    @property
    def is_on_language(self) -> bool:
        """Whether it is a run on a language; the other ones are on a retrieval task."""
        return is_language(self.config.data.name)

    @property
    def nested_task(self) -> NestedTask | None:
        """The language with brackets that its words are of; None where it has none, or is found no more."""
        try:
            task = languages.find(self.config.data.name) if self.is_on_language else None
        except UserError:
            return None
        return task if isinstance(task, NestedTask) else None


def gather(path: Path, progress: Progress = lambda part, done, count: None) -> PageRun | OtherRun:
    """All that a page needs of the run in this folder, on a language or on data of another kind.

    Raises UserError if it is no finished run, a file is damaged, or the certificate is not accepted.
    """
    run = open_run(RunFolder.open(path), reads=False)
    folder, config, summary = run.folder, run.config, run.folder.load_summary()
    if (place := gathered_by(config.data.name)) is not None:
        return load(place)(run)
    folder.final_bytes(MEASURES)
    values = summary["measures"][summary["measure"]]["values"]
    points = tuple(sorted((int(length), value) for length, value in values.items()))
    certificate, machine = certified(folder, progress)
    if certificate is None or machine is None:
        machine, reasons = of_language(folder, config.data.name), uncertified(run)
    else:
        reasons = tuple(filter(None, [of_another(folder, machine, config.data.name)]))
        if isinstance(machine, MooreMachine):
            machine = as_shown(machine, config.data.name)
            certificate = certificate_of(certificate.record, machine, certificate.accepted)
    as_it_is = certificate is not None and certificate.as_it_is
    is_proven, words = as_it_is and not reasons, None
    if (task := drawn_task(folder, config.data.name)) is not None:
        words, network = rows.gather(folder, config, task, is_proven=is_proven)
    else:
        network = live_network(folder, config, machine, certificate, is_proven=is_proven)
    wrong = refuted(folder, config.data.name, progress), still_wrong(run)
    field = receptive_field(run)
    return PageRun(path, config, summary, points, machine, certificate, reasons, field, network, words, *wrong)


def gathered_by(name: str) -> str | None:
    """What reads a run on data of this name; None of words, and of what is shown as words are."""
    return (None if is_language(name) else KINDS[kind_of(name)].gather) or None


def live_network(
    folder: RunFolder,
    config: RunConfig,
    machine: Machine | None,
    certificate: Certificate | None,
    *,
    is_proven: bool,
) -> Live:
    """The network as the page computes it, and its prototypes from the certificate, if any."""
    known = None
    if certificate is not None and 0 < len(certificate.elements) <= MOST_PROTOTYPES:
        known = Prototypes(np.array(certificate.record["prototypes"]), certificate.elements)
    return gathering.gather(folder, config, machine, known, is_proven=is_proven)


def certified(folder: RunFolder, progress: Progress) -> tuple[Certificate | None, Machine | None]:
    """The certificate, if the run has any, and its automaton.

    The checker goes through it now, on the very bytes that are shown; UserError if it does not accept.
    """
    path = folder.path / CERTIFICATE
    if not atomic.disk.exists(path):
        return None, None
    again = f"run `regulargpt verify {atomic.shown(folder.path)}` again"
    text, automaton = atomic.read_bytes(path), atomic.read_bytes(folder.path / AUTOMATON)
    try:
        files = network_files(folder, path) | {"automaton": automaton}
        accepted = proof(text, files, progress, atomic.shown(path))
    except (Malformed, Rejected) as error:
        raise UserError(f"{atomic.shown(path)} proves nothing: {error}; {again}") from error
    machine = read_json(automaton.decode(), AUTOMATON)
    assert isinstance(machine, Machine), "the checker accepts no other automaton"
    return certificate_of(atomic.parse_json(text, path), machine, accepted), machine


def still_wrong(run: OpenedRun) -> Mapping[str, Any] | None:
    """What falsified.json names, as far as the network bears it out now; None where it says nothing of it."""
    if run.folder.load_falsified() is None:
        return None
    from regulargpt.runs.borne_out import known_wrong

    with suppress(UserError):  # its language is gone, say: then nothing is wrong or right
        return known_wrong(run, run.folder)
    return None


def certificate_of(record: dict[str, Any], machine: Machine, accepted: AnyProof) -> Certificate:
    """With the elements that each prototype stands for; none if no node comes to it."""
    if not isinstance(accepted, Accepted):
        return Certificate(record, accepted, (), ())
    if isinstance(machine, MooreMachine):
        monoid = TransitionMonoid.from_machine(machine)
        number = {tuple(function): {i} for i, function in enumerate(monoid.elements.tolist())}
        words = monoid.words
    elif (named := numbers_of_functions(machine)) is not None:
        number, words = named
    else:
        return Certificate(record, accepted, (), ())
    functions = [accepted.functions.get(1 + k, ()) for k in range(accepted.prototypes)]
    of_prototypes = [set[int]().union(*(number[function] for function in some)) for some in functions]
    elements = tuple(tuple(sorted(some, key=lambda i: (len(words[i]), words[i], i))) for some in of_prototypes)
    return Certificate(record, accepted, elements, tuple(tuple(words[i] for i in some) for some in elements))


def uncertified(run: OpenedRun) -> tuple[str, ...]:
    """Why these weights have no certificate, in words; empty if `verify` was not called for them.

    A word that the network is said to have wrong is queried again. Only of a network from outside, which no checker
    knows, it says that its table was compared.
    """
    attempt = run.folder.load_attempt()
    if attempt is None:
        return ()
    if not outside(run.config):
        attempt.pop("checked", None)
    try:
        if "wrong_unquantised" in attempt and (word := word_again(run, attempt.pop("wrong_unquantised"))):
            attempt["wrong_unquantised"] = word
        return tuple(sentences(attempt))
    except (KeyError, TypeError) as error:
        raise run.folder.no_attempt(error) from error


def word_again(run: OpenedRun, word: Mapping[str, Any]) -> dict[str, Any] | None:
    """A word that `verify` wrote down as wrong, if the network still has it wrong."""
    from regulargpt.runs.borne_out import borne_out

    with suppress(UserError):
        for still in borne_out(run, {"wrong": [word], "families": []})["wrong"]:
            return {**still, "right": still["expected"], "network": still["answered"]}
    return None


def of_language(folder: RunFolder, name: str) -> Machine | None:
    """The automaton that the run was trained on, None if its file is gone, or has another by now."""
    try:
        task = languages.find(name)
    except UserError:
        return None
    if has_changed(folder, task):
        return None
    if isinstance(task, DrawnTask):
        return task.machine if isinstance(task.machine, PushdownTransducer) else None
    return task.machine if isinstance(task, NestedTask) else as_shown(specified_machine(task), name)


def drawn_task(folder: RunFolder, name: str) -> DrawnTask | None:
    """The language of the run, if a function draws its words; None of another, or where it has changed or is gone."""
    try:
        task = languages.find(name) if is_language(name) else None
    except UserError:
        return None
    return task if isinstance(task, DrawnTask) and not has_changed(folder, task) else None


def as_shown(machine: MooreMachine, language: str) -> MooreMachine:
    """The machine over the symbols that people know, where the language has a sign for each.

    >>> as_shown(languages.get("dyck-1").machine, "dyck-1").alphabet
    ('(', ')')
    """
    try:
        task = languages.get(language)
    except UserError:
        return machine
    sign = dict(zip(task.alphabet, task.glyphs, strict=False))
    return replace(machine, alphabet=tuple(sign.get(symbol, symbol) for symbol in machine.alphabet))


def receptive_field(run: OpenedRun) -> Finding | None:
    """What `regulargpt receptive-field` measured, None if it was not called or there was no gradient."""
    file = run.path / RECEPTIVE_FIELD
    if not atomic.disk.exists(file):
        return None
    from regulargpt.measurements.receptive_field import of_report

    record = atomic.parse_json(atomic.read_bytes(file), file)
    try:
        return of_report(record, run.config) if record["c"] else None
    except (KeyError, TypeError) as error:
        again = f"run `regulargpt receptive-field {atomic.shown(run.path)}` again"
        raise UserError(f"{atomic.shown(file)} is no result of `receptive-field`; {again}") from error
