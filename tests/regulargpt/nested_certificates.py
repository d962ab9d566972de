"""Certificates of trees that follow brackets, of networks that are made: their map is a given table, exactly."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from safetensors.torch import save

from regulargpt.certificate.checker.claims import claim, unquantised_claim
from regulargpt.certificate.checker.induction import induction
from regulargpt.certificate.checker.pushdown import PushdownMachine
from regulargpt.construct.representation import Representation
from regulargpt.construct.weights import fill
from regulargpt.finite.float64_network import Float64Network
from regulargpt.models.ldru.model import Ldru
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.regulargpt.options import RegularGPTOptions
from regulargpt.models.tree.base import Tree
from regulargpt.storage.manifest import digest
from tests.regulargpt.exact_trees import as_config, parity_ldru
from tests.regulargpt.nested_words import OUTPUTS, Right, Stacked, Window

MANY = 1000
SLACK, RADIUS = 1e-3, 2e-3
NAMES = {"weights": "model.safetensors", "network": "config.json", "automaton": "automaton.json"}


def conjunctions() -> Stacked:
    """( ) x: the parity of the x, where a pair counts as the parity in it, and as 0 if that before it is 0.

    What is before a call has to be remembered: a call pushes it, and begins anew. A return that closes nothing turns
    the parity.
    """
    moves: dict[tuple[int, int, int | None], tuple[int, int]] = {}
    for q in (0, 1):
        for top in (None, 0, 1):
            moves[q, 0, top], moves[q, 2, top] = (0, q), (1 - q, 0)
            moves[q, 1, top] = (1 - q if top is None else top & q), 0
    return Stacked((1, -1, 0), moves, (0, 1))


def turns() -> Stacked:
    """( ) x: the parity of the x, wherever they stand."""
    moves: dict[tuple[int, int, int | None], tuple[int, int]] = {}
    for q in (0, 1):
        for top in (None, 0):
            moves[q, 0, top], moves[q, 1, top], moves[q, 2, top] = (q, 0), (q, 0), (1 - q, 0)
    return Stacked((1, -1, 0), moves, (0, 1))


def table_of(machine: Stacked, C: int) -> tuple[dict[Window, int], list[int | None]]:
    """The windows of the right network with their images, in the rows of a certificate, and its answers."""
    right = Right(machine, MANY, C, "right")
    found: dict[Window, int] = {}

    def leaves(windows: np.ndarray) -> np.ndarray:
        return nodes(np.where(windows > 0, windows + MANY, 0))

    def nodes(windows: np.ndarray) -> np.ndarray:
        rows = [tuple(row) for row in windows.tolist()]
        found.update((row, right.image(row)) for row in rows)
        return np.array([found[row] for row in rows], dtype=np.int64)

    induction(PushdownMachine(machine.record(), "it"), C, leaves, nodes, right, "right")  # type: ignore[arg-type]
    K = len(right.words)
    table = {tuple(r if r <= K else r - MANY + K for r in window): image for window, image in found.items()}
    return table, [right[k] for k in range(K)]


def network_of(table: dict[Window, int], answers: list[int | None], n_symbols: int) -> tuple[RegularGPT, Any]:
    """RegularGPT whose map is a table: numbers are 1 at the row that a state is, the pad, a prototype or a symbol."""
    K, C = len(answers), len(next(iter(table)))
    size = 1 + K + n_symbols
    one = np.eye(size)
    given = np.array([0 if answer is None else answer for answer in answers])
    readout = np.zeros((len(OUTPUTS), size))
    readout[:, 1 : K + 1] = np.where(given == np.arange(len(OUTPUTS))[:, None], 1.0, -1.0)  # (answers, K)
    reads, writes = np.array(list(table)), np.array(list(table.values()))
    found = Representation(1, one[0], one[K + 1 :], reads, writes, readout)
    sizes = {"d_model": C * size, "n_heads": C, "d_ff": 2 * len(table) + C * size, "chunk_size": C}
    kind = {"norm": "post", "activation": "relu", "attention_bias": False, "state_norm": False}
    options = RegularGPTOptions(name="regulargpt", **sizes, **kind)  # type: ignore[arg-type]
    model = RegularGPT(n_symbols, len(OUTPUTS), **options.arguments())
    fill(model, found)
    return model.eval(), options


def nearest(states: torch.Tensor, prototypes: torch.Tensor) -> np.ndarray:
    return 1 + torch.cdist(states, prototypes).argmin(1).numpy()


def written(
    folder: Path,
    machine: Stacked,
    model: Tree,
    name: str,
    options: dict[str, Any],
    prototypes: torch.Tensor,
    balls: bool = True,
) -> Path:
    """The certificate of a network with these prototypes, and its files."""
    exact, K = Float64Network(model), len(prototypes)
    rows = torch.cat([prototypes, exact.symbols[1:]])
    parts: dict[str, dict[Window, int]] = {"leaves": {}, "nodes": {}}

    def looked_up(part: str, windows: np.ndarray) -> np.ndarray:
        states = exact.over_symbols(windows) if part == "leaves" else exact.over(rows, windows)
        images = nearest(states, prototypes)
        parts[part].update(zip(map(tuple, windows.tolist()), images.tolist(), strict=True))
        return images

    answers = exact.readout(prototypes).argmax(1).tolist()
    tables = (lambda windows, part=part: looked_up(part, windows) for part in parts)
    induction(PushdownMachine(machine.record(), "it"), model.chunk_size, *tables, answers, model.aligned)
    task: Any = SimpleNamespace(alphabet=machine.alphabet, output_names=OUTPUTS, n_symbols=len(machine.alphabet))
    config = as_config(name, options | {"tree": "nested"}, task) | {"direction": list(machine.direction)}
    files = {"weights": save(model.state_dict()), "network": json.dumps(config).encode()}
    files["automaton"] = json.dumps(machine.record()).encode()
    said = claim(machine.alphabet, model.chunk_size, K, True, model.aligned, machine.direction)
    in_balls = {"claim": unquantised_claim(SLACK, nested=True), "slack": SLACK, "radii": [RADIUS] * K}
    record = {
        "format": "regulargpt certificate 3",
        "tree": "nested",
        "claim": said,
        "unquantised": in_balls if balls else None,
        **{name: {"file": NAMES[name], "sha256": digest(data)} for name, data in files.items()},
        "chunk_size": model.chunk_size,
        "prototypes": prototypes.tolist(),
        "answers": answers,
        **{part: {"windows": list(map(list, of)), "images": list(of.values())} for part, of in parts.items()},
    }
    folder.mkdir()
    for file, data in files.items():
        (folder / NAMES[file]).write_bytes(data)
    (folder / "certificate.json").write_text(json.dumps(record))
    return folder


def of_table(folder: Path, machine: Stacked, C: int, balls: bool = False) -> Path:
    """The certificate of a network that is right, with chunks of C."""
    table, answers = table_of(machine, C)
    model, options = network_of(table, answers, len(machine.alphabet))
    windows = {image: window for window, image in table.items()}
    exact = Float64Network(model)
    one = torch.eye(model.embedding.weight.shape[1]).double()  # what the map is of a row that is one number
    rows = torch.cat([one[1 : 1 + len(answers)], exact.symbols[1:]])
    prototypes = exact.over(rows, np.array([windows[k] for k in range(1, 1 + len(answers))]))
    return written(folder, machine, model, "regulargpt", asdict(options), prototypes, balls)


def of_ldru(folder: Path) -> Path:
    """The certificate of an LDRU that counts the x, whatever the brackets."""
    weights = parity_ldru("mlp").state_dict()
    model = Ldru(3, 2, operator="mlp", d_model=2, dropout=0.0).double().eval()
    weights["embedding.weight"] = weights["embedding.weight"][[0, 0, 1]]
    model.load_state_dict(weights)
    prototypes = Float64Network(model).over_symbols(np.array([[1, 0], [3, 0]]))
    options = {"d_model": 2, "dropout": 0.0, "operator": "mlp"}
    return written(folder, turns(), model, "ldru", options, prototypes)
