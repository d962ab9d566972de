"""A run as the page's script reads it: the automaton, its transition monoid, and the quantised network's table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from languages.automata import MooreMachine
from languages.automata.monoid import TransitionMonoid
from languages.automata.pushdown import PushdownTransducer
from languages.context_free.nested import NestedTask
from languages.errors import AutomatonError
from regulargpt.classroom import nested
from regulargpt.classroom.data import Certificate
from regulargpt.classroom.nested import Machine
from regulargpt.findings.markup import by_element
from regulargpt.models.tree.shape import Side

# A machine without a certificate may have a monoid of any size; its elements are then not worth showing.
MOST_ELEMENTS = 2000


def script_data(
    machine: Machine | None,
    certificate: Certificate | None,
    aligned: Side = "right",
    task: NestedTask | None = None,
) -> dict[str, Any]:
    """The run as JSON values; `task` is the language that words are drawn of, where it has brackets.

    >>> import languages
    >>> data = script_data(languages.get("parity").machine, None)
    >>> data["delta"], data["outputs"], data["elements"]["words"], data["network"]
    ([[0, 1], [1, 0]], ['even', 'odd'], ['', '1'], None)
    """
    if machine is None:
        return {"alphabet": [], "network": None}
    listed = certificate if certificate and is_listed(certificate.record) else None
    if isinstance(machine, PushdownTransducer):
        elements = nested.Elements.from_machine(machine)
        shown = elements and listed and table(machine, listed, aligned, beside=machine.n_symbols)
        return nested.machine_data(machine, task, elements) | {"network": shown or None}
    try:
        monoid = TransitionMonoid.from_machine(
            machine, *([] if certificate and certificate.elements else [MOST_ELEMENTS])
        )
    except AutomatonError:
        monoid = None
    return machine_data(machine, monoid) | {
        # A table that the certificate does not list is too large for a page, too.
        "network": (monoid and listed and table(machine, listed, aligned)) or None,
    }


def machine_data(machine: MooreMachine, monoid: TransitionMonoid | None) -> dict[str, Any]:
    """An automaton and its transition monoid, where it is known, as JSON values."""
    return {
        "alphabet": list(machine.alphabet),
        "states": list(machine.states),
        "initial": machine.initial_index,
        "delta": machine.table.tolist(),
        "outputs": list(machine.named_outputs.values()),
        "elements": monoid and {"words": list(monoid.words), "right": monoid.right.tolist()},
    }


def is_listed(record: Mapping[str, Any]) -> bool:
    """Whether a certificate lists its table, and does not only state its digest, or leave it to the checker.

    >>> is_listed({"leaves": {"windows": [], "images": []}, "nodes": {"entries": 70000, "sha256": ""}})
    False
    """
    return all("windows" in record.get(part, ()) for part in ("leaves", "nodes"))


def table(machine: Machine, certificate: Certificate, aligned: Side, beside: int = 0) -> dict[str, Any]:
    """The quantised network: which elements each prototype stands for, its answer, and the prototype of each window.

    With brackets, so many symbols may stand `beside` prototypes in a window; they are numbered behind them.
    """
    elements = list(map(list, certificate.elements))
    record, K = certificate.record, len(elements)
    C = record["chunk_size"]
    return {
        "chunk_size": C,
        "aligned": aligned,
        "elements": elements,
        "answers": [None if answer is None else machine.output_names[answer] for answer in record["answers"]],
        "colours": by_element(elements),
        "leaves": entries(record["leaves"], C, 1 + machine.n_symbols),
        "nodes": entries(record["nodes"], C, 1 + K + beside),
    }


def entries(part: Mapping[str, Any], chunk_size: int, base: int) -> dict[str, Any]:
    """A part of the table. A window is a number with `base`, the rightmost node first; listed are the differences.

    >>> entries({"windows": [[1, 2], [1, 0]], "images": [7, 8]}, 2, 3)
    {'base': 3, 'steps': [3, 2], 'images': [8, 7]}
    """
    windows = np.array(part["windows"], dtype=np.int64).reshape(-1, chunk_size)  # (windows, C), also of none
    keys = windows @ base ** np.arange(chunk_size - 1, -1, -1)
    order = np.argsort(keys)
    images = np.array(part["images"], dtype=np.int64)
    return {"base": base, "steps": np.diff(keys[order], prepend=0).tolist(), "images": images[order].tolist()}
