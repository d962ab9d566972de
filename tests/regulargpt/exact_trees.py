"""Small networks that are exact by construction, beside RegularGPT: what a certificate of each kind can be made of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save

import languages
from languages.automata import MooreMachine
from languages.task import Task
from regulargpt.certificate.outcome import Outcome, outcome_of
from regulargpt.certificate.search.certify import Certifier, QuantisedNetwork
from regulargpt.config.schema import RunConfig
from regulargpt.construct.configuration import configuration
from regulargpt.construct.weights import constructed
from regulargpt.models.ldru.model import Ldru
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.regulargpt.options import RegularGPTOptions
from regulargpt.models.tree.base import Tree


def last_symbol() -> Task:
    """A task that asks in which order the symbols stand."""
    names = ("0", "1")
    return Task("last", MooreMachine(("q0", "q1"), "01", ((0, 1), (0, 1)), "q0", (0, 1), names), "", "", ())


def parity_ldru(operator: str = "sum") -> Ldru:
    """Parity in two numbers: states are s (1, -1), s = -1 even and 1 odd, and the FFN brings the sum of two, or a
    single one, to the piecewise linear -1 + 2 relu(s + 1) - 2 relu(s) - 2 relu(s - 1).

    With `mlp` the gates are 1 whatever else the operator reads.
    """
    model = zeroed(Ldru(2, 2, operator=operator, d_model=2, dropout=0.0).double())
    weights, way = model.state_dict(), torch.tensor([1.0, -1.0]).double()
    fill_leaves(weights, way)
    # Hidden units relu(a s + b), what each adds along `way`; s is (1, -1) x / 2. The residual x = s `way` goes away.
    units = [(0, 1, -1), (1, 1, 2), (1, 0, -2), (1, -1, -2), (1, 0, -1), (-1, 0, 1)]
    for i, (a, b, out) in enumerate(units):
        weights["ffn.ff_in.weight"][i], weights["ffn.ff_in.bias"][i] = a * way / 2, b
        weights["ffn.ff_out.weight"][:, i] = out * way
    if operator == "mlp":
        for name in ("wide", "wider"):
            weights[f"operator.{name}.weight"].normal_(generator=torch.Generator().manual_seed(1))
        weights["operator.gates.bias"].fill_(1)
        weights["operator.out.weight"].copy_(torch.eye(2))
    if operator != "sum":
        for name in ("left", "right"):
            weights[f"operator.{name}.weight"].copy_(torch.eye(2))
    return model


def last_ldru() -> Ldru:
    """The state is that of the right node."""
    model = zeroed(Ldru(2, 2, operator="linear", d_model=2, dropout=0.0).double())
    weights = model.state_dict()
    fill_leaves(weights, torch.tensor([1.0, -1.0]).double())
    weights["operator.right.weight"].copy_(torch.eye(2))
    return model


def zeroed(model: Ldru) -> Ldru:
    """Without anything but the gains of its LayerNorms."""
    for name, weight in model.state_dict().items():
        weight.fill_(1.0 if "norm.weight" in name else 0.0)
    return model.eval()


def fill_leaves(weights: Mapping[str, torch.Tensor], way: torch.Tensor) -> None:
    """0 is -`way`, 1 is `way`; the readout tells them apart."""
    weights["embedding.weight"].copy_(torch.stack([-way, way]))
    weights["readout.weight"].copy_(torch.stack([-way, way]))


def constructed_gated(language: str, chunk_size: int = 2) -> tuple[RegularGPT, RegularGPTOptions]:
    """The constructed RegularGPT, with gates that are 1 whatever they read."""
    config = configuration(language, chunk_size)
    assert isinstance(config.model, RegularGPTOptions)
    task = languages.get(language)
    plain = constructed(config.model, task, config.recipe.removeprefix("constructed-"))
    options = replace(config.model, gates=True)
    gated = RegularGPT(task.n_symbols, len(task.output_names), **options.arguments())
    gated = gated.to(next(plain.parameters()).dtype).eval()
    gated.load_state_dict(plain.state_dict(), strict=False)
    with torch.no_grad():
        gate = gated.get_submodule("blocks.0.attn.gates.gate")
        gate.weight.zero_()  # type: ignore[operator]
        gate.bias.fill_(1.0)  # type: ignore[operator]
    return gated, options


def as_config(name: str, options: Mapping[str, Any], task: Task) -> dict[str, Any]:
    """config.json."""
    usual = asdict(RunConfig().replaced({"model.name": name}).model)
    names = {"alphabet": list(task.alphabet), "output_names": list(task.output_names)}
    counts = {"n_symbols": task.n_symbols, "n_outputs": len(task.output_names)}
    return {"model": usual | dict(options) | {"name": name}, **counts, **names, "supervision": "last"}


def certificate_of(
    model: Tree, config: Mapping[str, Any], task: Task, folder: Path, quantised: QuantisedNetwork | None = None
) -> Outcome:
    """What is said of the network, and its files in the folder."""
    weights, network = save(model.state_dict()), json.dumps(config).encode()
    certifier = Certifier.for_task(task, model.chunk_size, model.aligned)
    outcome = outcome_of(certifier, task, model, quantised or certifier.certify(model), weights, network)
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(weights)
    (folder / "config.json").write_bytes(network)
    for name, text in outcome.files.items():
        (folder / name).write_text(text)
    return outcome
