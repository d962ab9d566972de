"""What `verify` and `run --certify` say about a finished run: proven at every length, or the shortest wrong word."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import languages
from languages.errors import UserError
from languages.task import Task
from regulargpt.anchors import Anchors
from regulargpt.certificate import record
from regulargpt.certificate.certify import Certifier, Snapped
from regulargpt.certificate.check import Network, raw_claim, tensors
from regulargpt.certificate.enclosure import NotClosed, enclose
from regulargpt.config import RunConfig
from regulargpt.storage import checkpoint
from regulargpt.storage.atomic import disk, parse_json, read_bytes, reported, write_json
from regulargpt.storage.folder import AUTOMATON, CERTIFICATE, UNCERTIFIED, WEIGHTS, RunFolder
from regulargpt.storage.manifest import digest
from regulargpt.validation import no_certificate_for

# Words that the network itself is asked, shortest first, in search of one that it answers wrongly.
MOST_WORDS = 1 << 15


def certificate_report(folder: RunFolder) -> dict[str, Any]:
    """Try to certify a finished run; write certificate.json and automaton.json beside it if it holds.

    If not, uncertified.json says why. Raises UserError for a run that is not finished.
    """
    config = RunConfig.parse(folder.config_text)
    folder.load_summary()
    if (reason := no_certificate_for(config)) is not None:
        return noted(folder, {"proven": False, "reason": reason})
    task = languages.get(config.task.language)
    from regulargpt.run import load_model  # which writes certificates itself

    model = load_model(folder)
    try:
        certifier = Certifier.of(task, config.model.chunk_size)
        return issue(folder, certifier, task, model, certifier.certify(model, known_prototypes(folder)))
    except UserError as error:
        return noted(folder, {"proven": False, "reason": str(error)})


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


def issue(folder: RunFolder, certifier: Certifier, task: Task, model: nn.Module, snapped: Snapped) -> dict[str, Any]:
    """Write the certificate of what was decided, or remove one that no longer holds, and note why."""
    found = described(certifier, snapped)
    if snapped.certain:
        raw = without_snapping(folder, snapped)
        path = record.write(folder, task.name, certifier.question, snapped, raw)
        remove(folder, UNCERTIFIED)
        return {"proven": True, "file": str(path), **found, "raw": raw}
    remove(folder, CERTIFICATE, AUTOMATON)
    if snapped.proof.holds:
        reason = f"it holds by a margin of {snapped.smallest_margin:.2g} only, which rounding could close"
        return noted(folder, {"proven": False, "reason": reason, **found})
    return noted(folder, {"proven": False, **found, **wrong_words(task, model, snapped)})


def remove(folder: RunFolder, *names: str) -> None:
    """Remove what an earlier verdict left."""
    for name in names:
        with reported(folder.path / name):
            if disk.exists(folder.path / name):
                disk.remove(folder.path / name)


def noted(folder: RunFolder, verdict: dict[str, Any]) -> dict[str, Any]:
    """Write down why there is no certificate, and of which weights; the verdict itself."""
    weights = {"file": WEIGHTS, "sha256": digest(folder.final_bytes(WEIGHTS))}
    write_json(folder.path / UNCERTIFIED, {"weights": weights, **verdict})
    return verdict


def without_snapping(folder: RunFolder, snapped: Snapped) -> dict[str, Any]:
    """What can be proven of the network as it is: balls around the prototypes that it maps into themselves."""
    network = Network(tensors(folder.final_bytes(WEIGHTS)), folder.load_model_config()["model"])
    C, table = snapped.table.chunk_size, snapped.table
    leaves, nodes = ((part.windows(C), part.images) for part in (table.leaves, table.nodes))
    found = enclose(network, snapped.book.prototypes.numpy(), leaves, nodes, snapped.answers)
    if isinstance(found, NotClosed):
        return {"proven": False, "reason": found.reason}
    # Stated a little smaller than found, so that recomputing it on another machine still finds it.
    slack = float(f"{0.99 * found.slack:.3g}")
    return {
        "proven": True,
        "claim": raw_claim(slack),
        "slack": slack,
        "contraction": found.contraction,
        "answer_slack": found.answer_slack,
        "radii": found.radii.tolist(),
    }


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
        "levels": snapped.proof.n_levels,
        "homomorphism": snapped.proof.is_homomorphism,
        "smallest_margin": snapped.smallest_margin,
        "merged": [[name[e] for e in group] for group in shared if len(group) > 1],
    }


def wrong_words(task: Task, model: nn.Module, snapped: Snapped) -> dict[str, Any]:
    """The shortest word that the snapped network answers wrongly, and the shortest found for the network itself."""
    wrong = snapped.proof.wrong
    assert wrong is not None
    found: dict[str, Any] = {"wrong": answered(task, model, wrong), "reason": "the snapped network errs on a word"}
    if (own := shortest_wrong(task, model)) is not None:
        found["wrong_without_snapping"] = answered(task, model, own)
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
