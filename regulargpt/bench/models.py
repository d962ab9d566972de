"""Training steps a second of each model with the recipe `words`."""

from __future__ import annotations

from typing import Any

import torch

from regulargpt import data, objectives
from regulargpt.bench.timing import Effort, in_turn, quartiles
from regulargpt.config.recipes import resolve
from regulargpt.models import MODELS
from regulargpt.runs.run import make_model
from regulargpt.training.trainer import Trainer

METHOD = (
    "Whole steps of `regulargpt run parity --recipe words --model MODEL` (words, loss, backward, clipping, optimiser), "
    "lengths 1..40, in turn; the median of the rounds and their quartiles. `per_step`: how many steps of regulargpt "
    "fit into one."
)
EFFORTS = {"smoke": Effort(2, 0, 0), "full": Effort(5, 8)}
STEPS = {"smoke": 1, "full": 10}
LANGUAGE = "parity"


def measure(scale: str) -> dict[str, Any]:
    """The part `models` of the bench."""
    trainers = {name: trainer(name) for name in MODELS}
    steps = STEPS[scale]
    seconds = in_turn({name: lambda name=name: walk(trainers[name], steps) for name in MODELS}, EFFORTS[scale])
    rows = []
    for name in MODELS:
        low, median, high = quartiles([steps / s for s in seconds[name]])
        _, per_step, _ = quartiles([b / a for a, b in zip(seconds["regulargpt"], seconds[name], strict=True)])
        parameters = sum(p.numel() for p in trainers[name].model.parameters())
        rate = {"steps_per_second": median, "low": low, "high": high, "per_step": per_step}
        rows.append({"model": name, "parameters": parameters, **rate})
    return {"method": METHOD, "rows": rows}


def trainer(name: str) -> Trainer:
    """A new model of this name at the start of its training."""
    config = resolve("words", name, LANGUAGE)
    words = data.build(config.data)
    goal, device = objectives.build(config.objective, words), torch.device("cpu")
    return Trainer(config, words, goal, make_model(config, goal, device), device)


def walk(trainer: Trainer, steps: int) -> None:
    """Some steps."""
    for _ in range(steps):
        trainer.step()
