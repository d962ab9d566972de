"""What may be said of a run's proof now: what the checker accepts of the files as they lie there.

All that calls a run proven asks here. Never imports torch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from languages.automata.moore import MooreMachine
from languages.automata.oracle import Oracle
from languages.cache_folder import cache_folder
from languages.convert.machines import read_json, to_json
from languages.errors import AutomatonError, UserError
from languages.registry import find
from languages.tasks import AnyTask
from regulargpt.certificate.checker import AcceptedRefutation, AnyProof, Malformed, Progress, Rejected, decide
from regulargpt.certificate.compared import AnyMachine, against, automaton_of, difference
from regulargpt.storage import atomic
from regulargpt.storage.environment import version
from regulargpt.storage.folder import (
    AUTOMATON,
    CERTIFICATE,
    ENVIRONMENT,
    GRAPH,
    MODEL_CONFIG,
    REFUTATION,
    REFUTED_AUTOMATON,
    WEIGHTS,
    RunFolder,
)
from regulargpt.storage.manifest import digest

CHECKER = Path(__file__).parent / "checker"
ARITHMETIC = ("numpy", "python-flint")
"""What the checker calculates with: by another version it is queried again."""


@dataclass(frozen=True)
class Verdict:
    """Whether the checker accepts the certificate, of its automaton; and why that proves nothing of the language.

    `reason` is empty where the run is proven: accepted, and the automaton is that of the language it was trained on.
    """

    is_accepted: bool
    reason: str = ""

    @property
    def proven(self) -> bool:
        """Whether the network is proven to answer as the run's language does."""
        return self.is_accepted and not self.reason


@dataclass(frozen=True)
class Refuted:
    """What the checker accepts of a run's refutation; and why that says nothing of the language it was trained on.

    `reason` is empty where the automaton that the network contradicts is the language's.
    """

    accepted: AcceptedRefutation
    reason: str = ""


def verdict(folder: RunFolder, language: str, progress: Progress = lambda part, done, count: None) -> Verdict:
    """What is proven of a finished run on a language.

    A check may take minutes. What this very checker has accepted once, on this machine, it is not given again.
    """
    checked = acceptance(folder, progress)
    if checked.is_accepted and (reason := of_another(folder, automaton_of(folder), language)):
        return Verdict(True, reason)
    return checked


def as_it_is(folder: RunFolder, language: str) -> bool:
    """Whether the network is proven as it is, without replacing any state."""
    return atomic.disk.exists(folder.path / CERTIFICATE) and verdict(folder, language).proven and replaces_none(folder)


def replaces_none(folder: RunFolder) -> bool:
    """Whether the run's certificate, once it is accepted, is also about the network without replacing any state."""
    record = atomic.parse_json(atomic.read_bytes(folder.path / CERTIFICATE), folder.path / CERTIFICATE)
    return record.get("kind") == "stack" or record.get("unquantised") is not None


def acceptance(folder: RunFolder, progress: Progress = lambda part, done, count: None) -> Verdict:
    """Whether the checker accepts the run's certificate, whatever automaton it is about; else why not.

    Reasons name files from the run's folder on, wherever that lies.
    """
    try:
        if not atomic.disk.exists(folder.path / CERTIFICATE):
            attempt = folder.load_attempt()
            return Verdict(False, attempt["reason"] if attempt else f"there is no {CERTIFICATE}")
        certificate, files = certified_files(folder)
        if not was_accepted(certificate, files):
            proof(certificate, files, progress)
            remember(certificate, files)
    except (Malformed, Rejected) as error:
        return Verdict(False, f"{CERTIFICATE} proves nothing: {error}")
    except UserError as error:
        return Verdict(False, str(error).replace(f"{atomic.shown(folder.path)}/", ""))
    return Verdict(True)


def proof(certificate: bytes, files: Mapping[str, bytes], progress: Progress, name: str = CERTIFICATE) -> AnyProof:
    """What the checker accepts of a network that is right. Raises as `decide`, and Rejected for a refutation."""
    accepted = decide(certificate, files, progress=progress, name=name)
    if isinstance(accepted, AcceptedRefutation):
        raise Rejected("it is a refutation, of a network that is wrong")
    return accepted


def refuted(folder: RunFolder, language: str, progress: Progress = lambda part, done, count: None) -> Refuted | None:
    """What the checker accepts now of a run's refutation, and whether it is of the run's language; None without one.

    Raises UserError if it does not accept.
    """
    path = folder.path / REFUTATION
    if not atomic.disk.exists(path):
        return None
    text = atomic.read_bytes(path)
    files = network_files(folder, path)
    files["automaton"] = atomic.read_bytes(folder.path / REFUTED_AUTOMATON)
    try:
        accepted = decide(text, files, progress=progress, name=atomic.shown(path))
        if not isinstance(accepted, AcceptedRefutation):
            raise Rejected("it is a certificate, of a network that is right")
    except (Malformed, Rejected) as error:
        again = f"run `regulargpt verify {atomic.shown(folder.path)}` again"
        raise UserError(f"{atomic.shown(path)} proves nothing: {error}; {again}") from error
    machine = read_json(files["automaton"].decode(), REFUTED_AUTOMATON)
    assert isinstance(machine, MooreMachine), "the checker accepts a refutation of no other"
    return Refuted(accepted, of_another(folder, machine, language))


def network_files(folder: RunFolder, proof: Path) -> dict[str, bytes]:
    """The weights of a finished run and its config.json; or graph.json, if a proof names that as the network.

    Raises UserError for a file that is damaged.
    """
    is_graph = False
    with suppress(ValueError, AttributeError, RecursionError):  # what is no certificate is refused where it is checked
        is_graph = json.loads(atomic.read_bytes(proof)).get("network", {}).get("file") == GRAPH
    network = atomic.read_bytes(folder.path / GRAPH) if is_graph else folder.final_bytes(MODEL_CONFIG)
    return {"weights": folder.final_bytes(WEIGHTS), "network": network}


def certified_files(folder: RunFolder) -> tuple[bytes, dict[str, bytes]]:
    """The certificate and what it is about, as they lie there. Raises UserError for a file that is damaged or gone."""
    files = network_files(folder, folder.path / CERTIFICATE)
    files["automaton"] = atomic.read_bytes(folder.path / AUTOMATON)
    return atomic.read_bytes(folder.path / CERTIFICATE), files


def mark_of(certificate: bytes, files: dict[str, bytes]) -> Path | None:
    """The file that says that this checker has accepted these bytes, with this arithmetic; None where there is no
    folder for it.

    It lies in the user's cache folder: what comes with a run folder cannot say it.
    """
    code = b"".join(file.read_bytes() for file in sorted(CHECKER.glob("*.py")))
    code += repr([version(name) for name in ARITHMETIC]).encode()
    parts = (code, certificate, *(files[name] for name in sorted(files)))
    with suppress(UserError):
        return cache_folder() / "accepted" / digest("".join(map(digest, parts)).encode())
    return None


def was_accepted(certificate: bytes, files: dict[str, bytes]) -> bool:
    """Whether there is a note that this checker has accepted these bytes; a note that cannot be read is none."""
    with suppress(OSError):
        mark = mark_of(certificate, files)
        return mark is not None and mark.exists()
    return False


def remember(certificate: bytes, files: dict[str, bytes]) -> None:
    """Note that the checker has just accepted these bytes, if that can be: without a note it is queried again."""
    mark = mark_of(certificate, files)
    with suppress(OSError):
        if mark is not None:
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()  # empty: it is there or not, however a power cut comes


def of_another(folder: RunFolder, machine: AnyMachine, language: str) -> str:
    """Why a proof about this automaton is none of the language that the run was trained on; empty if it is one."""
    try:
        task = find(folder.named(language))
    except UserError as error:
        return f"{language} cannot be read: {error}"
    if has_changed(folder, task):
        return f"{language} is no longer the automaton that the run was trained on"
    # A certificate is of numbers: machines over other symbols or answers could pass for equal.
    same_kind = isinstance(machine, MooreMachine) == isinstance(task.machine, MooreMachine)
    if not same_kind or named(machine) != named(task.machine):
        return f"its automaton has other symbols or answers than {language}"
    try:
        comparison: dict[str, Any] = against(machine, task)
    except AutomatonError as error:
        return str(error)
    return "" if comparison["equal"] else f"its automaton is {difference(comparison)}"


def named(machine: AnyMachine | Oracle) -> tuple[tuple[str, ...], ...]:
    """Its symbols and answers."""
    return machine.alphabet, machine.output_names


def has_changed(folder: RunFolder, task: AnyTask) -> bool:
    """Whether a language is no longer the automaton that the run was trained on: that of a file may be another now."""
    known = atomic.parse_json(folder.final_bytes(ENVIRONMENT), folder.path / ENVIRONMENT)
    written = known.get("automaton", {}).get("sha256")
    return (
        written is not None
        and not isinstance(task.machine, Oracle)
        and written != digest(to_json(task.machine).encode())
    )
