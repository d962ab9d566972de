"""Run folders with a certificate, made in a moment: a codebook of one made-up prototype an element, the right table."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import languages
from languages.convert.json_text import to_json
from languages.randomness import rng
from regulargpt import objectives
from regulargpt.certificate import record
from regulargpt.certificate.checker import Accepted
from regulargpt.classroom import data
from regulargpt.config.schema import RunConfig
from regulargpt.data import build as data_of
from regulargpt.finite.levels import from_left
from regulargpt.finite.proof import Proof, prove
from regulargpt.finite.specification import Specification
from regulargpt.finite.table import Entries
from regulargpt.models.tree.shape import Side
from regulargpt.runs.run import make_model, model_record
from regulargpt.storage.folder import AUTOMATON, CERTIFICATE, MODEL_CONFIG, WEIGHTS, RunFolder

D_MODEL = 6


def folder(path: Path, language: str, chunk_size: int = 2, model: str = "regulargpt", seed: int = 0) -> RunFolder:
    """A finished run whose weights are as they were drawn: enough for a page."""
    attentive = {"model.n_heads": 2, "model.d_ff": 8}
    tree = {"model.chunk_size": chunk_size, **attentive}
    sizes = {"regulargpt": tree, "transformer": attentive}.get(model.partition(":")[0], {})
    chosen = {"data.name": language, "model": model, "model.d_model": D_MODEL, **sizes, "seed": seed}
    config = RunConfig().replaced({**chosen, "evaluation.test_len": 50})
    run = RunFolder.create(path, config.render(), {"python": "3.11"})
    run.append_metrics([{"step": 1, "loss": 0.5}])
    words = data_of(config.data)
    goal = objectives.build(config.objective, words)
    run.write_weights(
        make_model(config, words, goal, torch.device("cpu")).state_dict(), model_record(config, words, goal)
    )
    values = {str(length): 100.0 if length < 46 else 99.5 for length in (*range(41, 51), 1000)}
    samples = dict.fromkeys(values, 512)
    measures = {"accuracy": {"values": values, "intervals": {length: [a - 1, a] for length, a in values.items()}}}
    run.write_measures(samples, measures)
    accuracy = {"measure": "accuracy", "score": 99.9999, "worst": 99.5, "chance": 50.0}
    tested = {"test_from": 41, "test_len": 50, "samples": samples, "measures": measures}
    run.write_summary({"language": language, "steps": 1, "train_len": 40, **tested, **accuracy})
    run.finish()
    return run


def certify(
    run: RunFolder, language: str, chunk_size: int = 2, specification: Specification | None = None
) -> dict[str, Any]:
    """Write the certificate of a network that computes the language exactly, which does not exist; the certificate.

    `believed` is what a page would show of it.
    """
    specification = specification or Specification.from_task(languages.get(language))
    aligned = RunConfig.parse(run.config_text).model.aligned
    table = Target(specification, chunk_size, aligned)
    answers = np.maximum(specification.answers, 0)
    proof = prove(specification, chunk_size, table.image, answers, aligned)
    assert proof.holds
    book = SimpleBook(torch.from_numpy(rng(0, "prototypes").normal(size=(specification.monoid.size, D_MODEL))))
    found = {"specification": specification, "table": table, "book": book, "proof": proof, "answers": answers}
    quantised: Any = SimpleNamespace(**found, needed_answers=answers)
    automaton = to_json(specification.machine)
    files = {"weights": run.final_bytes(WEIGHTS), "network": run.final_bytes(MODEL_CONFIG)}
    certificate = record.record(quantised, files | {"automaton": automaton.encode()}, None)
    (run.path / AUTOMATON).write_text(automaton)
    (run.path / CERTIFICATE).write_text(record.text(certificate))
    ACCEPTED[files["weights"], automaton.encode()] = accepted(certificate, specification, proof)
    return certificate


# What the checker would say of a certificate of these weights with this automaton.
ACCEPTED: dict[tuple[bytes, bytes], Accepted] = {}


def accepted(certificate: dict[str, Any], specification: Specification, proof: Proof) -> Accepted:
    """What the checker would say."""
    functions: dict[int, set[tuple[int, ...]]] = {}
    for state, element in proof.pairs.tolist():
        functions.setdefault(state, set()).add(tuple(specification.monoid.elements[element].tolist()))
    counts = {"states": 2, "answered_states": 2, "roots": 2, "answered_roots": 2, "levels": 2, "bits": 64}
    return Accepted(
        claim=certificate["claim"],
        unquantised_claim=None,
        language_claim=None,
        prototypes=len(certificate["prototypes"]),
        entries=sum(len(certificate[part]["images"]) for part in ("leaves", "nodes")),
        smallest_margin=1.0,
        homomorphism=proof.is_homomorphism,
        functions={k: frozenset(found) for k, found in functions.items()},
        **counts,
    )


def believed(path: Path) -> data.PageRun:
    """What a page shows of a run whose certificate was made here: the checker's word is taken as given."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "proof", lambda text, files, *rest: ACCEPTED[files["weights"], files["automaton"]])
        return data.gather(path)


class SimpleBook:
    """Prototypes, counted."""

    def __init__(self, prototypes: torch.Tensor):
        self.prototypes = prototypes

    def __len__(self) -> int:
        return len(self.prototypes)


class Target:
    """The table of a network that multiplies in the monoid: prototype 1 + e stands for element e."""

    def __init__(self, specification: Specification, chunk_size: int, aligned: Side = "right"):
        self.chunk_size, self.aligned, self.times = chunk_size, aligned, specification.monoid.table
        generators = specification.monoid.generators.astype(np.int64)
        self.leaves = Entries(1 + len(generators), lambda windows: self.product(windows, generators))
        self.nodes = Entries(1 + len(self.times), lambda windows: self.product(windows, np.arange(len(self.times))))

    def image(self, level: int, windows: Any) -> Any:
        """The prototypes after windows."""
        return (self.nodes if level else self.leaves)(windows)

    def product(self, windows: Any, value: Any) -> Any:
        """From the left, whose place in a window depends on the side; margins are 1."""
        e = np.zeros(len(windows), dtype=np.int64)
        for column in from_left(list(windows.T), self.aligned):
            e = np.where(column > 0, self.times[e, value[column - 1]], e).astype(np.int64)
        return 1 + e, np.ones(len(e))


def spoil(run: RunFolder, certificate: dict[str, Any], seed: int, share: float = 0.2) -> dict[str, Any]:
    """Change some images of the table and leave some windows out: a forged certificate, for wrong and unknown nodes."""
    random = rng(seed, "spoil")
    K = len(certificate["prototypes"])
    for part in ("leaves", "nodes"):
        rows = list(zip(certificate[part]["windows"], certificate[part]["images"], strict=True))
        kept = [row for row in rows if random.random() > share / 4]
        images = [int(random.integers(1, K + 1)) if random.random() < share else image for _, image in kept]
        certificate[part] = {"windows": [window for window, _ in kept], "images": images}
    (run.path / CERTIFICATE).write_text(record.text(certificate))
    return certificate
