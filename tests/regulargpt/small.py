"""Small runs for the tests: one config a family of models, and the files that must be equal byte for byte."""

from pathlib import Path
from typing import Any

import torch

from regulargpt import data, objectives
from regulargpt.config.schema import RunConfig
from regulargpt.config.validation import validate
from regulargpt.runs.run import make_model, phases_of
from regulargpt.storage.folder import SEGMENTS
from regulargpt.training.trainer import Trainer

EQUAL = ("model.safetensors", "metrics.jsonl", "measures.csv")
COMMON = {
    "device": "cpu",
    "data.train_len": 8,
    "evaluation.test_len": 11,
    "evaluation.samples": 16,
    "evaluation.extra_lengths": (),
    "evaluation.falsify": 0,  # half of such a run
    "model.d_model": 8,
    "training.batch_size": 8,
    "training.warmup": 10,
    "training.log_every": 7,
    "training.checkpoint_every": 10,
    "training.steps": 40,
}
ATTENTION = {"model.n_heads": 2, "model.d_ff": 16}
# State noise, curriculum, several lengths a step, cooldown, dropout, every kind of supervision: all that resuming
# could forget is in one of them.
FAMILIES: dict[str, dict[str, Any]] = {
    "regulargpt": {
        **ATTENTION,
        "data.name": "modular-arithmetic:plus=true",
        "objective.bracketings": 0.5,
        "training.curriculum": (4, 6),
        "training.stage_loss": 100.0,
        "training.loss_memory": 0.8,
        "model.state_noise": 0.1,
        "model.noise_loss": 100.0,
        "model.noise_growth": 1.5,
        "training.solved_loss": 100.0,
        "training.cooldown": 10,
    },
    "gru": {"data.name": "tomita-5", "objective.name": "prefixes", "training.lengths_per_step": 2},
    "rnn": {"training.schedule": "cosine", "data.near_misses": 0.5, "data.name": "dyck-2"},
    "transformer": {
        **ATTENTION,
        "model.dropout": 0.2,
        "model.encoding.name": "transformer_xl",
        "model.n_layers": 2,
        "training.optimiser": "adam",
        "data.name": "tomita-3",
        "objective.name": "next",
    },
    "linear-rnn": {"data.name": "cycle-navigation", "training.weight_decay": 0.01},
    "brackets": {
        "model.name": "ldru",
        "model.tree": "nested",
        "model.dropout": 0.2,
        "data.name": "brackets-2",
        "data.near_misses": 0.5,
        "objective.bracketings": 0.5,
    },
    "text": {
        **ATTENTION,
        "model.name": "transformer",
        "model.dropout": 0.2,
        "model.n_layers": 2,
        "model.tied": True,
        "data.name": "text:recurrent:size=65536",
        "objective.name": "language_model",
        "evaluation.factor": 2,
        "evaluation.test_len": 32,
        "evaluation.attention": "sliding:4",
        "training.optimiser": "adamw",
    },
    "retrieval": {
        **ATTENTION,
        "model.name": "transformer",
        "model.dropout": 0.2,
        "model.encoding.name": "t5",
        "model.n_layers": 2,
        "data.name": "retrieval:needles:keys=4,values=3,questions=4",
        "data.train_len": 28,
        "objective.name": "retrieve",
        "evaluation.factor": 2,
        "evaluation.test_len": 56,
        "training.lengths_per_step": 2,
    },
}


def config(family: str = "regulargpt", **changes: Any) -> RunConfig:
    """The config of a family, a model or what its dict says, with options changed: `training__steps=3`."""
    dotted = {key.replace("__", "."): value for key, value in changes.items()}
    found = RunConfig().replaced({"model.name": family} | COMMON | FAMILIES[family] | dotted)
    validate(found)
    return found


def trainer_of(config: RunConfig) -> Trainer:
    """The trainer of a config, on the CPU, before the first step."""
    words, device = data.build(config.data), torch.device("cpu")
    objective = objectives.build(config.objective, words)
    model = make_model(config, words, objective, device)
    return Trainer(config, words, objective, model, device, phases_of(config, words, print))


def contents(folder: Path) -> dict[str, bytes]:
    """What two equal runs have in common; on a text also the numbers of single segments."""
    return {name: (folder / name).read_bytes() for name in (*EQUAL, SEGMENTS) if (folder / name).exists()}
