"""certificate.json and automaton.json: all that the independent checker needs beside the weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from languages.convert.json_text import to_json
from regulargpt.certificate.certify import Snapped
from regulargpt.certificate.check import FORMAT, claim
from regulargpt.certificate.machine import Question
from regulargpt.certificate.table import Entries
from regulargpt.storage.atomic import write_text
from regulargpt.storage.folder import AUTOMATON, CERTIFICATE, MODEL_CONFIG, WEIGHTS, RunFolder
from regulargpt.storage.manifest import digest


def write(folder: RunFolder, language: str, question: Question, snapped: Snapped, raw: Mapping[str, Any]) -> Path:
    """Write both files into the run folder; the certificate's path."""
    automaton = to_json(question.machine)
    weights, network = folder.final_bytes(WEIGHTS), folder.final_bytes(MODEL_CONFIG)
    digests = {
        "weights": {"file": WEIGHTS, "sha256": digest(weights)},
        "network": {"file": MODEL_CONFIG, "sha256": digest(network)},
        "automaton": {"file": AUTOMATON, "sha256": digest(automaton.encode())},
    }
    write_text(folder.path / AUTOMATON, automaton)
    path = folder.path / CERTIFICATE
    write_text(path, text(record(language, question, snapped, digests, raw)))
    return path


def record(
    language: str, question: Question, snapped: Snapped, digests: Mapping[str, Any], raw: Mapping[str, Any]
) -> dict[str, Any]:
    """The certificate as a value."""
    C = snapped.table.chunk_size
    return {
        "format": FORMAT,
        "language": language,
        "claim": claim(question.machine.alphabet, C, len(snapped.book)),
        "raw": dict(raw),
        **digests,
        "chunk_size": C,
        "homomorphism": snapped.proof.is_homomorphism,
        "levels": snapped.proof.n_levels,
        "words": words(question, snapped),
        "prototypes": snapped.book.prototypes.tolist(),
        "answers": snapped.answers.tolist(),
        "answer_margins": snapped.answer_margins.tolist(),
        "leaves": entries(snapped.table.leaves, C),
        "nodes": entries(snapped.table.nodes, C),
    }


def words(question: Question, snapped: Snapped) -> list[list[str]]:
    """For each prototype the least words of the elements that it stands for; none if no node comes to it."""
    found: list[list[str]] = [[] for _ in range(len(snapped.book))]
    for state, element in snapped.proof.pairs.tolist():
        found[state - 1].append(question.monoid.words[element])
    return found


def entries(part: Entries, chunk_size: int) -> dict[str, Any]:
    """A part of the table: windows by offset, rightmost first; 0 is the pad."""
    return {
        "windows": part.windows(chunk_size).tolist(),
        "images": part.images.tolist(),
        "margins": np.round(part.margins, 9).tolist(),
    }


def text(value: Mapping[str, Any]) -> str:
    """A line for each key."""
    lines = (f"  {json.dumps(key)}: {json.dumps(item, ensure_ascii=False)}" for key, item in value.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"
