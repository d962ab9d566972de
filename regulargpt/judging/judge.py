"""What is said of a network from elsewhere: proven at every length, wrong for ever, wrong, or what was tried."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from languages.errors import UserError
from languages.task import Task
from regulargpt import data, objectives
from regulargpt.certificate.chain.outcome import chain_outcome
from regulargpt.certificate.refutation.outcome import Refutation
from regulargpt.config.schema import RunConfig
from regulargpt.data.language import LanguageData
from regulargpt.falsification.asked import Examinee
from regulargpt.falsification.search import falsify
from regulargpt.graph.export import weights_of, written
from regulargpt.judging.modules import build, said
from regulargpt.judging.network import Cell, Whole, as_network
from regulargpt.models.base import fill
from regulargpt.models.options import ModelOptions
from regulargpt.runs.refute import refuted_within
from regulargpt.storage.folder import GRAPH, WEIGHTS

Progress = Callable[[str, int, int], None]
WORDS = 1_000_000


@dataclass(frozen=True)
class Judgement:
    """What was concluded: the certificate of a cell and its refutation, as `verify` has them, or why there is none;
    the search for wrong words; and the files that say it, by name."""

    certificate: Mapping[str, Any]
    refutation: Mapping[str, Any]
    falsified: Mapping[str, Any] | None
    files: Mapping[str, bytes]

    @property
    def report(self) -> dict[str, Any]:
        """For programs."""
        return {"certificate": self.certificate, "refutation": self.refutation, "falsified": self.falsified}


def judge(
    module: nn.Module,
    language: str,
    seconds: float = 60.0,
    seed: int = 0,
    progress: Progress = lambda part, done, count: None,
) -> Judgement:
    """Conclude of a module what can be: nothing is trained.

    Of a cell (`regulargpt.judging.network.Cell`) its step is written as graph.json; what is proven is proven of that.
    Of any other network wrong words are looked for. That, and the proof that a cell is wrong for ever, may take so many
    `seconds` of processor time each (0: without end).

    Raises UserError for a language that is not regular, and for a network that cannot be asked.
    """
    config = RunConfig().replaced({"data.name": language})
    words = data.of_words(config.data)
    network, goal = as_network(module, words.finite.n_symbols), objectives.build(config.objective, words)
    refuse_faulty(network, words.finite, goal.n_outputs)
    none = {"proven": False, "reason": "it carries no state of fixed size from symbol to symbol: only words are tried"}
    certificate, refutation, files = none, Refutation({"refuted": False, "reason": none["reason"]}, {}), {}
    if isinstance(network, Cell):
        certificate, refutation, files = of_cell(network, words, seed, seconds or inf, progress)
    falsified = None
    if not certificate.get("unquantised", {}).get("proven") and not refutation.report["refuted"]:
        asked = Examinee.from_model(network, words, goal, torch.device("cpu"), ModelOptions("judged"))
        falsified = falsify(asked, WORDS, seconds=seconds or inf, seed=seed, progress=progress)
    return Judgement(certificate, refutation.report, falsified, files)


def refuse_faulty(network: Cell | Whole, task: Task, n_outputs: int) -> None:
    """Let a network read every symbol, so that a mistake in it is told in one line, before anything is looked for."""
    name = type(network.module).__name__
    try:
        with torch.no_grad():
            shape = tuple(network(torch.arange(task.n_symbols).repeat(2, 2)).shape)
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{name} cannot read the {task.n_symbols} symbols of {task.name}: {said(error)}") from error
    if shape != (2, n_outputs):
        answers = ", ".join(task.machine.output_names)
        of_two = f"{name} gives {shape} for two words; it must be (2, {n_outputs})"
        raise UserError(f"{of_two}: a logit for each of {answers}, in this order")


def as_written(x: Tensor) -> Tensor:
    """A weight as the checker reads it: in float32, which holds half floats exactly, or float64."""
    return x.detach().to("cpu", x.dtype if x.dtype == torch.float64 else torch.float32).contiguous().clone()


def again(network: str, weights: bytes, graph: bytes) -> str | None:
    """Why a graph is not that of a network, `MODULE:CLASS`, with these weights; None if it is, byte for byte.

    Raises UserError for what cannot be built or written as a graph.
    """
    module, record = build(network, None), json.loads(graph)
    own = module.state_dict()  # beside weights it may hold whole numbers, which are written into its graph
    fill(module, own | {name: x for name, x in load(weights).items() if name in own}, WEIGHTS)
    cell = as_network(module, len(record["alphabet"]))
    if not isinstance(cell, Cell):
        return f"{network} is no cell"
    made = written(cell, tuple(record["alphabet"]), tuple(record["output_names"]))
    return None if made == graph else f"{network} with these weights is written as another graph"


def of_cell(
    network: Cell, words: LanguageData, seed: int, seconds: float, progress: Progress
) -> tuple[Mapping[str, Any], Refutation, dict[str, bytes]]:
    """The certificate and the refutation of a cell, each accepted by the checker just now, and their files."""
    machine = words.finite.machine
    weights = save({name: as_written(x) for name, x in weights_of(network).items()})
    files = {"weights": weights, "network": written(network, machine.alphabet, machine.output_names)}
    outcome = chain_outcome(network, words, seed, files, progress)
    refutation = Refutation({"refuted": False, "reason": "it is proven as it is"}, {})
    if not outcome.proven_as_it_is:
        refutation = refuted_within(seconds, progress, words.task, network, weights, files["network"])
    files_of_network = {WEIGHTS: weights, GRAPH: files["network"]}
    proofs = {name: proof.encode() for name, proof in {**outcome.files, **refutation.files}.items()}
    return outcome.report, refutation, {**files_of_network, **proofs}
