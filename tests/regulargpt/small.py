"""Small runs for the tests: one config a family of models, and the files that must be equal byte for byte."""

from pathlib import Path
from typing import Any

import languages
from regulargpt.config import RunConfig
from regulargpt.validation import validate

EQUAL = ("model.safetensors", "metrics.jsonl", "accuracy.csv")
COMMON = {
    "device": "cpu",
    "task.train_len": 8,
    "evaluation.test_len": 11,
    "evaluation.samples": 16,
    "evaluation.beyond": (),
    "model.d_model": 8,
    "model.n_heads": 2,
    "model.d_ff": 16,
    "training.batch_size": 8,
    "training.warmup": 10,
    "training.log_every": 7,
    "training.checkpoint_every": 10,
    "training.steps": 40,
}
# State noise, curriculum, several lengths a step, cooldown, dropout, every kind of supervision: all that resuming
# could forget is in one of them.
FAMILIES: dict[str, dict[str, Any]] = {
    "regulargpt": {
        "task.supervision": "nodes",
        "task.language": "modular-arithmetic:plus=true",
        "training.compositions": 16,
        "training.alignment": 0.1,
        "training.curriculum": (4, 6),
        "training.stage_below": 100.0,
        "training.loss_memory": 0.8,
        "training.state_noise": 0.1,
        "training.noise_below": 100.0,
        "training.noise_growth": 1.5,
        "training.solved_below": 100.0,
        "training.cooldown": 10,
    },
    "gru": {"task.language": "tomita-5", "task.supervision": "every", "training.lengths_per_step": 2},
    "rnn": {"training.schedule": "cosine", "task.near_misses": 0.5, "task.language": "dyck-2"},
    "transformer": {
        "model.dropout": 0.2,
        "model.encoding": "transformer_xl",
        "model.n_layers": 2,
        "training.optimiser": "adam",
        "task.language": "tomita-3",
        "task.supervision": "next",
    },
    "linear-rnn": {"task.language": "cycle-navigation", "training.weight_decay": 0.01},
}


def config(family: str = "regulargpt", **changes: Any) -> RunConfig:
    """The config of a family, with fields changed: `training__steps=3`."""
    dotted = {key.replace("__", "."): value for key, value in changes.items()}
    found = RunConfig().replaced({"model.name": family} | COMMON | FAMILIES[family] | dotted)
    validate(found, languages.get(found.task.language))
    return found


def contents(folder: Path) -> dict[str, bytes]:
    """What two equal runs have in common."""
    return {name: (folder / name).read_bytes() for name in EQUAL}
