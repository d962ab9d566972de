"""What `verify` and `run --certify` say about a finished run: proven at every length, or the shortest wrong word."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import languages
from languages.convert.json_text import to_json
from languages.errors import UserError
from languages.task import Task
from regulargpt.anchors import Anchors
from regulargpt.certificate import record
from regulargpt.certificate.certify import Certifier, Snapped
from regulargpt.certificate.checker import Malformed, Progress, Rejected, decide
from regulargpt.certificate.checker.files import tensors
from regulargpt.certificate.enclosure import NotClosed, enclose
from regulargpt.certificate.network import Network
from regulargpt.config import RunConfig
from regulargpt.storage import checkpoint
from regulargpt.storage.atomic import disk, parse_json, read_bytes, render_json, reported, write_text
from regulargpt.storage.folder import AUTOMATON, CERTIFICATE, MODEL_CONFIG, UNCERTIFIED, WEIGHTS, RunFolder
from regulargpt.storage.manifest import digest
from regulargpt.validation import no_certificate_for

# Words that the network itself is asked, shortest first, in search of one that it answers wrongly.
MOST_WORDS = 1 << 15


def certificate_report(folder: RunFolder, progress: Progress = lambda part, done, count: None) -> dict[str, Any]:
    """Try to certify a finished run; write certificate.json and automaton.json beside it if it holds.

    If not, uncertified.json says why. Raises UserError for a run that is not finished.
    """
    config = RunConfig.parse(folder.config_text)
    weights, network = folder.final_bytes(WEIGHTS), folder.final_bytes(MODEL_CONFIG)
    if (reason := no_certificate_for(config)) is not None:
        return write(folder, refused(weights, {"reason": reason}))
    task = languages.get(config.task.language)
    from regulargpt.run import load_model  # which writes certificates itself

    model = load_model(folder)
    try:
        certifier = Certifier.of(task, config.model.chunk_size)
        snapped = certifier.certify(model, known_prototypes(folder))
    except UserError as error:
        return write(folder, refused(weights, {"reason": str(error)}))
    return write(folder, judge(certifier, task, model, snapped, weights, network, progress))


def known_prototypes(folder: RunFolder) -> Tensor | None:
    """The prototypes of the certificate that lies there, if it is of these weights; else those of the training.

    A run whose process was killed between its end and its certificate has those alone.
    """
    path = folder.path / CERTIFICATE
    if not disk.exists(path):
        return anchored_at(folder)
    try:
        known = parse_json(read_bytes(path), path)
        if known["weights"]["sha256"] != digest(folder.final_bytes(WEIGHTS)):
            return None
        prototypes = torch.tensor(known["prototypes"], dtype=torch.float64)
    except (UserError, KeyError, TypeError, ValueError):
        return None  # whatever lies there is no certificate, and is written anew
    width = folder.load_model_config()["model"]["d_model"]
    return prototypes if prototypes.ndim == 2 and prototypes.shape[1] == width else None


def anchored_at(folder: RunFolder) -> Tensor | None:
    """The prototypes at which the training was anchored when it ended."""
    try:
        last = checkpoint.load_latest(folder.path)
    except UserError:
        return None  # a finished run does not need its checkpoints
    anchors = last.state["state"]["anchors"] if last else None
    return None if anchors is None else Anchors.load(anchors).prototypes


@dataclass(frozen=True)
class Verdict:
    """What is said of a network: the report, and the files that say it, by name.

    `report["proven"]` is true only where the independent checker has accepted these very files.
    """

    report: dict[str, Any]
    files: Mapping[str, str]


def judge(
    certifier: Certifier,
    task: Task,
    model: nn.Module,
    snapped: Snapped,
    weights: bytes,
    network: bytes,
    progress: Progress = lambda part, done, count: None,
) -> Verdict:
    """Make the certificate of what was found, and have it checked; or say why there is none."""
    found = described(certifier, snapped)
    if not snapped.proof.holds:
        return refused(weights, {**found, **wrong_words(task, model, snapped)})
    if not snapped.certain:
        reason = f"it holds by a margin of {snapped.smallest_margin:.2g} only, which rounding could close"
        return refused(weights, {**found, "reason": reason})
    automaton = to_json(snapped.question.machine)
    files = {"weights": weights, "network": network, "automaton": automaton.encode()}
    try:
        certificate = record.text(record.record(snapped, files, None))
        accepted = decide(certificate.encode(), files, progress=progress)
        with_balls, as_it_is = without_replacing(snapped, files, progress)
    except (Rejected, Malformed) as error:
        return refused(weights, {**found, "reason": f"the independent check rejects it: {error}"})
    found |= {"levels": accepted.levels, "homomorphism": accepted.homomorphism, "unquantised": as_it_is}
    return Verdict({"proven": True, **found}, {AUTOMATON: automaton, CERTIFICATE: with_balls or certificate})


def refused(weights: bytes, report: dict[str, Any]) -> Verdict:
    """No certificate, why, and of which weights."""
    report = {"proven": False, **report}
    known = {"weights": {"file": WEIGHTS, "sha256": digest(weights)}, **report}
    return Verdict(report, {UNCERTIFIED: render_json(known).decode()})


def write(folder: RunFolder, verdict: Verdict) -> dict[str, Any]:
    """Write the verdict's files, the certificate last, and remove those of an earlier one; the report."""
    remove(folder, *({AUTOMATON, CERTIFICATE, UNCERTIFIED} - set(verdict.files)))
    for name, text in verdict.files.items():
        write_text(folder.path / name, text)
    place = {"file": str(folder.path / CERTIFICATE)} if verdict.report["proven"] else {}
    return {**verdict.report, **place}


def remove(folder: RunFolder, *names: str) -> None:
    """Remove what an earlier verdict left."""
    for name in names:
        with reported(folder.path / name):
            if disk.exists(folder.path / name):
                disk.remove(folder.path / name)


def without_replacing(
    snapped: Snapped, files: Mapping[str, bytes], progress: Progress
) -> tuple[str | None, dict[str, Any]]:
    """The first certificate with balls that the checker accepts, and what it says of the network; or why none is."""
    network = Network(tensors(files["weights"]), json.loads(files["network"])["model"])
    C, table = snapped.table.chunk_size, snapped.table
    leaves, nodes = ((part.windows(C), part.images) for part in (table.leaves, table.nodes))
    answers = np.where(snapped.asked, snapped.answers, -1)
    found = enclose(network, snapped.book.prototypes.numpy(), leaves, nodes, answers)
    if isinstance(found, NotClosed):
        return None, {"proven": False, "reason": found.reason}
    reason = ""
    for enclosure in found:
        # Stated a little smaller than found, so that the checker's own bound may be a little larger.
        slack = float(f"{0.97 * enclosure.slack:.3g}")
        balls = record.unquantised(slack, enclosure.radii.tolist())
        certificate = record.text(record.record(snapped, files, balls))
        try:
            decide(certificate.encode(), files, progress=progress)
        except Rejected as error:
            reason = reason or str(error)
            continue
        return certificate, {"proven": True, "slack": slack, "radius": float(enclosure.radii.max())}
    return None, {"proven": False, "reason": f"the independent check rejects it: {reason}"}


def described(certifier: Certifier, snapped: Snapped) -> dict[str, Any]:
    """The size of the table, and which elements never occur or share a prototype."""
    question, pairs = certifier.question, snapped.proof.pairs
    name = [word or "ε" for word in question.transitions.words]
    transitions = question.classes[pairs[:, 1]]
    shared = [sorted(set(transitions[pairs[:, 0] == state].tolist())) for state in np.unique(pairs[:, 0])]
    return {
        "monoid": question.transitions.size,
        "transitions": len(np.unique(transitions)),
        "prototypes": len(snapped.book),
        "entries": len(snapped.table.leaves) + len(snapped.table.nodes),
        "smallest_margin": snapped.smallest_margin,
        "merged": [[name[e] for e in group] for group in shared if len(group) > 1],
    }


def wrong_words(task: Task, model: nn.Module, snapped: Snapped) -> dict[str, Any]:
    """The shortest word that the quantised network answers wrongly, and the shortest found for the network itself."""
    wrong = snapped.proof.wrong
    assert wrong is not None
    found: dict[str, Any] = {"wrong": answered(task, model, wrong), "reason": "the quantised network errs on a word"}
    if (own := shortest_wrong(task, model)) is not None:
        found["wrong_unquantised"] = answered(task, model, own)
    return found


def answered(task: Task, model: nn.Module, word: Sequence[int]) -> dict[str, Any]:
    """A word with the machine's answer and the network's own."""
    symbols = np.array([word])
    with torch.no_grad():
        own = int(model(torch.from_numpy(symbols)).argmax())
    right = int(task.labels(symbols)[0])
    text = task.machine.decode(symbols[0])
    return {"word": text, "length": len(word), "right": task.output_names[right], "network": task.output_names[own]}


def shortest_wrong(task: Task, model: nn.Module) -> tuple[int, ...] | None:
    """The first word that the network itself answers wrongly, among all words of the shortest lengths."""
    length, left = 1, MOST_WORDS
    while (count := task.n_symbols**length) <= left:
        words = np.array(list(product(range(task.n_symbols), repeat=length)))
        if task.domain is not None:
            words = words[task.domain.accepts(words)]
        if len(words):
            with torch.no_grad():
                answers = model(torch.from_numpy(words)).argmax(1).numpy()
            if (wrong := np.flatnonzero(answers != task.labels(words))).size:
                return tuple(words[wrong[0]].tolist())
        length, left = length + 1, left - count
    return None
