"""certificate.json and automaton.json: all that the independent checker needs beside the weights."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from languages.automata import MooreMachine
from regulargpt.certificate.certify import Snapped
from regulargpt.certificate.checker import FORMAT
from regulargpt.certificate.checker.claims import claim, unquantised_claim
from regulargpt.certificate.table import Entries
from regulargpt.storage.folder import AUTOMATON, MODEL_CONFIG, WEIGHTS
from regulargpt.storage.manifest import digest

NAMES = {"weights": WEIGHTS, "network": MODEL_CONFIG, "automaton": AUTOMATON}


def record(snapped: Snapped, files: Mapping[str, bytes], balls: Mapping[str, Any] | None) -> dict[str, Any]:
    """The certificate as a value, for these weights, network and automaton; `balls` are those of `unquantised`."""
    machine, C = snapped.question.machine, snapped.table.chunk_size
    answers = [answer if asked else None for answer, asked in zip(snapped.answers.tolist(), snapped.asked, strict=True)]
    return {
        "format": FORMAT,
        "claim": claim(machine.alphabet, C, len(snapped.book), total(machine)),
        "unquantised": balls,
        **{name: {"file": file, "sha256": digest(files[name])} for name, file in NAMES.items()},
        "chunk_size": C,
        "prototypes": snapped.book.prototypes.tolist(),
        "answers": answers,
        "leaves": entries(snapped.table.leaves, C),
        "nodes": entries(snapped.table.nodes, C),
    }


def total(machine: MooreMachine) -> bool:
    """Whether a minimal machine has an answer to every word of at least one symbol.

    >>> import languages
    >>> total(languages.get("parity").machine)
    True
    """
    return bool((machine.output_table[np.unique(machine.table)] >= 0).all())


def unquantised(slack: float, radii: Sequence[float]) -> dict[str, Any]:
    """Balls as the certificate has them."""
    return {"claim": unquantised_claim(slack), "slack": float(slack), "radii": list(radii)}


def entries(part: Entries, chunk_size: int) -> dict[str, Any]:
    """A part of the table: windows by offset, rightmost first; 0 is the pad."""
    return {"windows": part.windows(chunk_size).tolist(), "images": part.images.tolist()}


def text(value: Mapping[str, Any]) -> str:
    """A line for each key."""
    lines = (f"  {json.dumps(key)}: {json.dumps(item, ensure_ascii=False)}" for key, item in value.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"
