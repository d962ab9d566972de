"""certificate.json and automaton.json: all that the independent checker needs beside the weights."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from languages.automata import MooreMachine
from languages.automata.moore import UNDEFINED
from regulargpt.certificate.checker import FORMAT
from regulargpt.certificate.checker.claims import NETWORK, called, claim, unquantised_claim
from regulargpt.certificate.search.certify import QuantisedNetwork
from regulargpt.finite.nested_specification import NestedSpecification
from regulargpt.finite.table import Entries
from regulargpt.storage.folder import AUTOMATON, GRAPH, MODEL_CONFIG, WEIGHTS
from regulargpt.storage.manifest import digest

# Entries of a part that are listed: some megabytes.
MAX_LISTED = 1 << 16
NAMES = {"weights": WEIGHTS, "network": MODEL_CONFIG, "automaton": AUTOMATON}


def record(quantised: QuantisedNetwork, files: Mapping[str, bytes], balls: Mapping[str, Any] | None) -> dict[str, Any]:
    """The certificate as a value, for these weights, network and automaton; `balls` are those of `unquantised`."""
    is_nested, C = isinstance(quantised.specification, NestedSpecification), quantised.table.chunk_size
    # Nothing is claimed of prototypes that are the root of no word with an answer: their balls may then be larger.
    answers = [None if answer == UNDEFINED else answer for answer in quantised.needed_answers.tolist()]
    return {
        "format": FORMAT,
        **({"tree": "nested"} if is_nested else {}),
        "claim": claim_of(quantised),
        "unquantised": balls,
        **named(files),
        "chunk_size": C,
        "prototypes": quantised.book.prototypes.tolist(),
        "answers": answers,
        "leaves": entries(quantised.table.leaves, C),
        "nodes": entries(quantised.table.nodes, C),
    }


def named(files: Mapping[str, bytes], names: Mapping[str, str] = NAMES) -> dict[str, dict[str, str]]:
    """Of which files a certificate is: where they lie, and their digests. A graph has a file of its own."""
    names = names if network_called(files) == NETWORK else {**names, "network": GRAPH}
    return {name: {"file": file, "sha256": digest(files[name])} for name, file in names.items()}


def network_called(files: Mapping[str, bytes]) -> str:
    """What claims call the network."""
    return called(json.loads(files["network"]))


def graph_file(files: Mapping[str, bytes]) -> dict[str, str]:
    """graph.json, where a proof is about that."""
    return {} if network_called(files) == NETWORK else {GRAPH: files["network"].decode()}


def claim_of(quantised: QuantisedNetwork) -> str:
    """What the certificate proves, in the checker's words."""
    specification, table = quantised.specification, quantised.table
    if isinstance(specification, NestedSpecification):
        total, direction = specification.answers_every_word, specification.algebra.direction.tolist()
    else:
        total, direction = answers_every_word(specification.machine), None
    alphabet = specification.machine.alphabet
    return claim(alphabet, table.chunk_size, len(quantised.book), total, table.aligned, direction)


def answers_every_word(machine: MooreMachine) -> bool:
    """Whether a minimal machine has an answer to every non-empty word.

    >>> import languages
    >>> answers_every_word(languages.get("parity").machine)
    True
    """
    return bool((machine.output_table[np.unique(machine.table)] >= 0).all())


def unquantised(slack: float, radii: Sequence[float], nested: bool) -> dict[str, Any]:
    """Balls as the certificate has them; `nested` of a tree that follows brackets."""
    return {"claim": unquantised_claim(slack, nested), "slack": float(slack), "radii": list(radii)}


def entries(part: Entries, chunk_size: int) -> dict[str, Any]:
    """A part of the table: windows by offset, the node at the side aligned first; 0 is an absent place.

    Of a large table only how many entries it has, and its digest: the checker finds them.
    """
    if len(part) > MAX_LISTED:
        return {"entries": len(part), "sha256": table_digest(part, chunk_size)}
    return {"windows": part.windows(chunk_size).tolist(), "images": part.images.tolist()}


def table_digest(part: Entries, chunk_size: int) -> str:
    """SHA-256 of the windows in ascending order, each with its image behind it, as numbers of 32 bits."""
    rows = np.column_stack([part.windows(chunk_size), part.images])  # (entries, C + 1)
    return digest(rows.astype("<u4").tobytes())


def text(value: Mapping[str, Any]) -> str:
    """A line for each key."""
    lines = (f"  {json.dumps(key)}: {json.dumps(item, ensure_ascii=False)}" for key, item in value.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"
